/**
 * Rules that a person adds in the machine-scoped settings, and the examples that they carry, tried when the rules are loaded. Strictest wins:
 * a `deny` and an `ask` come on top of everything. An `allow` only lifts, over ssh, the refusal of a program that no page knows; in the
 * workspace, the question where commands do not run over a view.
 */

import * as z from 'zod';
import { allow, ask, type Decision, deny } from '#kernel/decision';
import { english, say } from '#kernel/text/message';
import type { Dialect } from './ssh/line.ts';
import { readStrictLine } from './ssh/read-line.ts';

const commandSurfaces = ['ssh', 'readonly_bash', 'workspace_command'] as const;

const word = z
  .string()
  .min(1)
  .max(200)
  .regex(/^[\x21-\x7e]+$/, 'must be one word of visible ASCII characters');

/** The shape of one entry of `commandRules`. Absent `args` or empty: any arguments, if `more` is `any`, none if it is `none`. */
export const userRuleSchema = z.strictObject({
  id: z.string().regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, 'must be lower-case letters, digits, `.`, `_` or `-`'),
  surface: z.enum(commandSurfaces),
  effect: z.enum(['allow', 'ask', 'deny']),
  /** A bare name; a path is another program and must be given in full. */
  program: word,
  /** The words that must follow the program, exactly and in this order. */
  args: z.array(word).max(32).default([]),
  /** What may follow those words. */
  more: z.enum(['none', 'any']).default('none'),
  justification: z.string().min(1).max(500),
  match: z.array(z.string().min(1)).min(1),
  notMatch: z.array(z.string().min(1)).default([]),
});
export type UserRule = z.output<typeof userRuleSchema>;

/** Whether the decoded words of one command fall under the rule. */
export function fitsUserRule(rule: UserRule, words: readonly string[]): boolean {
  const [program, ...rest] = words;
  if (program !== rule.program || !rule.args.every((arg, index) => rest[index] === arg)) return false;
  return rule.more === 'any' || rest.length === rule.args.length;
}

/** What the rule says where it fits. */
export function userDecision({ id, effect, justification }: UserRule): Decision {
  const why = say`the rule \`${id}\` of the settings: ${justification}`;
  const rules = [`user.${id}`];
  if (effect === 'ask') return ask('confirmation_required', why, rules);
  return effect === 'allow' ? allow('allowed', english(why), rules) : deny('COMMAND_BLOCKED', english(why), rules);
}

const oneCommand: Dialect = { nonAscii: true, limits: { length: 2_000, words: 64, commands: 1 } };

/** All rules of a configuration: no id twice, and every example agrees with its rule. */
export const userRulesSchema = z.array(userRuleSchema).superRefine((rules, context) => {
  for (const [index, rule] of rules.entries()) {
    if (rules.findIndex((other) => other.id === rule.id) !== index)
      context.addIssue({ code: 'custom', path: [index, 'id'], message: `two rules are named \`${rule.id}\`` });
    for (const message of exampleFaults(rule)) context.addIssue({ code: 'custom', path: [index], message });
  }
});

function exampleFaults(rule: UserRule): readonly string[] {
  return [
    ...rule.match
      .filter((line) => !fitsLine(rule, line))
      .map((line) => `rule \`${rule.id}\`: its example \`${line}\` does not fall under it`),
    ...rule.notMatch
      .filter((line) => fitsLine(rule, line))
      .map((line) => `rule \`${rule.id}\`: \`${line}\` falls under it, against its \`notMatch\``),
  ];
}

function fitsLine(rule: UserRule, line: string): boolean {
  const read = readStrictLine(line, oneCommand);
  const words = read.ok ? read.pipelines[0]?.commands[0]?.words.map(({ text }) => text) : undefined;
  return words !== undefined && fitsUserRule(rule, words);
}
