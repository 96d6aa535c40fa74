/** A change counts once enough replicas have it: what a fail-over to a server that lagged can undo, and what it cannot. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { verifyTrail } from '#audit/verify-trail';
import { type LosingProxy, startLosingProxy } from './losing-proxy.ts';
import { onceBack } from './once-back.ts';
import { approved, createApprover, decisionBy, draftBy, opened } from './store-fixtures.ts';
import { openTestValkey } from './valkey-fixtures.ts';
import { untilCopied } from './valkey-groups.ts';
import { startValkey, type ValkeyServer } from './valkey-server.ts';

const alice = createApprover();
const unconfirmed = {
  code: 'store_unconfirmed',
  message: expect.stringContaining('0 instead of 1 replicas'),
  next: expect.stringMatching(/\w/),
};
let primary: ValkeyServer;
let replica: ValkeyServer;
/** To the primary. */
let way: LosingProxy;
beforeEach(async () => {
  // Nothing is sent to replicas but what a test writes.
  primary = await startValkey({ config: ['repl-ping-replica-period 3600'] });
  replica = await startValkey({ replicaOf: primary });
  way = await startLosingProxy(primary.port);
  await inStep();
  await untilCopied(replica);
}, 300_000);
afterEach(async () => {
  await way.close();
  await replica.close();
  await primary.close();
});

/** The replica has all that was written so far. */
async function inStep(): Promise<void> {
  await vi.waitFor(
    async () => {
      // Not with WAIT, which writes a question into what is copied.
      const info = await primary.operator.info('replication');
      const [written, copied] = [/master_repl_offset:(\d+)/, /slave0:.*offset=(\d+)/].map((pattern) => pattern.exec(info)?.[1]);
      if (written !== copied) throw new Error('it lags');
    },
    { timeout: 60_000 },
  );
}

/** What a change says where the replica stops right before it, when it has been found to follow. */
async function whenItStops(request: 'getdel' | 'watch', change: () => Promise<unknown>): Promise<unknown> {
  await inStep();
  way.before(request, () => replica.pause());
  return change().catch((thrown: unknown) => thrown);
}

const openPrimary = (replicas: number, timeoutMs = 60_000) =>
  openTestValkey(primary, { url: `valkey://127.0.0.1:${way.port}/0?replicas=${replicas}`, timeoutMs });
/** Asks no longer than half of this where no replica answers, in ms. The other half is what a slow machine may take to say so. */
const briefly = 6000;

/** The primary is gone, and what the replica had not heard of is, too. */
async function failOver(): Promise<void> {
  await primary.kill();
  // It would otherwise still read what the dead primary had sent.
  await replica.kill();
  await replica.start();
  await replica.operator.replicaof('NO', 'ONE');
}

describe('a replica that lagged is promoted', () => {
  it('with `replicas=0`: an approval that was used in the last moment is good again', async () => {
    const store = await openPrimary(0);
    const { id, digest } = await approved(store, alice, Date.now());
    await inStep();
    replica.pause();
    expect(await store.requests.consume(id, digest, 'first')).toMatchObject({ ok: true });
    await failOver();
    const other = await openTestValkey(replica);
    expect(await other.requests.consume(id, digest, 'second')).toMatchObject({ ok: true });
  });

  it('with `replicas=1`: an approval is good for one run', async () => {
    const { id, digest } = await approved(await openPrimary(1), alice, Date.now());
    const store = await openPrimary(1, briefly);
    expect(await whenItStops('getdel', () => store.requests.consume(id, digest, 'first'))).toMatchObject({
      ...unconfirmed,
      message: expect.stringContaining(`Request \`${id}\` counts as consumed here, and no call has run for it`),
    });
    // What it says is so as long as there is no fail-over …
    expect(await store.requests.get(id)).toMatchObject({ status: 'consumed' });
    expect(await store.requests.consume(id, digest, 'again')).toMatchObject({ ok: false, why: 'not_approved' });
    await failOver();
    // … and after it the approval is worth the one run that it has not had.
    const other = await openTestValkey(replica);
    expect(await other.requests.consume(id, digest, 'second')).toMatchObject({ ok: true });
    expect(await other.requests.consume(id, digest, 'third')).toMatchObject({ ok: false });
  });

  it('with `replicas=1`: nothing that was answered with success is undone', async () => {
    const store = await openPrimary(1);
    const [used, denied, revoked] = [
      await approved(store, alice, Date.now(), draftBy('mcp:a')),
      await opened(store, draftBy('mcp:b')),
      await approved(store, alice, Date.now(), draftBy('mcp:c')),
    ];
    expect(await store.requests.consume(used.id, used.digest, 'x')).toMatchObject({ ok: true });
    expect(await store.requests.deny(denied.id, decisionBy())).toMatchObject({ ok: true });
    expect(await store.requests.revoke(revoked.id, decisionBy())).toMatchObject({ ok: true });
    expect(await store.requests.advanceCounter('passkey', 7)).toBe(true);
    await store.audit.append({ name: 'tool.started', attributes: { request_id: used.id } });
    replica.pause();
    await failOver();
    const other = await openTestValkey(replica);
    expect(await other.requests.get(used.id)).toMatchObject({ status: 'consumed' });
    expect(await other.requests.get(denied.id)).toMatchObject({ status: 'denied' });
    expect(await other.requests.get(revoked.id)).toMatchObject({ status: 'revoked' });
    expect(await other.requests.advanceCounter('passkey', 7)).toBe(false);
    expect(await other.audit.ofRequest(used.id, 0)).toContainEqual(expect.objectContaining({ name: 'tool.started' }));
    expect(await verifyTrail(other.audit)).toMatchObject({ ok: true });
  });
});

