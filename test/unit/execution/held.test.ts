import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { AttributeChange } from '#execution/effects/directory-attributes';
import { disk } from '#execution/effects/disk';
import { type HeldGround, hold, readHeld } from '#execution/effects/held';
import { look, stampOf } from '#execution/effects/stamp';

let root = '';

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'held-'));
  for (const name of ['workspace', 'workspace/.vscode', 'journal', 'upper']) mkdirSync(join(root, name));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

async function heldWith(id: string, extended: AttributeChange) {
  const programs = { run: () => Promise.reject(new Error('no program is needed')) };
  const workspaceRoot = join(root, 'workspace');
  const ground = {
    ...{ workspaceRoot, journal: join(root, 'journal'), disk, programs, live: new Set() },
    limits: { heldBytes: 1_000, journalBytes: 1_000 },
  } as unknown as HeldGround;
  const stats = look(join(workspaceRoot, '.vscode'));
  if (stats === undefined) throw new Error('it was just made');
  const after = { path: '.vscode', stats, source: join(root, 'upper'), pure: true };
  const before = { stamp: stampOf(stats), newest: stats.ctimeNs };
  const unit = { path: '.vscode', kind: 'attributes', before, after, inside: [], keepTimes: true, extended } as const;
  const view = { workspaceRoot, scratch: root, directory: root } as never;
  const { heldId = '' } = await hold(ground, { id, title: 't', agentId: 'a', view, units: [unit], at: 0 });
  return { heldId, held: await readHeld(ground, heldId) };
}

it('counts extended attributes for what is held, and shows which they are', async () => {
  const first = await heldWith('x-00000001', { from: {}, to: { 'user.one': 'eA==' } });
  const again = await heldWith('x-00000002', { from: {}, to: { 'user.one': 'eA==' } });
  const other = await heldWith('x-00000003', { from: {}, to: { 'user.one': 'eQ==', 'system.posix_acl_access': 'eA==' } });
  const odd = await heldWith('x-00000004', { from: {}, to: { 'user.\udcff': 'eA==' } });
  expect([first, again, other, odd].map(({ heldId }) => heldId)).toEqual(['x-00000001', 'x-00000001', 'x-00000003', 'x-00000004']);
  expect(new Set([first, other, odd].map(({ held }) => held?.digest)).size).toBe(3);
  expect(other.held?.changes).toMatchObject([{ facts: ['other extended attributes: user.one, system.posix_acl_access'] }]);
});
