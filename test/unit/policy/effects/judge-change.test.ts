import { describe, expect, it } from 'vitest';
import type { Change } from '#kernel/effects';
import { controlRowOf, controlRows } from '#policy/effects/control-places';
import { type Example, effectRules, judgeChange, placeOf } from '#policy/effects/judge-change';
import { isControlPath } from '#policy/paths/control-files';

const ground = { workspaceRoot: '/srv/ws', obeyed: ['scripts/hooks'] };

function changeOf({ before = '', after, ...example }: Example): Change {
  return {
    kind: 'create',
    type: 'file',
    mode: 0o644,
    bytes: 0,
    ...(after === undefined ? {} : { texts: () => ({ before, after }) }),
    ...example,
  };
}

describe('the table of control places', () => {
  it.each(controlRows.map((row) => [row.id, row] as const))('%s: its examples', (_id, row) => {
    for (const path of row.match) expect(controlRowOf(path.split('/'))?.id, path).toBe(row.id);
    for (const path of row.notMatch) expect(controlRowOf(path.split('/')), path).toBeUndefined();
    expect(row.source).toMatch(/^https:/);
  });

  it('every place of every row is reached, at the top and deep, in any spelling of its case', () => {
    for (const { id, places } of controlRows) {
      for (const place of places) {
        const path = place.replace('/**', '/some/thing').replaceAll('*', 'x');
        // A place may be part of another row's, too; that somebody obeys it is what counts.
        for (const at of [path, `deep/er/${path}`, path.toUpperCase()]) expect(controlRowOf(at.split('/')), `${id} ${at}`).toBeDefined();
      }
    }
  });

  it('is what write_file goes by, with all of a repository', () => {
    for (const path of ['.github/copilot/settings.json', '.qwen/x', 'a/.git/objects/x', 'A/.GIT/config', '.github/workflows/x.yml'])
      expect(isControlPath(path.split('/')), path).toBe(true);
    for (const path of ['src/a.ts', '.gitignore', 'package.json', 'Makefile']) expect(isControlPath(path.split('/')), path).toBe(false);
  });
});

describe('the judge', () => {
  it.each(effectRules.map((rule) => [rule.id, rule] as const))('%s: its examples', (_id, rule) => {
    expect(rule.match.length).toBeGreaterThan(0);
    expect(rule.notMatch.length).toBeGreaterThan(0);
    for (const example of rule.match) {
      const change = changeOf(example);
      expect(rule.matches(change, placeOf(change.path), ground), JSON.stringify(example)).toBe(true);
      expect(judgeChange(change, ground).action, JSON.stringify(example)).not.toBe('apply');
    }
    for (const example of rule.notMatch) {
      const change = changeOf(example);
      expect(rule.matches(change, placeOf(change.path), ground), JSON.stringify(example)).toBe(false);
    }
  });

  it('applies ordinary work', () => {
    for (const path of [
      'src/a.ts',
      'package.json',
      'Makefile',
      '.git/objects/ab/cdef',
      '.git/HEAD',
      '.git/refs/heads/x',
      '.git/index',
      'dist/x.js',
    ])
      expect(judgeChange(changeOf({ path }), ground)).toMatchObject({ action: 'apply' });
  });

  it('says the strictest that it finds', () => {
    expect(judgeChange(changeOf({ path: '.vscode/x', type: 'device' }), ground)).toMatchObject({
      action: 'refuse',
      rule: 'special.device',
    });
    expect(judgeChange(changeOf({ path: 'x', type: 'link', leadsTo: '/etc' }), ground).why).toContain('`/etc`');
  });

  it.each<[string, string, string, boolean]>([
    [
      'a branch that follows a remote that was there',
      '[remote "o"]\n\turl = x\n',
      '[remote "o"]\n\turl = x\n[branch "b"]\n\tremote = o\n\tmerge = refs/heads/b\n',
      true,
    ],
    ['a branch that follows an address', '', '[branch "b"]\n\tremote = ext::sh -c x\n', false],
    ['who commits', '', '[user]\n\tname = A\n\temail = a@b\n', false],
    ['a signing program', '', '[user]\n\tsigningkey = x\n', false],
    ['a hooks path', '', '[core]\n\thooksPath = x\n', false],
    ['another address of a remote', '[remote "o"]\n\turl = x\n', '[remote "o"]\n\turl = y\n', false],
    ['an alias', '', '[alias]\n\tst = !sh\n', false],
    ['two settings on one line', '', '[branch "b"] merge = refs/heads/b\n[core] hooksPath = x\n', false],
    ['a continued line', '', '[branch "b"]\n\tdescription = a\\\nb\n', false],
    ['an include', '[user]\n\tname = A\n', '[include]\n\tpath = x\n', false],
    ['what goes', '[core]\n\thooksPath = x\n', '', false],
    ['a hidden header', '', '[branch "b"]\n\tmerge = refs/heads/b\n[branch "x"]extra\n', false],
  ])('of a repository’s configuration: %s', (_name, before, after, applies) => {
    const { action } = judgeChange(changeOf({ path: '.git/config', kind: 'modify', before, after }), ground);
    expect(action).toBe(applies ? 'apply' : 'hold');
  });
});
