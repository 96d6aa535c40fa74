/** What the embedded store drops when it is old, what it never drops, and what `verify` says of a trail without its beginning. */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it, onTestFinished } from 'vitest';
import { seal } from '#audit/seal';
import { verifyTrail } from '#audit/verify-trail';
import type { Store } from '#kernel/ports/store';
import { openDatabase } from '#stores/sqlite/database';
import { defaultRetention, prune, type Retention } from '#stores/sqlite/retention';
import { createAppend } from '#stores/sqlite/sqlite-audit';
import {
  approved,
  createApprover,
  createFakeClock,
  decisionBy,
  draftBy,
  opened,
  openTestStore,
  temporaryFolder,
} from './store-fixtures.ts';

const day = 86_400_000;
const alice = createApprover();

async function bench() {
  const clock = createFakeClock();
  const file = join(temporaryFolder(), 'state', 'banksman.db');
  const store = await openTestStore({ file, clock });
  const database = await openDatabase({ file, busyDeadlineMs: 5000 });
  const raw = new DatabaseSync(file);
  onTestFinished(() => {
    raw.close();
    database.close();
  });
  const append = createAppend(seal, () => clock.now());
  const sweep = (retention: Partial<Retention> = {}) =>
    prune(database, { now: clock.now(), append, retention: { ...defaultRetention, ...retention } });
  return { clock, file, store, raw, sweep };
}

async function write(store: Store, count: number, text = ''): Promise<void> {
  await Promise.all(
    Array.from({ length: count }, (_, index) => store.audit.append({ name: 'tool.finished', attributes: { index, text } })),
  );
}

async function firstSequence(store: Store): Promise<number | undefined> {
  return (await store.audit.read(0, 1))[0]?.sequence;
}

