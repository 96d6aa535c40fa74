/** What the file itself refuses, and what a forger gets who breaks its rules first. */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createApprovals } from '#approval/approvals';
import { hashOf } from '#audit/seal';
import { verifyTrail } from '#audit/verify-trail';
import { grantsEnd, type RequestStatus, requestStatuses } from '#kernel/approval/request';
import type { AuditRecord } from '#kernel/audit-event';
import { canonicalJson, type JsonObject } from '#kernel/json';
import {
  approved,
  createApprover,
  createFakeClock,
  decisionBy,
  draftBy,
  draftOf,
  grantFor,
  opened,
  openTestStore,
  reportBy,
  requestTransitions,
  stopAction,
  temporaryFolder,
} from './store-fixtures.ts';

const alice = createApprover();

async function bench() {
  const clock = createFakeClock();
  const file = join(temporaryFolder(), 'state', 'banksman.db');
  const store = await openTestStore({ file, clock });
  const raw = new DatabaseSync(file);
  onTestFinished(() => raw.close());
  const approvals = () =>
    createApprovals({ requests: store.requests, audit: store.audit, clock, via: 'editor', trustedKeys: async () => [alice.pinned] });
  return { clock, file, store, raw, approvals };
}

/** What somebody does who wants to write anything at all. */
function dropTriggers(raw: DatabaseSync): void {
  for (const { name } of raw.prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'").all()) raw.exec(`DROP TRIGGER ${name}`);
}

async function inStatus(status: RequestStatus, { store, clock }: Awaited<ReturnType<typeof bench>>) {
  const granted = ['approved', 'revoked', 'consumed'].includes(status);
  const record = granted ? await approved(store, alice, clock.now()) : await opened(store);
  if (status === 'denied') await store.requests.deny(record.id, decisionBy());
  if (status === 'cancelled') await store.requests.cancel(record.id, 'mcp:laptop');
  if (status === 'revoked') await store.requests.revoke(record.id, decisionBy());
  if (status === 'consumed') await store.requests.consume(record.id, record.digest, 'x');
  if (status === 'expired') {
    clock.advance(3_600_000);
    await opened(store, draftBy('mcp:somebody-else'));
  }
  return record;
}

/** The columns that a row in this status has to have, so that nothing but the edge itself can be what is refused. */
const columnsFor: Record<RequestStatus, string> = {
  pending: 'due_at = expires_at',
  approved: "due_at = created_at + 1, grants = '[]'",
  denied: "due_at = NULL, decision = coalesce(decision, '{}')",
  expired: 'due_at = NULL',
  cancelled: 'due_at = NULL',
  revoked: "due_at = NULL, revocation = '{}'",
  consumed: "due_at = NULL, consumed_at = 1, consumed_by = 'me'",
};

describe('the file refuses', () => {
  it.each(requestStatuses)('every transition from %s but the declared ones', async (from) => {
    const room = await bench();
    const { id } = await inStatus(from, room);
    expect(room.raw.prepare('SELECT status FROM requests WHERE id = ?').get(id)).toEqual({ status: from });
    // The other rules might refuse for reasons of their own; the edges have to hold alone.
    for (const other of ['grants', 'approved', 'consumed', 'self', 'fixed']) room.raw.exec(`DROP TRIGGER requests_${other}`);
    for (const to of requestStatuses.filter((status) => !requestTransitions[from].includes(status))) {
      const update = () => room.raw.prepare(`UPDATE requests SET status = '${to}', ${columnsFor[to]} WHERE id = ?`).run(id);
      expect(update, `${from} to ${to}`).toThrow(/a request cannot go that way/);
    }
    for (const to of requestTransitions[from]) {
      room.raw.exec('SAVEPOINT try');
      expect(
        room.raw.prepare(`UPDATE requests SET status = '${to}', ${columnsFor[to]} WHERE id = ?`).run(id).changes,
        `${from} to ${to}`,
      ).toBe(1);
      room.raw.exec('ROLLBACK TO try; RELEASE try');
    }
  });

  it.each([
    ['id', "'req-00000000'"],
    ['digest', "'x'"],
    ['draft', "json_set(draft, '$.action.arguments.vmid', 103)"],
    ['draft', "json_set(draft, '$.agent.id', 'user:alice')"],
    ['agent_id', "'user:alice'"],
    ['agent_host', "'palette'"],
    ['created_at', '1'],
    ['expires_at', 'expires_at + 1'],
    ['decision', 'NULL'],
    ['grants', 'NULL'],
    ['grants', "json_insert(grants, '$[#]', grants -> '$[0]')"],
    ['approver', 'NULL'],
    ['approver', "'user:mallory'"],
  ])('to change %s to %s, even together with a legal transition', async (column, value) => {
    const { store, raw, clock } = await bench();
    const { id } = await approved(store, alice, clock.now());
    const update = () =>
      raw.prepare(`UPDATE OR REPLACE requests SET status = 'cancelled', due_at = NULL, ${column} = ${value} WHERE id = ?`).run(id);
    expect(update).toThrow(/what was asked and answered does not change|CHECK constraint failed|none changes/);
    expect(() => raw.prepare(`UPDATE requests SET ${column} = ${value} WHERE id = ?`).run(id)).toThrow(
      /does not change|cannot go that way|CHECK constraint failed|needs a grant|none changes/,
    );
  });

  it('an approval without a grant for this very request, and self-approval', async () => {
    const { store, raw, clock } = await bench();
    const record = await opened(store, draftOf({ agent: { id: 'user:alice', host: 'cli' }, action: stopAction(100, 'user:alice') }));
    const grant = await grantFor(record, createApprover('user:bob'), clock.now());
    const approve = (payload: object, by: string) => () => {
      const signed = JSON.stringify([{ ...grant, payload: { ...grant.payload, ...payload } }]);
      raw
        .prepare("UPDATE requests SET status = 'approved', decision = '{}', approver = ?, grants = ?, due_at = ? WHERE id = ?")
        .run(by, signed, grant.payload.expiresAt, record.id);
    };
    const needs = /grant for this very request/;
    expect(approve({ requestId: 'req-00000000' }, 'user:bob')).toThrow(needs);
    expect(approve({ digest: 'f'.repeat(64) }, 'user:bob')).toThrow(needs);
    expect(approve({ approver: 'user:carol' }, 'user:bob')).toThrow(needs);
    expect(approve({ expiresAt: 1 }, 'user:bob')).toThrow(needs);
    expect(approve({ approver: 'user:alice' }, 'user:alice')).toThrow(/own request|grant for this very request/);
    expect(() =>
      raw
        .prepare("UPDATE requests SET status = 'approved', decision = '{}', approver = 'user:bob', due_at = 1 WHERE id = ?")
        .run(record.id),
    ).toThrow(needs);
    expect((await store.requests.get(record.id))?.status).toBe('pending');
    // The same statement with nothing wrong in it goes through, so the refusals above are about what they say.
    approve({}, 'user:bob')();
    expect((await store.requests.get(record.id))?.status).toBe('approved');
  });

  it('a consuming that is late, or by nobody', async () => {
    const { store, raw, clock } = await bench();
    const { id } = await approved(store, alice, clock.now());
    const consume = (at: string, by: string) => () =>
      raw.prepare(`UPDATE requests SET status = 'consumed', due_at = NULL, consumed_at = ${at}, consumed_by = ${by} WHERE id = ?`).run(id);
    expect(consume('due_at', "'me'")).toThrow(/consumed in time/);
    expect(consume('NULL', "'me'")).toThrow(/consumed in time/);
    expect(consume('due_at - 1', 'NULL')).toThrow(/consumed in time/);
  });

  it('requests that start anywhere but pending, replace another, or disappear', async () => {
    const { store, raw } = await bench();
    const { id, digest } = await opened(store);
    const copy =
      (changes: string, or = '') =>
      () =>
        raw.exec(`INSERT ${or} INTO requests (id, status, digest, agent_id, agent_host, draft, created_at, expires_at, due_at)
                SELECT ${changes}, digest, 'mcp:copy', agent_host, json_set(draft, '$.agent.id', 'mcp:copy'), created_at, expires_at, due_at FROM requests WHERE digest = '${digest}'`);
    expect(copy("'req-00000001', 'approved'")).toThrow(/starts pending/);
    expect(copy("'req-00000001', 'consumed'")).toThrow(/starts pending|CHECK/);
    expect(copy(`'${id}', 'pending'`)).toThrow(/starts pending, once/);
    expect(copy(`'${id}', 'pending'`, 'OR REPLACE')).toThrow(/starts pending, once/);
    expect(copy("'not-an-id', 'pending'")).toThrow(/CHECK/);
    expect(() => raw.exec('DELETE FROM requests')).toThrow(/requests are kept/);
    copy("'req-00000001', 'pending'")();
  });

  it('to change, remove, replace or insert records of the trail, or to move its head', async () => {
    const { store, raw } = await bench();
    for (let index = 0; index < 3; index += 1) await store.audit.append({ name: 'tool.started', attributes: { index } });
    const [, second] = await store.audit.read(0, 3);
    const replace = `INSERT OR REPLACE INTO audit (sequence, name, body) VALUES (2, 'tool.started', '${canonicalJson(second as unknown as JsonObject)}')`;
    expect(() => raw.exec("UPDATE audit SET body = '{}'")).toThrow(/does not change|CHECK/);
    expect(() => raw.exec('UPDATE OR REPLACE audit SET sequence = sequence + 1')).toThrow(/does not change/);
    expect(() => raw.exec('DELETE FROM audit WHERE sequence = 3')).toThrow(/trail is kept/);
    expect(() => raw.exec(replace)).toThrow(/continues the trail/);
    expect(() => raw.exec(replace.replace('(2,', '(4,'))).toThrow(/continues the trail/);
    expect(() => raw.exec(replace.replace('(2,', '(9,'))).toThrow(/continues the trail/);
    expect(() => raw.exec('UPDATE audit_head SET sequence = 2')).toThrow(/follows the trail/);
    expect(() => raw.exec('UPDATE audit_head SET sequence = 4')).toThrow(/follows the trail/);
    expect(() => raw.exec('DELETE FROM audit_head')).toThrow(/head is kept/);
    expect(() => raw.exec("INSERT OR REPLACE INTO audit_head VALUES (1, 1, 'x')")).toThrow(/one head/);
    expect(await verifyTrail(store.audit)).toMatchObject({ ok: true, records: 3 });
  });

  it('a request that names its own id and is no report, and one consumed as if it were a call', async () => {
    const { store, raw, clock } = await bench();
    const report = reportBy('mcp:a', 'req-0badcafe');
    const insert = (draft: object, id: string) =>
      raw
        .prepare(
          `INSERT INTO requests (id, status, digest, agent_id, agent_host, draft, created_at, expires_at, due_at)
           VALUES (?, 'pending', ?, 'mcp:a', 'mcp', ?, 1, 2, 2)`,
        )
        .run(id, report.digest, JSON.stringify(draft));
    expect(() => insert(report, 'req-00000001')).toThrow(/names its own id/);
    expect(() => insert({ ...report, reported: undefined }, 'req-0badcafe')).toThrow(/names its own id/);
    expect(() => insert({ ...report, action: { ...report.action, tool: 'stop_vm' } }, 'req-0badcafe')).toThrow(/names its own id/);
    const settled = await approved(store, alice, clock.now(), report);
    const consume = "UPDATE requests SET status = 'consumed', due_at = NULL, consumed_at = ?, consumed_by = 'x' WHERE id = ?";
    expect(() => raw.prepare(consume).run(clock.now(), settled.id)).toThrow(/no call/);
  });

  it('settings that nobody knows', async () => {
    const { raw } = await bench();
    for (const key of ['', 'other', 'auto_approve:', 'Security_level'])
      expect(() => raw.prepare("INSERT INTO settings (key, value) VALUES (?, 'x')").run(key)).toThrow(/CHECK/);
  });

  it('a second record of one consuming', async () => {
    const { store, clock } = await bench();
    const { id, digest } = await approved(store, alice, clock.now());
    await store.requests.consume(id, digest, 'x');
    await expect(store.audit.append({ name: 'approval.consumed', attributes: { request_id: id } })).rejects.toMatchObject({
      code: 'audit_unavailable',
    });
    expect(await verifyTrail(store.audit)).toMatchObject({ ok: true, records: 3 });
  });
});

describe('a forger who dropped the triggers', () => {
  it('cannot make an approval that is worth anything', async () => {
    const { store, raw, clock, approvals } = await bench();
    const record = await opened(store);
    const mallory = createApprover('user:alice');
    const grant = await grantFor(record, mallory, clock.now());
    const { proof } = await grantFor(record, alice, clock.now());
    const keyId = proof.kind === 'ed25519' ? proof.keyId : '';
    dropTriggers(raw);
    const forge = (signed: unknown) =>
      raw
        .prepare("UPDATE requests SET status = 'approved', due_at = ?, approver = 'user:alice', decision = ?, grants = ? WHERE id = ?")
        .run(grant.payload.expiresAt, JSON.stringify(decisionBy()), signed === null ? null : JSON.stringify([signed]), record.id);
    const outcomes = [];
    for (const signed of [grant, { ...grant, proof: { ...grant.proof, keyId } }, null, { nonsense: true }]) {
      forge(signed);
      outcomes.push(await approvals().consume(record.id, record.digest, 'x'));
    }
    expect(outcomes.map((outcome) => !outcome.ok && outcome.why)).toEqual([
      'untrusted_key',
      'bad_signature',
      'not_approved',
      'not_approved',
    ]);
  });

  it('cannot move a person\u2019s grant to another request, or another action under it', async () => {
    const { store, raw, clock, approvals } = await bench();
    const real = await approved(store, alice, clock.now());
    const target = await opened(store, draftOf({ action: stopAction(103), title: 'Stop VM 103 (web103) on pve' }));
    dropTriggers(raw);
    raw
      .prepare("UPDATE requests SET status = 'approved', due_at = ?, approver = 'user:alice', decision = '{}', grants = ? WHERE id = ?")
      .run(grantsEnd(real.grants!), JSON.stringify(real.grants), target.id);
    expect(await approvals().consume(target.id, target.digest, 'x')).toMatchObject({ ok: false, why: 'digest_mismatch' });
    raw
      .prepare("UPDATE requests SET draft = json_set(draft, '$.action', json(?)) WHERE id = ?")
      .run(JSON.stringify(stopAction(103)), real.id);
    expect(await approvals().consume(real.id, target.digest, 'x')).toMatchObject({ ok: false, why: 'digest_mismatch' });
    expect(await approvals().consume(real.id, real.digest, 'x')).toMatchObject({ ok: false, why: 'digest_mismatch' });
    expect(await approvals().card(real.id)).toMatchObject({ tampered: true });
  });

  it('cannot have a consumed grant consumed again by putting the row back', async () => {
    const { store, raw, clock, approvals } = await bench();
    const real = await approved(store, alice, clock.now());
    const here = approvals();
    expect(await here.consume(real.id, real.digest, 'x')).toMatchObject({ ok: true });
    dropTriggers(raw);
    raw
      .prepare("UPDATE requests SET status = 'approved', due_at = ?, consumed_at = NULL, consumed_by = NULL WHERE id = ?")
      .run(grantsEnd(real.grants!), real.id);
    expect(await here.consume(real.id, real.digest, 'x')).toMatchObject({ ok: false, why: 'grant_used' });
    // Another process has no memory of it; the trail has.
    expect(await approvals().consume(real.id, real.digest, 'x')).toMatchObject({ ok: false, why: 'grant_used' });
  });

  it('cannot put a person before a request that says something else than it does', async () => {
    const { store, raw, approvals } = await bench();
    const record = await opened(store);
    dropTriggers(raw);
    raw.prepare("UPDATE requests SET draft = json_set(draft, '$.title', 'Look at VM 200') WHERE id = ?").run(record.id);
    expect(await approvals().card(record.id)).toMatchObject({ tampered: true });
    expect(await approvals().approve(record.id, alice.signer)).toMatchObject({ ok: false, code: 'tampered' });
  });

  it('cannot swap a whole, consistent request under an open dialog', async () => {
    const { store, raw, approvals } = await bench();
    const record = await opened(store);
    const here = approvals();
    expect(await here.card(record.id)).toMatchObject({ tampered: false, title: 'Stop VM 100 (web100) on pve?' });
    const other = draftOf({ action: stopAction(103), title: 'Stop VM 103 (web103) on pve' });
    dropTriggers(raw);
    raw.prepare('UPDATE requests SET draft = ?, digest = ? WHERE id = ?').run(JSON.stringify(other), other.digest, record.id);
    expect(await here.approve(record.id, alice.signer)).toMatchObject({ ok: false, code: 'tampered' });
    expect((await store.requests.get(record.id))?.status).toBe('pending');
    // What is on screen from now on is the other one; approving that is a person's own choice.
    expect(await here.card(record.id)).toMatchObject({ title: 'Stop VM 103 (web103) on pve?' });
    expect(await here.approve(record.id, alice.signer)).toMatchObject({ ok: true, record: { digest: other.digest } });
  });

  it('only breaks reading of the row that was made unreadable, and is told of', async () => {
    const { store, raw, approvals } = await bench();
    const [good, bad] = [await opened(store, draftBy('mcp:a')), await opened(store, draftBy('mcp:b'))];
    dropTriggers(raw);
    raw.exec('PRAGMA ignore_check_constraints = ON');
    raw.prepare("UPDATE requests SET draft = json_set(draft, '$.risk', 'not a list') WHERE id = ?").run(bad.id);
    expect((await store.requests.list({ limit: 10 })).records.map((record) => record.id)).toEqual([good.id]);
    await expect(store.requests.get(bad.id)).rejects.toMatchObject({ code: 'store_corrupt', message: expect.stringContaining(bad.id) });
    await expect(approvals().approve(bad.id, alice.signer)).rejects.toMatchObject({ code: 'store_corrupt' });
  });

  const manipulations: readonly [name: string, sql: string, broken: number][] = [
    ['edits a record', "UPDATE audit SET body = json_set(body, '$.attributes.index', 9) WHERE sequence = 3", 3],
    ['makes a record unreadable', 'UPDATE audit SET body = \'{"name":"tool.started"}\' WHERE sequence = 3', 3],
    ['removes a record', 'DELETE FROM audit WHERE sequence = 3', 4],
    ['cuts off the end', 'DELETE FROM audit WHERE sequence > 3', 4],
    ['removes everything', 'DELETE FROM audit', 1],
    [
      'removes and renumbers',
      "DELETE FROM audit WHERE sequence = 3; UPDATE audit SET sequence = sequence - 1, body = json_set(body, '$.sequence', sequence - 1) WHERE sequence > 3",
      3,
    ],
    [
      'swaps two records',
      'UPDATE audit SET sequence = -3 WHERE sequence = 3; UPDATE audit SET sequence = 3 WHERE sequence = 4; UPDATE audit SET sequence = 4 WHERE sequence = -3',
      3,
    ],
    ['moves the head back', 'UPDATE audit_head SET sequence = 3', 3],
  ];
  it.each(manipulations)('and %s is found by verify', async (_, sql, broken) => {
    const { store, raw } = await bench();
    for (let index = 0; index < 5; index += 1) await store.audit.append({ name: 'tool.started', attributes: { index } });
    dropTriggers(raw);
    raw.exec(sql);
    expect(await verifyTrail(store.audit)).toMatchObject({ ok: false, broken });
  });

  it('and cuts off the end cannot have it healed by going on', async () => {
    const { store, raw } = await bench();
    for (let index = 0; index < 5; index += 1) await store.audit.append({ name: 'tool.started', attributes: { index } });
    dropTriggers(raw);
    raw.exec('DELETE FROM audit WHERE sequence > 3');
    await store.audit.append({ name: 'tool.started', attributes: {} });
    expect(await verifyTrail(store.audit)).toMatchObject({ ok: false, broken: 6 });
  });

  it('and removes the head stops everything that must be written down', async () => {
    const { store, raw } = await bench();
    const record = await opened(store);
    dropTriggers(raw);
    raw.exec('DELETE FROM audit_head');
    await expect(store.audit.append({ name: 'tool.started', attributes: {} })).rejects.toMatchObject({
      code: 'audit_unavailable',
      message: expect.stringContaining('head anchor'),
    });
    await expect(store.requests.deny(record.id, decisionBy())).rejects.toMatchObject({ code: 'store_corrupt' });
    await expect(verifyTrail(store.audit)).rejects.toMatchObject({ code: 'store_corrupt' });
  });

  it('and writes a whole new trail with its head is found by the hashes beside it, and one with its hashes only by a point from outside', async () => {
    const { file, store, raw } = await bench();
    for (let index = 0; index < 3; index += 1) await store.audit.append({ name: 'tool.started', attributes: { index } });
    const checkpoint = await store.audit.head();
    dropTriggers(raw);
    let previous = '0'.repeat(64);
    for (const record of await store.audit.read(0, 3)) {
      const forged: AuditRecord = { ...record, previous, attributes: { index: 'forged' } };
      previous = hashOf(forged);
      raw.prepare('UPDATE audit SET body = ? WHERE sequence = ?').run(JSON.stringify({ ...forged, hash: previous }), record.sequence);
    }
    raw.prepare('UPDATE audit_head SET hash = ?').run(previous);
    expect(await verifyTrail(store.audit)).toMatchObject({ ok: false, broken: 1, message: expect.stringContaining('rewritten') });
    raw.exec('DELETE FROM audit_tree');
    const again = await openTestStore({ file });
    expect(await verifyTrail(again.audit)).toMatchObject({ ok: true });
    expect(await verifyTrail(again.audit, checkpoint ? [checkpoint] : [])).toMatchObject({ ok: false, broken: 3 });
  });
});
