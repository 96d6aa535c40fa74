/** Exact replacements in a text: what `edit_file` does, and what a person sees of it before. */

/** JSON-safe, as the tool's argument holds it. */
export interface TextEdit {
  readonly old_text: string;
  readonly new_text: string;
  /** Every occurrence; otherwise there must be exactly one. */
  readonly all?: boolean | undefined;
}

export type EditedText =
  | { readonly ok: true; readonly text: string; readonly replacements: number }
  /** `edit` counts from 1, `lines` are those on which the old text starts, at most ten. */
  | {
      readonly ok: false;
      readonly edit: number;
      readonly why: 'not_found' | 'not_unique' | 'no_change';
      readonly lines: readonly number[];
    };

const shownLines = 10;

/**
 * One after the other, each on what the one before left. In a text all of whose lines end in CR LF, an edit may be written with LF: it is
 * matched and put in with the text's own line ends.
 */
export function editText(text: string, edits: readonly TextEdit[]): EditedText {
  const toOwnEnds = hasOnlyCrLf(text) ? (part: string) => part.replaceAll(/\r?\n/g, '\r\n') : (part: string) => part;
  let current = text;
  let replacements = 0;
  for (const [index, edit] of edits.entries()) {
    const [oldText, newText] = [toOwnEnds(edit.old_text), toOwnEnds(edit.new_text)];
    const found = occurrences(current, oldText);
    const refuse = (why: 'not_found' | 'not_unique' | 'no_change') =>
      ({ ok: false, edit: index + 1, why, lines: found.slice(0, shownLines).map((at) => lineAt(current, at)) }) as const;
    if (oldText === newText) return refuse('no_change');
    if (found.length === 0) return refuse('not_found');
    if (found.length > 1 && edit.all !== true) return refuse('not_unique');
    const parts = current.split(oldText);
    // Never `replace`, whose `$&` in the new text would mean something.
    current = parts.join(newText);
    replacements += parts.length - 1;
  }
  return { ok: true, text: current, replacements };
}

function hasOnlyCrLf(text: string): boolean {
  return text.includes('\r\n') && !/(?<!\r)\n/.test(text);
}

/** Where it starts, overlapping ones too: which of them was meant is as unclear. */
function occurrences(text: string, part: string): readonly number[] {
  const found: number[] = [];
  if (part === '') return found;
  for (let at = text.indexOf(part); at !== -1 && found.length <= shownLines; at = text.indexOf(part, at + 1)) found.push(at);
  return found;
}

function lineAt(text: string, index: number): number {
  let line = 1;
  for (let at = text.indexOf('\n'); at !== -1 && at < index; at = text.indexOf('\n', at + 1)) line += 1;
  return line;
}
