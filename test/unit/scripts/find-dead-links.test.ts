import { describe, expect, it } from 'vitest';
import { findDeadLinks, type Tree } from '../../../scripts/docs/find-dead-links.ts';

const kept: Readonly<Record<string, string>> = {
  'README.md': '# Read me\n',
  'media/a.png': '',
  'src/policy/decide.ts': '',
  'docs/page.md': '# Page\n\n## One thing, and `another`\n\n## Twice\n\n## Twice\n\n```md\n## Not a heading\n```\n',
  'docs/adr/0004-client.md': '# 4. Client\n',
};

function tree(more: Readonly<Record<string, string>>): Tree {
  const all = { ...kept, ...more };
  return { files: new Set(Object.keys(all)), read: (file) => all[file] ?? '' };
}

function inPage(text: string, file = 'docs/new.md'): readonly string[] {
  return findDeadLinks([file], [], tree({ [file]: text })).map(({ line, message }) => `${line}: ${message}`);
}

function inSource(text: string): readonly string[] {
  return findDeadLinks([], ['src/x.ts'], tree({ 'src/x.ts': text })).map(({ line, message }) => `${line}: ${message}`);
}

describe('a citation of what is not here', () => {
  it.each([
    ['only looks, and design\n§1 lets its record wait', 1],
    ['text\n\nsee the design.md\n§10', 3],
    ['as the seeds\n001 say', 1],
  ])('is found over the end of a line: %j', (text, line) => {
    expect(inPage(text)).toEqual([expect.stringMatching(new RegExp(`^${line}: .*cites what is not in the repository`))]);
    const comment = `/**\n${text.replace(/^/gm, ' * ')}\n */`;
    expect(inSource(comment)).toEqual([expect.stringMatching(new RegExp(`^${line + 1}: .*cites what is not in the repository`))]);
  });
});

describe('a page', () => {
  it.each([
    '[a](page.md)',
    '[a](../README.md)',
    '[a](./adr/0004-client.md#4-client)',
    '[a](page.md#one-thing-and-another)',
    '[a](page.md#twice) and [b](page.md#twice-1)',
    '# Here\n[a](#here)',
    '![a `b`](../media/a.png)',
    '[![a](../media/a.png)](../README.md)',
    '[a](https://nobody.example/x.md#y)',
    '`policy/decide.ts`, `src/policy/decide.ts`, `dist/cli.cjs`, [folder](adr)',
    'ADR 4',
    '```\n[a](nowhere.md) `policy/gone.ts`\n```',
  ])('links to what is there: %j', (text) => {
    expect(inPage(text)).toEqual([]);
  });

  it.each<[string, string]>([
    ['[a](nowhere.md)', '1: `nowhere.md`: no such file'],
    ['\n\n![a](../media/b.png)', '3: `../media/b.png`: no such file'],
    ['[a](page.md#not-a-heading)', '1: `docs/page.md#not-a-heading`: no such heading'],
    ['[a](page.md#twice-2)', '1: `docs/page.md#twice-2`: no such heading'],
    ['[a](#nope)', '1: `docs/new.md#nope`: no such heading'],
    ['[a](../src/policy/decide.ts#L3)', '1: `src/policy/decide.ts#L3`: only pages have headings'],
    ['`policy/gone.ts`', '1: `policy/gone.ts`: no such file'],
    ['[ADR 5](adr/0004-client.md)', '1: ADR 5: no such record'],
    ['as design §3 says', '1: `design §` cites what is not in the repository; cite docs/ instead'],
  ])('%j is dead', (text, message) => {
    expect(inPage(text)).toEqual([message]);
  });
});

describe('a source', () => {
  it.each([
    '// See docs/page.md#twice.',
    '/** (docs/adr/0004) */',
    '  // ADR 4',
    "const a = 'ADR 99';",
    '// https://x.example/docs/gone.md',
    '// test-docs/gone.md',
  ])('cites what is there: %j', (text) => {
    expect(inSource(text)).toEqual([]);
  });

  it.each<[string, string]>([
    ['\n// see docs/benchmarks.md.', '2: `docs/benchmarks.md`: no such page'],
    ['// docs/page.md#gone', '1: `docs/page.md#gone`: no such heading'],
    ['// docs/adr/0009', '1: `docs/adr/0009`: no such page'],
    [' * ADR 12', '1: ADR 12: no such record'],
    ['/** Seed 003, property 1 */', '1: `Seed 003` cites what is not in the repository; cite docs/ instead'],
    ["// the seeds' order", "1: `seeds'` cites what is not in the repository; cite docs/ instead"],
    ['// (design.md §9)', '1: `design.md §` cites what is not in the repository; cite docs/ instead'],
    ['// notes/proxmox.md', '1: `notes/proxmox.md` cites what is not in the repository; cite docs/ instead'],
    ['/** What it is (issue 4) */', '1: `(issue 4` cites what is not in the repository; cite docs/ instead'],
  ])('%j is dead', (text, message) => {
    expect(inSource(text)).toEqual([message]);
  });
});
