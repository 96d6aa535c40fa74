import { describe, expect, it } from 'vitest';
import { type GrantPayload, type RequestRecord, type RequestStatus, requestStatuses } from '#kernel/approval/request';
import type { TransitionResult } from '#kernel/ports/request-store';
import type { Store } from '#kernel/ports/store';
import {
  approved,
  createApprover,
  decisionBy,
  draftOf,
  grantFor,
  opened,
  requestTransitions,
  stopAction,
  storeApproval,
} from '../store-fixtures.ts';
import type { MakeHarness, StoreHarness } from './harness.ts';

const alice = createApprover();
type Operation = 'approve' | 'deny' | 'cancel' | 'revoke' | 'consume';
const leadsTo: Record<Operation, RequestStatus> = {
  approve: 'approved',
  deny: 'denied',
  cancel: 'cancelled',
  revoke: 'revoked',
  consume: 'consumed',
};

async function act(store: Store, record: RequestRecord, operation: Operation, now: number): Promise<TransitionResult> {
  const { requests } = store;
  if (operation === 'approve') return storeApproval(requests, record.id, grantFor(record, alice, now), decisionBy('user:alice', now));
  if (operation === 'deny') return requests.deny(record.id, decisionBy('user:alice', now));
  if (operation === 'cancel') return requests.cancel(record.id, 'mcp:laptop');
  if (operation === 'revoke') return requests.revoke(record.id, decisionBy('user:bob', now));
  return requests.consume(record.id, record.digest, 'pid 1');
}

function refusalFrom(from: RequestStatus, operation: Operation): string {
  if (from === 'expired') return 'expired';
  return operation === 'consume' || operation === 'revoke' ? 'not_approved' : 'not_pending';
}

async function reach(status: RequestStatus, store: Store, harness: StoreHarness): Promise<RequestRecord> {
  const isGranted = status === 'approved' || status === 'revoked' || status === 'consumed';
  const record = isGranted ? await approved(store, alice, harness.now()) : await opened(store);
  if (status === 'expired') await harness.advance(3_600_000);
  const [operation] = Object.entries(leadsTo).find(([name, to]) => to === status && name !== 'approve') ?? [];
  if (operation) await act(store, record, operation as Operation, harness.now());
  return record;
}

export function stateMachineContract(makeHarness: MakeHarness): void {
  describe('the state machine', () => {
    const operations = Object.keys(leadsTo) as Operation[];
    const cases = requestStatuses.flatMap((from) => operations.map((operation) => [from, operation] as const));

    it.each(cases)('from %s by %s goes only where an edge leads', async (from, operation) => {
      const harness = await makeHarness();
      const store = await harness.open();
      const record = await reach(from, store, harness);
      expect((await store.requests.get(record.id))?.status).toBe(from);
      const result = await act(store, record, operation, harness.now());
      const allowed = requestTransitions[from].includes(leadsTo[operation]);
      expect(result.ok).toBe(allowed);
      expect(result.record?.status).toBe(allowed ? leadsTo[operation] : from);
      expect(await store.requests.get(record.id)).toEqual(result.record);
      expect(result.ok ? undefined : result.why).toBe(allowed ? undefined : refusalFrom(from, operation));
    });

    it.each(operations)('answers %s of an unknown request', async (operation) => {
      const store = await (await makeHarness()).open();
      const record = { ...draftOf(), id: 'req-00000000', status: 'pending', createdAt: 0, expiresAt: 1 } as const;
      expect(await act(store, record, operation, 0)).toEqual({ ok: false, why: 'not_found' });
    });

    it('keeps who decided, with which words, and who consumed it', async () => {
      const harness = await makeHarness();
      const store = await harness.open();
      const granted = await approved(store, alice, harness.now());
      await store.requests.consume(granted.id, granted.digest, 'host pid 1');
      expect(await store.requests.get(granted.id)).toEqual({
        ...granted,
        status: 'consumed',
        consumedAt: harness.now(),
        consumedBy: 'host pid 1',
      });
    });

    it('shows the latest decision of one that was revoked', async () => {
      const harness = await makeHarness();
      const store = await harness.open();
      const granted = await approved(store, alice, harness.now());
      const decision = { ...decisionBy('user:bob', harness.now()), message: 'wrong machine' };
      expect(await store.requests.revoke(granted.id, decision)).toMatchObject({ ok: true });
      expect(await store.requests.get(granted.id)).toMatchObject({ status: 'revoked', decision });
    });
  });

  describe('a grant', () => {
    const giving = async (harness: StoreHarness, store: Store, change: Partial<GrantPayload>, by = 'user:alice') => {
      const record = await opened(store);
      const grant = await grantFor(record, alice, harness.now());
      const result = await storeApproval(store.requests, record.id, { ...grant, payload: { ...grant.payload, ...change } }, decisionBy(by));
      expect((await store.requests.get(record.id))?.status).toBe(result.ok ? 'approved' : 'pending');
      return result;
    };

    it.each<[string, Partial<GrantPayload>, string?]>([
      ['for another request', { requestId: 'req-ffffffff' }],
      ['for another digest', { digest: 'f'.repeat(64) }],
      ['by another person than the one who decides', {}, 'user:bob'],
    ])('%s is refused', async (_, change, by) => {
      const harness = await makeHarness();
      expect(await giving(harness, await harness.open(), change, by)).toMatchObject({ ok: false, why: 'mismatch' });
    });

    it('that has run out, or would last too long, is refused', async () => {
      const harness = await makeHarness();
      const store = await harness.open();
      expect(await giving(harness, store, { expiresAt: harness.now() })).toMatchObject({ ok: false, why: 'expired' });
      expect(await giving(harness, store, { expiresAt: harness.now() + 3_600_000 })).toMatchObject({ ok: false, why: 'mismatch' });
    });

    it('by the requester is refused, except at the palette', async () => {
      const harness = await makeHarness();
      const store = await harness.open();
      for (const host of ['cli', 'palette'] as const) {
        const draft = draftOf({ agent: { id: 'user:alice', host }, action: stopAction(host === 'cli' ? 100 : 101, 'user:alice') });
        const record = await opened(store, draft);
        const result = await storeApproval(store.requests, record.id, grantFor(record, alice, harness.now()), decisionBy());
        expect(result).toMatchObject(host === 'palette' ? { ok: true } : { ok: false, why: 'self_approval' });
      }
    });

    it('is consumed for its own digest only, and the attempt with another leaves it', async () => {
      const harness = await makeHarness();
      const store = await harness.open();
      const { id, digest } = await approved(store, alice, harness.now());
      expect(await store.requests.consume(id, 'f'.repeat(64), 'x')).toMatchObject({ ok: false, why: 'mismatch' });
      expect(await store.requests.consume(id, digest, 'x')).toMatchObject({ ok: true });
    });

    it('lives five minutes, even if the request would have ended before or lived longer', async () => {
      const harness = await makeHarness();
      const store = await harness.open();
      await opened(store);
      await harness.advance(3_600_000 - 1000);
      const late = await approved(store, alice, harness.now());
      await harness.advance(299_000);
      expect(await store.requests.get(late.id)).toMatchObject({ status: 'approved' });
      await harness.advance(1000);
      expect(await store.requests.consume(late.id, late.digest, 'x')).toMatchObject({
        ok: false,
        why: 'expired',
        record: { status: 'expired' },
      });
    });
  });
}
