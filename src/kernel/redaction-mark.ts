/** The placeholder that stands where a secret was. Tools know it too: who writes it back would destroy the secret. */

export function redactionMark(kind: string): string {
  return `[redacted:${kind}]`;
}

/** Every placeholder in a text, duplicates included. */
export function redactionMarksIn(text: string): readonly string[] {
  return text.match(/\[redacted:[a-z0-9-]{1,40}\]/g) ?? [];
}
