/** Commands on what people set for everyone. Quick picks gather; a modal decides, since programs can press the former (docs/adr/0006-modal-gate.md). */
import { userInfo } from 'node:os';
import { type Disposable, type QuickPickItem, window } from 'vscode';
import type { App, AutoApproveRule } from '#kernel/app';
import { type AutoApproveAction, autoApproveActions } from '#kernel/approval/security';
import { durationWords } from '#kernel/text/message';
import { type SecurityLevel, securityLevels } from '#kernel/tiers';
import type { AppSession } from '../app-session.ts';
import { type Choice, choose } from '../commands/choose.ts';
import { openPage } from '../commands/open-page.ts';
import { plainLabel } from '../commands/picks.ts';
import { toldCommand } from '../commands/told-command.ts';
import { t, titleOf } from '../l10n.ts';
import { notify } from '../notify.ts';
import { answerText } from '../request-words.ts';
import {
  actionWords,
  type ChangeDeps,
  changeSetting,
  configurationChange,
  levelChange,
  levelWords,
  lifeInWords,
  type NewRule,
  resumption,
  ruleChange,
  ruleRemoval,
} from './setting-changes.ts';

export interface SecurityCommandDeps extends Omit<ChangeDeps, 'approvals'> {
  readonly session: AppSession;
}

export function registerSecurityCommands(deps: SecurityCommandDeps): Disposable[] {
  const onApp = (command: string, act: (app: App, argument: unknown) => Promise<void>) =>
    toldCommand(command, (argument) => deps.session.use((app) => act(app, argument)));
  return [
    onApp('banksman.setSecurityLevel', (app) => here(app, deps, levelInWords) ?? setLevel(app, { ...deps, approvals: app.approvals })),
    onApp(
      'banksman.agreeConfiguration',
      (app) =>
        here(app, deps, async () => t('The configuration is root’s own')) ?? agreeConfiguration(app, { ...deps, approvals: app.approvals }),
    ),
    onApp('banksman.pauseAgents', (app, argument) => pauseOrResume(app, argument, deps)),
    onApp('banksman.autoApproveRules', (app) => here(app, deps, rulesInWords) ?? manageRules(app, { ...deps, approvals: app.approvals })),
  ];
}

/** From the status bar: one click, and no question before it. */
export const pauseNow = 'now';

/** Pausing makes everything stricter, so it asks for no more than a reason; resuming is shown and signed. */
async function pauseOrResume(app: App, argument: unknown, deps: SecurityCommandDeps): Promise<void> {
  const { paused } = await app.security.level();
  if (paused !== undefined) {
    const elsewhere = here(app, deps, async () => t('All agents are paused'));
    return elsewhere ?? void (await changeSetting(resumption(app.security, paused), { ...deps, approvals: app.approvals }));
  }
  const reason = argument === pauseNow ? '' : await askWhy();
  if (reason === undefined) return;
  const words = reason.trim().slice(0, 300);
  const result = await app.security.pause(`user:${userInfo().username}`, ...(words === '' ? [] : [words]));
  void notify.info(`Banksman: ${answerText(result)}.`);
}

async function askWhy(): Promise<string | undefined> {
  return window.showInputBox({
    title: t('Pause All Agents'),
    prompt: t('Why (agents and people are told). They change nothing more, in every window and process, until a person resumes them.'),
    ignoreFocusOut: true,
  });
}

/** Where no window changes anything: what is so, and where it is changed. undefined: it is changed here. */
function here(app: App, { session }: SecurityCommandDeps, words: (app: App) => Promise<string>): Promise<void> | undefined {
  const { answersAt, page } = app.config;
  if (answersAt === undefined) return undefined;
  return (async () => {
    const buttons = page === undefined ? [] : [t('Open Page')];
    const pressed = await notify.info(t('{0}. No window changes that: {1}.', await words(app), answersAt), ...buttons);
    if (pressed !== undefined) await openPage(session, 'settings');
  })();
}

async function levelInWords({ security }: App): Promise<string> {
  const { level, by } = await security.level();
  return by === undefined ? t('The security level is {0}', level) : t('The security level is {0}, set by {1}', level, by);
}

async function rulesInWords({ security }: App): Promise<string> {
  const rules = (await security.rules()).map(
    ({ pattern, action, warning }) => `${pattern}: ${action}${warning === undefined ? '' : ` (${t('does not count')})`}`,
  );
  return rules.length === 0 ? t('There are no auto-approve rules') : t('Auto-approve rules: {0}', rules.join(', '));
}

