import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { groupReads } from '#app/store/group-reads';
import type { AuditDraft, AuditRecord } from '#kernel/audit-event';
import { Fault } from '#kernel/errors';
import type { AuditLog } from '#kernel/ports/audit-log';

const draft = (id: number): AuditDraft => ({ name: 'tool.finished', attributes: { id } });

/** A trail in memory that can be broken; it notes what reached it, in order. */
function createTrail() {
  const written: number[] = [];
  const state = { broken: false, unwritable: -1, now: 0, groups: 0, disk: Promise.resolve() };
  const lines: string[] = [];
  const append: AuditLog['append'] = async ({ attributes }) => {
    await Promise.resolve();
    if (state.broken || attributes.id === state.unwritable) throw new Fault('audit_unavailable', 'disk full', { audience: 'operator' });
    written.push(Number(attributes.id));
    return { attributes } as AuditRecord;
  };
  const log: AuditLog = {
    append,
    appendAll: async (drafts) => {
      state.groups += 1;
      await state.disk;
      for (const one of drafts) await append(one);
    },
    read: async () => written.map((id) => ({ attributes: { id } }) as unknown as AuditRecord),
    ofRequest: async () => [],
    changesSince: async () => [],
    attempts: async () => [],
    endAttempt: async () => false,
    head: async () => ({ sequence: written.length, hash: '' }),
  };
  const say = (message: string) => void lines.push(message);
  const reads = groupReads(log, { debug: say, info: say, warn: say, error: say }, () => state.now);
  return { reads, written, state, lines };
}

describe('records of green reads', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('wait for the disk until one record has been written', async () => {
    const { reads, written } = createTrail();
    await reads.note(draft(1));
    expect(written).toEqual([1]);
  });

  it('are then answered ahead of the disk, and written within 50 ms', async () => {
    const { reads, written } = createTrail();
    await reads.note(draft(1));
    await reads.note(draft(2));
    await reads.note(draft(3));
    expect(written).toEqual([1]);
    await vi.advanceTimersByTimeAsync(50);
    expect(written).toEqual([1, 2, 3]);
  });

  it('go to the disk sooner where many come at once', async () => {
    const { reads, written, state } = createTrail();
    await reads.note(draft(0));
    state.groups = 0;
    for (let id = 1; id <= 50; id += 1) await reads.note(draft(id));
    await vi.advanceTimersByTimeAsync(0);
    expect(written.slice(0, 25)).toEqual(Array.from({ length: 25 }, (_, id) => id));
    await vi.advanceTimersByTimeAsync(50);
    expect(written).toEqual(Array.from({ length: 51 }, (_, id) => id));
  });

  it('are answered while a group is on its way to a slow disk', async () => {
    const { reads, written, state } = createTrail();
    await reads.note(draft(1));
    const disk = Promise.withResolvers<void>();
    state.disk = disk.promise;
    state.groups = 0;
    await reads.note(draft(2));
    await vi.advanceTimersByTimeAsync(20);
    expect(state.groups).toBe(1);
    await reads.note(draft(3));
    expect(written).toEqual([1]);
    disk.resolve();
    await reads.settle();
    expect(written).toEqual([1, 2, 3]);
  });

  it('that must wait for the disk share one write', async () => {
    const { reads, written, state } = createTrail();
    await Promise.all([1, 2, 3, 4, 5].map((id) => reads.note(draft(id))));
    expect(written).toEqual([1, 2, 3, 4, 5]);
    // The first alone or with all: whoever came while it was on its way is in the next.
    expect(state.groups).toBeLessThanOrEqual(2);
    state.broken = true;
    state.now = 2_000;
    const refused = await Promise.allSettled([6, 7].map((id) => reads.note(draft(id))));
    expect(refused.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  });

  it('wait for the disk again after a pause', async () => {
    const { reads, written, state } = createTrail();
    await reads.note(draft(1));
    state.now = 1_001;
    await reads.note(draft(2));
    expect(written).toEqual([1, 2]);
  });

  it('come before what is written or read after them', async () => {
    const { reads, written } = createTrail();
    await reads.note(draft(1));
    await reads.note(draft(2));
    await reads.audit.append(draft(3));
    expect(written).toEqual([1, 2, 3]);
    await reads.note(draft(4));
    await expect(reads.audit.read(0, 10)).resolves.toHaveLength(4);
    await reads.note(draft(5));
    await expect(reads.audit.head()).resolves.toMatchObject({ sequence: 5 });
  });

  it('refuse the next read once the trail cannot be written, and lose nothing', async () => {
    const { reads, written, state, lines } = createTrail();
    await reads.note(draft(1));
    await reads.note(draft(2));
    state.broken = true;
    await vi.advanceTimersByTimeAsync(50);
    expect(lines).toEqual(['audit: 1 records of reads wait, the trail cannot be written: disk full']);
    await expect(reads.note(draft(3))).rejects.toThrow('disk full');
    // What is there can still be read.
    await expect(reads.audit.read(0, 10)).resolves.toHaveLength(1);
    state.broken = false;
    await reads.note(draft(4));
    expect(written).toEqual([1, 2, 4]);
  });

  it('are written at once where they cannot be written at all, so that only their own call is refused', async () => {
    const { reads, written, state } = createTrail();
    await reads.note(draft(1));
    await reads.note(draft(2));
    state.unwritable = 3;
    await expect(reads.note({ name: 'tool.finished', attributes: { id: 3, text: '\ud800' } })).rejects.toThrow('disk full');
    expect(written).toEqual([1, 2]);
    await reads.note(draft(4));
    expect(written).toEqual([1, 2, 4]);
  });

  it('never pile up in memory', async () => {
    const { reads, written, state } = createTrail();
    await reads.note(draft(0));
    const disk = Promise.withResolvers<void>();
    state.disk = disk.promise;
    for (let id = 1; id <= 200; id += 1) await reads.note(draft(id));
    expect(written).toEqual([0]);
    const waits = reads.note(draft(201));
    disk.resolve();
    await waits;
    expect(written).toHaveLength(202);
    expect(written).toEqual(written.toSorted((a, b) => a - b));
  });

  it('are all written by the end', async () => {
    const { reads, written } = createTrail();
    await reads.note(draft(1));
    await reads.note(draft(2));
    await reads.settle();
    expect(written).toEqual([1, 2]);
  });
});
