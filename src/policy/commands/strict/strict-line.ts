/**
 * A command line of the strict subset, taken apart: what the two read-only surfaces understand of the shell language, and no more.
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
  /** The file behind `<`; no pattern. */
  readonly input?: Word;
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
  readonly offset: number;
  readonly message: string;
}

export type Lexed = { readonly ok: true; readonly pipelines: readonly Pipeline[] } | { readonly ok: false; readonly refusal: Refusal };

/** What one surface takes. */
export interface Dialect {
  readonly separators: readonly Separator[];
  /** Letters and digits outside ASCII in words (file names), and punctuation and symbols inside quotes. */
  readonly nonAscii: boolean;
  /** `< FILE`, and `{a,b}` in patterns that choose files, on a surface that looks at the files itself. */
  readonly files?: boolean;
  /** UTF-16 code units of a line, words of a command, commands of a line. */
  readonly limits: { readonly length: number; readonly words: number; readonly commands: number };
}
