/** A grant belongs to one store in one place: real directories, copied, linked, swapped and put back. */
import { execFileSync } from 'node:child_process';
import { linkSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createApprovals } from '#approval/approvals';
import type { Store } from '#kernel/ports/store';
import { createApprover, createFakeClock, draftBy, opened, openTestStore, temporaryFolder } from './store-fixtures.ts';

const alice = createApprover();

async function bench() {
  const folder = temporaryFolder();
  const clock = createFakeClock();
  const state = join(folder, 'state');
  mkdirSync(state);
  const open = (place: string) => openTestStore({ file: join(place, 'banksman.db'), clock });
  const approvalsOf = (store: Store) =>
    createApprovals({ requests: store.requests, audit: store.audit, clock, via: 'cli', trustedKeys: async () => [alice.pinned] });
  /** An approval as it lies on the disk, with nobody at it. */
  const approve = async () => {
    const store = await open(state);
    const record = await opened(store, draftBy('mcp:a'));
    expect(await approvalsOf(store).approve(record.id, alice.signer)).toMatchObject({ ok: true });
    await store.close();
    return record;
  };
  const consumeIn = async (place: string, { id, digest }: { id: string; digest: string }) => {
    const store = await open(place);
    try {
      return await approvalsOf(store).consume(id, digest, 'x');
    } finally {
      await store.close();
    }
  };
  const copy = (to: string) => execFileSync('cp', ['-a', state, to]);
  return { folder, state, approve, consumeIn, copy };
}

describe('an approval', () => {
  it('is good in its own store, opened again', async () => {
    const { state, approve, consumeIn } = await bench();
    const record = await approve();
    expect(await consumeIn(state, record)).toMatchObject({ ok: true });
  });

  it('is worth nothing in a copy, and once there still', async () => {
    const { folder, state, approve, consumeIn, copy } = await bench();
    const record = await approve();
    copy(join(folder, 'copy'));
    expect(await consumeIn(join(folder, 'copy'), record)).toMatchObject({
      ok: false,
      why: 'other_store',
      message: expect.stringContaining('copied'),
    });
    expect(await consumeIn(state, record)).toMatchObject({ ok: true });
  });

  it('is worth nothing in a copy that was put in the place of the store, before or after it was consumed', async () => {
    const { folder, state, approve, consumeIn, copy } = await bench();
    const record = await approve();
    copy(join(folder, 'before'));
    expect(await consumeIn(state, record)).toMatchObject({ ok: true });
    renameSync(state, join(folder, 'consumed'));
    renameSync(join(folder, 'before'), state);
    expect(await consumeIn(state, record)).toMatchObject({ ok: false, why: 'other_store' });
    // File systems give the number of a deleted file to the next one.
    for (let round = 0; round < 5; round += 1) {
      rmSync(join(folder, 'again'), { recursive: true, force: true });
      copy(join(folder, 'again'));
      rmSync(state, { recursive: true });
      execFileSync('cp', ['-a', join(folder, 'again'), state]);
      expect(await consumeIn(state, record)).toMatchObject({ ok: false, why: 'other_store' });
    }
  });

  it('is worth nothing where the store was moved to', async () => {
    const { folder, state, approve, consumeIn } = await bench();
    const record = await approve();
    renameSync(state, join(folder, 'moved'));
    expect(await consumeIn(join(folder, 'moved'), record)).toMatchObject({ ok: false, why: 'other_store' });
    renameSync(join(folder, 'moved'), state);
    expect(await consumeIn(state, record)).toMatchObject({ ok: true });
  });

  it('is worth nothing under any name while the store has two, as a hard link gives it', async () => {
    const { folder, state, approve, consumeIn } = await bench();
    const record = await approve();
    const linked = join(folder, 'linked');
    mkdirSync(linked);
    linkSync(join(state, 'banksman.db'), join(linked, 'banksman.db'));
    expect(await consumeIn(linked, record)).toMatchObject({ ok: false, why: 'other_store' });
    expect(await consumeIn(state, record)).toMatchObject({ ok: false, why: 'other_store' });
    rmSync(linked, { recursive: true });
    expect(await consumeIn(state, record)).toMatchObject({ ok: true });
  });

  it('is good through a link to the directory: that is the same place', async () => {
    const { folder, state, approve, consumeIn } = await bench();
    const record = await approve();
    execFileSync('ln', ['-s', state, join(folder, 'name')]);
    expect(await consumeIn(join(folder, 'name'), record)).toMatchObject({ ok: true });
  });
});
