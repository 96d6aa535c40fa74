import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

const root = path.join(import.meta.dirname, '../../..');
const page = readFileSync(path.join(root, 'docs/attacks.md'), 'utf8');

interface Row {
  readonly number: number;
  readonly attempt: string;
  readonly end: string;
  readonly tests: readonly (readonly [file: string, words: string])[];
}

const rows = page
  .split('\n')
  .filter((line) => /^\| \d/.test(line))
  .map((line): Row => {
    const [, number, attempt = '', end = '', tests = ''] = line.split('|').map((cell) => cell.trim());
    const found = Array.from(tests.matchAll(/`([^`]+)` “([^”]+)”/g), ([, file = '', words = '']) => [file, words] as const);
    return { number: Number(number), attempt, end, tests: found };
  });

describe('docs/attacks.md', () => {
  it('names the 34 attempts and those that came later, none twice and none left out', () => {
    expect(rows.length).toBeGreaterThanOrEqual(34);
    expect(rows.map(({ number }) => number)).toEqual(rows.map((_row, index) => index + 1));
    expect(new Set(rows.map(({ attempt }) => attempt)).size).toBe(rows.length);
    for (const { end } of rows) expect(['refused', 'said', 'open']).toContain(end);
  });

  it.each(rows.filter(({ end }) => end !== 'open'))('has a test that is there for: $attempt', ({ tests }) => {
    expect(tests.length).toBeGreaterThan(0);
    for (const [file, words] of tests) {
      const place = path.join(root, 'test', file);
      expect(existsSync(place), file).toBe(true);
      expect(readFileSync(place, 'utf8'), file).toContain(words);
    }
  });
});
