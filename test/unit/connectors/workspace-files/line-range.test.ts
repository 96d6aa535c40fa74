import { describe, expect, it } from 'vitest';
import { lineRange, mostCharacters } from '#connectors/workspace-files/read-text';

describe('a range of lines', () => {
  it('counts as editors do', () => {
    expect(lineRange('', {})).toEqual({ text: '', startLine: 1, endLine: 0, totalLines: 0 });
    expect(lineRange('\n', {})).toMatchObject({ text: '', totalLines: 1, endLine: 1 });
    expect(lineRange('a\n\n', {})).toMatchObject({ text: 'a\n', totalLines: 2 });
    expect(lineRange('a', {})).toMatchObject({ totalLines: 1 });
    expect(lineRange('a\nb', { start: 2 })).toMatchObject({ text: 'b', startLine: 2, endLine: 2 });
    expect(() => lineRange('', { start: 2 })).toThrow('the file has 0 lines');
  });

  it('keeps whole lines up to the cap, and says where it stopped', () => {
    const line = 'x'.repeat(999);
    const range = lineRange(`${line}\n`.repeat(500), { start: 11 });
    expect(range).toMatchObject({ startLine: 11, endLine: 10 + mostCharacters / 1_000, totalLines: 500 });
    expect(range.text.length).toBeLessThanOrEqual(mostCharacters);
  });

  it('cuts a single line that is longer than an answer, and says so', () => {
    const { text, endLine } = lineRange(`${'é'.repeat(mostCharacters)}yes\nb`, {});
    expect(text).toMatch(/é\[… 3 more characters in this line …\]$/);
    expect(endLine).toBe(1);
  });
});
