/** Laws of runs over a view, on the real overlayfs: random trees, random scripts. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EffectJudge } from '#kernel/effects';
import { openBench, snapshot } from '../../integration/effects/support/effects-bench.ts';
import { temporaryDirectory } from '../../integration/execution/support/temporary.ts';

// Few names, so that what one line makes the next one meets.
const name = fc.constantFrom('a', 'b', 'c', 'held');
const place = fc.array(name, { minLength: 1, maxLength: 3 }).map((names) => names.join('/'));
const mode = fc.constantFrom('600', '644', '755', '700', '555', '444');
const line = fc.oneof(
  fc.tuple(place, fc.integer()).map(([to, value]) => `echo ${value} > ${to}`),
  fc.tuple(place, fc.integer()).map(([to, value]) => `echo ${value} >> ${to}`),
  place.map((at) => `mkdir -p ${at}`),
  place.map((at) => `rm -rf ${at}`),
  place.map((at) => `rm ${at}`),
  fc.tuple(place, place).map(([from, to]) => `mv -T ${from} ${to}`),
  fc.tuple(place, place).map(([from, to]) => `cp -a ${from} ${to}`),
  fc.tuple(place, place).map(([from, to]) => `ln ${from} ${to}`),
  fc.tuple(place, place).map(([from, to]) => `ln -sfn ${from} ${to}`),
  fc.tuple(mode, place).map(([bits, at]) => `chmod ${bits} ${at}`),
  fc.tuple(fc.integer({ min: 0, max: 2_000_000_000 }), place).map(([time, at]) => `touch -c -h -d @${time}.123456789 ${at}`),
  place.map((at) => `rm -rf ${at}; mkdir ${at}; echo new > ${at}/new`),
);
const script = (maxLength: number) => fc.array(line, { minLength: 1, maxLength }).map((lines) => lines.join('\n'));
const runs = { numRuns: 40 };

function workspaceOf(tree: string): { readonly root: string; readonly workspace: string } {
  const root = temporaryDirectory('law-');
  const workspace = path.join(root, 'ws');
  mkdirSync(workspace);
  plainly(tree, workspace);
  return { root, workspace };
}

function plainly(text: string, cwd: string): void {
  spawnSync('bash', ['-c', text], { cwd, stdio: 'ignore' });
}

/** A write to one of several names changes the others in a plain run, and in a view they part: scripts that do that are left out. */
function hasWrittenLink(text: string): boolean {
  return /^ln \S+ \S+$/m.test(text);
}

describe.skipIf(process.platform !== 'linux')('random trees and scripts', () => {
  it('apply leaves what plain bash leaves, and undo is the identity', async () => {
    await fc.assert(
      fc.asyncProperty(script(12), script(8), async (tree, text) => {
        fc.pre(!hasWrittenLink(`${tree}\n${text}`));
        const { root, workspace } = workspaceOf(tree);
        const other = path.join(temporaryDirectory('plain-'), 'ws');
        execFileSync('cp', ['-a', workspace, other]);
        const before = snapshot(workspace, { inodes: true });
        const { run, effects } = openBench({ root });
        const done = await run(text);
        plainly(text, other);
        expect(done.leftOut).toEqual([]);
        expect(snapshot(workspace, { times: false })).toEqual(snapshot(other, { times: false }));
        if (done.runId !== undefined) await effects.undo(done.runId, { force: false });
        expect(snapshot(workspace, { inodes: true })).toEqual(before);
      }),
      runs,
    );
  });

  it('with links of files, too, undo is the identity', async () => {
    await fc.assert(
      fc.asyncProperty(script(12), script(8), async (tree, text) => {
        const { root, workspace } = workspaceOf(tree);
        const before = snapshot(workspace, { inodes: true });
        const { run, effects } = openBench({ root });
        const { runId } = await run(text);
        if (runId !== undefined) await effects.undo(runId, { force: false });
        expect(snapshot(workspace, { inodes: true })).toEqual(before);
      }),
      runs,
    );
  });

  it('what is held is as it was, and undo of the rest is the identity', async () => {
    const judge: EffectJudge = ({ path: at }) => {
      const isHeld = at.split('/').includes('held');
      return { action: isHeld ? 'hold' : 'apply', rule: 'test', why: 'a test' };
    };
    const ofHeld = (found: Readonly<Record<string, string>>) =>
      Object.fromEntries(Object.entries(found).filter(([at]) => at.split('/').includes('held')));
    await fc.assert(
      fc.asyncProperty(script(12), script(8), async (tree, text) => {
        const { root, workspace } = workspaceOf(tree);
        const before = snapshot(workspace, { inodes: true });
        const { run, effects } = openBench({ root, judge });
        const { runId } = await run(text);
        const names = Object.keys(ofHeld(snapshot(workspace)));
        expect(names).toEqual(Object.keys(ofHeld(before)));
        if (runId !== undefined) await effects.undo(runId, { force: false });
        expect(snapshot(workspace, { inodes: true })).toEqual(before);
      }),
      runs,
    );
  });
});
