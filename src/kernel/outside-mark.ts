/** The marks around text from outside (docs/design.md#the-path-of-a-call). Tools know them too: who writes them back would put them into a file. */

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
