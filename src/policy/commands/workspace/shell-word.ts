/** Words of a parsed command: what they are once the shell has taken quotes and variables away, as far as the text tells. */

export interface ShellWord {
  /** Every text that it can become; undefined when the text does not tell (a substitution, an unknown variable). */
  readonly values?: readonly string[];
  /** It holds a pattern outside quotes. */
  readonly glob: boolean;
  /** Some part of it is quoted, so it stays one word. */
  readonly quoted: boolean;
  /** What a command printed, which may be nothing: beside other text nothing is judged too. */
  readonly hollow?: boolean;
  /** It holds names that a command listed, or a pattern matched. */
  readonly names?: boolean;
  /** UTF-16 offset in the text. */
  readonly offset: number;
  readonly source: string;
}

/** A word that is exactly this. */
export function knownWord(text: string, like: Pick<ShellWord, 'offset' | 'source'>): ShellWord {
  return { values: [text], glob: false, quoted: true, offset: like.offset, source: like.source };
}

/** The text of a word that is read as a script. SECURITY: a name in it would be read as one, too. */
export function scriptText(word: ShellWord | undefined): string | undefined {
  return word?.names === true || word?.glob === true ? undefined : single(word);
}

/** Whether it may become no word at all. `nullglob`: a pattern that matches nothing does. */
export function mayVanish({ hollow, quoted, glob }: ShellWord, { nullglob }: { readonly nullglob: boolean }): boolean {
  return (hollow === true && !quoted) || (nullglob && glob);
}

/** The one text of a word, if it has one. */
export function single(word: ShellWord | undefined): string | undefined {
  return word?.values?.length === 1 ? word.values[0] : undefined;
}
