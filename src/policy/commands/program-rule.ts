/** What one program may be run with, as data. Whatever a rule does not name is refused. */

/** What an operand or an option's value must be. */
export interface ValueKind {
  /** For people, with an article: `a number`. */
  readonly name: string;
  accepts(value: string): boolean;
  /** It names a file: the surface looks at what the file is, and a pattern outside quotes may stand for it. */
  readonly file?: FileUse;
}

/** What the program does to a file: reads its content, or only its name and attributes. */
export type FileUse = 'read' | 'list';

/** `null` where nothing follows: a flag. */
export type Takes = ValueKind | null;

export interface ProgramRule {
  /** `surface.program` or `surface.program-form`, unique. */
  readonly id: string;
  /** A bare name. A program that is named by a path is another program. */
  readonly program: string;
  /** The first operands must be one of these sequences (`['addr', 'show']`); absent: the program has no verbs. */
  readonly verbs?: readonly (readonly string[])[];
  /** Letters of short flags; they may be written in one word. */
  readonly flags?: string;
  /** Short options with a value, attached or as the next word, by letter. */
  readonly values?: Readonly<Record<string, ValueKind>>;
  /** Long options by exact name with `--`; no abbreviations. A value is attached by `=` or the next word. */
  readonly longs?: Readonly<Record<string, Takes>>;
  /** Options whose value may be missing, short or long: `-b`, `--boot`. A next word that fits is taken as the value if `separate`. */
  readonly optional?: Readonly<Record<string, { readonly kind: ValueKind; readonly separate?: boolean }>>;
  /** Words that are options as a whole, with or without a dash: `dev`, `-name`, `auxf`. */
  readonly words?: Readonly<Record<string, Takes>>;
  /** A number may follow a dash directly: `head -20`. */
  readonly count?: boolean;
  readonly operands?: { readonly kind: ValueKind; readonly min?: number; readonly max: number };
  /** Words that name what an operand names (`dev eth0`): each counts as one. */
  readonly countsAsOperand?: readonly string[];
  /** The kind of the first operand where it differs (the pattern of `grep`); not taken when one of `unless` was given. */
  readonly first?: { readonly kind: ValueKind; readonly unless: readonly string[] };
  /** Options end at the first operand (programs that do not permute their arguments). */
  readonly optionsFirst?: boolean;
  /** Operands end at the first of `words` (`find`). */
  readonly operandsFirst?: boolean;
  /** Of each group one must be given. */
  readonly requires?: readonly (readonly string[])[];
  /** Of each group one at most may be given. */
  readonly exclusive?: readonly (readonly string[])[];
  /** Where in a pipeline it may stand: `source` first only; `filter` also after `|`, and there without file operands. */
  readonly role: 'source' | 'filter';
  /** A filter at the start of a pipeline needs a file, or it waits for input that never comes; unless one of these was given. */
  readonly worksAlone?: readonly string[];
  readonly justification: string;
  /** Command lines that this rule must allow, and ones that it must not; checked whenever rules are loaded for a test or from settings. */
  readonly match: readonly string[];
  readonly notMatch: readonly string[];
}
