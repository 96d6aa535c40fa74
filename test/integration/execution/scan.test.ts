import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { treeUse } from '#execution/run-child';
import { configuredPlaces, gitDirectoryPoints } from '#execution/sandbox/git-directory';
import { makeMasks } from '#execution/sandbox/guard-workspace';
import { scanWorkspace } from '#execution/sandbox/scan-workspace';
import { isControlPath } from '#policy/effects/control-places';
import { isSecretPath } from '#policy/paths/secret-files';
import { temporaryDirectory } from './support/temporary.ts';

const rules = { isControl: isControlPath, isSecret: isSecretPath };

function tree(content: Readonly<Record<string, string>>): string {
  const root = temporaryDirectory('tree-');
  for (const [name, text] of Object.entries(content)) {
    mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
    writeFileSync(path.join(root, name), text);
  }
  return root;
}

const scan = async (root: string, thorough: boolean) => {
  const { findings, complete } = await scanWorkspace({ root, rules, limitMs: 10_000, thorough }, new AbortController().signal);
  expect(complete).toBe(true);
  return findings.map(({ kind, path: at }) => `${kind} ${at}`).sort();
};

describe('the look at a workspace', () => {
  it('finds nothing in an empty one, or in one that is not there', async () => {
    expect(await scan(tree({}), true)).toEqual([]);
    expect(await scan('/no/such/place', true)).toEqual([]);
  });

  it('finds what is obeyed, what is secret and what is no plain file', async () => {
    const root = tree({
      '.vscode/a.json': '',
      '.env': '',
      'src/a.ts': '',
      'deep/x/.envrc': '',
      'deep/x/id_rsa': '',
      'a.code-workspace': '',
    });
    if (process.platform !== 'win32') execFileSync('mkfifo', [path.join(root, 'f')]);
    expect(await scan(root, false)).toEqual(
      [
        'control .vscode',
        'control .vscode/a.json',
        'control a.code-workspace',
        'control deep/x/.envrc',
        'fifo f',
        'secret .env',
        'secret deep/x/id_rsa',
      ].sort(),
    );
  });

  it('looks at modes, links and installed packages only when thorough', async () => {
    const root = tree({ tool: '', 'node_modules/a/.git/config': '', 'node_modules/a/.npmrc': '', 'node_modules/a/key.pem': '' });
    chmodSync(path.join(root, 'tool'), 0o4755);
    symlinkSync('/etc', path.join(root, 'out'));
    symlinkSync('tool', path.join(root, 'in'));
    symlinkSync('loop', path.join(root, 'loop'));
    expect(await scan(root, false)).toEqual([]);
    expect(await scan(root, true)).toEqual([
      'git_directory node_modules/a/.git',
      'git_point node_modules/a/.git/config',
      'link_out out',
      'set_id tool',
    ]);
  });

  it('never follows a link', async () => {
    const other = tree({ '.envrc': '', '.git/config': '' });
    const root = tree({});
    symlinkSync(other, path.join(root, 'there'));
    symlinkSync('.', path.join(root, 'self'));
    expect(await scan(root, false)).toEqual([]);
  });

  it('gives up in the middle when it is told to', async () => {
    const files = Object.fromEntries(Array.from({ length: 3_000 }, (_, index) => [`d${index}/f`, '']));
    const controller = new AbortController();
    const looking = scanWorkspace({ root: tree(files), rules, limitMs: 60_000, thorough: true }, controller.signal);
    controller.abort(new Error('enough'));
    await expect(looking).rejects.toThrow('enough');
  });

  it('says where it did not get to the end', async () => {
    const looked = await scanWorkspace(
      { root: tree({ 'a/b/.envrc': '' }), rules, limitMs: -1, thorough: true },
      new AbortController().signal,
    );
    expect(looked).toEqual({ findings: [], complete: false });
  });
});

describe('a repository’s directory', () => {
  const points = (root: string, at: string) =>
    gitDirectoryPoints(root, at.split('/'))
      .map((point) => point.join('/'))
      .sort();

  it('is obeyed in its configuration, hooks and those of submodules and worktrees', () => {
    const root = tree({
      '.git/HEAD': '',
      '.git/config': '',
      '.git/hooks/pre-commit': '',
      '.git/hooks/update.sample': '',
      '.git/info/attributes': '',
      '.git/index': '',
      '.git/modules/group/lib/HEAD': '',
      '.git/modules/group/lib/objects/x': '',
      '.git/modules/group/lib/refs/x': '',
      '.git/modules/group/lib/config': '',
      '.git/worktrees/w/HEAD': '',
      '.git/worktrees/w/commondir': '',
      '.git/worktrees/w/config.worktree': '',
    });
    expect(points(root, '.git')).toEqual(
      [
        '.git/config',
        '.git/hooks',
        '.git/hooks/pre-commit',
        '.git/info/attributes',
        '.git/modules/group/lib/config',
        '.git/worktrees/w/commondir',
        '.git/worktrees/w/config.worktree',
      ].sort(),
    );
  });

  it.each([
    ['[core]\n\thooksPath = tools/hooks\n', ['tools/hooks']],
    ['[core] hookspath="my hooks" ; mine\n', ['my hooks']],
    ['[include]\n\tpath = ../team.gitconfig\n[includeIf "gitdir:x"]\n path = ../b # no\n', ['b', 'team.gitconfig']],
    ['[core]\n\thooksPath = /elsewhere\n\tHOOKSPATH = ../outside\n', []],
    ['[core]\n\thooksPath = \n', []],
    ['[core]\n\thooksPath = .\n', []],
  ])('names places among the files: %j', (config, expected) => {
    const root = tree({ '.git/config': config });
    expect(
      configuredPlaces(root, ['.git'])
        .map((place) => place.join('/'))
        .sort(),
    ).toEqual(expected);
  });

  it('names none where its configuration is a link or is not there', () => {
    const root = tree({ real: '[core]\nhooksPath = x\n' });
    mkdirSync(path.join(root, '.git'));
    expect(configuredPlaces(root, ['.git'])).toEqual([]);
    symlinkSync('../real', path.join(root, '.git/config'));
    expect(configuredPlaces(root, ['.git'])).toEqual([]);
  });
});

describe.skipIf(process.platform !== 'linux')('masks', () => {
  it('are made once, and open for nobody', () => {
    const state = temporaryDirectory('state-');
    expect(makeMasks(state)).toEqual(makeMasks(state));
    expect(execFileSync('stat', ['-c', '%a %s', path.join(state, 'sandbox/masked-file')], { encoding: 'utf8' })).toBe('0 0\n');
    expect(execFileSync('stat', ['-c', '%a', path.join(state, 'sandbox/masked-directory')], { encoding: 'utf8' })).toBe('0\n');
  });
});

describe.skipIf(process.platform !== 'linux')('a tree of processes', () => {
  it('is counted with its memory, and not further than asked', () => {
    const own = treeUse(process.pid, 1_000);
    expect(own.processes).toBeGreaterThanOrEqual(1);
    expect(own.memoryBytes).toBeGreaterThan(10_000_000);
    expect(own.memoryBytes).toBeLessThan(os.totalmem());
    expect(treeUse(process.pid, 0).processes).toBe(1);
  });

  it('that is gone has no memory', () => {
    expect(treeUse(999_999_999, 10)).toEqual({ processes: 1, memoryBytes: 0 });
  });
});
