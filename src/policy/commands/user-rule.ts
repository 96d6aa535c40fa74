/**
 * Rules that a person adds in the machine-scoped settings. Strictest wins: a user's `deny` and `ask` come on top of everything, a user's
 * `allow` only lifts the default refusal of what no rule knows, never a rule that denies.
 */
import * as z from 'zod';

export const commandSurfaces = ['ssh', 'readonly_bash', 'workspace_command'] as const;
export type CommandSurface = (typeof commandSurfaces)[number];

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
