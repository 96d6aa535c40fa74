import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Work } from '#execution/effects/carry-out';
import { disk } from '#execution/effects/disk';
import { look, stampOf } from '#execution/effects/stamp';
import { takeBack } from '#execution/effects/take-back';
import { holdTree } from '#files/held-tree';

let root = '';

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'take-back-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

it('gives attributes back to the directory they are of, and to no other of its name', async () => {
  mkdirSync(join(root, 'old'), { mode: 0o755 });
  const stats = look(join(root, 'old'));
  if (stats === undefined) throw new Error('it was just made');
  const before = stampOf(stats);
  const extended = { from: { 'user.mark': 'eA==' }, to: {} };
  const step = { number: 0, path: 'old', kind: 'attributes', act: 'set', before, after: before, extended } as const;
  const asked: string[] = [];
  const programs = { run: async ({ input = '' }) => ({ exitCode: 0, stdout: '', stderr: String(asked.push(input)) }) };
  const back = async () => {
    const tree = holdTree(root);
    const plan = { workspaceRoot: root, steps: [step], parents: [] };
    await takeBack({ plan, tree, own: join(root, 'own'), disk, programs, force: true } as unknown as Work, []);
    tree.close();
    return asked.splice(0).filter((input) => input.includes('user.mark')).length;
  };
  expect(await back()).toBe(1);
  // The old one stays, so that the new one gets another inode.
  mkdirSync(join(root, 'new'));
  chmodSync(join(root, 'new'), 0o700);
  disk.rename(join(root, 'old'), join(root, 'aside'));
  disk.rename(join(root, 'new'), join(root, 'old'));
  expect(await back()).toBe(0);
  expect(statSync(join(root, 'old')).mode & 0o777).toBe(0o700);
});
