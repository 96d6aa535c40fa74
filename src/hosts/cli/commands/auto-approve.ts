/** `banksman auto-approve list|set|remove`: yellow calls and destinations that people settled in advance. */
import type { AutoApproveRule } from '#app/app';
import { type AutoApproveAction, autoApproveActions, defaultRuleLifeMs } from '#kernel/security';
import { showPlainly } from '#kernel/text';
import { changeSetting } from '../change-setting.ts';
import { badUsage, type CommandOptions, operands } from '../command-line.ts';
import { printError, printJson, printText } from '../output.ts';
import { withApp } from '../session.ts';

const unitMs: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

export async function runAutoApprove([verb, ...words]: readonly string[], options: CommandOptions): Promise<number> {
  if (verb === 'list') return list(words, options);
  if (verb === 'set') return set(words, options);
  if (verb === 'remove') return remove(words, options);
  throw badUsage(`\`auto-approve\` takes \`list\`, \`set\` or \`remove\`, not \`${verb ?? 'nothing'}\``);
}

async function list(words: readonly string[], options: CommandOptions): Promise<number> {
  operands(words, []);
  return withApp(options, async (app) => {
    const rules = await app.security.rules();
    if (options.json) printJson(rules.map(forPrograms));
    else for (const rule of rules) printText(line(rule));
    if (rules.length === 0 && !options.json) printError('there are no rules');
    return 0;
  });
}

async function set(words: readonly string[], options: CommandOptions): Promise<number> {
  const [pattern = '', action = ''] = operands(words, ['PATTERN', autoApproveActions.join('|')]);
  const rule = { pattern, action: actionOf(action), lifeMs: lifeOf(options.expires) };
  return changeSetting('setting an auto-approve rule', options, (security, signer) => security.setRule(rule, signer));
}

async function remove(words: readonly string[], options: CommandOptions): Promise<number> {
  const [pattern = ''] = operands(words, ['PATTERN']);
  return changeSetting('removing an auto-approve rule', options, (security, signer) => security.removeRule(pattern, signer));
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
