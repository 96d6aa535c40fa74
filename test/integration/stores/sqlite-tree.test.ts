/** The Merkle tree beside the trail: it grows with it, stays when records leave, and shows what somebody did to the file. */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it, onTestFinished } from 'vitest';
import { consistencyPath, rootOf, verifyConsistency } from '#audit/merkle';
import { hashOf, seal } from '#audit/seal';
import { verifyTrail } from '#audit/verify-trail';
import { readerOf } from '#audit/verify-tree';
import type { AuditRecord } from '#kernel/audit-event';
import type { TrailTree } from '#kernel/ports/audit-log';
import type { Store } from '#kernel/ports/store';
import { openDatabase } from '#stores/sqlite/database';
import { prune } from '#stores/sqlite/retention';
import { applicationId, migrations } from '#stores/sqlite/schema';
import { createAppend } from '#stores/sqlite/sqlite-audit';
import { createFakeClock, openTestStore, temporaryFolder } from './store-fixtures.ts';

const day = 86_400_000;

async function bench(records = 0) {
  const clock = createFakeClock();
  const file = join(temporaryFolder(), 'state', 'banksman.db');
  const store = await openTestStore({ file, clock });
  const raw = new DatabaseSync(file);
  const database = await openDatabase({ file, busyDeadlineMs: 5000 });
  onTestFinished(() => {
    raw.close();
    database.close();
  });
  await write(store, records);
  const append = createAppend(seal, () => clock.now());
  return { clock, file, store, raw, tree: treeOf(store), sweep: () => prune(database, { now: clock.now(), append }) };
}

async function write(store: Store, count: number): Promise<void> {
  await store.audit.appendAll(Array.from({ length: count }, (_, index) => ({ name: 'tool.finished' as const, attributes: { index } })));
}

function treeOf({ audit }: Store): TrailTree {
  if (audit.tree === undefined) throw new Error('the embedded store has no tree');
  return audit.tree;
}

async function checkpointOf(tree: TrailTree) {
  const { size } = await tree.state();
  return { size, root: await rootOf(readerOf(tree), size) };
}

async function goesOn(tree: TrailTree, old: Awaited<ReturnType<typeof checkpointOf>>): Promise<boolean> {
  const now = await checkpointOf(tree);
  if (old.size > now.size) return false;
  const path = await consistencyPath(readerOf(tree), old.size, now.size);
  return verifyConsistency({ from: old.size, size: now.size, path, fromRoot: old.root, root: now.root });
}

/** What somebody writes who can open the file and knows how records are made. */
function forge(raw: DatabaseSync, record: Omit<AuditRecord, 'sequence' | 'previous' | 'hash' | 'version'>): void {
  const head = raw.prepare('SELECT sequence, hash FROM audit_head').get();
  const open = { version: 1 as const, sequence: Number(head?.sequence) + 1, previous: String(head?.hash), ...record };
  const body = JSON.stringify({ ...open, hash: hashOf(open) });
  raw.prepare('INSERT INTO audit (sequence, name, body) VALUES (?, ?, ?)').run(open.sequence, open.name, body);
}

function recordAt(raw: DatabaseSync, sequence: number): AuditRecord {
  return JSON.parse(String(raw.prepare('SELECT body FROM audit WHERE sequence = ?').get(sequence)?.body)) as AuditRecord;
}

/** With the triggers as they are. */
function dropDeclared(raw: DatabaseSync, upTo: number, { time, isShown }: { readonly time: number; readonly isShown: boolean }): void {
  const last = recordAt(raw, upTo);
  const base = { sequence: upTo, hash: last.hash };
  forge(raw, {
    time: new Date(time).toISOString(),
    name: 'audit.checkpoint',
    attributes: { base, removed: upTo, removed_until: last.time, ...(isShown ? { last: { ...last } } : {}) },
  });
  raw.prepare('DELETE FROM audit WHERE sequence <= ?').run(upTo);
}

