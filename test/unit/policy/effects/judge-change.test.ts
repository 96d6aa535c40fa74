import { spawnSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Change } from '#kernel/effects';
import { splitNames } from '#kernel/text/text';
import { controlRowOf, controlRows, isControlPath } from '#policy/effects/control-places';
import { settingRows, whyHeldSettings } from '#policy/effects/git-settings';
import { type Example, effectRules, judgeChange, placeOf } from '#policy/effects/judge-change';

const ground = { workspaceRoot: '/srv/ws', obeyed: ['scripts/hooks'], programs: ['/home/me/.pyenv'] };

function changeOf(given: Example): Change {
  const { before = '', after, ...example } = typeof given === 'string' ? { path: given } : given;
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
    for (const path of splitNames(row.match)) expect(controlRowOf(path.split('/'))?.id, path).toBe(row.id);
    for (const path of splitNames(row.notMatch)) expect(controlRowOf(path.split('/')), path).toBeUndefined();
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
      expect(rule.matches(change, placeOf(change), ground), JSON.stringify(example)).toBe(true);
      expect(judgeChange(change, ground).action, JSON.stringify(example)).not.toBe('apply');
    }
    for (const example of rule.notMatch) {
      const change = changeOf(example);
      expect(rule.matches(change, placeOf(change), ground), JSON.stringify(example)).toBe(false);
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

  it('applies what changes nothing but times, wherever it is', () => {
    for (const path of ['.git/config', '.github/workflows/ci.yml', '.git/hooks/pre-commit'])
      for (const [mode, action] of [
        [{ timesAlone: true }, 'apply'],
        [{}, 'hold'],
      ] as const)
        expect(judgeChange(changeOf({ path, kind: 'attributes', ...mode }), ground), path).toMatchObject({ action });
  });

  it('says the strictest that it finds', () => {
    expect(judgeChange(changeOf({ path: '.vscode/x', type: 'device' }), ground)).toMatchObject({
      action: 'refuse',
      rule: 'special.device',
    });
    expect(judgeChange(changeOf({ path: 'x', type: 'link', leadsTo: '/etc' }), ground).why).toContain('`/etc`');
  });

  const remote = '[remote "o"]\n\turl = https://example.org/a.git\n';
  it.each<[string, string, string, string | undefined]>([
    ['a branch that follows a remote', remote, `${remote}[branch "b"]\n\tremote = o\n\tmerge = refs/heads/b\n`, undefined],
    ['a branch that goes', `${remote}[branch "b"]\n\tremote = o\n`, remote, undefined],
    ['a new remote', '', remote, undefined],
    ['who commits', '', '[user]\n\tname = A "B" # c\n\temail = a@b\n', undefined],
    ['two settings on one line', '', '[branch "b"] merge = refs/heads/b\n', undefined],
    ['a continued line', '', '[branch "b"]\n\tdescription = a\\\nb\n', undefined],
    ['a branch that follows an address', '', '[branch "b"]\n\tremote = ext::sh -c x\n', 'branch.b.remote'],
    ['a branch that follows another remote', '[branch "b"]\n\tremote = a\n', '[branch "b"]\n\tremote = c\n', 'branch.b.remote'],
    ['another address of a remote', remote, remote.replace('a.git', 'b.git'), 'remote.o.url'],
    ['a second address of a remote', remote, `${remote}\turl = https://example.org/b.git\n`, 'remote.o.url'],
    ['a remote that goes', remote, '', 'remote.o.url'],
    ['a signing program', '', '[gpg "ssh"]\n\tprogram = x\n', 'gpg.ssh.program'],
    ['a hooks path', '', '[core]\n\thooksPath = x\n', 'core.hookspath'],
    ['a hooks path on the line of its header', '', '[core] hooksPath = x\n', 'core.hookspath'],
    ['a section in another spelling', '', '[CORE]\n\tFsMonitor=x', 'core.fsmonitor'],
    ['a section with a dot', '', '[filter.x]\n\tclean = x\n', 'filter.x.clean'],
    ['a setting without a value', '', '[core]\n\tfsmonitor\n', 'core.fsmonitor'],
    ['what a comment seems to hide', '', '[core]\n\tbare = false \\\n\tfsmonitor = x\n', 'core.bare'],
    ['an alias', '', '[alias]\n\tst = !sh\n', 'alias.st'],
    ['an include', '[user]\n\tname = A\n', '[include]\n\tpath = x\n', 'include.path'],
    ['what goes', '[core]\n\thooksPath = x\n', '', 'core.hookspath'],
    ['another order', '[user]\n\tname = A\n[core]\n\tbare = true\n', '[core]\n\tbare = true\n[user]\n\tname = A\n', 'another order'],
    ['what is no configuration', '', '[branch "x"]extra stuff\n', 'cannot be read'],
    ['two headers on one line', '', '[branch "x"] [core] hooksPath = x\n', 'cannot be read'],
  ])('of a repository’s configuration: %s', (_name, before, after, why) => {
    const verdict = judgeChange(changeOf({ path: '.git/config', kind: 'modify', before, after }), ground);
    expect(verdict).toMatchObject({ action: why === undefined ? 'apply' : 'hold', why: expect.stringContaining(why ?? 'ordinary') });
  });

  it.each(settingRows.map((row) => [row.names.slice(0, 40), row] as const))('settings, %s: the examples', (_names, row) => {
    const why = (line: string) => {
      const [, section = '', of, key = '', value = ''] = /^([^.]+)(?:\.(.+))?\.([^.=]+)=(.*)$/.exec(line) ?? [];
      return whyHeldSettings({ before: '', after: `[${section}${of === undefined ? '' : ` "${of}"`}]\n\t${key} = ${value}\n` });
    };
    for (const line of row.match.split('\n')) expect(why(line), line).toBeUndefined();
    for (const line of row.notMatch.split('\n')) expect(why(line), line).toContain(line.split('=')[0]);
  });

  it.each([
    ['[a]b=c', 'a.b'],
    ['[core]\n\tfsmonitor = "x y" z ; c\n', 'core.fsmonitor'],
    ['[a "b\\"c"]\n\tk = "\\t" \\\n  more\n', 'a.b"c.k'],
    ['[a]\r\nb = c\r\n[Core]HooksPath\n', 'a.b'],
    ['\n # x\n[a.B] ; y\n\n b = c', 'a.b.b'],
    ['\t[ a]', undefined],
    ['[a]\nb c\n', undefined],
    ['[a]\nb = "c\n', undefined],
    ['[a]\n1b = c\n', undefined],
  ])('the strict reader reads what git reads: %j', (text, first) => {
    const file = join(mkdtempSync(join(tmpdir(), 'git-settings-')), 'config');
    writeFileSync(file, text);
    const { stdout } = spawnSync('git', ['config', '-z', '-l', '-f', file], { encoding: 'utf8' });
    expect(stdout.split('\n')[0]?.split('\0')[0] || undefined).toBe(first);
    expect(whyHeldSettings({ before: '', after: text })).toContain(first ?? 'cannot be read');
  });
});
