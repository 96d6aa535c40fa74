/** What variables of a command line can hold. */
import type { ShellWord } from './shell-word.ts';

export interface VariableValue {
  readonly values: readonly string[];
  /** They are patterns that were matched against files. */
  readonly glob: boolean;
  /** An array that is assigned once as a whole: its elements in their order, which `"${NAME[@]}"` becomes. */
  readonly list?: readonly ShellWord[];
}

/** By name; undefined value: some text that is not known. Absent: never assigned here. */
export type Variables = ReadonlyMap<string, VariableValue | undefined>;