function dropTriggers(raw: DatabaseSync): void {
  for (const { name } of raw.prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'").all()) raw.exec(`DROP TRIGGER ${name}`);
}

/** Takes the triggers away, and puts them back. */
function aside(raw: DatabaseSync, work: () => void): void {
  const triggers = raw.prepare("SELECT sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name LIKE 'audit%'").all();
  dropTriggers(raw);
  work();
  for (const { sql } of triggers) raw.exec(String(sql));
}

describe('the tree of a trail', () => {
  it('has a leaf for each record, and goes on from every earlier size', async () => {
    const { store, tree } = await bench();
    const old: Awaited<ReturnType<typeof checkpointOf>>[] = [];
    for (const count of [1, 1, 1, 252, 1, 1, 300]) {
      await write(store, count);
      old.push(await checkpointOf(tree));
    }
    expect(old.map(({ size }) => size)).toEqual([1, 2, 3, 255, 256, 257, 557]);
    expect(await Promise.all(old.map((point) => goesOn(tree, point)))).toEqual(old.map(() => true));
    expect(await verifyTrail(store.audit)).toMatchObject({ ok: true, records: 557 });
  });

  it('stays when old records leave, so that who kept a checkpoint from before still knows the trail', async () => {
    const { clock, store, tree, sweep } = await bench(700);
    const old = await checkpointOf(tree);
    clock.advance(100 * day);
    await sweep();
    expect(await store.audit.read(0, 1)).toMatchObject([{ sequence: 701, name: 'audit.checkpoint' }]);
    await write(store, 5);
    expect(await tree.state()).toMatchObject({ first: 1, size: 706 });
    expect(await goesOn(tree, old)).toBe(true);
    expect(await verifyTrail(store.audit)).toMatchObject({ ok: true, records: 6 });
  });

  it('of an older store begins with its oldest record, and of one that an older version wrote to meanwhile is made up', async () => {
    const { file, raw } = olderStore();
    for (let index = 1; index <= 1230; index += 1) forge(raw, finished());
    const base = { sequence: 30, hash: recordAt(raw, 30).hash };
    forge(raw, { ...finished(), name: 'audit.checkpoint', attributes: { base, removed: 30 } });
    raw.exec('DELETE FROM audit WHERE sequence <= 30');
    const newer = await openTestStore({ file });
    const tree = treeOf(newer);
    expect(await tree.state()).toMatchObject({ first: 31, size: 1201 });
    expect(await verifyTrail(newer.audit)).toMatchObject({ ok: true, records: 1201 });
    const old = await checkpointOf(tree);
    forge(raw, finished());
    await write(newer, 1);
    expect(await tree.state()).toMatchObject({ size: 1203 });
    expect(await goesOn(tree, old)).toBe(true);
    expect(await verifyTrail(newer.audit)).toMatchObject({ ok: true });
  });
});

/** As the version before the tree left it. */
function olderStore() {
  const file = join(temporaryFolder(), 'banksman.db');
  const version = migrations.findIndex((sql) => sql.includes('audit_tree'));
  const raw = new DatabaseSync(file);
  onTestFinished(() => raw.close());
  raw.exec([...migrations.slice(0, version), `PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${version}`].join('\n'));
  return { file, raw };
}

function finished() {
  return { time: new Date().toISOString(), name: 'tool.finished' as const, attributes: {} };
}

describe('somebody who leaves the triggers alone', () => {
  it('and declares nearly all of a young trail pruned is found', async () => {
    const { clock, store, raw } = await bench(4000);
    dropDeclared(raw, 3900, { time: clock.now(), isShown: false });
    expect(await verifyTrail(store.audit)).toMatchObject({ ok: false });
    await write(store, 3);
    expect(await verifyTrail(store.audit)).toMatchObject({ ok: false, broken: 4001, message: expect.stringContaining('does not show') });
  });

  it('and shows the last record, too, is found: it was too young to go', async () => {
    const { clock, store, raw } = await bench(400);
    dropDeclared(raw, 390, { time: clock.now(), isShown: true });
    await write(store, 3);
    expect(await verifyTrail(store.audit)).toMatchObject({ ok: false, broken: 401, message: expect.stringContaining('removed') });
  });

  it('and says that it was done in a week is found by the clock, and by the records that come after', async () => {
    const { clock, file, store, raw } = await bench(400);
    dropDeclared(raw, 390, { time: clock.now() + 8 * day, isShown: true });
    // Whoever opens the file gives the record its leaf.
    const { audit } = await openTestStore({ file, clock });
    expect(await verifyTrail(audit)).toMatchObject({ ok: false, broken: 401, message: expect.stringContaining('yet to come') });
    await write(store, 3);
    expect(await verifyTrail(store.audit)).toMatchObject({ ok: false, broken: 401, message: expect.stringContaining('clock') });
  });

  it('and puts an old record of their own before it is found: what the tree saw last of what is gone is young', async () => {
    const { clock, store, raw } = await bench(400);
    forge(raw, { time: new Date(clock.now() - 20 * day).toISOString(), name: 'tool.finished', attributes: {} });
    await write(store, 1);
    dropDeclared(raw, 401, { time: clock.now(), isShown: true });
    await write(store, 3);
    expect(await verifyTrail(store.audit)).toMatchObject({ ok: false, broken: 403, message: expect.stringContaining('removed') });
  });

  it('cannot take a hash of the tree, change one, put one in, or drop a record that has none', async () => {
    const { clock, raw } = await bench(300);
    expect(() => raw.exec('DELETE FROM audit_tree WHERE position = 5')).toThrow('the tree is kept');
    expect(() => raw.exec('UPDATE audit_tree SET time = 0')).toThrow('the tree does not change');
    expect(() => raw.exec("INSERT INTO audit_tree VALUES (0, 301, x'00', 0)")).toThrow('the tree grows at its end');
    expect(() => raw.exec("UPDATE audit_log SET origin = 'another'")).toThrow('the log stays what it is');
    forge(raw, { time: new Date(clock.now()).toISOString(), name: 'tool.finished', attributes: {} });
    expect(() => dropDeclared(raw, 301, { time: clock.now() + 9 * day, isShown: true })).toThrow('the hash of a record stays');
  });
});

describe('somebody who dropped the triggers', () => {
  it.each([
    ['takes a hash away', 'DELETE FROM audit_tree WHERE level = 0 AND position = 100', 1],
    ['changes one', 'UPDATE audit_tree SET hash = zeroblob(32) WHERE level = 0 AND position = 290', 291],
    ['changes one of a whole tile', 'UPDATE audit_tree SET hash = zeroblob(32) WHERE level = 0 AND position = 100', 1],
    ['changes one above', 'UPDATE audit_tree SET hash = zeroblob(32) WHERE level = 8', 1],
    ['cuts its end off', 'DELETE FROM audit_tree WHERE level = 0 AND position > 295', 297],
  ])('and %s is found', async (_what, sql, broken) => {
    const { store, raw } = await bench(300);
    dropTriggers(raw);
    raw.exec(sql);
    expect(await verifyTrail(store.audit)).toMatchObject({ ok: false, broken });
  });

  it('and cuts trail and head off, but not the tree, is found, and records are written on', async () => {
    const { store, raw } = await bench(300);
    dropTriggers(raw);
    raw.exec('DELETE FROM audit WHERE sequence > 250');
    raw.prepare('UPDATE audit_head SET sequence = 250, hash = ?').run(recordAt(raw, 250).hash);
    expect(await verifyTrail(store.audit)).toMatchObject({ ok: false, broken: 251 });
    await write(store, 60);
    expect(await verifyTrail(store.audit)).toMatchObject({ ok: false });
  });

  it('and rewrites all of it, hashes included, is found by who kept a checkpoint, and by nobody else', async () => {
    const { store, raw, tree } = await bench(300);
    const old = await checkpointOf(tree);
    const kept = await store.audit.read(0, 1000);
    aside(raw, () => raw.exec("DELETE FROM audit; DELETE FROM audit_tree; UPDATE audit_head SET sequence = 0, hash = printf('%064d', 0)"));
    for (const { name, time } of kept) forge(raw, { name, time, attributes: { forged: true } });
    await write(store, 5);
    expect(await verifyTrail(store.audit)).toMatchObject({ ok: true, records: 305 });
    expect(await goesOn(tree, old)).toBe(false);
  });
});
