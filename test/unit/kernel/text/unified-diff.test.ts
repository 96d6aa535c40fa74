import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { unifiedDiff } from '#kernel/text/unified-diff';

const folder = mkdtempSync(join(tmpdir(), 'banksman-diff-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The judgement of `git apply`: the difference, applied to the one, is the other. */
function patched(before: string, diff: readonly string[]): string {
  writeFileSync(join(folder, 'text'), before);
  const input = ['--- a/text', '+++ b/text', ...diff, ''].join('\n');
  const { stderr, status } = spawnSync('git', ['apply', '--whitespace=nowarn', '-'], { cwd: folder, input, encoding: 'utf8' });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  return readFileSync(join(folder, 'text'), 'utf8');
}

describe('a unified difference', () => {
  it.each([
    ['nothing', 'a\nb\n', 'a\nb\n', []],
    ['a new file', '', 'a\nb\n', ['@@ -0,0 +1,2 @@', '+a', '+b']],
    ['an emptied file', 'a\n', '', ['@@ -1 +0,0 @@', '-a']],
    ['a line', 'a\nb\nc\n', 'a\nB\nc\n', ['@@ -1,3 +1,3 @@', ' a', '-b', '+B', ' c']],
    ['an end', 'a', 'a\n', ['@@ -1 +1 @@', '-a', '\\ No newline at end of file', '+a']],
  ])('%s', (_name, before, after, lines) => {
    expect(unifiedDiff(before, after)).toEqual(lines);
  });

  it('has hunks of their own for changes far apart', () => {
    const before = Array.from({ length: 30 }, (_, line) => `${line}\n`).join('');
    const diff = unifiedDiff(before, before.replace('2\n', 'two\n').replace('27\n', ''));
    expect(diff.filter((line) => line.startsWith('@@')).length).toBe(2);
    expect(diff.length).toBeLessThan(20);
  });

  it('of texts that have nothing in common takes one out and puts the other in', () => {
    const many = (word: string) => Array.from({ length: 2_000 }, (_, line) => `${word}${line}\n`).join('');
    expect(unifiedDiff(many('a'), many('b')).length).toBe(4_001);
  });

  it('makes the one out of the other', () => {
    const text = fc
      .array(fc.constantFrom('a', 'b', 'c', '', '--x', '@@'), { maxLength: 12 })
      .map((lines) => lines.map((line) => `${line}\n`).join(''));
    fc.assert(
      fc.property(text, text, fc.constantFrom('', 'end'), (before, after, end) => {
        const wanted = `${after}${end}`;
        const diff = unifiedDiff(before, wanted);
        fc.pre(before !== wanted && wanted !== '');
        expect(patched(before, diff)).toBe(wanted);
      }),
      { numRuns: 60 },
    );
  });
});
