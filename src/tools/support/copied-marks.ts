/** What a model must not copy from a result into a file: placeholders of hidden secrets, marks around outside text. */
import { Fault } from '#kernel/errors';
import { outsideMarksIn } from '#kernel/outside-mark';
import { redactionMarksIn } from '#kernel/redaction-mark';

/**
 * @param current the file as it is, '' where there is none; asked only when the content holds such marks at all
 * @throws {Fault} `REDACTED_CONTENT`, `MARKED_CONTENT`
 */
export async function refuseCopiedMarks(content: string, current: () => Promise<string>): Promise<void> {
  const secrets = redactionMarksIn(content);
  const outside = outsideMarksIn(content);
  if (secrets.length + outside.length === 0) return;
  const before = await current();
  const copied = firstBeyond(secrets, redactionMarksIn(before));
  if (copied !== undefined) {
    throw new Fault(
      'REDACTED_CONTENT',
      `the content holds \`${copied}\`, which stands for a secret that you were not shown: the secret would be lost`,
      {
        audience: 'user',
        next: 'change only the other lines, for example with run_command and sed; or ask the user to make the change',
      },
    );
  }
  const mark = firstBeyond(outside, outsideMarksIn(before));
  if (mark !== undefined) {
    throw new Fault('MARKED_CONTENT', `the content holds \`${mark}\`, a mark of a tool's result and no part of any file`, {
      audience: 'user',
      next: 'leave the marks out',
    });
  }
}

/** The first that stands more often in the new text than in the old one. */
function firstBeyond(marks: readonly string[], before: readonly string[]): string | undefined {
  const left = new Map<string, number>();
  for (const mark of before) left.set(mark, (left.get(mark) ?? 0) + 1);
  return marks.find((mark) => {
    const count = left.get(mark) ?? 0;
    left.set(mark, count - 1);
    return count <= 0;
  });
}
