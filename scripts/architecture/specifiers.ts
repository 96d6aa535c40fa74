/** What a file imports, by a plain text search: quick, and a second opinion on what dependency-cruiser saw. */

const statement = /^(?:import|export)\s(?:[^'";]*?\sfrom\s+)?'([^'\n]+)'/gm;
/** Lazy ones, and types by name; a comment's line begins otherwise. */
const inside = /^(?!\s*(?:\/\/|\/?\*)).*?\bimport\(\s*'(#[^'\n]+)'/gm;

/** As written, each once: at the start of a line all, within one only those of other folders (`#kernel/json`). */
export function specifiersOf(text: string): ReadonlySet<string> {
  return new Set([...text.matchAll(statement), ...text.matchAll(inside)].map(([, specifier = '']) => specifier));
}
