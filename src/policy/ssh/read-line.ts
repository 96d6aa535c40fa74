/**
 * The lexer of the strict subset (POSIX.1-2024 §2.2 to §2.10, of which almost everything is refused): simple commands, `|`, the
 * separators `&&`, `||` and `;`, quotes, a few backslashes, patterns, and `2>/dev/null` or `2>&1`.
 */

import { Cursor } from '../cursor.ts';
import {
  type Dialect,
  type ErrorOutput,
  type GlobPart,
  type Lexed,
  misfit,
  orRefusal,
  type Pipeline,
  type Separator,
  type SimpleCommand,
  type Word,
} from './line.ts';

/** A line as pipelines of decoded commands, or the place where it leaves the subset. */
export function readStrictLine(text: string, dialect: Dialect): Lexed {
  return orRefusal(() => ({ ok: true, pipelines: readLine(text, dialect) }));
}

function readLine(text: string, dialect: Dialect): readonly Pipeline[] {
  const { length, commands } = dialect.limits;
  if (text.length > length) throw misfit({ offset: length }, `a line longer than ${length} characters`);
  refuseUnseen(text, dialect.nonAscii);
  const cursor = new LineCursor(text);
  const pipelines = [readPipeline(cursor, dialect, undefined)];
  let count = pipelines[0]?.commands.length ?? 0;
  while (!cursor.atEnd) {
    const pipeline = readPipeline(cursor, dialect, readSeparator(cursor));
    pipelines.push(pipeline);
    count += pipeline.commands.length;
    if (count > commands) throw cursor.fault(`more than ${commands} commands`);
  }
  return pipelines;
}

function readPipeline(cursor: LineCursor, dialect: Dialect, after: Separator | undefined): Pipeline {
  const commands = [readCommand(cursor, dialect)];
  while (cursor.next === '|' && cursor.second !== '|') {
    if (cursor.second === '&') throw cursor.fault('`|&`, which is not taken: write `2>&1 |`');
    cursor.take(1);
    commands.push(readCommand(cursor, dialect));
    if (commands.length > dialect.limits.commands) throw cursor.fault(`more than ${dialect.limits.commands} commands`);
  }
  return { commands, ...(after === undefined ? {} : { after }) };
}

const separators: readonly Separator[] = ['&&', '||', ';'];

function readSeparator(cursor: LineCursor): Separator {
  const { at } = cursor;
  const found = cursor.takeMatch(/&&|\|\||;[;&]?|&/y) ?? cursor.next;
  const separator = separators.find((allowed) => allowed === found);
  if (separator === undefined)
    throw cursor.fault(`\`${found}\`, which is not taken; between commands stand \`&&\`, \`||\`, \`;\` and \`|\``, at);
  return separator;
}

function readCommand(cursor: LineCursor, dialect: Dialect): SimpleCommand {
  const draft: CommandDraft = { words: [] };
  cursor.takeMatch(/ +/y);
  while (!cursor.atEnd && !'|&;'.includes(cursor.next)) {
    readPart(cursor, draft);
    if (draft.words.length > dialect.limits.words) throw cursor.fault(`more than ${dialect.limits.words} words in one command`);
    cursor.takeMatch(/ +/y);
  }
  if (draft.words.length === 0) throw cursor.fault('no command where one must stand');
  return draft;
}

/** A command while it is read. */
interface CommandDraft {
  readonly words: Word[];
  errors?: ErrorOutput;
}

function readPart(cursor: LineCursor, draft: CommandDraft): void {
  const errors = readRedirection(cursor);
  if (errors !== undefined) {
    if (draft.errors !== undefined) throw cursor.fault('a second redirection of the error output');
    draft.errors = errors;
  } else draft.words.push(...readWords(cursor));
}

/** Only at the start of a word: `foo2>/dev/null` would redirect the standard output of `foo2`. */
function readRedirection(cursor: LineCursor): ErrorOutput | undefined {
  if (cursor.takeMatch(/2> ?\/dev\/null(?=[ |&;]|$)/y)) return '2>/dev/null';
  if (cursor.takeMatch(/2>&1(?=[ |&;]|$)/y)) return '2>&1';
  return undefined;
}

/** Letters with their marks, digits; inside quotes also punctuation and symbols (checked by the word reader). */
const visible = /[\p{L}\p{M}\p{N}\p{P}\p{S}]/u;
const hidden = /[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}]/u;

