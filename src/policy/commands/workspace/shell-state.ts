/**
 * Builtins that change what the words behind them mean: variables, positional parameters, jobs, the shell itself. SECURITY: they are looked for by
 * their plain names, so that one that is written otherwise (`\\unset x`, `command read x`, `$s`) would not be seen.
 */
import type { Decision } from '#kernel/decision';
import { askFor } from './findings.ts';

const builtins =
  /^(?:read|mapfile|readarray|unset|export|declare|typeset|local|readonly|getopts|let|set|shift|shopt|eval|source|\.|trap|wait|exit|exec|return|disown|break|continue)$/;

/** What speaks against `program` written as `text`, absent behind `command` and the like. */
export function judgeSpelling(program: string, text: string | undefined, offset: number): readonly Decision[] {
  if (text === program || !builtins.test(program)) return [];
  return [askFor('unclear', offset, `\`${program}\` changes what the rest means; call it by its plain name`)];
}
