/**
 * Which of many words can stand in a text, from one look at it: a word whose pairs of neighbouring characters are not all there is not there
 * either. Looking for each word by itself reads the text once per word.
 */

/** Pairs share slots, so a word may seem to be there; never the other way round. */
const slots = 8_192;

/** A text in lower case, with the pairs that stand in it. */
export interface PairedText {
  readonly lower: string;
  readonly pairs: Uint8Array;
}

export interface HintWord {
  readonly word: string;
  readonly slots: readonly number[];
}

export function pairText(text: string): PairedText {
  const lower = text.toLowerCase();
  const pairs = new Uint8Array(slots);
  // Reading bytes is faster than reading characters. One beyond Latin-1 loses its upper half, which can only add a pair.
  const bytes = Buffer.from(lower, 'latin1');
  let before = bytes[0] ?? 0;
  for (let index = 1; index < bytes.length; index += 1) {
    const code = bytes[index] ?? 0;
    pairs[slotOf(before, code)] = 1;
    before = code;
  }
  return { lower, pairs };
}

/** @param words in lower case; one of a single character has no pair and is always looked for */
export function hintWords(words: readonly string[]): readonly HintWord[] {
  return words.map((word) => ({ word, slots: slotsOf(word) }));
}

/** Whether one of the words stands in the text: exact, the pairs only spare most looks. */
export function holdsHint({ lower, pairs }: PairedText, words: readonly HintWord[]): boolean {
  for (const { word, slots: needed } of words) if (needed.every((slot) => pairs[slot] === 1) && lower.includes(word)) return true;
  return false;
}

function slotsOf(word: string): readonly number[] {
  return Array.from({ length: word.length - 1 }, (_, index) => slotOf(word.charCodeAt(index), word.charCodeAt(index + 1)));
}

function slotOf(first: number, second: number): number {
  return ((first << 6) ^ second) & (slots - 1);
}
