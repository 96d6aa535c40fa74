/** Saving edited settings: shown in a dialog that no program presses; level and rules are signed there, and what is looser waits for the agreement. */
import { ConfigurationTarget, commands, workspace } from 'vscode';
import type { App } from '#kernel/app';
import type { AutoApproveAction } from '#kernel/approval/security';
import { isJsonObject, type JsonObject, type JsonValue } from '#kernel/json';
import type { ReplayReport } from '#kernel/policy-view';
import { showPlainly } from '#kernel/text/text';
import { type SecurityLevel, securityLevels } from '#kernel/tiers';
import type { AppSession } from '../app-session.ts';
import { confirmRun } from '../gate/confirm-run.ts';
import { t } from '../l10n.ts';
import { type ChangeDeps, changeSetting } from '../security/change-setting.ts';
import { levelChange, ruleChange, ruleRemoval } from '../security/setting-changes.ts';

export interface SaveDeps extends Omit<ChangeDeps, 'approvals'> {
  readonly session: AppSession;
}

interface Rule {
  readonly pattern: string;
  readonly action: AutoApproveAction;
}

const monthMs = 30 * 86_400_000;

/** True: something was saved. What was replayed is what is saved, against what counted then. */
export async function saveSettings(before: JsonObject, after: JsonObject, report: ReplayReport, deps: SaveDeps): Promise<boolean> {
  const keys = report.differs.filter((key) => key !== 'securityLevel' && key !== 'autoApprove').map((key) => key.split('.')[0] ?? key);
  const saved = [
    ...(keys.length > 0 ? [await saveKeys({ keys, after, report }, deps)] : []),
    ...(report.differs.includes('securityLevel') ? [await saveLevel(after['securityLevel'], deps)] : []),
    ...(report.differs.includes('autoApprove') ? [await saveRules(rulesIn(before), rulesIn(after), deps)] : []),
  ];
  return saved.includes(true);
}

interface Keys {
  readonly keys: readonly string[];
  readonly after: JsonObject;
  readonly report: ReplayReport;
}

async function saveKeys({ keys, after, report }: Keys, deps: SaveDeps): Promise<boolean> {
  const looser = report.loosens.map((line) => `· ${showPlainly(line, 1_000)}`);
  const detail = [
    t('Settings: {0}.', keys.map((key) => `banksman.${key}`).join(', ')),
    t(
      'Of {0} recorded calls, {1} would be decided otherwise: {2} looser, {3} tighter.',
      report.judged,
      report.changed,
      report.looser,
      report.tighter,
    ),
    ...(looser.length === 0
      ? []
      : [t('Looser; where that is less than what was agreed to last, it is asked about once more before it counts:'), ...looser]),
  ];
  const question = {
    key: 'save the policy',
    title: t('Save these settings?'),
    detail: detail.join('\n\n'),
    stay: t('Keep the Old Values'),
    proceed: t('Save'),
  };
  if (!(await confirmRun(question, deps.confirm))) return false;
  const settings = workspace.getConfiguration('banksman');
  for (const key of keys) {
    const own = settings.inspect(key)?.globalValue;
    const value = key === 'workspace' ? { ...(isJsonObject(own) ? own : {}), requireSandbox: requiresSandbox(after) } : after[key];
    await settings.update(key, value, ConfigurationTarget.Global);
  }
  if (looser.length > 0) {
    // What waits is known to the App of the new settings alone.
    deps.session.reload();
    await commands.executeCommand('banksman.agreeConfiguration');
  }
  return true;
}

function requiresSandbox({ workspace: own }: JsonObject): boolean {
  return isJsonObject(own) && own['requireSandbox'] === true;
}

function saveLevel(value: JsonValue | undefined, deps: SaveDeps): Promise<boolean> {
  const level = securityLevels.find((one): one is SecurityLevel => one === value);
  if (level === undefined) return Promise.resolve(false);
  return deps.session.use(async (app) => {
    return changeSetting(levelChange(app.security, await app.security.level(), level), { ...deps, approvals: app.approvals });
  });
}

function rulesIn({ autoApprove }: JsonObject): readonly Rule[] {
  return Array.isArray(autoApprove) ? (autoApprove as readonly Rule[]) : [];
}

async function saveRules(before: readonly Rule[], after: readonly Rule[], deps: SaveDeps): Promise<boolean> {
  const has = (rules: readonly Rule[], { pattern, action }: Rule) =>
    rules.some((rule) => rule.pattern === pattern && rule.action === action);
  let changed = false;
  for (const rule of after) if (!has(before, rule)) changed = (await addRule(rule, deps)) || changed;
  const gone = before.filter(({ pattern }) => !after.some((rule) => rule.pattern === pattern));
  for (const { pattern } of gone) changed = (await deps.session.use((app) => removeRule(app, pattern, deps))) || changed;
  return changed;
}

export function addRule({ pattern, action }: Rule, deps: SaveDeps): Promise<boolean> {
  return deps.session.use((app) =>
    changeSetting(ruleChange(app.security, { pattern, action, lifeMs: monthMs }), { ...deps, approvals: app.approvals }),
  );
}

async function removeRule({ security, approvals }: App, pattern: string, deps: SaveDeps): Promise<boolean> {
  const rule = (await security.rules()).find((one) => one.pattern === pattern);
  return rule !== undefined && changeSetting(ruleRemoval(security, rule), { ...deps, approvals });
}
