/** Outside text inside markdown. */
import { showPlainly } from '#kernel/text/text';

/** ASCII punctuation may all be escaped (CommonMark §2.4); that also keeps URLs and addresses from becoming links. */
export function escapeMarkdown(text: string): string {
  return showPlainly(text, 1000).replace(/[!-/:-@[-`{-~]/g, '\\$&');
}

/** SECURITY: a notification makes `[words](command:…)` a link that runs a command, and the words may be a guest's name. */
export function plainNotice(text: string): string {
  return text.replaceAll('](', '] (');
}

/** SECURITY: the status bar makes `$(name)` an icon: a shield that a guest's name put there. */
export function plainStatus(text: string): string {
  return text.replaceAll('$(', '$ (');
}

/** SECURITY: what a call says on its way stands in the status bar first, and then in a notification; a task's last line is anybody's. */
export function plainProgress(text: string): string {
  return plainStatus(plainNotice(showPlainly(text, maxProgress)));
}

const maxProgress = 160;

/** As code: shown exactly as it is. The fence is longer than any run of backticks inside (CommonMark §6.1). */
export function codeSpan(text: string, maxLength = 300): string {
  const plain = showPlainly(text, maxLength);
  const longest = Math.max(0, ...(plain.match(/`+/g) ?? []).map((run) => run.length));
  const fence = '`'.repeat(longest + 1);
  return longest === 0 ? `${fence}${plain}${fence}` : `${fence} ${plain} ${fence}`;
}
