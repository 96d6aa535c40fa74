/** Does one command fit one rule? Every word must be accounted for. */

import type { Word } from '../ssh/line.ts';
import type { FileUse, ProgramRule, Takes, ValueKind } from './program-rule.ts';

export interface FileOperand {
  readonly word: Word;
  readonly use: FileUse;
  /** In which option or place it stands, for people. */
  readonly kind: ValueKind;
}

export type Match =
  | {
      readonly ok: true;
      readonly options: ReadonlySet<string>;
      readonly operands: readonly Word[];
      readonly files: readonly FileOperand[];
      readonly terminator?: Word;
    }
  | { readonly ok: false; readonly offset: number; readonly message: string };

/** Thrown and caught here only. */
class Misfit extends Error {
  readonly offset: number;

  constructor(word: Word, message: string) {
    super(message);
    this.offset = word.offset;
  }
}

interface State {
  readonly rule: ProgramRule;
  /** The words after the program's name, and the next one's index. */
  readonly words: readonly Word[];
  index: number;
  /** The `--` behind which no options stand. */
  terminator: Word | undefined;
  sawWord: boolean;
  /** Uses of `countsAsOperand`. */
  alsoOperands: number;
  readonly options: Set<string>;
  readonly operands: Word[];
  readonly files: FileOperand[];
}

/** `words` without the program's name; `name` is it. */
export function matchRule(rule: ProgramRule, name: Word, words: readonly Word[]): Match {
  const state: State = {
    rule,
    words,
    index: 0,
    terminator: undefined,
    sawWord: false,
    alsoOperands: 0,
    options: new Set(),
    operands: [],
    files: [],
  };
  try {
    while (state.index < words.length) step(state, take(state));
    const operands = afterVerb(state, name);
    checkOperands(state, operands, name);
    checkRequired(state, name);
    const { options, files, terminator } = state;
    return { ok: true, options, operands, files, ...(terminator === undefined ? {} : { terminator }) };
  } catch (thrown) {
    if (thrown instanceof Misfit) return { ok: false, offset: thrown.offset, message: thrown.message };
    throw thrown;
  }
}

function take(state: State): Word {
  const word = state.words[state.index];
  if (word === undefined) throw new RangeError('no word left');
  state.index += 1;
  return word;
}

function step(state: State, word: Word): void {
  if (state.terminator !== undefined) operand(state, word);
  else if (isKeyword(state, word)) keyword(state, word, own(state.rule.words, word.text) ?? null);
  else if (word.text === '--') terminate(state, word);
  else if (!word.text.startsWith('-') || word.text === '-') operand(state, word);
  else dashWord(state, word);
}

/** SECURITY: for programs that read their words as an expression (`find -- . -delete`) a `--` ends nothing. */
function terminate(state: State, word: Word): void {
  if (state.rule.words !== undefined) throw new Misfit(word, `\`--\`, which ${state.rule.program} does not take as others do`);
  state.terminator = word;
}

function dashWord(state: State, word: Word): void {
  const { optionsFirst, program, count } = state.rule;
  if (optionsFirst && state.operands.length > 0)
    throw new Misfit(word, `\`${shown(word)}\` after an operand, where ${program} takes no options`);
  noPattern(word);
  if (word.text.startsWith('--')) longOption(state, word);
  else if (!(count && /^-\d{1,6}$/.test(word.text))) shortOptions(state, word);
}

function own<T>(record: Readonly<Record<string, T>> | undefined, key: string): T | undefined {
  return record !== undefined && Object.hasOwn(record, key) ? record[key] : undefined;
}

/** The sequence of verbs comes first: a keyword cannot stand in it, and with `optionsFirst` no option behind its start. */
function isKeyword(state: State, { text }: Word): boolean {
  const { words, optionsFirst } = state.rule;
  if (words === undefined || !Object.hasOwn(words, text)) return false;
  return text.startsWith('-') ? !(optionsFirst && state.operands.length > 0) : !verbPending(state);
}

function verbPending({ rule, operands }: State): boolean {
  return rule.verbs !== undefined && !rule.verbs.some((verb) => verb.length <= operands.length);
}

function operand(state: State, word: Word): void {
  if (state.rule.operandsFirst && state.sawWord)
    throw new Misfit(word, `\`${shown(word)}\`, which is not known to ${state.rule.program} here`);
  state.operands.push(word);
}

function keyword(state: State, word: Word, takes: Takes): void {
  noPattern(word);
  state.sawWord = true;
  if (state.rule.countsAsOperand?.includes(word.text)) state.alsoOperands += 1;
  state.options.add(word.text);
  if (takes !== null) value(state, word, takes, nextValue(state, word));
}

function longOption(state: State, word: Word): void {
  const equals = word.text.indexOf('=');
  const name = equals < 0 ? word.text : word.text.slice(0, equals);
  const attached = equals < 0 ? undefined : { ...word, text: word.text.slice(equals + 1) };
  if (own(state.rule.optional, name) !== undefined) optionalValue(state, { option: word, name, attached });
  else plainLongOption(state, { option: word, name, attached });
}

function plainLongOption(state: State, { option, name, attached }: OptionalUse): void {
  const takes = own(state.rule.longs, name);
  if (takes === undefined) throw unknownOption(state, option, name);
  state.options.add(name);
  if (takes !== null) value(state, option, takes, attached ?? nextValue(state, option));
  else if (attached !== undefined) throw new Misfit(option, `a value for \`${name}\`, which takes none`);
}

/** `-abc` letter by letter; what follows a letter that takes a value is its value. */
function shortOptions(state: State, word: Word): void {
  for (let at = 1; at < word.text.length; at += 1) {
    const rest = word.text.slice(at + 1);
    const attached = rest === '' ? undefined : { ...word, text: rest };
    if (shortOption(state, { option: word, name: `-${word.text.charAt(at)}`, attached }) === 'rest-taken') return;
  }
}

