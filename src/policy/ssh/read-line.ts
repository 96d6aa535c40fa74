/**
 * The lexer of the strict subset (POSIX.1-2024 §2.2 to §2.10, of which almost everything is refused): simple commands, `|`, the
 * separators of the dialect, quotes, a few backslashes, patterns, and `2>/dev/null` or `2>&1`; where the dialect has files also `< FILE`
 * and `--include={a,b}`.
 */

import type { Dialect, ErrorOutput, Lexed, Pipeline, Separator, SimpleCommand, Word } from './line.ts';
import { Cursor, LexFault, readAlternatives, readWord } from './read-word.ts';

/** A line as pipelines of decoded commands, or the place where it leaves the subset. */
export function readStrictLine(text: string, dialect: Dialect): Lexed {
  try {
    return { ok: true, pipelines: readLine(text, dialect) };
  } catch (thrown) {
    if (thrown instanceof LexFault) return { ok: false, refusal: { offset: thrown.offset, message: thrown.message } };
    throw thrown;
  }
}

function readLine(text: string, dialect: Dialect): readonly Pipeline[] {
  if (text.length > dialect.limits.length)
    throw new LexFault(dialect.limits.length, `a line longer than ${dialect.limits.length} characters`);
  const unfit = unfitCharacter(text, dialect.nonAscii);
  if (unfit !== undefined) throw new LexFault(unfit.offset, unfit.message);
  const cursor = new Cursor(text, dialect.nonAscii);
  const pipelines = [readPipeline(cursor, dialect, undefined)];
  let count = pipelines[0]?.commands.length ?? 0;
  while (!cursor.atEnd) {
    const pipeline = readPipeline(cursor, dialect, readSeparator(cursor, dialect.separators));
    pipelines.push(pipeline);
    count += pipeline.commands.length;
    if (count > dialect.limits.commands) throw new LexFault(cursor.at, `more than ${dialect.limits.commands} commands`);
  }
  return pipelines;
}

function readPipeline(cursor: Cursor, dialect: Dialect, after: Separator | undefined): Pipeline {
  const commands = [readCommand(cursor, dialect)];
  while (cursor.next === '|' && cursor.second !== '|') {
    if (cursor.second === '&') throw cursor.fault('`|&`, which is not taken: write `2>&1 |`');
    cursor.take(1);
    commands.push(readCommand(cursor, dialect));
    if (commands.length > dialect.limits.commands) throw cursor.fault(`more than ${dialect.limits.commands} commands`);
  }
  return { commands, ...(after === undefined ? {} : { after }) };
}

function readSeparator(cursor: Cursor, separators: readonly Separator[]): Separator {
  const found = ['&&', '||', ';;', ';&', ';', '&'].find((operator) => cursor.startsWith(operator));
  if (found === undefined) throw cursor.fault(`\`${cursor.next}\`, which is not taken here`);
  const separator = separators.find((allowed) => allowed === found);
  if (separator === undefined)
    throw cursor.fault(`\`${found}\`, which is not taken; between commands stand ${listed(separators)} and \`|\``);
  cursor.take(found.length);
  return separator;
}

function readCommand(cursor: Cursor, dialect: Dialect): SimpleCommand {
  const draft: Draft = { words: [] };
  cursor.skipBlanks();
  while (!cursor.atEnd && !'|&;'.includes(cursor.next)) {
    readPart(cursor, draft, dialect.files === true);
    if (draft.words.length > dialect.limits.words) throw cursor.fault(`more than ${dialect.limits.words} words in one command`);
    cursor.skipBlanks();
  }
  if (draft.words.length === 0) throw cursor.fault('no command where one must stand');
  return draft;
}

/** A command while it is read. */
interface Draft {
  readonly words: Word[];
  errors?: ErrorOutput;
  input?: Word;
}

function readPart(cursor: Cursor, draft: Draft, files: boolean): void {
  const errors = readRedirection(cursor);
  if (errors !== undefined) {
    if (draft.errors !== undefined) throw cursor.fault('a second redirection of the error output');
    draft.errors = errors;
  } else if (files && cursor.next === '<' && draft.words.length > 0) readInput(cursor, draft);
  else draft.words.push(...(files && choosesFiles(cursor) ? readAlternatives(cursor) : [readWord(cursor)]));
}

/** The word begins as an option of grep whose value is a pattern for names. */
function choosesFiles({ text, at }: Cursor): boolean {
  return ['--include=', '--exclude=', '--exclude-dir='].some((option) => text.startsWith(option, at));
}

/** SECURITY: only at the start of a word (`3<x` opens another descriptor), and not `<<`, `<&`, `<>`, `<(`. */
function readInput(cursor: Cursor, draft: Draft): void {
  if (!/^[\w ./'"-]$/.test(cursor.second)) throw cursor.fault('`<`, which would redirect; only `< FILE` is taken');
  if (draft.input !== undefined) throw cursor.fault('a second input');
  cursor.take(1);
  cursor.skipBlanks();
  const start = cursor.at;
  if (cursor.atEnd || '|&;<'.includes(cursor.next)) throw cursor.fault('no file behind `<`');
  const word = readWord(cursor);
  if (word.glob !== undefined || word.text === '') throw cursor.fault('a pattern or nothing behind `<`', start);
  draft.input = word;
}

/** Only at the start of a word: `foo2>/dev/null` would redirect the standard output of `foo2`. */
function readRedirection(cursor: Cursor): ErrorOutput | undefined {
  if (cursor.takeMatch(/2> ?\/dev\/null(?=[ |&;]|$)/y)) return '2>/dev/null';
  if (cursor.takeMatch(/2>&1(?=[ |&;]|$)/y)) return '2>&1';
  return undefined;
}

function listed(separators: readonly Separator[]): string {
  return separators.map((separator) => `\`${separator}\``).join(', ');
}

/** Letters with their marks, digits; inside quotes also punctuation and symbols (checked by the word reader). */
const visible = /[\p{L}\p{M}\p{N}\p{P}\p{S}]/u;
const hidden = /[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}]/u;

/** The first character that is not visible text of one line, or undefined. */
function unfitCharacter(text: string, nonAscii: boolean): { readonly offset: number; readonly message: string } | undefined {
  // The common line is printable ASCII: one test.
  if (/^[ -~]*$/.test(text)) return undefined;
  let offset = 0;
  for (const character of text) {
    if (!isFit(character, nonAscii))
      return { offset, message: `the character ${codePointName(character)}, which is not visible ASCII text` };
    offset += character.length;
  }
  return undefined;
}

function isFit(character: string, nonAscii: boolean): boolean {
  if (/^[ -~]$/.test(character)) return true;
  return nonAscii && visible.test(character) && !hidden.test(character);
}

function codePointName(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}
