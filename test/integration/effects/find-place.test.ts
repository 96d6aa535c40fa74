import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { findWay } from '#execution/effects/find-place';
import { programRunner } from '#execution/run-program';
import { temporaryDirectory } from '../execution/support/temporary.ts';

const { signal } = new AbortController();

function places() {
  const root = temporaryDirectory('place-');
  const [workspaceRoot, stateDir] = [path.join(root, 'ws, with: odd\\ name'), path.join(root, 'state')];
  mkdirSync(workspaceRoot);
  return { root, workspaceRoot, stateDir, programs: programRunner };
}

/** In a mount namespace of the test's own. @returns what `findWay` says there */
function inMounts(script: string, request: { readonly workspaceRoot: string; readonly stateDir: string }): unknown {
  const code = `import { findWay } from '#execution/effects/find-place'; import { programRunner } from '#execution/run-program';
console.log(JSON.stringify(await findWay({ ...${JSON.stringify(request)}, programs: programRunner }, new AbortController().signal)))`;
  const child = path.join(import.meta.dirname, '../../..');
  const args = ['-m', 'bash', '-c', `${script}; cd "$0"; exec "$1" --input-type=module-typescript -e "$2"`, child, process.execPath, code];
  const { stdout, stderr } = spawnSync('unshare', args, { encoding: 'utf8' });
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

  it('there is none where something is mounted in the workspace, and it is said', () => {
    const { workspaceRoot, stateDir } = places();
    mkdirSync(path.join(workspaceRoot, 'inner'));
    const way = inMounts(`mount -t tmpfs none "${workspaceRoot}/inner"`, { workspaceRoot, stateDir });
    expect(way).toMatchObject({ kind: 'none', reason: expect.stringContaining('/inner') });
  });

  it('there is none where overlayfs cannot write (the workspace on an overlay), and it is said', () => {
    const { root } = places();
    for (const name of ['lower', 'up', 'wk', 'merged']) mkdirSync(path.join(root, name));
    const mount = `mount -t overlay none -o lowerdir=${root}/lower,upperdir=${root}/up,workdir=${root}/wk ${root}/merged; mkdir ${root}/merged/ws ${root}/merged/state`;
    const way = inMounts(mount, { workspaceRoot: `${root}/merged/ws`, stateDir: `${root}/merged/state` });
    expect(way).toMatchObject({ kind: 'none', reason: expect.stringContaining('overlayfs'), better: expect.stringContaining('ext4') });
  });
});
