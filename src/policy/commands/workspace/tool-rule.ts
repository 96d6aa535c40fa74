/** What developers' programs may do, as data. A program that no rule names asks. */

import type { Concern } from './findings.ts';
import type { PathAction } from './judge-path.ts';

/** Words that make a command ask, each with what it would do. */
export interface Caution {
  /** Tested against one decoded word, options and operands alike. */
  readonly word: RegExp;
  readonly concern: Concern;
  readonly message: string;
  /** A word beside it with which it does nothing of the kind (`make -n deploy`). */
  readonly unless?: RegExp;
}

export interface ToolRule {
  readonly id: string;
  readonly programs: readonly string[];
  /** What it does to the paths among its words; `text`: its words are no paths. */
  readonly paths: PathAction | 'text';
  /** The first operand is text (a pattern, a program of `sed`), unless one of these options gave it. */
  readonly textFirst?: readonly string[] | true;
  /** Options in one word with others that gave it (`grep -nfFILE`). SECURITY: only where what then is no text is judged as a path. */
  readonly textGiven?: RegExp;
  /** Options whose next word is text, never a path or another option (`git commit -m`). */
  readonly textOptions?: readonly string[];
  /** Its first text is a program of its own (`sed`, `awk`): what speaks against one, or undefined. */
  readonly codeFault?: (code: string) => string | undefined;
  /** Options that hold such a program: in the first group if it is attached, else as the next word. */
  readonly codeOption?: RegExp;
  /** Every operand behind the first is such a program (`sqlite3 FILE SQL`). Input from a pipe or file would be one too. */
  readonly codeBehindFirst?: (code: string) => string | undefined;
  /** Options that choose files by a pattern (`--include=*.ts`): one that picks out secrets asks. */
  readonly choosing?: RegExp;
  /** Options whose next word is a value, so that it is not taken for the verb. */
  readonly valueOptions?: readonly string[];
  /** The same where the first operand is text: matched against the whole option. The value is judged as a path; it does not count as that text. */
  readonly beforeText?: RegExp;
  /** Options whose next two words are text (`jq --arg NAME VALUE`). */
  readonly pairOptions?: readonly string[];
  /** Options with a name and a file behind it (`jq --slurpfile NAME FILE`). */
  readonly namedFiles?: readonly string[];
  readonly cautions?: readonly Caution[];
  /** `/p:Name=value` is an option of it. */
  readonly slashOptions?: boolean;
  /** Words that the text does not tell are taken: the program only prints or compares them. */
  readonly takesUnknown?: boolean;
  /** It reads what `<(…)` stands for and does not run it. */
  readonly takesPipes?: boolean;
  /** It prints what it reads and keeps no copy, so facts about the machine are for it. */
  readonly printsOnly?: boolean;
  /** The first operand must be one of these, by group; absent: any. */
  readonly verbs?: readonly VerbGroup[];
  /** A first operand that is in no group is no verb but a file or the like. */
  readonly takesAnyVerb?: boolean;
  /** It waits for a person or for input without operands. */
  readonly needsOperand?: boolean;
  readonly justification: string;
  readonly match: readonly string[];
  readonly notMatch: readonly string[];
}

export interface VerbGroup {
  /** Undefined stands for no verb at all. */
  readonly verbs: readonly (string | undefined)[];
  /** Absent: it runs. */
  readonly concern?: Concern;
  readonly message?: string;
  /** A word with which it takes only what is on the machine, so that `concern` does not hold. */
  readonly unless?: RegExp;
  readonly paths?: PathAction | 'text';
  readonly textOptions?: readonly string[];
  readonly cautions?: readonly Caution[];
  /** Its operands name commits and the like: one of which only the start is known (`"v$(cat VERSION)"`) is one, and no option. */
  readonly takesNames?: true;
}