describe('while no replica confirms', () => {
  it('a change says that a fail-over would undo it, and what is not begun is said, too', async () => {
    const patient = await openPrimary(1);
    const [pending, granted] = [await opened(patient, draftBy('mcp:a')), await approved(patient, alice, Date.now(), draftBy('mcp:b'))];
    const store = await openPrimary(1, briefly);
    expect(await whenItStops('watch', () => store.requests.deny(pending.id, decisionBy()))).toMatchObject(unconfirmed);
    // From here on it is known beforehand.
    const nothingDone = { code: 'store_unavailable', message: expect.stringContaining('nothing was changed'), retryable: true };
    await expect(store.requests.revoke(granted.id, decisionBy())).rejects.toMatchObject(nothingDone);
    await expect(store.requests.advanceCounter('passkey', 7)).rejects.toMatchObject(nothingDone);
    await expect(store.requests.consume(granted.id, granted.digest, 'x')).rejects.toMatchObject(nothingDone);
    expect(await store.requests.get(granted.id)).toMatchObject({ status: 'approved' });
    await expect(store.audit.append({ name: 'tool.started', attributes: {} })).rejects.toMatchObject({
      code: 'audit_unavailable',
      message: expect.stringContaining('0 instead of 1 replicas'),
    });
    // Looking needs nobody's confirmation.
    expect(await store.requests.get(pending.id)).toMatchObject({ status: 'denied' });
    replica.resume();
    await inStep();
    await onceBack(() => store.audit.append({ name: 'tool.finished', attributes: {} }));
    expect(await verifyTrail(store.audit)).toMatchObject({ ok: true });
  });

  it('records that are tried again are written once', async () => {
    const store = await openPrimary(1, briefly);
    const drafts = [1, 2, 3].map((n) => ({ name: 'tool.finished' as const, attributes: { n } }));
    replica.pause();
    await expect(store.audit.appendAll(drafts)).rejects.toMatchObject({ code: 'audit_unavailable' });
    replica.resume();
    await vi.waitFor(() => store.audit.appendAll(drafts), { timeout: 60_000 });
    expect((await store.audit.read(0, 100)).map(({ attributes }) => attributes['n'])).toEqual([1, 2, 3]);
    expect(await verifyTrail(store.audit)).toMatchObject({ ok: true });
  });

  it('with `replicas=1`: a record that a fail-over may undo has no successor in its chain', async () => {
    const { id } = await opened(await openPrimary(1), draftBy('mcp:a'));
    const store = await openPrimary(1, briefly);
    expect(await whenItStops('watch', () => store.requests.deny(id, decisionBy()))).toMatchObject({ code: 'store_unconfirmed' });
    replica.resume();
    const next = await onceBack(() => store.audit.append({ name: 'tool.started', attributes: { request_id: id } }));
    const [denial] = (await store.audit.ofRequest(id, 0)).filter(({ name }) => name === 'approval.denied');
    expect(denial?.chain).toEqual(expect.any(String));
    expect(next.chain).not.toBe(denial?.chain);
    expect(await verifyTrail(store.audit)).toMatchObject({ ok: true });
  });
});
