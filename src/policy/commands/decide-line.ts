/** What the two read-only surfaces share: every command of a line against the rules of its program. Default deny; strictest wins. */
import { allow, ask, type Decision, deny, strictest } from '#kernel/decision';
import type { Pipeline, SimpleCommand, Word } from '../ssh/line.ts';
import { placed } from './command-decision.ts';
import { type FileOperand, type Match, matchRule } from './match-rule.ts';
import { isNeverLifted } from './never-lifted.ts';
import type { ProgramRule } from './program-rule.ts';
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
    commands.map((command, index) => judgeCommand(command, { rules, userRules, piped: index > 0, input: command.input })),
  );
}

interface Setting {
  readonly rules: RulesByProgram;
  readonly userRules: readonly UserRule[];
  /** Something is piped into it. */
  readonly piped: boolean;
  /** The file behind `<`; whoever takes such lines looks at it. */
  readonly input: Word | undefined;
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

function builtIn(name: Word, rest: readonly Word[], { rules, piped, input }: Setting): BuiltIn {
  const candidates = name.bare ? rules.get(name.text) : undefined;
  if (candidates === undefined) return refusal(name.offset, unknownProgram(name, rules), ['default-deny']);
  const misses: Missed[] = [];
  for (const rule of candidates) {
    const match = inPipeline(rule, matchRule(rule, name, rest), { name, piped, input });
    if (match.ok) return { ...match, decision: allow('allowed', `\`${name.text}\`: ${rule.justification}`, [rule.id]) };
    misses.push(match);
  }
  // The rule that fitted furthest says what is wrong.
  const [furthest] = misses.toSorted((a, b) => b.offset - a.offset);
  const ids = candidates.map((rule) => rule.id);
  return furthest === undefined ? refusal(name.offset, `\`${name.text}\``, ids) : refusal(furthest.offset, furthest.message, ids);
}

type Missed = Extract<Match, { ok: false }>;

/** A filter reads what is piped into it and then no file; without a pipe it reads files. */
function inPipeline(rule: ProgramRule, match: Match, { name, piped, input }: Standing): Match {
  if (!match.ok) return match;
  if (input !== undefined) return withInput(rule, match, { name, piped, input }) ?? match;
  const fault = piped ? behindPipe(rule, match, name) : atStart(rule, match, name);
  return fault ?? match;
}

type Standing = Pick<Setting, 'piped' | 'input'> & { readonly name: Word };

/** A filter at the start of a pipeline that reads `< FILE` and nothing else. */
function withInput(
  rule: ProgramRule,
  { files, options }: Matched,
  { name, piped, input }: Standing & { readonly input: Word },
): Missed | undefined {
  const others = files.length > 0 || rule.worksAlone?.some((option) => options.has(option));
  if (rule.role === 'filter' && !piped && !others) return undefined;
  return { ok: false, offset: input.offset, message: `a file behind \`<\` for \`${name.text}\`, which reads something else` };
}

type Matched = Extract<Match, { ok: true }>;

function behindPipe(rule: ProgramRule, { files: [file] }: Matched, name: Word): Missed | undefined {
  if (rule.role === 'source')
    return { ok: false, offset: name.offset, message: `\`${name.text}\` behind a pipe, where only filters stand` };
  return file === undefined ? undefined : { ok: false, offset: file.word.offset, message: `a file for \`${name.text}\` behind a pipe` };
}

function atStart(rule: ProgramRule, { files, options }: Matched, name: Word): Missed | undefined {
  const alone = rule.role === 'source' || files.length > 0 || rule.worksAlone?.some((option) => options.has(option));
  return alone ? undefined : { ok: false, offset: name.offset, message: `\`${name.text}\` without a file, which would wait for input` };
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
