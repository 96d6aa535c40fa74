/** What a write changes, in facts for the person who is asked. */

/** Counts lines as multisets: a moved line counts as neither added nor removed, which a full diff (in the editor) shows. */
export function changeFacts(before: { readonly text: string } | { readonly why: string }, after: string): readonly string[] {
  const lines = linesOf(after);
  const size = `The new content has ${count(lines.length, 'line')} (${Buffer.byteLength(after)} bytes).`;
  if (!('text' in before)) return [before.why, size];
  const old = linesOf(before.text);
  if (old.join('\n') === lines.join('\n')) return ['The content stays the same.', size];
  const removed = without(old, lines);
  const added = without(lines, old);
  return [`It removes ${count(removed, 'line')} of ${old.length} and adds ${count(added, 'line')}.`, size];
}

function linesOf(text: string): readonly string[] {
  return text === '' ? [] : text.replace(/\n$/, '').split('\n');
}

/** How many of `lines` are not in `others`, each occurrence counted. */
function without(lines: readonly string[], others: readonly string[]): number {
  const left = new Map<string, number>();
  for (const line of others) left.set(line, (left.get(line) ?? 0) + 1);
  return lines.filter((line) => {
    const number = left.get(line) ?? 0;
    left.set(line, number - 1);
    return number <= 0;
  }).length;
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}
