/** What variables of a command line can hold. */
import type { ShellWord } from './shell-word.ts';
import type { SyntaxNode } from './syntax-node.ts';

export interface VariableValue {
  readonly values: readonly string[];
  /** They are patterns that were matched against files. */
  readonly glob: boolean;
  /** What a command printed, which may be nothing. */
  readonly hollow?: boolean;
  /** They are names that a command listed, or a pattern matched. */
  readonly names?: boolean;
  /** An array that is assigned once as a whole: its elements in their order, which `"${NAME[@]}"` becomes. */
  readonly list?: readonly ShellWord[];
  /** Present where the script assigns it, so that it is empty before: where the value is taken away again. */
  readonly removals?: readonly SyntaxNode[];
}

/** By name; undefined value: some text that is not known. Absent: never assigned here. */
export type Variables = ReadonlyMap<string, VariableValue | undefined>;