/** Refuses the first character that is not visible text of one line. */
function refuseUnseen(text: string, nonAscii: boolean): void {
  // The common line is printable ASCII: one test.
  if (/^[ -~]*$/.test(text)) return;
  let offset = 0;
  for (const character of text) {
    if (!isFit(character, nonAscii)) throw misfit({ offset }, `the character ${codePointName(character)}, which is not visible ASCII text`);
    offset += character.length;
  }
}

function isFit(character: string, nonAscii: boolean): boolean {
  if (/^[ -~]$/.test(character)) return true;
  return nonAscii && visible.test(character) && !hidden.test(character);
}

function codePointName(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}

// One word of the strict subset, decoded.

class LineCursor extends Cursor {
  fault(construct: string, offset = this.at): Error {
    return misfit({ offset }, construct);
  }
}

/** A word while it is read. */
interface Draft {
  parts: GlobPart[];
  bare: boolean;
}

type Reader = (cursor: LineCursor, draft: Draft) => void;

const readers: Readonly<Record<string, Reader>> = {
  "'": readSingleQuoted,
  '"': readDoubleQuoted,
  '\\': readEscaped,
  '*': readWild,
  '?': readWild,
  '[': readBracket,
  '~': readTilde,
  '#': readHash,
  $: readDollar,
};

/** Said of each character that would start what is not in the subset. */
const refused: Readonly<Record<string, string>> = {
  '`': 'a backquote, which would run another command',
  '<': '`<`, which would redirect',
  '>': '`>`, which would redirect; only `2>/dev/null` and `2>&1` are taken',
  '(': '`(`, which would open a group; quote it to mean the character',
  ')': '`)`, which would close a group; quote it to mean the character',
  '{': '`{`, which would expand; quote it to mean the character',
  '}': '`}`, which would expand; quote it to mean the character',
};

const plainRun = /[A-Za-z0-9_./:,=+@%^!\]-]+/y;
const foreignRun = /[\p{L}\p{M}\p{N}]+/uy;

const mostAlternatives = 64;

/** The word that starts here, or the words that `{a,b}` in it stands for, in the order of bash. */
function readWords(cursor: LineCursor): readonly Word[] {
  const offset = cursor.at;
  let drafts: readonly Draft[] = [{ parts: [], bare: true }];
  while (!cursor.atEnd && !' |&;'.includes(cursor.next)) {
    // SECURITY: behind a `$` or a brace that is text the shell would read it otherwise; those never come here (see `refused`).
    const choices = cursor.takeMatch(braces)?.slice(1, -1).split(',');
    if (choices === undefined) drafts = readIntoEach(cursor, drafts);
    else drafts = drafts.flatMap((draft) => choices.map((choice) => chosen(draft, choice)));
    if (drafts.length > mostAlternatives) throw cursor.fault(`more than ${mostAlternatives} words for one`, offset);
  }
  return drafts.map((draft) => finish(draft, offset, cursor));
}

/** `{a,b}` of plain text and patterns, not nested. A list with one choice is text to bash, and refused as any brace. */
const braces = /\{[A-Za-z0-9_./:@%+*?-]*(?:,[A-Za-z0-9_./:@%+*?-]*)+\}/y;

function chosen({ parts }: Draft, choice: string): Draft {
  const pieces = choice.split(/([*?])/).filter((piece) => piece !== '');
  const own = pieces.map((piece): GlobPart => (/^[*?]$/.test(piece) ? { wild: piece } : { literal: piece }));
  return { parts: [...parts, ...own], bare: false };
}

function readIntoEach(cursor: LineCursor, drafts: readonly Draft[]): readonly Draft[] {
  const last = drafts.at(-1);
  const piece: Draft = { parts: [], bare: true };
  // What stands before tells `~` and `#` whether the word has begun.
  if (last !== undefined) piece.parts.push(...last.parts);
  const before = piece.parts.length;
  readPiece(cursor, piece);
  const added = piece.parts.slice(before);
  return drafts.map(({ parts, bare }) => ({ parts: [...parts, ...added], bare: bare && piece.bare }));
}

function finish({ parts, bare }: Draft, offset: number, cursor: LineCursor): Word {
  const text = parts.map((part) => ('literal' in part ? part.literal : part.wild)).join('');
  if (text === '' && !bare && cursor.text.charAt(offset) === '{') throw cursor.fault('a brace that stands for no word', offset);
  const isGlob = parts.some((part) => 'wild' in part);
  return { text, offset, bare: bare && !isGlob, ...(isGlob ? { glob: merge(parts) } : {}) };
}

