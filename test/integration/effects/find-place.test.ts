import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { findWay } from '#execution/effects/find-place';
import { programRunner } from '#execution/run-child';
import { temporaryDirectory } from '../execution/support/temporary.ts';
import { otherUser } from './support/run-as.ts';

const { signal } = new AbortController();

function places() {
  const root = temporaryDirectory('place-');
  const [workspaceRoot, stateDir] = [path.join(root, 'ws, with: odd\\ name'), path.join(root, 'state')];
  mkdirSync(workspaceRoot);
  return { root, workspaceRoot, stateDir, programs: programRunner };
}

interface Ran {
  readonly way: unknown;
  readonly done: unknown;
  readonly stdout: string;
  readonly stderr: string;
  /** In the scratch directory afterwards. */
  readonly left: readonly string[];
  /** The workspace after undo: names and content. */
  readonly undone: readonly string[];
}

/** In a mount namespace of the test's own. @returns what `findWay` says there, and what becomes of a command */
function inMounts(
  script: string,
  { as, ...request }: { readonly workspaceRoot: string; readonly stateDir: string; readonly as?: number },
  command?: string,
): unknown {
  const child = path.join(import.meta.dirname, 'children/run-command.ts');
  const user = as === undefined ? '' : `setpriv --reuid=${as} --regid=${as} --clear-groups`;
  const args = [
    '-m',
    'bash',
    '-c',
    `${script || ':'}; exec ${user} "$0" "$1" "$2"`,
    process.execPath,
    child,
    JSON.stringify({ ...request, command }),
  ];
  const { stdout, stderr } = spawnSync('unshare', args, { encoding: 'utf8', cwd: path.join(import.meta.dirname, '../../..') });
  expect(stderr.replaceAll(/^.*Warning.*$\n?/gm, '')).toBe('');
  return JSON.parse(stdout);
}

