/** What a write changes, in facts for the person who is asked. */

import { Fault } from '#kernel/errors';
import { outsideMarksIn, redactionMarksIn } from '#kernel/text/marks';
import { type Message, plural, say } from '#kernel/text/message';

/** Counts lines as multisets: a moved line counts as neither added nor removed, which a full diff (in the editor) shows. */
export function changeFacts(before: { readonly text: string } | { readonly why: Message }, after: string): readonly Message[] {
  const lines = linesOf(after);
  const size = say`The new content has ${count(lines.length)} (${Buffer.byteLength(after)} bytes).`;
  if (!('text' in before)) return [before.why, size];
  const old = linesOf(before.text);
  if (old.join('\n') === lines.join('\n')) return [say`The content stays the same.`, size];
  const removed = beyond(old, lines).length;
  const added = beyond(lines, old).length;
  return [say`It removes ${count(removed)} of ${old.length} and adds ${count(added)}.`, size];
}

function linesOf(text: string): readonly string[] {
  return text === '' ? [] : text.replace(/\n$/, '').split('\n');
}

/** What stands more often in `all` than in `others`. */
function beyond(all: readonly string[], others: readonly string[]): readonly string[] {
  const left = new Map<string, number>();
  for (const one of others) left.set(one, (left.get(one) ?? 0) + 1);
  return all.filter((one) => {
    const known = left.get(one) ?? 0;
    left.set(one, known - 1);
    return known <= 0;
  });
}

function count(lines: number): Message {
  return plural(lines, say`1 line`, say`${lines} lines`);
}

// What a model must not copy from a result into a file: placeholders of hidden secrets, marks around outside text.

/**
 * @param current the file as it is, '' where there is none; asked only when the content holds such marks at all
 * @throws {Fault} `REDACTED_CONTENT`, `MARKED_CONTENT`
 */
export async function refuseCopiedMarks(content: string, current: () => Promise<string>): Promise<void> {
  const secrets = redactionMarksIn(content);
  const outside = outsideMarksIn(content);
  if (secrets.length + outside.length === 0) return;
  const before = await current();
  const [copied] = beyond(secrets, redactionMarksIn(before));
  if (copied !== undefined) {
    throw new Fault(
      'REDACTED_CONTENT',
      say`the content holds \`${copied}\`, which stands for a secret that you were not shown: the secret would be lost`,
      {
        audience: 'user',
        next: 'change only the other lines, for example with run_command and sed; or ask the user to make the change',
      },
    );
  }
  const [mark] = beyond(outside, outsideMarksIn(before));
  if (mark !== undefined) {
    throw new Fault('MARKED_CONTENT', say`the content holds \`${mark}\`, a mark of a tool's result and no part of any file`, {
      audience: 'user',
      next: 'leave the marks out',
    });
  }
}
