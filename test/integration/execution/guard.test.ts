import { existsSync, fstatSync, mkdirSync, renameSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { type BindMount, type Guard, guardWorkspace, makeMasks, type OwnMount } from '#execution/sandbox/guard-workspace';
import { type SandboxPlan, sandboxArguments } from '#execution/sandbox/sandbox-arguments';
import { scanWorkspace } from '#execution/sandbox/scan-workspace';
import { isControlPath } from '#policy/effects/control-places';
import { isSecretPath } from '#policy/paths/secret-files';
import { temporaryDirectory } from './support/temporary.ts';

function workspace(files: readonly string[]): string {
  const root = temporaryDirectory('guard-');
  for (const file of files) {
    mkdirSync(path.dirname(path.join(root, file)), { recursive: true });
    writeFileSync(path.join(root, file), file);
  }
  return root;
}

async function guarded(
  root: string,
  use: (guard: Guard) => void,
  more: { readonly readonly?: boolean; readonly hidden?: readonly string[] } = {},
) {
  const rules = { isControl: isControlPath, isSecret: isSecretPath };
  const scan = await scanWorkspace({ root, rules, limitMs: 10_000, thorough: false }, new AbortController().signal);
  const masks = makeMasks(temporaryDirectory('state-'));
  const guard = guardWorkspace({ root, scan, masks: () => masks, hidden: more.hidden ?? [], readonly: more.readonly ?? false });
  try {
    use(guard);
  } finally {
    guard.release();
  }
}

const binds = (guard: Guard) => guard.mounts.filter((mount): mount is BindMount => 'descriptor' in mount);
const covers = (guard: Guard) => guard.mounts.filter((mount): mount is OwnMount => mount.how === '--ro-bind');
const places = (root: string, guard: Guard) => guard.mounts.map(({ how, at }) => `${how} ${path.relative(root, at)}`);

describe.skipIf(process.platform !== 'linux')('the guard of a workspace', () => {
  it('keeps to what it opened, whatever takes its place later', async () => {
    const root = workspace(['sub/.vscode/settings.json']);
    const inode = statSync(path.join(root, 'sub/.vscode')).ino;
    await guarded(root, (guard) => {
      renameSync(path.join(root, 'sub/.vscode'), path.join(root, 'sub/other'));
      symlinkSync('/etc', path.join(root, 'sub/.vscode'));
      const mount = binds(guard).find(({ at }) => at === path.join(root, 'sub/.vscode'));
      expect(mount?.how).toBe('--ro-bind-fd');
      expect(fstatSync(mount?.descriptor ?? -1).ino).toBe(inode);
    });
  });

  it('mounts a repository on itself before what is read-only in it', async () => {
    const root = workspace(['.git/HEAD', '.git/config', '.git/hooks/x', 'packages/a/.git/config']);
    await guarded(root, (guard) => {
      const found = places(root, guard);
      expect(found).toContain('--tmpfs packages/a/.git/hooks');
      for (const inner of ['--ro-bind-fd .git/config', '--ro-bind-fd .git/hooks'])
        expect(found.indexOf(inner)).toBeGreaterThan(found.indexOf('--bind-fd .git'));
    });
  });

  it('puts memory where an empty directory was made for the run, and binds what was there', async () => {
    const root = workspace(['.git/HEAD', '.git/config', '.idea/workspace.xml']);
    mkdirSync(path.join(root, '.cursor'));
    await guarded(root, (guard) => {
      const found = places(root, guard);
      for (const name of ['.vscode', '.devcontainer', '.claude', '.git/hooks']) expect(found).toContain(`--tmpfs ${name}`);
      for (const name of ['.idea', '.cursor']) expect(found).toContain(`--ro-bind-fd ${name}`);
      expect(found.indexOf('--tmpfs .git/hooks')).toBeGreaterThan(found.indexOf('--bind-fd .git'));
    });
    expect(existsSync(path.join(root, '.vscode'))).toBe(false);
    expect(existsSync(path.join(root, '.cursor'))).toBe(true);
  });

  it('covers secrets with what nobody can open, and leaves the rest', async () => {
    const root = workspace(['.env', 'src/a.ts', 'deep/key.pem', '.env.example']);
    await guarded(
      root,
      (guard) => {
        expect(places(root, guard).sort()).toEqual(['--ro-bind .env', '--ro-bind deep/key.pem']);
        for (const { source } of covers(guard)) expect(statSync(source).mode & 0o777).toBe(0);
      },
      { readonly: true },
    );
  });

  it('covers hidden places inside only, files and directories, there or not', async () => {
    const root = workspace(['own/state.db', 'own.json']);
    const hidden = [path.join(root, 'own'), path.join(root, 'own.json'), path.join(root, 'missing'), root, '/etc'];
    await guarded(
      root,
      (guard) => {
        expect(places(root, guard)).toEqual(['--ro-bind own', '--ro-bind own.json']);
        expect(covers(guard).map(({ source }) => statSync(source).isDirectory())).toEqual([true, false]);
      },
      { readonly: true, hidden },
    );
  });

  it('keeps the directories above hidden places where they are, outer ones first, below everything else', async () => {
    const root = workspace(['a/b/own.json', 'a/.git/config', 'a/.git/HEAD']);
    await guarded(
      root,
      (guard) => {
        const found = places(root, guard);
        expect(found.slice(0, 3)).toEqual(['--bind-fd a', '--bind-fd a/b', '--bind-fd a/.git']);
        expect(found).toContain('--ro-bind a/b/own.json');
      },
      { hidden: [path.join(root, 'a/b/own.json')] },
    );
  });

  it('refuses where there is too much to guard, and leaves nothing behind', async () => {
    const root = workspace(Array.from({ length: 801 }, (_, index) => `secrets/${index}.pem`));
    await expect(guarded(root, () => undefined)).rejects.toMatchObject({
      code: 'sandbox_failed',
      message: expect.stringMatching(/\d+ secrets and hooks/),
    });
    expect(() => statSync(path.join(root, '.vscode'))).toThrow('ENOENT');
  });
});

describe('the command line of bubblewrap', () => {
  const plan: SandboxPlan = {
    architecture: 'x64',
    workspaceRoot: '/ws',
    readonly: false,
    network: false,
    home: { directory: '/home/me', visible: ['/home/me/.nvm/versions'], files: new Map(), env: {} },
    etc: { directory: '/state/etc', mounts: ['fonts'] },
    devices: [],
    mounts: [{ how: '--ro-bind-fd', descriptor: 99, at: '/ws/.vscode' }],
    memoryDiskBytes: 1_000,
    user: { uid: 1_000, gid: 1_000 },
    env: { PATH: '/usr/bin' },
    command: ['/bin/bash', '-c', '--bind / /'],
  };
  const line = (more: Partial<SandboxPlan> = {}) =>
    sandboxArguments({ ...plan, ...more }, { onStatus: () => undefined, start: new Promise(() => undefined) });
  const options = (more: Partial<SandboxPlan> = {}) => {
    const { args } = line(more);
    return args.slice(0, args.indexOf('--'));
  };

  it('names no path below the workspace as a source: another command could have put a link there', () => {
    const args = options();
    const sources = args.flatMap((arg, index) => (/^--(?:ro-|dev-)?bind(?:-try)?$/.test(arg) ? [args[index + 1]] : []));
    expect(sources.filter((source) => source?.startsWith('/ws/'))).toEqual([]);
    expect(sources).toContain('/ws');
  });

  it('gives memory of the command’s own no more than a little, and nobody leave to write', () => {
    expect(options({ mounts: [{ how: '--tmpfs', at: '/ws/.vscode' }] }).join(' ')).toContain(
      '--perms 0555 --size 65536 --tmpfs /ws/.vscode',
    );
  });

  it('gives descriptors the numbers under which bubblewrap gets them', () => {
    const { args, extra } = line();
    const number = Number(args[args.indexOf('--ro-bind-fd') + 1]);
    expect(extra[number - 3]).toEqual({ kind: 'inherit', descriptor: 99 });
    expect(extra[Number(args[args.indexOf('--seccomp') + 1]) - 3]?.kind).toBe('feed');
    expect(extra[Number(args[args.indexOf('--json-status-fd') + 1]) - 3]?.kind).toBe('collect');
  });

  it('ends its own options before the command', () => {
    const { args } = line();
    expect(args.slice(args.indexOf('--') + 1)).toEqual(plan.command);
  });

  it('mounts what guards the workspace after the workspace, and makes the root read-only last', () => {
    const args = options();
    const workspaceAt = args.findIndex((arg, index) => arg === '--bind' && args[index + 1] === '/ws');
    expect(workspaceAt).toBeGreaterThan(0);
    expect(args.indexOf('--ro-bind-fd')).toBeGreaterThan(workspaceAt);
    expect(args.lastIndexOf('--remount-ro')).toBeGreaterThan(args.indexOf('--ro-bind-fd'));
    expect(args[args.lastIndexOf('--remount-ro') + 1]).toBe('/');
  });

  it('binds the workspace read-only, and the network only where asked for', () => {
    expect(options({ readonly: true }).join(' ')).toContain('--ro-bind /ws /ws');
    expect(options()).toContain('--unshare-net');
    expect(options({ network: true })).not.toContain('--unshare-net');
    expect(options({ network: true })).toContain('/etc/resolv.conf');
    expect(options()).not.toContain('/etc/resolv.conf');
  });

  it('holds the flags that only stand behind others', () => {
    // A test cannot see these fail: the session is new already, the environment of bubblewrap is clean already.
    for (const flag of ['--new-session', '--clearenv', '--die-with-parent', '--disable-userns']) expect(options()).toContain(flag);
  });
});