function shortOption(state: State, use: OptionalUse): 'rest-taken' | 'flag' {
  const letter = use.name.slice(1);
  const kind = own(state.rule.values, letter);
  if (own(state.rule.optional, use.name) !== undefined) optionalValue(state, use);
  else if (kind !== undefined) value(state, use.option, kind, use.attached ?? nextValue(state, use.option));
  else if (!state.rule.flags?.includes(letter)) throw unknownOption(state, use.option, use.name);
  state.options.add(use.name);
  return kind === undefined && own(state.rule.optional, use.name) === undefined ? 'flag' : 'rest-taken';
}

interface OptionalUse {
  readonly option: Word;
  readonly name: string;
  readonly attached: Word | undefined;
}

function optionalValue(state: State, { option, name, attached }: OptionalUse): void {
  const takes = state.rule.optional?.[name];
  state.options.add(name);
  if (takes === undefined) return;
  if (attached !== undefined) {
    value(state, option, takes.kind, attached);
    return;
  }
  const next = state.words[state.index];
  if (takes.separate && next !== undefined && takes.kind.accepts(next.text)) state.index += 1;
}

function nextValue(state: State, option: Word): Word {
  if (state.index >= state.words.length) throw new Misfit(option, `\`${shown(option)}\` without its value`);
  return take(state);
}

function value(state: State, option: Word, kind: ValueKind, word: Word): void {
  if (!kind.accepts(word.text)) throw new Misfit(word, `\`${shown(word)}\` after \`${shown(option)}\`, where ${kind.name} must stand`);
  note(state, word, kind);
}

function note(state: State, word: Word, kind: ValueKind): void {
  if (kind.file !== undefined) state.files.push({ word, use: kind.file, kind });
}

/** Checks the verb and gives the operands behind it. */
function afterVerb(state: State, name: Word): readonly Word[] {
  const { verbs, program } = state.rule;
  if (verbs === undefined) return state.operands;
  const texts = state.operands.map((word) => word.text);
  // SECURITY: an empty verb stands for the program alone; `systemctl restart` must not pass as `systemctl` with a unit named restart.
  const fits = (verb: readonly string[]) => (verb.length === 0 ? texts.length === 0 : verb.every((word, index) => texts[index] === word));
  const fitting = verbs.filter(fits).toSorted((a, b) => b.length - a.length)[0];
  if (fitting !== undefined) return state.operands.slice(fitting.length);
  const known = verbs.map((verb) => `\`${[program, ...verb].join(' ')}\``).join(', ');
  throw new Misfit(state.operands[0] ?? name, `${program} other than as ${known}`);
}

function checkOperands(state: State, operands: readonly Word[], name: Word): void {
  const firstKind = ownFirstKind(state);
  if (firstKind !== undefined && operands.length === 0) throw new Misfit(name, `${state.rule.program} without ${firstKind.name}`);
  for (const [index, word] of operands.entries())
    checkOperand(state, word, (index === 0 ? firstKind : undefined) ?? state.rule.operands?.kind);
  checkCount(state, operands, { name, rest: operands.length - (firstKind === undefined ? 0 : 1) + state.alsoOperands });
}

/** The kind of the first operand, unless an option gave it. */
function ownFirstKind({ rule: { first }, options }: State): ValueKind | undefined {
  return first?.unless.some((option) => options.has(option)) ? undefined : first?.kind;
}

function checkCount(state: State, operands: readonly Word[], { name, rest }: { readonly name: Word; readonly rest: number }): void {
  const { operands: allowed, program } = state.rule;
  const { min = 0, max = 0 } = allowed ?? {};
  const last = operands.at(-1) ?? name;
  if (rest > max) throw new Misfit(last, `\`${shown(last)}\`, which is one operand too many for ${program}`);
  if (rest < min) throw new Misfit(name, `${program} without ${allowed?.kind.name ?? 'an operand'}`);
}

function checkOperand(state: State, word: Word, kind: ValueKind | undefined): void {
  if (kind === undefined) throw new Misfit(word, `\`${shown(word)}\`, where ${state.rule.program} takes no operand`);
  if (!kind.accepts(word.text)) throw new Misfit(word, `\`${shown(word)}\`, where ${kind.name} must stand`);
  note(state, word, kind);
}

function checkRequired(state: State, name: Word): void {
  const missing = state.rule.requires?.find((group) => !group.some((option) => state.options.has(option)));
  if (missing !== undefined)
    throw new Misfit(name, `${state.rule.program} without ${missing.map((option) => `\`${option}\``).join(' or ')}`);
  const clash = state.rule.exclusive?.map((group) => group.filter((option) => state.options.has(option))).find((given) => given.length > 1);
  if (clash !== undefined) throw new Misfit(name, `\`${clash.slice(0, 2).join('` together with `')}\``);
}

/** An option that depends on which files exist is no option that was checked. */
function noPattern(word: Word): void {
  // `--include=*.ts` names no file: it stands for itself.
  const start = word.glob?.[0];
  if (start !== undefined && 'literal' in start && /^--[a-z-]+=/.test(start.literal)) return;
  if (word.glob !== undefined) throw new Misfit(word, `a pattern in the option \`${shown(word)}\`; quote it`);
}

function unknownOption(state: State, word: Word, name: string): Misfit {
  const inside = name === word.text || word.text.startsWith(`${name}=`) ? '' : ` in \`${shown(word)}\``;
  return new Misfit(word, `\`${name.slice(0, 60)}\`${inside}, which is not among the options known to be safe for ${state.rule.program}`);
}

function shown({ text }: Word): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