function readPiece(cursor: LineCursor, draft: Draft): void {
  const special = readers[cursor.next];
  if (special === undefined) readPlain(cursor, draft);
  else special(cursor, draft);
}

function readPlain(cursor: LineCursor, draft: Draft): void {
  // The dialect was asked about foreign letters before.
  const plain = cursor.takeMatch(plainRun) ?? cursor.takeMatch(foreignRun);
  if (plain === undefined) throw cursor.fault(refused[cursor.next] ?? `\`${cursor.next}\` outside quotes`);
  literal(draft, plain);
}

function literal(draft: Draft, text: string): void {
  draft.parts.push({ literal: text });
}

function readSingleQuoted(cursor: LineCursor, draft: Draft): void {
  const start = cursor.at;
  const end = cursor.text.indexOf("'", start + 1);
  if (end < 0) throw cursor.fault("a `'` that is never closed");
  literal(draft, cursor.take(end + 1 - start).slice(1, -1));
  draft.bare = false;
}

function readDoubleQuoted(cursor: LineCursor, draft: Draft): void {
  const start = cursor.at;
  let text = '';
  cursor.take(1);
  while (cursor.next !== '"') {
    if (cursor.atEnd) throw cursor.fault('a `"` that is never closed', start);
    text += readInDoubleQuotes(cursor);
  }
  cursor.take(1);
  literal(draft, text);
  draft.bare = false;
}

/** POSIX §2.2.3: inside double quotes `$`, a backquote and `\` before one of `$`, a backquote, `"`, `\` keep their meaning. */
function readInDoubleQuotes(cursor: LineCursor): string {
  const { next, second } = cursor;
  if (next === '`') throw cursor.fault(refused['`'] ?? '');
  if (next === '$' && !/^["| )/\\]$/.test(second)) throw cursor.fault('`$`, which would expand; use single quotes to mean the character');
  if (next === '\\' && /^[$`"\\]$/.test(second)) return cursor.take(2).slice(1);
  return cursor.take(1);
}

function readEscaped(cursor: LineCursor, draft: Draft): void {
  if (!/^[ ()*?[\];!'"]$/.test(cursor.second)) throw cursor.fault('a backslash before this character; use quotes');
  literal(draft, cursor.take(2).slice(1));
  draft.bare = false;
}

function readWild(cursor: LineCursor, draft: Draft): void {
  draft.parts.push({ wild: cursor.take(1) });
}

function readBracket(cursor: LineCursor, draft: Draft): void {
  // A word of its own, as in `[ -e x ]`.
  if (draft.parts.length === 0 && ' |&;'.includes(cursor.second)) {
    literal(draft, cursor.take(1));
    return;
  }
  const set = cursor.takeMatch(/\[!?[A-Za-z0-9_.-]+\]/y);
  if (set === undefined) throw cursor.fault('`[`, which is not a plain character set here; quote it to mean the character');
  draft.parts.push({ wild: set });
}

function readTilde(cursor: LineCursor, draft: Draft): void {
  const before = cursor.text.charAt(cursor.at - 1);
  if (draft.parts.length === 0 || before === '=' || before === ':') throw cursor.fault('`~`, which would expand to a home directory');
  literal(draft, cursor.take(1));
}

function readHash(cursor: LineCursor, draft: Draft): void {
  if (draft.parts.length === 0) throw cursor.fault('`#`, which would start a comment');
  literal(draft, cursor.take(1));
}

/** A `$` at the end of a word is the character itself, as in `grep main$`. */
function readDollar(cursor: LineCursor, draft: Draft): void {
  if (cursor.second !== '' && !' |&;'.includes(cursor.second))
    throw cursor.fault('`$`, which would expand; use single quotes to mean the character');
  literal(draft, cursor.take(1));
  draft.bare = false;
}

/** Neighbouring literals as one. */
function merge(parts: readonly GlobPart[]): readonly GlobPart[] {
  const merged: GlobPart[] = [];
  for (const part of parts) {
    const last = merged.at(-1);
    if (last !== undefined && 'literal' in last && 'literal' in part) merged[merged.length - 1] = { literal: last.literal + part.literal };
    else merged.push(part);
  }
  return merged;
}
