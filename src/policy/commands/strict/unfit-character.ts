/** Characters that no command line needs and that hide or separate: refused before anything is parsed. */

/** Letters with their marks, digits; inside quotes also punctuation and symbols (checked by the word reader). */
const visible = /[\p{L}\p{M}\p{N}\p{P}\p{S}]/u;
const hidden = /[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}]/u;

/** The first character that is not visible text of one line, or undefined. */
export function unfitCharacter(text: string, nonAscii: boolean): { readonly offset: number; readonly message: string } | undefined {
  // The common line is printable ASCII: one test.
  if (/^[ -~]*$/.test(text)) return undefined;
  let offset = 0;
  for (const character of text) {
    if (!isFit(character, nonAscii))
      return { offset, message: `the character ${codePointName(character)}, which is not visible ASCII text` };
    offset += character.length;
  }
  return undefined;
}

function isFit(character: string, nonAscii: boolean): boolean {
  if (/^[ -~]$/.test(character)) return true;
  return nonAscii && visible.test(character) && !hidden.test(character);
}

function codePointName(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}
