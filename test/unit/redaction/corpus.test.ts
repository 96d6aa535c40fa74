import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { redactText, secretsTaken } from '#redaction/redact';
import { harmlessTexts, secretTexts } from './secret-corpus.ts';

const options = { knownSecrets: [], maxStringLength: 64_000 };

describe('a text with a secret', () => {
  it.each(secretTexts)('%s', (_what, text, secret) => {
    const clean = redactText(text, options);
    expect(clean).not.toContain(secret);
    expect(secretsTaken(text, clean)).toBeGreaterThanOrEqual(1);
    expect(redactText(clean, options)).toBe(clean);
  });
});

describe('a text without one', () => {
  it.each(harmlessTexts)('%s', (text) => {
    expect(redactText(text, options)).toBe(text);
  });
});

it('the corpus is as large as it should be', () => {
  expect(secretTexts.length).toBeGreaterThanOrEqual(150);
  expect(harmlessTexts.length).toBeGreaterThanOrEqual(150);
});

it('source code, documents and a lock file come out as they went in, but for a line or two', () => {
  const root = join(import.meta.dirname, '../../..');
  const files = ['src', 'docs', 'scripts'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && /\.(?:ts|md|mjs)$/.test(entry.name))
      .map((entry) => join(entry.parentPath, entry.name)),
  );
  const changed = [...files, join(root, 'package-lock.json'), join(root, 'package.json')].flatMap((file) => changedLines(file));
  expect(files.length).toBeGreaterThan(300);
  expect(changed.length, changed.join('\n')).toBeLessThanOrEqual(5);
});

function changedLines(file: string): readonly string[] {
  const before = readFileSync(file, 'utf8');
  const after = redactText(before, { knownSecrets: [], maxStringLength: before.length });
  if (after === before) return [];
  const lines = new Set(before.split('\n'));
  return after.split('\n').filter((line) => !lines.has(line));
}
