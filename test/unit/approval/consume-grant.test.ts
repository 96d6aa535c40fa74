import { describe, expect, it } from 'vitest';
import { type ConsumeDeps, createConsumer } from '#approval/consume-grant';
import type { ApproverKey } from '#kernel/approval/answer';
import type { Grant, RequestRecord } from '#kernel/approval/request';
import { Fault } from '#kernel/errors';
import {
  approved,
  createApprover,
  createFakeClock,
  decisionBy,
  draftBy,
  grantFor,
  opened,
  openTestStore,
} from '../../integration/stores/store-fixtures.ts';

function proved({ grants }: RequestRecord, change: object): Grant {
  const [grant] = grants ?? [];
  return { ...grant, proof: { ...grant?.proof, ...change } } as Grant;
}

async function bench() {
  const clock = createFakeClock();
  const store = await openTestStore({ clock });
  const alice = createApprover();
  const pinned: ApproverKey[] = [alice.pinned];
  const deps: ConsumeDeps = { requests: store.requests, clock, trustedKeys: async () => pinned };
  /** The same store, but with one record as a forger would have left it. */
  const forging = (change: (record: RequestRecord) => RequestRecord): ConsumeDeps => ({
    ...deps,
    requests: { ...store.requests, get: async (id) => store.requests.get(id).then((record) => record && change(record)) },
  });
  return { clock, store, alice, pinned, deps, forging, consume: createConsumer(deps) };
}

