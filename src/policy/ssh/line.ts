/**
 * A command line of the strict subset, taken apart: what `execute_ssh` understands of the shell language, and no more.
 * INVARIANT: every word is fully decoded. What cannot be decoded from the text alone is not in the subset.
 */

/** A run of a word: text as it is, or a pattern (`*`, `?`, `[a-z]`) for the shell to match against file names. */
export type GlobPart = { readonly literal: string } | { readonly wild: string };

export interface Word {
  /** The decoded word: quotes and backslashes gone. Of a pattern, the text as written. */
  readonly text: string;
  /** Of its first character in the line, in UTF-16 code units. */
  readonly offset: number;
  /** Written without quotes, backslashes and patterns. */
  readonly bare: boolean;
  /** Only of a word with a pattern outside quotes. */
  readonly glob?: readonly GlobPart[];
}

export interface SimpleCommand {
  readonly words: readonly Word[];
  /** What becomes of its error output: `2>/dev/null` or `2>&1`. */
  readonly errors?: ErrorOutput;
}

export type ErrorOutput = '2>/dev/null' | '2>&1';
export type Separator = '&&' | '||' | ';';

/** Commands joined by `|`. */
export interface Pipeline {
  readonly commands: readonly SimpleCommand[];
  /** What stands before it; undefined before the first. */
  readonly after?: Separator;
}

/** Why a line is refused: the place (UTF-16 offset, from 0) and the construct that stands there. */
export interface Refusal {
  readonly ok: false;
  readonly offset: number;
  readonly message: string;
}

export type Lexed = { readonly ok: true; readonly pipelines: readonly Pipeline[] } | Refusal;

class Misfit extends Error {
  readonly offset: number;

  constructor(offset: number, message: string) {
    super(message);
    this.offset = offset;
  }
}

/** To throw inside of `orRefusal`. */
export function misfit({ offset }: { readonly offset: number }, message: string): Error {
  return new Misfit(offset, message);
}

/** What `read` returns, or where it found a misfit. */
export function orRefusal<T>(read: () => T): T | Refusal {
  try {
    return read();
  } catch (thrown) {
    if (thrown instanceof Misfit) return { ok: false, offset: thrown.offset, message: thrown.message };
    throw thrown;
  }
}

/** What one surface takes. */
export interface Dialect {
  /** Letters and digits outside ASCII in words (file names), and punctuation and symbols inside quotes. */
  readonly nonAscii: boolean;
  /** UTF-16 code units of a line, words of a command, commands of a line. */
  readonly limits: { readonly length: number; readonly words: number; readonly commands: number };
}

/** The same pipelines as POSIX shell text: single blanks, every word that needs it in single quotes. */
export function canonicalLine(pipelines: readonly Pipeline[]): string {
  return pipelines
    .map(({ commands, after }) => {
      const text = commands.map(canonicalCommand).join(' | ');
      if (after === undefined) return text;
      return after === ';' ? `; ${text}` : ` ${after} ${text}`;
    })
    .join('');
}

function canonicalCommand({ words, errors }: SimpleCommand): string {
  return [...words.map(canonicalWord), ...(errors === undefined ? [] : [errors])].join(' ');
}

function canonicalWord(word: Word): string {
  if (word.glob === undefined) return quoteWord(word.text);
  return word.glob.map((part) => ('wild' in part ? part.wild : quoteWord(part.literal))).join('');
}

/** POSIX §2.2.2. Words of harmless characters stay as they are, so that people can read the line. */
export function quoteWord(text: string): string {
  return /^(?:\[|[A-Za-z0-9_@%+:,./-][A-Za-z0-9_@%+=:,./-]*)$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