describe.skipIf(process.platform !== 'linux' || process.getuid?.() !== 0)('the place of a workspace’s runs', () => {
  it('is the state directory, and what was tried there is gone', async () => {
    const { stateDir, ...request } = places();
    expect(await findWay({ ...request, stateDir }, signal)).toMatchObject({
      kind: 'overlay',
      journal: expect.stringContaining(`${stateDir}/runs/`),
    });
    expect(readdirSync(path.join(stateDir, 'runs'))).toEqual([]);
    expect(readdirSync(request.workspaceRoot)).toEqual([]);
  });

  it('lies beside the workspace where the state directory is on another file system', async () => {
    const { root, ...request } = places();
    const way = await findWay({ ...request, stateDir: '/proc' }, signal);
    expect(way).toMatchObject({ kind: 'overlay', journal: expect.stringContaining('/.banksman-runs-0/') });
    mkdirSync(`${root}/state`);
    const far = inMounts(`mount -t tmpfs none ${root}/state`, { ...request, stateDir: `${root}/state` });
    expect(far).toMatchObject({ kind: 'overlay', journal: expect.stringContaining('/.banksman-runs-0/') });
  });

  it('is never in the workspace', async () => {
    const { workspaceRoot, programs } = places();
    const way = await findWay({ workspaceRoot, stateDir: path.join(workspaceRoot, 'state'), programs }, signal);
    expect(way).toMatchObject({ kind: 'overlay', journal: expect.stringContaining('/.banksman-runs-0/') });
    expect(existsSync(path.join(workspaceRoot, 'state'))).toBe(false);
  });

  it('there is none where the workspace is read-only, and it is said with what helps', () => {
    const { workspaceRoot, stateDir } = places();
    const way = inMounts(`mount --bind "${workspaceRoot}" "${workspaceRoot}"; mount -o remount,bind,ro "${workspaceRoot}"`, {
      workspaceRoot,
      stateDir,
    });
    expect(way).toMatchObject({
      kind: 'none',
      reason: expect.stringMatching(/read-only/),
      better: expect.stringMatching(/can be written/),
    });
  });

  describe.each([
    ['a bind mount', (at: string) => `mount --bind "${at}" "${at}"`],
    ['in memory', (at: string) => `mount -t tmpfs none "${at}"`],
    ['an ext4 of its own', (at: string) => `truncate -s 64M "${at}.img" && mkfs.ext4 -q "${at}.img" && mount -o loop "${at}.img" "${at}"`],
  ])('lies in the workspace, unseen, where that is %s', (_name, mount) => {
    const script =
      'ls -A; git init -q . && git add -A && git clean -fdxn; echo more >> old; mv d e; mkdir -p new/deep; echo > new/deep/f; rm gone; find . -name ".banksman*"';

    it.each([
      ['root', 0],
      ['another user', otherUser],
    ] as const)('as %s', (_who, as) => {
      const { root, workspaceRoot, stateDir } = places();
      const fill = `rmdir "${workspaceRoot}/lost+found" 2>/dev/null; cd "${workspaceRoot}" && mkdir d && echo in > d/f && echo old > old && echo gone > gone && chown -R ${as}:${as} "${root}"`;
      const { way, done, stdout, undone } = inMounts(
        `${mount(workspaceRoot)} && ${fill}; cd /`,
        { workspaceRoot, stateDir, as },
        script,
      ) as Ran;
      expect(way).toMatchObject({ kind: 'overlay', note: expect.stringMatching(/in the workspace.*no command or tool sees/) });
      expect(done).toMatchObject({
        created: expect.arrayContaining(['e/', 'new/']),
        changed: ['old'],
        deleted: expect.arrayContaining(['d/', 'gone']),
        leftOut: [],
      });
      expect(stdout).toBe('d\ngone\nold\n');
      expect(undone.toSorted()).toEqual(['f in\n', 'gone gone\n', 'old old\n']);
    });

    it('and nobody can put anything at its place', () => {
      const { workspaceRoot, stateDir } = places();
      const own = '.banksman-runs-0';
      const { done } = inMounts(
        mount(workspaceRoot),
        { workspaceRoot, stateDir },
        `mkdir -p ${own}/x; echo y > ${own}/x/plan; echo > other`,
      ) as Ran;
      expect(done).toMatchObject({ created: ['other'], leftOut: [expect.objectContaining({ path: `${own}/`, reason: 'refused' })] });
    });
  });

  it('there is none where something is mounted in the workspace, and it is said', () => {
    const { workspaceRoot, stateDir } = places();
    mkdirSync(path.join(workspaceRoot, 'inner'));
    const way = inMounts(`mount -t tmpfs none "${workspaceRoot}/inner"`, { workspaceRoot, stateDir });
    expect(way).toMatchObject({ kind: 'none', reason: expect.stringContaining('/inner') });
  });

  it('writes to another file system where overlayfs cannot write beside the workspace (which is on an overlay)', () => {
    const { root } = places();
    for (const name of ['lower/ws', 'up', 'wk', 'merged', 'far']) mkdirSync(path.join(root, name), { recursive: true });
    for (const name of ['old', 'touched']) writeFileSync(path.join(root, 'lower/ws', name), name);
    const mount = `mount -t overlay none -o lowerdir=${root}/lower,upperdir=${root}/up,workdir=${root}/wk ${root}/merged; mkdir -p ${root}/merged/state/scratch; mount -t tmpfs -o mode=0700 none ${root}/merged/state/scratch`;
    const request = { workspaceRoot: `${root}/merged/ws`, stateDir: `${root}/merged/state` };
    const { way, done, left, undone } = inMounts(
      mount,
      request,
      'echo more >> old; mkdir -p d/e; echo new > d/e/new; touch -d 1850-01-01 old d/e/new touched',
    ) as Ran;
    expect(way).toMatchObject({
      kind: 'overlay',
      scratch: expect.stringContaining(`${root}/merged/state/scratch/`),
      note: expect.stringContaining('better:'),
    });
    expect(done).toMatchObject({ created: ['d/'], changed: ['old', 'touched'], leftOut: [] });
    expect(left).toEqual([]);
    expect(undone).toEqual(['old old', 'touched touched']);
  });

  it('passes over a state directory in which nothing can be made', () => {
    const { root } = places();
    for (const name of ['lower/ws', 'up', 'wk', 'merged']) mkdirSync(path.join(root, name), { recursive: true });
    const mount = `mount -t overlay none -o lowerdir=${root}/lower,upperdir=${root}/up,workdir=${root}/wk ${root}/merged; mount -t tmpfs none /dev/shm`;
    const way = inMounts(mount, { workspaceRoot: `${root}/merged/ws`, stateDir: '/proc' });
    expect(way).toMatchObject({ kind: 'overlay', scratch: expect.not.stringContaining('/proc') });
  });

  it('is a copy where there is no overlay at all and the workspace is small', () => {
    const { workspaceRoot, stateDir } = places();
    writeFileSync(path.join(workspaceRoot, 'old'), 'old');
    const { way, done, undone } = inMounts(
      'mount --bind /bin/false /usr/bin/mount',
      { workspaceRoot, stateDir },
      'echo more >> old; echo > new',
    ) as Ran;
    expect(way).toMatchObject({ kind: 'copy', note: expect.stringMatching(/copy of the workspace.*overlayfs.*better/) });
    expect(done).toMatchObject({ created: ['new'], changed: ['old'] });
    expect(undone).toEqual(['old old']);
  });

  it('is a copy once more where the overlay alone made a command fail', () => {
    const { root, workspaceRoot, stateDir } = places();
    execFileSync('bash', ['-c', 'mkdir -p a/b; echo one > a/b/f; echo CANARY > a/.env'], { cwd: workspaceRoot });
    execFileSync('chown', ['-R', `${otherUser}:${otherUser}`, root]);
    const rename = `python3 -c "import os; os.rename('a', 'aa')" && cat aa/b/f aa/.env; ls aa`;
    const { way, done, stdout, undone } = inMounts('', { workspaceRoot, stateDir, as: otherUser }, rename) as Ran;
    expect(way).toMatchObject({ kind: 'overlay', note: expect.stringContaining('EXDEV') });
    expect({ done, stdout }).toMatchObject({ done: { created: ['aa/'], deleted: ['a/'] }, stdout: 'one\nCANARY\nb\n' });
    expect(undone.toSorted()).toEqual(['.env CANARY\n', 'f one\n']);
  });

  it('is a copy once more where a file of another user is changed, which becomes nobody else’s; where it cannot be copied, that is said', () => {
    const { root, workspaceRoot, stateDir } = places();
    execFileSync('bash', ['-c', 'mkdir a; echo one > a/foreign'], { cwd: workspaceRoot });
    execFileSync('chown', ['-R', `${otherUser}:${otherUser}`, root]);
    execFileSync('bash', ['-c', 'chown 777:777 a/foreign; chmod 666 a/foreign'], { cwd: workspaceRoot });
    const request = { workspaceRoot, stateDir, as: otherUser };
    const { done, undone } = inMounts('', request, 'echo more >> a/foreign && cat a/foreign') as Ran;
    expect(done).toMatchObject({
      created: [],
      changed: [],
      deleted: [],
      nothingApplied: expect.stringContaining('`a/foreign` is another user’s'),
    });
    expect(undone).toEqual(['foreign one\n']);
    execFileSync('bash', ['-c', 'echo > a/closed; chown 777:777 a/closed; chmod 600 a/closed'], { cwd: workspaceRoot });
    const { stderr } = inMounts('', request, '(echo more >> a/foreign); echo > a/new') as Ran;
    expect(stderr).toMatch(/Value too large.*\n\[over the view.*cannot be copied/);
  });

  it('there is no sandbox where nobody may make user namespaces, and that is said with what helps', () => {
    const { root, workspaceRoot, stateDir } = places();
    execFileSync('chown', ['-R', `${otherUser}:${otherUser}`, root]);
    const script = `setpriv --reuid=${otherUser} --regid=${otherUser} --clear-groups unshare -Ur bash -c 'echo 0 > /proc/sys/user/max_user_namespaces; exec "$0" "$@"' "$0" "$1" "$2"; exit`;
    expect(inMounts(script, { workspaceRoot, stateDir }, '')).toMatchObject({
      state: 'unavailable',
      reason: expect.stringMatching(/namespace.*max_user_namespaces/),
    });
  });

  it('there is none where there is no overlay, and too much to copy', () => {
    const { workspaceRoot, stateDir } = places();
    execFileSync('bash', ['-c', 'fallocate -l 1100M large'], { cwd: workspaceRoot });
    const way = inMounts('mount --bind /bin/false /usr/bin/mount', { workspaceRoot, stateDir });
    expect(way).toMatchObject({ kind: 'none', reason: expect.stringContaining('overlayfs'), better: expect.stringContaining('ext4') });
  });
});
