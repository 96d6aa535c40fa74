/**
 * One word of POSIX shell, whatever is in it: single quotes, and each single quote of the text written as `'\''` (POSIX.1-2024 §2.2.2).
 * A NUL cannot be carried and would cut the word short.
 * @throws {TypeError} when `text` holds a NUL
 */
export function quoteShell(text: string): string {
  if (text.includes('\0')) throw new TypeError('a shell word cannot hold NUL');
  return `'${text.replaceAll("'", "'\\''")}'`;
}
