/**
 * A page of rules: what a program, or a close family of programs, may be run with on a node, as data. Whatever a page does not name is
 * refused. To add a program, write a page like those in `pages/` and put it into the list of its file; the check runs its examples.
 */

/** What an operand or an option's value must be. */
export interface Kind {
  /** For people, with an article: `a number`. */
  readonly name: string;
  accepts(value: string): boolean;
  /** It names files: a pattern outside quotes may stand for it, and `accepts` takes the pattern as all that it could match. */
  readonly file?: true;
  /** What a person is asked of a value that is accepted. */
  ask?(value: string): string | undefined;
}

/** The value may be missing: it is attached (`--color=auto`), or, where `apart`, also the next word, if that fits. */
export interface Optional {
  readonly optional: Kind;
  readonly apart?: true;
}

export type Takes = Kind | Optional;

/**
 * What options with a value take, by spelling, several with blanks between: `'-t --type'`. `-hT` stands for the letters `-h` and `-T`, which may be written in one word;
 * `-#` is a number right behind a dash (`head -20`). Where `style` is `words`, each spelling is a whole word (`-br`, `dev`); where
 * it is `dashes`, likewise, and `--name` stands for `-name`, too (Getopt::Long, which Proxmox VE's programs use); where it is `text`,
 * likewise, and what is no option is an operand, dash or not. Long options must be written out: programs take abbreviations, which
 * lead to others.
 */
export type Options = Readonly<Record<string, Takes>>;

/** One operand, or several of a kind. */
export type Slot = Kind | { readonly kind: Kind; readonly min: number; readonly max: number };

/** A command that fits its page, for the functions of pages. */
export interface Call {
  /** The program's, as given. */
  readonly name: string;
  /** `osd df tree`; empty without. */
  readonly verb: string;
  /** By spelling as given; the last value, empty for a flag. */
  readonly options: ReadonlyMap<string, string>;
  readonly operands: readonly string[];
  /** Something is piped into it. */
  readonly piped: boolean;
  has(...spellings: readonly string[]): boolean;
}

/** What a page's function says against a call: a sentence that refuses, or one that makes a person decide. */
export type Objection = string | { readonly ask: string };

/** Options and operands of a program, or of one of its verbs. Absent: none. */
export interface Form {
  /** Spellings of the options that take nothing. */
  readonly flags?: string;
  readonly options?: Options;
  /** In order. A function where they depend on the options. */
  readonly operands?: readonly Slot[] | ((call: Pick<Call, 'has'>) => readonly Slot[]);
  /** It may stand behind `|`, and then without files; in front it needs a file, or it would wait for input. */
  readonly filter?: true;
  /** What data cannot say. */
  readonly check?: (call: Call) => Objection | undefined;
}

export interface Page extends Form {
  /** What it does, and what of it is left out for which reason: one line. */
  readonly why: string;
  /**
   * The first operands must be one of these, `''` being none: `'status, list'` are two, `'osd df'` one of two words. The options of the
   * page stand before and behind them, those of the verb only behind.
   */
  readonly verbs?: Readonly<Record<string, Form>>;
  readonly style?: 'words' | 'dashes' | 'text';
  /** Examples, one a line or with two blanks between: lines that must run, or be asked about where a check asks. */
  readonly match: string;
  /** Lines that must be refused. */
  readonly notMatch: string;
}

/** By the names of its programs, with blanks between where several take the same. A program that is named by a path is another program. */
export type Pages = Readonly<Record<string, Page>>;
