/** Outside text inside markdown. */
import { showPlainly } from '#kernel/text';

/** ASCII punctuation may all be escaped (CommonMark §2.4); that also keeps URLs and addresses from becoming links. */
export function escapeMarkdown(text: string): string {
  return showPlainly(text, 1000).replace(/[!-/:-@[-`{-~]/g, '\\$&');
}

/** As code: shown exactly as it is. The fence is longer than any run of backticks inside (CommonMark §6.1). */
export function codeSpan(text: string, maxLength = 300): string {
  const plain = showPlainly(text, maxLength);
  const longest = Math.max(0, ...(plain.match(/`+/g) ?? []).map((run) => run.length));
  const fence = '`'.repeat(longest + 1);
  return longest === 0 ? `${fence}${plain}${fence}` : `${fence} ${plain} ${fence}`;
}
