/** What the two read-only surfaces share: every command of a line against the rules of its program. Default deny; strictest wins. */
import { allow, ask, type Decision, deny, strictest } from '#kernel/decision';
import { placed } from './command-decision.ts';
import { type FileOperand, type Match, matchRule } from './match-rule.ts';
import { isNeverLifted } from './never-lifted.ts';
import type { ProgramRule } from './program-rule.ts';
import type { Pipeline, SimpleCommand, Word } from './strict/strict-line.ts';
import { fitsUserRule, type UserRule } from './user-rule.ts';

export type RulesByProgram = ReadonlyMap<string, readonly ProgramRule[]>;

export interface Judged {
  readonly command: SimpleCommand;
  readonly decision: Decision;
  /** The files that it names; empty where a user's rule allowed it. */
  readonly files: readonly FileOperand[];
  readonly options: ReadonlySet<string>;
  /** The `--` behind which no options stand. */
  readonly terminator?: Word;
}

export function byProgram(rules: readonly ProgramRule[]): RulesByProgram {
  return Map.groupBy(rules, (rule) => rule.program);
}

/** Judges each command; `index` 0 of a pipeline has no input. */
export function judgeLine(pipelines: readonly Pipeline[], rules: RulesByProgram, userRules: readonly UserRule[]): readonly Judged[] {
  return pipelines.flatMap(({ commands }) =>
    commands.map((command, index) => judgeCommand(command, { rules, userRules, piped: index > 0 })),
  );
}

interface Setting {
  readonly rules: RulesByProgram;
  readonly userRules: readonly UserRule[];
  /** Something is piped into it. */
  readonly piped: boolean;
}

function judgeCommand(command: SimpleCommand, setting: Setting): Judged {
  const words = command.words.map((word) => word.text);
  const [name, ...rest] = command.words;
  if (name === undefined) throw new RangeError('a command has a name');
  const users = setting.userRules.filter((rule) => fitsUserRule(rule, words));
  const stricter = users.filter((rule) => rule.effect !== 'allow').map(userDecision);
  const built = builtIn(name, rest, setting);
  const lifted =
    built.decision.effect === 'deny' && name.bare && !isNeverLifted(words) ? users.find((rule) => rule.effect === 'allow') : undefined;
  if (lifted !== undefined) return { command, files: [], options: new Set(), decision: strictest([userDecision(lifted), ...stricter]) };
  return { ...built, command, decision: strictest([built.decision, ...stricter]) };
}

type BuiltIn = Pick<Judged, 'decision' | 'files' | 'options' | 'terminator'>;

function builtIn(name: Word, rest: readonly Word[], { rules, piped }: Setting): BuiltIn {
  const candidates = name.bare ? rules.get(name.text) : undefined;
  if (candidates === undefined) return refusal(name.offset, unknownProgram(name, rules), ['default-deny']);
  let furthest: Extract<Match, { ok: false }> | undefined;
  for (const rule of candidates) {
    const match = inPipeline(rule, matchRule(rule, name, rest), { name, piped });
    if (match.ok) return { ...match, decision: allow('allowed', `\`${name.text}\`: ${rule.justification}`, [rule.id]) };
    if (furthest === undefined || match.offset > furthest.offset) furthest = match;
  }
  return refusal(
    furthest?.offset ?? name.offset,
    furthest?.message ?? `\`${name.text}\``,
    candidates.map((rule) => rule.id),
  );
}

/** A filter reads what is piped into it and then no file; without a pipe it reads files. */
function inPipeline(rule: ProgramRule, match: Match, { name, piped }: { readonly name: Word; readonly piped: boolean }): Match {
  if (!match.ok) return match;
  const misfit = (offset: number, message: string): Match => ({ ok: false, offset, message });
  if (piped && rule.role === 'source') return misfit(name.offset, `\`${name.text}\` behind a pipe, where only filters stand`);
  const [file] = match.files;
  if (piped && file !== undefined) return misfit(file.word.offset, `a file for \`${name.text}\` behind a pipe`);
  const alone = rule.role === 'source' || match.files.length > 0 || rule.worksAlone?.some((option) => match.options.has(option));
  return piped || alone ? match : misfit(name.offset, `\`${name.text}\` without a file, which would wait for input`);
}

function unknownProgram(name: Word, rules: RulesByProgram): string {
  if (!name.bare) return 'a program name with quotes, backslashes or a pattern';
  if (name.text.includes('/')) return `\`${name.text.slice(0, 60)}\`: a program named by a path is not the known one`;
  if (name.text.includes('=')) return 'an assignment, which would change how programs run';
  return `\`${name.text.slice(0, 60)}\`, which is not among the known read-only programs: ${[...rules.keys()].join(', ')}`;
}

function refusal(offset: number, message: string, rules: readonly string[]): BuiltIn {
  return { decision: deny('COMMAND_BLOCKED', placed(offset, message), rules), files: [], options: new Set() };
}

function userDecision(rule: UserRule): Decision {
  const make = { allow, ask, deny }[rule.effect];
  const code = { allow: 'allowed', ask: 'confirmation_required', deny: 'COMMAND_BLOCKED' }[rule.effect];
  return make(code, `the rule \`${rule.id}\` of the settings: ${rule.justification}`, [`user.${rule.id}`]);
}