async function setLevel(app: App, deps: ChangeDeps): Promise<void> {
  const now = await app.security.level();
  const from = now.from === 'store' ? t('set by {0}', now.by ?? t('somebody unknown')) : t('from the configuration');
  const items = securityLevels.map((level): Choice & { readonly level: SecurityLevel } => ({
    label: level === now.level ? `$(check) ${t('{0} (now)', level)}` : level,
    description: levelWords[level].network,
    detail: levelWords[level].calls,
    level,
  }));
  const placeHolder = now.warning === undefined ? t('A dialog asks before anything changes') : plainLabel(now.warning);
  const title = plainLabel(t('Security Level: {0}, {1}', now.level, from));
  const active = items.find((item) => item.level === now.level);
  const chosen = await choose(items, { title, placeHolder, ...(active ? { active } : {}) });
  if (chosen && chosen.level !== now.level) await changeSetting(levelChange(app.security, now, chosen.level), deps);
}

/** What waits is in the dialog whole, and what is agreed to is what was in it. */
async function agreeConfiguration(app: App, deps: SecurityCommandDeps & ChangeDeps): Promise<void> {
  const waiting = (await app.agreement?.pending()) ?? [];
  const { agreement } = app;
  if (agreement === undefined || waiting.length === 0)
    return void notify.info(t('Banksman: nothing waits, all of the configuration counts.'));
  if (await changeSetting(configurationChange(agreement, waiting), deps)) deps.session.reload();
}

type RuleItem = QuickPickItem & { readonly rule?: AutoApproveRule };

async function manageRules(app: App, deps: ChangeDeps): Promise<void> {
  const rules = await app.security.rules();
  const items: RuleItem[] = [{ label: `$(add) ${t('Add a Rule…')}` }, ...rules.map(ruleItem)];
  const placeHolder = rules.length === 0 ? t('There are no rules') : t('Choose a rule to remove it; a dialog asks first');
  const chosen = await window.showQuickPick(items, { title: t('Auto-Approve Rules'), placeHolder, matchOnDescription: true });
  if (!chosen) return;
  if (chosen.rule) return void (await changeSetting(ruleRemoval(app.security, chosen.rule), deps));
  const rule = await askRule(app);
  if (rule) await changeSetting(ruleChange(app.security, rule), deps);
}

function ruleItem(rule: AutoApproveRule): RuleItem {
  const left = rule.expiresAt === 0 ? t('never signed') : t('{0} left', durationWords(rule.expiresAt - Date.now()));
  const warning = rule.warning === undefined ? {} : { detail: `$(warning) ${plainLabel(rule.warning)}` };
  return {
    label: `$(trash) ${plainLabel(rule.pattern)}`,
    description: plainLabel(`${rule.action} · ${rule.by} · ${left}`),
    ...warning,
    rule,
  };
}

async function askRule(app: App): Promise<NewRule | undefined> {
  const pattern = await askPattern(app);
  if (pattern === undefined) return undefined;
  const actions = autoApproveActions.map((action): QuickPickItem & { readonly action: AutoApproveAction } => ({
    label: action,
    description: actionWords[action],
    action,
  }));
  const action = (await window.showQuickPick(actions, { title: t('What Fits {0}', pattern), placeHolder: t('What happens with it') }))
    ?.action;
  if (action === undefined) return undefined;
  const lives = [1 / 24, 8 / 24, 1, 7, 30].map((days) => ({ label: lifeInWords(days * 86_400_000), lifeMs: days * 86_400_000 }));
  const life = await window.showQuickPick(lives, { title: t('How Long'), placeHolder: t('Every rule ends') });
  return life && { pattern, action, lifeMs: life.lifeMs };
}

async function askPattern(app: App): Promise<string | undefined> {
  const kinds: (QuickPickItem & { readonly kindOf: 'destination' | 'tool' })[] = [
    {
      label: t('Network destination'),
      description: t('a host, or with a dot in front a domain and what is below it'),
      kindOf: 'destination',
    },
    { label: t('Yellow tool'), description: t('with a pattern for its target'), kindOf: 'tool' },
  ];
  const kind = (await window.showQuickPick(kinds, { title: t('Add a Rule'), placeHolder: t('What it is about') }))?.kindOf;
  if (kind === 'destination') {
    const host = await askText(t('Destination'), t('`registry.npmjs.org`, or `.example.org` for the domain and what is below it'));
    return host && `destination:${host}`;
  }
  if (kind === undefined) return undefined;
  const names = app.tools.filter((tool) => tool.tier === 'yellow').map((tool) => ({ label: tool.name, description: titleOf(tool) }));
  const tool = (await window.showQuickPick(names, { title: t('Add a Rule'), placeHolder: t('Tool') }))?.label;
  if (tool === undefined) return undefined;
  const target = await askText(t('Target'), t('A pattern for the target, `*` for any characters. Empty: every target.'), true);
  if (target === undefined) return undefined;
  return target === '' ? `tool:${tool}` : `tool:${tool}:${target}`;
}

async function askText(title: string, prompt: string, optional = false): Promise<string | undefined> {
  const typed = await window.showInputBox({
    title,
    prompt,
    ignoreFocusOut: true,
    validateInput: (text) => (text.trim() === '' && !optional ? t('It is needed') : undefined),
  });
  return typed?.trim();
}
