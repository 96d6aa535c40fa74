/** What both engines refuse in a pattern before they look at it, and how a refusal reads. */

import { Fault } from '#kernel/errors';
import { say } from '#kernel/text/message';

const mostCharacters = 1_000;

/** @throws {Fault} `BAD_PATTERN` */
export function requirePattern(pattern: string): void {
  if (pattern === '') throw badPattern('it is empty');
  if (pattern.length > mostCharacters) throw badPattern(`it has more than ${mostCharacters} characters`);
  if (!pattern.isWellFormed()) throw badPattern('it is not well-formed Unicode text');
  // ripgrep takes each line of it for a pattern of its own, and no program takes a NUL.
  if (/[\n\r\0]/.test(pattern)) throw badPattern('it holds a line break or NUL; the search goes line by line');
}

export function badPattern(why: string): Fault {
  return new Fault('BAD_PATTERN', say`the pattern is not understood: ${why}`, {
    audience: 'user',
    next: 'escape special characters with a backslash to find them as they are; there is no look-around and no back-reference',
  });
}
