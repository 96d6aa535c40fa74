import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

const root = path.join(import.meta.dirname, '../../..');
const page = readFileSync(path.join(root, 'docs/attacks.md'), 'utf8');

interface Row {
  readonly part: string;
  readonly number: number;
  readonly attempt: string;
  readonly end: string;
  readonly tests: readonly (readonly [file: string, words: string])[];
}

const rows = page.split(/^## /m).flatMap((part) =>
  part
    .split('\n')
    .filter((line) => /^\| \d/.test(line))
    .map((line): Row => {
      const [, number, attempt = '', end = '', tests = ''] = line.split('|').map((cell) => cell.trim());
      const found = Array.from(tests.matchAll(/`([^`]+)` “([^”]+)”/g), ([, file = '', words = '']) => [file, words] as const);
      return { part: part.split('\n')[0] ?? '', number: Number(number), attempt, end, tests: found };
    }),
);
const of = (part: string) => rows.filter((row) => row.part === part);

describe('docs/attacks.md', () => {
  it('names the 34 attempts and those that came later, none twice and none left out', () => {
    const [embedded, own] = [of('Embedded'), of('Of our own')];
    const all = [...embedded, ...own];
    expect(embedded.length).toBeGreaterThanOrEqual(34);
    expect(own.length).toBeGreaterThanOrEqual(20);
    expect(all.map(({ number }) => number)).toEqual(all.map((_row, index) => index + 1));
    expect(new Set(all.map(({ attempt }) => attempt)).size).toBe(all.length);
    for (const { end } of rows) expect(['refused', 'said', 'open']).toContain(end);
  });

  it('tries each of the attempts on the embedded mode with the service, too, where it comes to nothing', () => {
    const named = (row: Row) => `${row.number} ${row.attempt}`;
    expect(of('With the service').map(named)).toEqual(of('Embedded').map(named));
    for (const row of of('With the service')) expect(row.end, named(row)).toBe('refused');
  });

  it.each(rows.filter(({ end }) => end !== 'open'))('has a test that is there for: $part $number: $attempt', ({ tests }) => {
    expect(tests.length).toBeGreaterThan(0);
    for (const [file, words] of tests) {
      const place = path.join(root, 'test', file);
      expect(existsSync(place), file).toBe(true);
      expect(readFileSync(place, 'utf8'), file).toContain(words);
    }
  });
});