function dropTriggers(raw: DatabaseSync): void {
  for (const { name } of raw.prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'").all()) raw.exec(`DROP TRIGGER ${name}`);
}

describe('the trail', () => {
  it('loses what is older than 90 days, says so in itself, and verifies', async () => {
    const { clock, store, sweep } = await bench();
    await write(store, 2500);
    clock.advance(50 * day);
    await write(store, 10);
    clock.advance(42 * day);
    await sweep();
    expect(await firstSequence(store)).toBe(2501);
    const marks = (await store.audit.read(0, 5000)).filter((record) => record.name === 'audit.checkpoint');
    expect(marks.map((record) => record.attributes.removed)).toEqual([1000, 1000, 500]);
    expect(marks.at(-1)?.attributes).toMatchObject({ base: { sequence: 2500, hash: expect.stringMatching(/^[a-f0-9]{64}$/) } });
    expect(await verifyTrail(store.audit)).toMatchObject({ ok: true, records: 13 });
    await write(store, 1);
    expect(await verifyTrail(store.audit)).toMatchObject({ ok: true, records: 14 });
    clock.advance(100 * day);
    await sweep();
    expect(await firstSequence(store)).toBe(2515);
    expect(await verifyTrail(store.audit)).toMatchObject({ ok: true, records: 1 });
  });

  it('is not pruned record by record: nothing goes until the oldest is well over its time', async () => {
    const { clock, store, sweep } = await bench();
    await write(store, 3);
    clock.advance(91 * day);
    await sweep();
    expect(await firstSequence(store)).toBe(1);
    clock.advance(day);
    await sweep();
    await sweep();
    expect((await store.audit.read(0, 10)).map((record) => record.name)).toEqual(['audit.checkpoint']);
  });

  it('that has outgrown its size loses its oldest, down to nine tenths', async () => {
    const { clock, store, raw, sweep } = await bench();
    await write(store, 600, 'x'.repeat(2000));
    clock.advance(8 * day);
    await write(store, 5);
    const used = () =>
      (Number(raw.prepare('PRAGMA page_count').get()?.page_count) - Number(raw.prepare('PRAGMA freelist_count').get()?.freelist_count)) *
      Number(raw.prepare('PRAGMA page_size').get()?.page_size);
    const bytes = Math.round(used() / 2);
    await sweep({ bytes });
    expect(used()).toBeLessThanOrEqual(bytes);
    expect(used()).toBeGreaterThan(bytes * 0.7);
    const verdict = await verifyTrail(store.audit);
    expect(verdict).toMatchObject({ ok: true });
    expect(verdict.records).toBeGreaterThan(200);
  });

  it('cannot be washed away by writing a lot: a week stays, whatever its size', async () => {
    const { clock, store, sweep } = await bench();
    await store.audit.append({ name: 'tool.denied', attributes: { what: 'the misdeed' } });
    clock.advance(6 * day);
    await write(store, 500, 'x'.repeat(2000));
    await sweep({ bytes: 10_000 });
    expect(await firstSequence(store)).toBe(1);
  });

  it('keeps a record that was altered, and all after it, as evidence', async () => {
    const { clock, store, raw, sweep } = await bench();
    await write(store, 20);
    dropTriggers(raw);
    raw.exec("UPDATE audit SET body = json_set(body, '$.attributes.index', 99) WHERE sequence = 8");
    clock.advance(100 * day);
    await sweep();
    expect(await firstSequence(store)).toBe(8);
    expect(await verifyTrail(store.audit)).toMatchObject({ ok: false, broken: 8, message: expect.stringContaining('altered') });
    await sweep();
    expect(await firstSequence(store)).toBe(8);
  });

  it('is pruned in steps between which others have their turn', async () => {
    const { clock, file, store, sweep } = await bench();
    await write(store, 3000);
    clock.advance(100 * day);
    const other = await openTestStore({ file, clock });
    let over = false;
    let turns = 0;
    const count = (): void => {
      turns += 1;
      if (!over) setImmediate(count);
    };
    const oldest = other.audit.read(0, 1);
    setImmediate(count);
    const swept = sweep().finally(() => {
      over = true;
    });
    const [first] = await oldest;
    await other.audit.append({ name: 'tool.started', attributes: {} });
    await swept;
    expect(turns).toBeGreaterThan(30);
    expect(await firstSequence(store)).toBeGreaterThan(first?.sequence ?? 0);
    expect(await verifyTrail(store.audit)).toMatchObject({ ok: true });
  });

  it('is pruned by several processes at once as by one', async () => {
    const { clock, file, store, sweep } = await bench();
    await write(store, 1500);
    clock.advance(100 * day);
    const other = await openDatabase({ file, busyDeadlineMs: 5000 });
    const append = createAppend(seal, () => clock.now());
    await Promise.all([sweep(), sweep(), prune(other, { now: clock.now(), append }), write(store, 20)]);
    other.close();
    const records = await store.audit.read(0, 100);
    expect(records.filter((record) => record.name === 'tool.finished')).toHaveLength(20);
    expect(await verifyTrail(store.audit)).toMatchObject({ ok: true, records: records.length });
  });

  it('still shows a cut-off end against a point known from before', async () => {
    const { clock, store, raw, sweep } = await bench();
    await write(store, 50);
    clock.advance(100 * day);
    await write(store, 10);
    await sweep();
    const known = await store.audit.head();
    expect(await verifyTrail(store.audit, known ? [known] : [])).toMatchObject({ ok: true });
    dropTriggers(raw);
    raw.exec('DELETE FROM audit WHERE sequence > 58');
    const end = raw.prepare("SELECT sequence, body ->> '$.hash' AS hash FROM audit ORDER BY sequence DESC LIMIT 1").get();
    raw.prepare('UPDATE audit_head SET sequence = ?, hash = ?').run(Number(end?.sequence), String(end?.hash));
    expect(await verifyTrail(store.audit, known ? [known] : [])).toMatchObject({ ok: false });
  });
});

describe('a trail without its beginning', () => {
  it.each<[string, string]>([
    ['that nobody declared', 'DELETE FROM audit WHERE sequence <= 60'],
    ['further than declared', 'DELETE FROM audit WHERE sequence <= 55'],
  ])('%s is broken', async (_, sql) => {
    const { clock, store, raw, sweep } = await bench();
    await write(store, 50);
    clock.advance(100 * day);
    await write(store, 20);
    await sweep();
    expect(await verifyTrail(store.audit)).toMatchObject({ ok: true, records: 21 });
    dropTriggers(raw);
    raw.exec(sql);
    expect(await verifyTrail(store.audit)).toMatchObject({ ok: false, message: expect.stringContaining('it was removed') });
  });

  it('is broken where its declaration was removed with what came before', async () => {
    const { clock, store, raw, sweep } = await bench();
    await write(store, 5);
    clock.advance(100 * day);
    await sweep();
    await write(store, 5);
    dropTriggers(raw);
    raw.exec('DELETE FROM audit WHERE sequence <= 6');
    expect(await verifyTrail(store.audit)).toMatchObject({ ok: false, broken: 7 });
  });
});

describe('the file lets go of', () => {
  it('no record without one that says so, and none beyond it', async () => {
    const { clock, store, raw, sweep } = await bench();
    await write(store, 5);
    clock.advance(100 * day);
    await write(store, 5);
    expect(() => raw.exec('DELETE FROM audit WHERE sequence = 1')).toThrow(/the trail is kept/);
    await sweep();
    expect(await firstSequence(store)).toBe(6);
    // The declaration is the newest record still, and covers only what it names.
    expect(() => raw.exec('DELETE FROM audit WHERE sequence = 6')).toThrow(/the trail is kept/);
    const bogus = { name: 'audit.checkpoint', attributes: { base: { sequence: 10, hash: 'f'.repeat(64) } } } as const;
    await expect(store.audit.append(bogus)).rejects.toMatchObject({ code: 'audit_unavailable' });
  });

  it('requests that are over after 30 days, and of nothing younger or open', async () => {
    const { clock, store, raw, sweep } = await bench();
    const old = await opened(store, draftBy('mcp:a'));
    await store.requests.deny(old.id, decisionBy());
    const consumed = await approved(store, alice, clock.now(), draftBy('mcp:b'));
    await store.requests.consume(consumed.id, consumed.digest, 'x');
    clock.advance(20 * day);
    const younger = await opened(store, draftBy('mcp:c'));
    await store.requests.cancel(younger.id, 'mcp:c');
    clock.advance(11 * day);
    const waiting = await opened(store, draftBy('mcp:d'));
    await sweep();
    expect((await store.requests.list({ limit: 10 })).records.map((record) => record.id)).toEqual([waiting.id, younger.id]);
    expect(await store.requests.get(old.id)).toBeUndefined();
    for (const { id } of [younger, waiting])
      expect(() => raw.prepare('DELETE FROM requests WHERE id = ?').run(id)).toThrow(/requests are kept/);
    expect(() => raw.exec('UPDATE retention SET requests_before = 0')).toThrow(/time goes forward/);
    expect(() => raw.exec('DELETE FROM retention')).toThrow(/kept/);
  });

  it('no id that a grant was consumed under: it is not given again while the trail remembers it', async () => {
    const { clock, file, store, sweep } = await bench();
    const consumed = await approved(store, alice, clock.now(), draftBy('mcp:b'));
    await store.requests.consume(consumed.id, consumed.digest, 'x');
    clock.advance(31 * day);
    await sweep();
    expect(await store.requests.get(consumed.id)).toBeUndefined();
    const ids = [consumed.id, 'req-00000002'];
    const other = await openTestStore({ file, clock, ids: () => ids.shift() ?? '' });
    expect((await opened(other, draftBy('mcp:b'))).id).toBe('req-00000002');
  });
});
