/** What people set for everyone on the same store: the level and the auto-approve rules. */

import { osUser } from '#app/config/paths';
import type { App, AutoApproveRule, SettingResult } from '#kernel/app';
import type { Signer } from '#kernel/approval/answer';
import { type AutoApproveAction, autoApproveActions, defaultRuleLifeMs } from '#kernel/approval/security';
import { showPlainly } from '#kernel/text/text';
import { type SecurityLevel, securityLevels } from '#kernel/tiers';
import { badUsage, type CommandOptions, noSuchVerb, operands } from '../command-line.ts';
import { printError, printJson, printText } from '../output.ts';
import { signIn } from '../passphrase.ts';
import { looking, requireDecidedHere, untilStopped, withApp } from '../session.ts';
import { withTerminal } from '../terminal.ts';

/** `banksman level get|set`: how the action tiers are applied. */
export async function runLevel([verb, ...words]: readonly string[], options: CommandOptions): Promise<number> {
  if (verb === 'get') return getLevel(words, options);
  if (verb === 'set') return setLevel(words, options);
  throw noSuchVerb('level', ['get', 'set'], verb);
}

async function getLevel(words: readonly string[], options: CommandOptions): Promise<number> {
  operands(words, []);
  return withApp(
    options,
    async (app) => {
      const { level, from, by, warning, paused } = await app.security.level();
      if (options.json) printJson(JSON.parse(JSON.stringify({ level, from, by, warning, paused })));
      else printText(level);
      if (!options.json) printError(by === undefined ? `from the ${from}` : `set by ${showPlainly(by, 100)}`);
      if (warning !== undefined) printError(showPlainly(warning, 1_000));
      if (paused !== undefined) printError(`all agents are paused by ${showPlainly(paused.by, 100)}; \`banksman resume\` lifts that`);
      return 0;
    },
    looking,
  );
}

async function setLevel(words: readonly string[], options: CommandOptions): Promise<number> {
  const level = levelOf(operands(words, ['LEVEL'])[0] ?? '');
  return changeSetting('setting the security level', options, ({ security }, signer) => security.setLevel(level, signer));
}

/** `banksman pause`: stricter, so it needs nobody. */
export async function runPause(words: readonly string[], options: CommandOptions): Promise<number> {
  operands(words, []);
  const { reason } = options;
  if (reason !== undefined && (reason.trim() === '' || reason.length > 300)) throw badUsage('`--reason` must be 1 to 300 characters');
  return withApp(options, async (app) => {
    const { ok, code, message } = await app.security.pause(`user:${osUser().username}`, reason?.trim());
    if (options.json) printJson({ ok, code, message });
    else printText(message);
    return ok ? 0 : 1;
  });
}

/** `banksman resume`. */
export async function runResume(words: readonly string[], options: CommandOptions): Promise<number> {
  operands(words, []);
  return changeSetting('resuming all agents', options, ({ security }, signer) => security.resume(signer));
}

function levelOf(named: string): SecurityLevel {
  const level = securityLevels.find((known) => known === named);
  if (level === undefined) throw badUsage(`the level must be one of ${securityLevels.join(', ')}, not \`${showPlainly(named, 40)}\``);
  return level;
}

const unitMs: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `banksman auto-approve list|set|remove`: yellow calls and destinations that people settled in advance. */
export async function runAutoApprove([verb, ...words]: readonly string[], options: CommandOptions): Promise<number> {
  if (verb === 'list') return listRules(words, options);
  if (verb === 'set') return setRule(words, options);
  if (verb === 'remove') return removeRule(words, options);
  throw noSuchVerb('auto-approve', ['list', 'set', 'remove'], verb);
}

async function listRules(words: readonly string[], options: CommandOptions): Promise<number> {
  operands(words, []);
  return withApp(
    options,
    async (app) => {
      const rules = await app.security.rules();
      if (options.json) printJson(rules.map(forPrograms));
      else for (const rule of rules) printText(line(rule));
      if (rules.length === 0 && !options.json) printError('there are no rules');
      return 0;
    },
    looking,
  );
}

async function setRule(words: readonly string[], options: CommandOptions): Promise<number> {
  const [pattern = '', action = ''] = operands(words, ['PATTERN', autoApproveActions.join('|')]);
  const rule = { pattern, action: actionOf(action), lifeMs: lifeOf(options.expires) };
  return changeSetting('setting an auto-approve rule', options, ({ security }, signer) => security.setRule(rule, signer));
}

async function removeRule(words: readonly string[], options: CommandOptions): Promise<number> {
  const [pattern = ''] = operands(words, ['PATTERN']);
  return changeSetting('removing an auto-approve rule', options, ({ security }, signer) => security.removeRule(pattern, signer));
}

function actionOf(named: string): AutoApproveAction {
  const action = autoApproveActions.find((known) => known === named);
  if (action === undefined) throw badUsage(`the action must be one of ${autoApproveActions.join(', ')}, not \`${showPlainly(named, 40)}\``);
  return action;
}

/** In ms; there is no `never`. */
function lifeOf(named: string | undefined): number {
  if (named === undefined) return defaultRuleLifeMs;
  const parts = /^(\d{1,5})([mhd])$/.exec(named);
  const life = Number(parts?.[1] ?? 0) * (unitMs[parts?.[2] ?? ''] ?? 0);
  if (life <= 0) throw badUsage(`\`--expires\` must be minutes, hours or days such as 30m, 8h or 7d, not \`${showPlainly(named, 40)}\``);
  return life;
}

function forPrograms({ pattern, action, by, expiresAt, warning }: AutoApproveRule) {
  return { pattern, action, by, expires_at: new Date(expiresAt).toISOString(), ...(warning === undefined ? {} : { warning }) };
}

function line({ pattern, action, by, expiresAt, warning }: AutoApproveRule): string {
  const note = warning === undefined ? '' : `  DOES NOT COUNT: ${showPlainly(warning)}`;
  return `${action.padEnd(7)} ${showPlainly(pattern)}  until ${new Date(expiresAt).toISOString()}, by ${showPlainly(by, 100)}${note}`;
}

/**
 * @param what for people: `setting the security level`
 * @returns 0 done, 1 bad input or nothing there, 2 refused
 */
export function changeSetting(
  what: string,
  options: CommandOptions,
  change: (app: App, signer: Signer) => Promise<SettingResult>,
): Promise<number> {
  return untilStopped((signal) =>
    withTerminal(what, signal, (terminal) =>
      withApp(options, async (app) => {
        requireDecidedHere(app);
        const { ok, code, message } = await change(app, await signIn(terminal, options));
        if (options.json) printJson({ ok, code, message });
        else printText(message);
        if (ok) return 0;
        return code === 'key_not_trusted' ? 2 : 1;
      }),
    ),
  );
}
