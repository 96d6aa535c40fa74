/** A list of names written as one text: long tables of programs stay readable. */
export function words(text: string): readonly string[] {
  return text.split(/\s+/).filter((word) => word !== '');
}
