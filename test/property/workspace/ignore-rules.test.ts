/** Laws of globs and line ranges; `git check-ignore` is the judge of ignore rules. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parseGlob } from '#connectors/workspace-files/glob';
import { isIgnored, parseIgnoreFile } from '#connectors/workspace-files/ignore-rules';
import { lineRange } from '#connectors/workspace-files/read-text';

const name = fc.stringMatching(/^[abc.]{1,4}$/).filter((text) => !/^\.+$/.test(text));
const paths = fc.uniqueArray(fc.array(name, { minLength: 1, maxLength: 3 }), {
  minLength: 5,
  maxLength: 20,
  selector: (parts) => parts.join('/'),
});
const patternPart = fc.oneof(name, fc.constantFrom('*', '**', '*.a', 'a*', '?', '[ab]', '[!a]*', 'a*b*'));
const rule = fc
  .record({
    negated: fc.boolean(),
    rooted: fc.boolean(),
    parts: fc.array(patternPart, { minLength: 1, maxLength: 3 }),
    directory: fc.boolean(),
  })
  .map(({ negated, rooted, parts, directory }) => `${negated ? '!' : ''}${rooted ? '/' : ''}${parts.join('/')}${directory ? '/' : ''}`);

describe('ignore rules', () => {
  it('agree with git', { timeout: 120_000 }, () => {
    const repository = mkdtempSync(path.join(os.tmpdir(), 'banksman-ignore-'));
    onTestFinished(() => rmSync(repository, { recursive: true, force: true }));
    const git = (args: readonly string[], input = '') =>
      execFileSync('git', ['-C', repository, ...args], {
        input,
        encoding: 'utf8',
        env: { PATH: process.env['PATH'] ?? '', HOME: repository },
        stdio: ['pipe', 'pipe', 'pipe'],
      });
    git(['init', '-q']);
    fc.assert(
      fc.property(fc.array(rule, { minLength: 1, maxLength: 5 }), paths, (rules, all) => {
        const text = rules.join('\n');
        writeFileSync(path.join(repository, '.gitignore'), text);
        const judged = gitIgnored(
          git,
          all.map((parts) => parts.join('/')),
        );
        const files = [parseIgnoreFile(text, 0)];
        // As the listing does: what is in an ignored directory is never looked at.
        const ours = all.filter((parts) => parts.some((_, index) => isIgnored(files, parts.slice(0, index + 1), index + 1 < parts.length)));
        expect(ours.map((parts) => parts.join('/')).toSorted(), text).toEqual(judged.toSorted());
      }),
      { numRuns: 150 },
    );
  });
});

function gitIgnored(git: (args: readonly string[], input?: string) => string, names: readonly string[]): readonly string[] {
  try {
    return git(['check-ignore', '--no-index', '--stdin'], names.join('\n'))
      .trimEnd()
      .split('\n')
      .filter((line) => line !== '');
  } catch (thrown) {
    // Exit 1: none of them.
    if ((thrown as { status?: number }).status === 1) return [];
    throw thrown;
  }
}

describe('file patterns', () => {
  it('match a path that they spell out', () => {
    fc.assert(
      fc.property(fc.array(name, { minLength: 1, maxLength: 4 }), (parts) => {
        expect(parseGlob(`/${parts.join('/')}`)(parts)).toBe(true);
      }),
    );
  });

  it('never match less when a part becomes a star', () => {
    fc.assert(
      fc.property(fc.array(name, { minLength: 1, maxLength: 4 }), fc.nat(3), (parts, index) => {
        const starred = parts.with(index % parts.length, '*');
        expect(parseGlob(`/${starred.join('/')}`)(parts)).toBe(true);
        expect(parseGlob(`**/${parts.at(-1)}`)(parts)).toBe(true);
      }),
    );
  });
});

describe('line ranges', () => {
  it('put together are the whole text', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.string({ maxLength: 20 }).filter((line) => !line.includes('\n')),
          { minLength: 1, maxLength: 30 },
        ),
        fc.integer({ min: 1, max: 30 }),
        (lines, cut) => {
          const text = `${lines.join('\n')}\n`;
          const whole = lineRange(text, {});
          const middle = Math.min(cut, whole.totalLines);
          const head = lineRange(text, { end: middle });
          const tail = middle < whole.totalLines ? [lineRange(text, { start: middle + 1 })] : [];
          expect([head, ...tail].map((range) => range.text).join('\n')).toBe(whole.text);
          expect([head, ...tail].at(-1)?.endLine).toBe(whole.totalLines);
        },
      ),
    );
  });
});
