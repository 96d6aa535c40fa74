/** One word of the strict subset, decoded. */
import type { GlobPart, Word } from './line.ts';

/** Thrown inside the lexer only; it leaves it as a `Refusal`. */
export class LexFault extends Error {
  readonly offset: number;

  constructor(offset: number, message: string) {
    super(message);
    this.offset = offset;
  }
}

export class Cursor {
  readonly text: string;
  readonly nonAscii: boolean;
  at = 0;

  constructor(text: string, nonAscii: boolean) {
    this.text = text;
    this.nonAscii = nonAscii;
  }

  get atEnd(): boolean {
    return this.at >= this.text.length;
  }

  /** Empty at the end. */
  get next(): string {
    return this.text.charAt(this.at);
  }

  get second(): string {
    return this.text.charAt(this.at + 1);
  }

  startsWith(text: string): boolean {
    return this.text.startsWith(text, this.at);
  }

  take(count: number): string {
    const taken = this.text.slice(this.at, this.at + count);
    this.at += count;
    return taken;
  }

  /** Takes what a sticky pattern matches here. */
  takeMatch(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0];
    if (found !== undefined) this.at += found.length;
    return found;
  }

  skipBlanks(): void {
    while (this.next === ' ') this.at += 1;
  }

  fault(construct: string, offset = this.at): LexFault {
    return new LexFault(offset, construct);
  }
}

/** A word while it is read. */
interface Draft {
  parts: GlobPart[];
  bare: boolean;
}

type Reader = (cursor: Cursor, draft: Draft) => void;

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

/** The word that starts here. @throws {LexFault} at what is not in the subset */
export function readWord(cursor: Cursor): Word {
  const offset = cursor.at;
  const draft: Draft = { parts: [], bare: true };
  while (!cursor.atEnd && !' |&;'.includes(cursor.next)) readPiece(cursor, draft);
  return finish(draft, offset, cursor);
}

const mostAlternatives = 64;

/** The word that starts here, or the words that `{a,b}` in it stands for, in the order of bash. @throws {LexFault} at what is not in the subset */
export function readAlternatives(cursor: Cursor): readonly Word[] {
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

function readIntoEach(cursor: Cursor, drafts: readonly Draft[]): readonly Draft[] {
  const last = drafts.at(-1);
  const piece: Draft = { parts: [], bare: true };
  // What stands before tells `~` and `#` whether the word has begun.
  if (last !== undefined) piece.parts.push(...last.parts);
  const before = piece.parts.length;
  readPiece(cursor, piece);
  const added = piece.parts.slice(before);
  return drafts.map(({ parts, bare }) => ({ parts: [...parts, ...added], bare: bare && piece.bare }));
}

function finish({ parts, bare }: Draft, offset: number, cursor: Cursor): Word {
  const text = parts.map((part) => ('literal' in part ? part.literal : part.wild)).join('');
  if (text === '' && !bare && cursor.text.charAt(offset) === '{') throw cursor.fault('a brace that stands for no word', offset);
  const isGlob = parts.some((part) => 'wild' in part);
  return { text, offset, bare: bare && !isGlob, ...(isGlob ? { glob: merge(parts) } : {}) };
}

function readPiece(cursor: Cursor, draft: Draft): void {
  const special = readers[cursor.next];
  if (special === undefined) readPlain(cursor, draft);
  else special(cursor, draft);
}

function readPlain(cursor: Cursor, draft: Draft): void {
  const plain = cursor.takeMatch(plainRun) ?? (cursor.nonAscii ? cursor.takeMatch(foreignRun) : undefined);
  if (plain === undefined) throw cursor.fault(refused[cursor.next] ?? `\`${cursor.next}\` outside quotes`);
  literal(draft, plain);
}

function literal(draft: Draft, text: string): void {
  draft.parts.push({ literal: text });
}

function readSingleQuoted(cursor: Cursor, draft: Draft): void {
  const start = cursor.at;
  const end = cursor.text.indexOf("'", start + 1);
  if (end < 0) throw cursor.fault("a `'` that is never closed");
  literal(draft, cursor.take(end + 1 - start).slice(1, -1));
  draft.bare = false;
}

function readDoubleQuoted(cursor: Cursor, draft: Draft): void {
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
function readInDoubleQuotes(cursor: Cursor): string {
  const { next, second } = cursor;
  if (next === '`') throw cursor.fault(refused['`'] ?? '');
  if (next === '$' && !/^["| )/\\]$/.test(second)) throw cursor.fault('`$`, which would expand; use single quotes to mean the character');
  if (next === '\\' && /^[$`"\\]$/.test(second)) return cursor.take(2).slice(1);
  return cursor.take(1);
}

function readEscaped(cursor: Cursor, draft: Draft): void {
  if (!/^[ ()*?[\];!'"]$/.test(cursor.second)) throw cursor.fault('a backslash before this character; use quotes');
  literal(draft, cursor.take(2).slice(1));
  draft.bare = false;
}

function readWild(cursor: Cursor, draft: Draft): void {
  draft.parts.push({ wild: cursor.take(1) });
}

function readBracket(cursor: Cursor, draft: Draft): void {
  const set = cursor.takeMatch(/\[!?[A-Za-z0-9_.-]+\]/y);
  if (set === undefined) throw cursor.fault('`[`, which is not a plain character set here; quote it to mean the character');
  draft.parts.push({ wild: set });
}

function readTilde(cursor: Cursor, draft: Draft): void {
  const before = cursor.text.charAt(cursor.at - 1);
  if (draft.parts.length === 0 || before === '=' || before === ':') throw cursor.fault('`~`, which would expand to a home directory');
  literal(draft, cursor.take(1));
}

function readHash(cursor: Cursor, draft: Draft): void {
  if (draft.parts.length === 0) throw cursor.fault('`#`, which would start a comment');
  literal(draft, cursor.take(1));
}

/** A `$` at the end of a word is the character itself, as in `grep main$`. */
function readDollar(cursor: Cursor, draft: Draft): void {
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
