/** Stores of every version that there was: taken over with all that is in them. A newer one is refused, at the start and in the middle. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it, onTestFinished } from 'vitest';
import { seal } from '#audit/seal';
import { verifyTrail } from '#audit/verify-trail';
import type { AuditRecord } from '#kernel/audit-event';
import { applicationId, migrations } from '#stores/sqlite/schema';
import { createFakeClock, draftBy, opened, openTestStore, temporaryFolder } from './store-fixtures.ts';

const start = 1_800_000_000_000;
const current = migrations.length;

/** As a Banksman of that version left it: an open request, one that is over, and a trail. */
function storeOf(version: number): string {
  const file = join(temporaryFolder(), 'banksman.db');
  const raw = new DatabaseSync(file);
  raw.exec('PRAGMA journal_mode = WAL');
  for (const step of migrations.slice(0, version)) raw.exec(step);
  raw.exec(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${version}`);
  for (const [index, agent] of ['mcp:a', 'mcp:b'].entries()) {
    const draft = draftBy(agent);
    raw
      .prepare(
        `INSERT INTO requests (id, status, digest, agent_id, agent_host, draft, created_at, expires_at, due_at)
         VALUES (?, 'pending', ?, ?, ?, ?, ?, ?, ?)`,
      )
      .run(
        `req-0000000${index}`,
        draft.digest,
        agent,
        draft.agent.host,
        JSON.stringify(draft),
        start,
        start + 3_600_000,
        start + 3_600_000,
      );
  }
  raw.exec("UPDATE requests SET status = 'denied', due_at = NULL, decision = '{}' WHERE id = 'req-00000001'");
  let last: AuditRecord | undefined;
  for (let index = 0; index < 5; index += 1) {
    last = seal({ name: 'approval.consumed', attributes: { request_id: `req-1000000${index}` } }, last, start);
    // What the tree of hashes asks of a record from version 10 on is made at its first opening.
    raw.prepare('INSERT INTO audit (sequence, name, body) VALUES (?, ?, ?)').run(last.sequence, last.name, JSON.stringify(last));
  }
  raw.close();
  return file;
}

describe('a store of version', () => {
  it.each(Array.from({ length: current }, (_, index) => index + 1))('%i is taken over whole', async (version) => {
    const file = storeOf(version);
    const clock = createFakeClock(start + 1000);
    const store = await openTestStore({ file, clock });
    expect((await store.requests.list({ limit: 10 })).records.map(({ id, status }) => [id, status])).toEqual([
      ['req-00000001', 'denied'],
      ['req-00000000', 'pending'],
    ]);
    expect(await store.requests.cancel('req-00000000', 'mcp:a')).toMatchObject({ ok: true });
    // Its id has been used, and the trail remembers it, whatever the version.
    await expect(store.audit.append({ name: 'approval.consumed', attributes: { request_id: 'req-10000003' } })).rejects.toMatchObject({
      code: 'audit_unavailable',
    });
    const { id } = await opened(store, draftBy('mcp:a'));
    await store.codes?.put(id, { salt: 'c2FsdA', hash: 'aGFzaA' }, 60_000);
    expect(await store.codes?.take(id)).toMatchObject({ code: { salt: 'c2FsdA', wrong: 0 } });
    expect(await verifyTrail(store.audit)).toMatchObject({ ok: true, records: 7 });
    await store.close();
    const raw = new DatabaseSync(file, { readOnly: true });
    onTestFinished(() => raw.close());
    expect(raw.prepare('PRAGMA user_version').get()).toEqual({ user_version: current });
    expect(raw.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' });
    expect(raw.prepare("SELECT name FROM sqlite_schema WHERE name LIKE '%spent%'").all()).toEqual([]);
    expect(schemaOf(raw)).toEqual(schemaOf(fresh()));
  });

  it('that is newer is refused at the start and left as it is', async () => {
    const file = storeOf(current);
    const raw = new DatabaseSync(file);
    raw.exec(`PRAGMA user_version = ${current + 1}`);
    raw.close();
    const before = readFileSync(file);
    await expect(openTestStore({ file })).rejects.toMatchObject({
      code: 'store_too_new',
      next: expect.stringContaining('update Banksman'),
    });
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  it('that becomes newer while it is used takes nothing more from this process, and gives nothing', async () => {
    const file = storeOf(current);
    const clock = createFakeClock(start + 1000);
    const store = await openTestStore({ file, clock });
    const raw = new DatabaseSync(file);
    onTestFinished(() => raw.close());
    raw.exec(`CREATE TABLE of_tomorrow (x); PRAGMA user_version = ${current + 1}`);
    const tooNew = { code: 'store_too_new', next: expect.stringContaining('start this one again') };
    await expect(store.requests.cancel('req-00000000', 'mcp:a')).rejects.toMatchObject(tooNew);
    await expect(store.requests.get('req-00000000')).rejects.toMatchObject(tooNew);
    await expect(store.audit.append({ name: 'tool.started', attributes: {} })).rejects.toMatchObject({
      code: 'audit_unavailable',
      message: expect.stringContaining('newer Banksman'),
    });
    expect(raw.prepare("SELECT status FROM requests WHERE id = 'req-00000000'").get()).toEqual({ status: 'pending' });
    expect(raw.prepare('SELECT count(*) AS n FROM audit').get()).toEqual({ n: 5 });
  });
});

function fresh(): DatabaseSync {
  const raw = new DatabaseSync(':memory:');
  for (const step of migrations) raw.exec(step);
  onTestFinished(() => raw.close());
  return raw;
}

function schemaOf(raw: DatabaseSync): readonly unknown[] {
  return raw.prepare("SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY type, name").all();
}

it('a step that stores were made with never changes', () => {
  const digests = migrations.slice(0, 8).map((step) => createHash('sha256').update(step).digest('hex').slice(0, 16));
  expect(digests).toEqual([
    '85ea875b84f42433',
    '4c160d9e73b35bbf',
    '9f24df909105baa6',
    '522ffe6dae78d0ac',
    '28ab8a73161d5749',
    '6b165a1f31fbd656',
    '35fdea02a2ea681f',
    'b18719ab070a2dfe',
  ]);
});
