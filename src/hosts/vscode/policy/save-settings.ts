/** Saving edited settings: shown in a dialog that no program presses; level and rules are signed there, and what is looser waits for the agreement. */
import type { App } from '#kernel/app';
import type { AutoApproveAction } from '#kernel/approval/security';
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from '#kernel/json';
import type { ReplayReport } from '#kernel/policy-view';
import { showPlainly } from '#kernel/text/text';
import { type SecurityLevel, securityLevels } from '#kernel/tiers';
import type { AppSession } from '../app-session.ts';
import { type Confirmation, confirmRun } from '../gate/confirm-run.ts';
import { t } from '../l10n.ts';
import { type ChangeDeps, changeSetting, levelChange, ruleChange, ruleRemoval } from '../security/setting-changes.ts';

export interface SaveDeps extends Omit<ChangeDeps, 'approvals'> {
  readonly session: Pick<AppSession, 'use' | 'reload'>;
}

/** The editor's own settings `banksman.*`, as they are written down. */
export interface WrittenSettings {
  read(key: string): unknown;
  /** @param value undefined: takes it out */
  write(key: string, value: JsonValue | undefined): Promise<void>;
  /** Asks about what of it is looser. */
  agree(): Promise<void>;
}

/** What was replayed is what is saved, against what counted then. */
export interface EditedPolicy {
  readonly before: JsonObject;
  readonly after: JsonObject;
  readonly report: ReplayReport;
}

type Saving = SaveDeps & { readonly written: WrittenSettings };

interface Rule {
  readonly pattern: string;
  readonly action: AutoApproveAction;
}

const monthMs = 30 * 86_400_000;

/** `kept`: the person refused the first dialog. `elsewhere`: what counts is no longer `before`, and nothing was written. */
type SaveEnd = 'saved' | 'kept' | 'elsewhere';

/** Ends at the first dialog that the person refuses; what they agreed to before is saved. */
export async function saveSettings(edited: EditedPolicy, deps: Saving): Promise<SaveEnd> {
  const { before, after, report } = edited;
  if (!(await isStill(before, deps))) return 'elsewhere';
  const keys = report.differs.filter((key) => key !== 'securityLevel' && key !== 'autoApprove').map((key) => key.split('.')[0] ?? key);
  const first = keys.length === 0 ? undefined : await saveKeys(keys, edited, deps);
  if (first === 'kept' || first === 'elsewhere') return first;
  const steps = [
    ...(report.differs.includes('securityLevel') ? [() => saveLevel(after['securityLevel'], deps)] : []),
    ...(report.differs.includes('autoApprove') ? ruleSteps(rulesIn(before), rulesIn(after), deps) : []),
  ];
  let end: SaveEnd = first ?? 'kept';
  for (const step of steps) {
    if (!(await step())) return end;
    end = 'saved';
  }
  return end;
}

async function isStill(before: JsonObject, { session }: SaveDeps): Promise<boolean> {
  return canonicalJson(await session.use(({ policy }) => policy.settings())) === canonicalJson(before);
}

async function saveKeys(keys: readonly string[], { before, after, report }: EditedPolicy, deps: Saving): Promise<SaveEnd> {
  if (!(await confirmRun(keysQuestion(keys, report), deps.confirm))) return 'kept';
  // A dialog may stay open for long: whole keys are written, and would take back what somebody else set meanwhile.
  if (!(await isStill(before, deps))) return 'elsewhere';
  const { written } = deps;
  for (const key of keys) {
    const own = written.read(key);
    await written.write(
      key,
      key === 'workspace' ? { ...(isJsonObject(own) ? own : {}), requireSandbox: requiresSandbox(after) } : after[key],
    );
  }
  if (report.loosens.length > 0) {
    // What waits is known to the App of the new settings alone.
    deps.session.reload();
    await written.agree();
  }
  return 'saved';
}

function keysQuestion(keys: readonly string[], report: ReplayReport): Confirmation {
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
  return {
    key: 'save the policy',
    title: t('Save these settings?'),
    detail: detail.join('\n\n'),
    stay: t('Keep the Old Values'),
    proceed: t('Save'),
  };
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

function ruleSteps(before: readonly Rule[], after: readonly Rule[], deps: SaveDeps): readonly (() => Promise<boolean>)[] {
  const isNew = ({ pattern, action }: Rule) => !before.some((rule) => rule.pattern === pattern && rule.action === action);
  const gone = before.filter(({ pattern }) => !after.some((rule) => rule.pattern === pattern));
  return [
    ...after.filter(isNew).map((rule) => () => addRule(rule, deps)),
    ...gone.map(
      ({ pattern }) =>
        () =>
          deps.session.use((app) => removeRule(app, pattern, deps)),
    ),
  ];
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