describe('consuming a grant', () => {
  it('works once', async () => {
    const { consume, store, alice, clock } = await bench();
    const { id, digest } = await approved(store, alice, clock.now());
    expect(await consume(id, digest, 'pid 1')).toMatchObject({
      ok: true,
      record: { status: 'consumed', consumedBy: 'pid 1', consumedAt: clock.now() },
    });
    expect(await consume(id, digest, 'pid 1')).toMatchObject({ ok: false, why: 'grant_used' });
  });

  it('has one winner among many tries at once, in one process or several', async () => {
    const { deps, consume, store, alice, clock } = await bench();
    const { id, digest } = await approved(store, alice, clock.now());
    const elsewhere = createConsumer(deps);
    const tries = await Promise.all(
      Array.from({ length: 40 }, (_, index) => (index % 2 ? consume : elsewhere)(id, digest, `try ${index}`)),
    );
    expect(tries.filter((result) => result.ok)).toHaveLength(1);
  });

  it('is refused for another digest than the one that was approved', async () => {
    const { consume, store, alice, clock } = await bench();
    const { id } = await approved(store, alice, clock.now());
    expect(await consume(id, 'f'.repeat(64), 'x')).toMatchObject({ ok: false, why: 'digest_mismatch', record: { status: 'approved' } });
  });

  it('is refused for what nobody approved', async () => {
    const { consume, store } = await bench();
    const { id, digest } = await opened(store);
    expect(await consume(id, digest, 'x')).toMatchObject({ ok: false, why: 'not_approved' });
    expect(await consume('req-00000000', digest, 'x')).toMatchObject({ ok: false, why: 'not_approved' });
    await store.requests.deny(id, decisionBy());
    expect(await consume(id, digest, 'x')).toMatchObject({ ok: false, why: 'not_approved' });
  });

  it('is refused when five minutes have passed', async () => {
    const { consume, store, alice, clock } = await bench();
    const { id, digest } = await approved(store, alice, clock.now());
    clock.advance(300_000);
    expect(await consume(id, digest, 'x')).toMatchObject({ ok: false, why: 'expired' });
  });

  it('is refused once the key is no longer trusted', async () => {
    const { consume, store, alice, clock, pinned } = await bench();
    const { id, digest } = await approved(store, alice, clock.now());
    pinned.length = 0;
    expect(await consume(id, digest, 'x')).toMatchObject({ ok: false, why: 'untrusted_key' });
    pinned.push(alice.pinned);
    expect(await consume(id, digest, 'x')).toMatchObject({ ok: true });
  });

  it('is refused for a grant that was revoked between the look and the consuming', async () => {
    const { deps, store, alice, clock } = await bench();
    const { id, digest } = await approved(store, alice, clock.now());
    const racing: ConsumeDeps = {
      ...deps,
      trustedKeys: async () => {
        await store.requests.revoke(id, decisionBy());
        return [alice.pinned];
      },
    };
    expect(await createConsumer(racing)(id, digest, 'x')).toMatchObject({ ok: false, why: 'not_approved' });
  });

  it('is refused for rows that a forger wrote', async () => {
    const { forging, store, alice, clock } = await bench();
    const mallory = createApprover('user:alice');
    const record = await opened(store);
    const other = await approved(store, alice, clock.now(), draftBy('mcp:other', 101));
    const approvedWith = (grant?: Grant) => forging((found) => ({ ...found, status: 'approved', ...(grant ? { grants: [grant] } : {}) }));
    const own = await grantFor(record, mallory, clock.now(), await store.requests.identity());
    const { keyId } = (await grantFor(record, alice, clock.now())).proof as { keyId: string };
    const posing: Grant = { ...own, proof: { kind: 'ed25519', keyId, signature: own.proof.signature } };
    const tries = [
      [approvedWith(undefined), 'not_approved'],
      [approvedWith(own), 'untrusted_key'],
      [approvedWith(posing), 'bad_signature'],
      [approvedWith(other.grants?.[0]), 'digest_mismatch'],
    ] as const;
    for (const [deps, why] of tries) expect(await createConsumer(deps)(record.id, record.digest, 'x')).toMatchObject({ ok: false, why });
    expect((await store.requests.get(record.id))?.status).toBe('pending');
  });

  it('is refused where the record no longer is what was signed', async () => {
    const { forging, store, alice, clock } = await bench();
    const record = await approved(store, alice, clock.now());
    const moved = forging((found) => ({ ...found, action: { ...found.action, arguments: { vmid: 103 } } }));
    expect(await createConsumer(moved)(record.id, record.digest, 'x')).toMatchObject({ ok: false, why: 'digest_mismatch' });
    const own = forging((found) => ({ ...found, agent: { ...found.agent, id: 'user:alice' } }));
    expect(await createConsumer(own)(record.id, record.digest, 'x')).toMatchObject({ ok: false, why: 'digest_mismatch' });
  });

  it('stays refused when the store is put back to an earlier copy', async () => {
    const { deps, store, alice, clock } = await bench();
    const before = await approved(store, alice, clock.now());
    const rolledBack: ConsumeDeps = {
      ...deps,
      requests: { ...store.requests, get: async () => before, consume: async () => ({ ok: true, record: before }) },
    };
    const consume = createConsumer(rolledBack);
    expect(await consume(before.id, before.digest, 'x')).toMatchObject({ ok: true });
    expect(await consume(before.id, before.digest, 'x')).toMatchObject({ ok: false, why: 'grant_used' });
  });

  it('may be tried again after a busy store, but not after a failure that leaves the outcome open', async () => {
    const { deps, store, alice, clock } = await bench();
    const record = await approved(store, alice, clock.now());
    const faults = [new Fault('store_busy', 'busy', { retryable: true }), new Fault('store_unavailable', 'gone', { retryable: true })];
    const failing: ConsumeDeps = {
      ...deps,
      requests: {
        ...store.requests,
        consume: async (...values) => {
          const fault = faults.shift();
          if (fault) throw fault;
          return store.requests.consume(...values);
        },
      },
    };
    const consume = createConsumer(failing);
    await expect(consume(record.id, record.digest, 'x')).rejects.toMatchObject({ code: 'store_busy' });
    await expect(consume(record.id, record.digest, 'x')).rejects.toMatchObject({ code: 'store_unavailable' });
    expect(await consume(record.id, record.digest, 'x')).toMatchObject({ ok: false, why: 'grant_used' });
  });

  it.each(['not_approved', 'grant_used', 'expired', 'digest_mismatch', 'bad_signature', 'untrusted_key'])(
    'has a next step in the words for %s',
    async (why) => {
      const { forging, consume, store, alice, clock } = await bench();
      const record = await approved(store, alice, clock.now());
      const outcomes = [
        await consume('req-00000000', record.digest, 'x'),
        await consume(record.id, 'f'.repeat(64), 'x'),
        await createConsumer(forging((found) => ({ ...found, status: 'consumed' })))(record.id, record.digest, 'x'),
        await createConsumer(forging((found) => ({ ...found, status: 'expired' })))(record.id, record.digest, 'x'),
        await createConsumer(forging((found) => ({ ...found, grants: [proved(found, { signature: 'AA' })] })))(
          record.id,
          record.digest,
          'x',
        ),
        await createConsumer(forging((found) => ({ ...found, grants: [proved(found, { keyId: 'other' })] })))(
          record.id,
          record.digest,
          'x',
        ),
      ];
      const found = outcomes.find((outcome) => !outcome.ok && outcome.why === why);
      expect(found).toMatchObject({
        message: expect.stringMatching(/; (?:ask again|wait for|tell the person|a person has to)|so it is worth nothing; tell/),
      });
    },
  );
});
