/** One run of one program, its words decoded, as the rules judge it. */
import type { Decision } from '#kernel/decision';
import type { PathScope } from './judge-path.ts';
import type { ShellWord } from './shell-word.ts';
import type { Variables } from './variable-value.ts';

export interface Invocation {
  /** Program and arguments; the program's word is known and has one value. */
  readonly program: string;
  readonly args: readonly ShellWord[];
  readonly offset: number;
  readonly scope: PathScope;
  /** What stands on its standard input: nothing of its own, another command's output, or text in the command. */
  readonly input: 'none' | 'pipe' | 'file' | 'text';
  /** Names of files that are piped in, where the words tell. */
  readonly listed?: readonly string[] | undefined;
  /** Who reads its output takes a small part and ends it. */
  readonly takesPart?: boolean | undefined;
  /** Who reads its output shows nothing of it that could be a secret variable. */
  readonly hidesSecrets?: boolean | undefined;
  /** Text of a here-document or here-string with nothing to expand. */
  readonly inputText?: string | undefined;
  /** Functions that the command line defines. */
  readonly functions: ReadonlySet<string>;
}

/** Judges another command that a command runs (`env X`, `xargs X`, `bash -c X`). */
export interface Recursion {
  invocation(next: Invocation): readonly Decision[];
  /** `given`: the variables that it begins with. */
  script(text: string, of: Invocation, given: Variables): readonly Decision[];
  /** What runs when the line has ended, wherever that is. */
  atEnd(judge: (scope: PathScope) => readonly Decision[]): void;
  /** A function of the line. */
  call(name: string, scope: PathScope): void;
  /** Of the line, for what runs in the same shell. */
  readonly variables: Variables;
}
