/**
 * Marks that the pipeline puts into what a model reads. Tools know them, too: who writes one back would put it into a file, or destroy the
 * secret that it stands for.
 */

/** Around text from outside (docs/design.md#the-path-of-a-call). */
export interface OutsideMarks {
  readonly open: string;
  readonly close: string;
}

/** @param nonce 8 hex digits that stand nowhere in the text: whoever wrote it cannot know them, so nothing in it can end it */
export function outsideMarks(nonce: string): OutsideMarks {
  return { open: `<outside-${nonce}>`, close: `</outside-${nonce}>` };
}

/** Every mark in a text, duplicates included. */
export function outsideMarksIn(text: string): readonly string[] {
  return text.match(/<\/?outside-[0-9a-f]{8}>/g) ?? [];
}

/** The placeholder that stands where a secret was. */
export function redactionMark(kind: string): string {
  return `[redacted:${kind}]`;
}

/** Every placeholder in a text, duplicates included. */
export function redactionMarksIn(text: string): readonly string[] {
  return text.match(/\[redacted:[a-z0-9-]{1,40}\]/g) ?? [];
}
