/** A range of a text's lines, no more than fits into one answer. */
import { Fault } from '#kernel/errors';

export interface LineRange {
  readonly text: string;
  readonly startLine: number;
  /** Smaller than `startLine` where there is no line at all. */
  readonly endLine: number;
  readonly totalLines: number;
}

/** In UTF-16 code units. */
export const mostCharacters = 200_000;

/**
 * Lines `start` to `end`, counted from 1, joined by `\n`. The end of the last line does not start another one.
 * @throws {Fault} `LINE_OUT_OF_RANGE`
 */
export function lineRange(text: string, { start = 1, end }: { readonly start?: number; readonly end?: number }): LineRange {
  const lines = text === '' ? [] : text.replace(/\n$/, '').split('\n');
  if (start > Math.max(1, lines.length)) {
    throw new Fault('LINE_OUT_OF_RANGE', `the file has ${lines.length} lines; line ${start} is not there`, {
      audience: 'user',
      next: 'ask for lines that are there',
    });
  }
  const wanted = lines.slice(start - 1, end);
  const kept = fitting(wanted);
  return { text: kept.join('\n'), startLine: start, endLine: start - 1 + kept.length, totalLines: lines.length };
}

/** Whole lines up to the cap; a first line that is longer alone is cut, and says so. */
function fitting(lines: readonly string[]): readonly string[] {
  let room = mostCharacters;
  const end = lines.findIndex((line) => {
    room -= line.length + 1;
    return room < 0;
  });
  if (end === -1) return lines;
  if (end > 0) return lines.slice(0, end);
  const [first = ''] = lines;
  return [`${first.slice(0, mostCharacters).toWellFormed()}[… ${first.length - mostCharacters} more characters in this line …]`];
}
