/** What becomes of a request: every status by every event, as data. The stores' own contract says the same through their doors. */
import { describe, expect, it } from 'vitest';
import { type Grant, grantLifeMs, mostGrants, type RequestRecord, type RequestStatus, requestLifeMs } from '#kernel/approval/request';
import { asOf, lapseOf, type RequestEvent, requestMoves, resultOf, transition } from '#stores/transition';
import { createApprover, decisionBy, draftOf, grantFor, reportBy } from '../../integration/stores/request-fixtures.ts';

const start = 1_800_000_000_000;
const later = start + 60_000;
const alice = createApprover();
const bob = createApprover('user:bob');
const decision = decisionBy('user:alice', later);

const made = transition(undefined, { kind: 'open', draft: draftOf(), id: 'req-00000001' }, start);
const pending = requireRecord(made);
const grant = await grantFor(pending, alice, later);
const granted: RequestRecord = { ...pending, status: 'approved', decision, grants: [grant] };

function requireRecord({ record }: ReturnType<typeof transition>): RequestRecord {
  if (record === undefined) throw new Error('there is no record');
  return record;
}

const inStatus: Record<RequestStatus, RequestRecord> = {
  pending,
  approved: granted,
  denied: { ...pending, status: 'denied', decision },
  expired: { ...pending, status: 'expired' },
  cancelled: { ...pending, status: 'cancelled' },
  revoked: { ...granted, status: 'revoked' },
  consumed: { ...granted, status: 'consumed', consumedAt: later, consumedBy: 'x' },
};

const enough = { decision, seen: 0, until: later + grantLifeMs };
const events: Record<RequestEvent['kind'], RequestEvent> = {
  open: { kind: 'open', draft: draftOf(), id: 'req-00000001' },
  approve: { kind: 'approve', grant, answer: enough },
  deny: { kind: 'deny', decision },
  cancel: { kind: 'cancel', by: 'mcp:laptop' },
  revoke: { kind: 'revoke', decision },
  consume: { kind: 'consume', digest: pending.digest, by: 'pid 1' },
  expire: { kind: 'expire' },
};

/** The status after it with the trail's word, or why not; `same`: it is there already. */
const expected: Record<RequestStatus | 'none', Record<RequestEvent['kind'], string>> = {
  none: {
    open: 'pending approval.requested',
    approve: 'not_found',
    deny: 'not_found',
    cancel: 'not_found',
    revoke: 'not_found',
    consume: 'not_found',
    expire: 'not_found',
  },
  pending: {
    open: 'same',
    approve: 'approved approval.approved',
    deny: 'denied approval.denied',
    cancel: 'cancelled approval.cancelled',
    revoke: 'not_approved',
    consume: 'not_approved',
    expire: 'changed',
  },
  approved: {
    open: 'same',
    approve: 'not_pending',
    deny: 'not_pending',
    cancel: 'cancelled approval.cancelled',
    revoke: 'revoked approval.revoked',
    consume: 'consumed approval.consumed',
    expire: 'changed',
  },
  denied: over('not_pending', 'not_approved'),
  expired: { ...over('expired', 'expired'), expire: 'expired' },
  cancelled: over('not_pending', 'not_approved'),
  revoked: over('not_pending', 'not_approved'),
  consumed: over('not_pending', 'not_approved'),
};

function over(asked: string, granting: string): Record<RequestEvent['kind'], string> {
  return { open: 'same', approve: asked, deny: asked, cancel: asked, revoke: granting, consume: granting, expire: 'changed' };
}

function said(outcome: ReturnType<typeof transition>): string {
  if (!outcome.ok) return outcome.why;
  return outcome.told === undefined ? 'same' : `${outcome.record.status} ${outcome.told.name}`;
}

const cases = Object.entries(expected).flatMap(([from, row]) =>
  Object.entries(row).map(([kind, want]) => [from, kind, want] as [RequestStatus | 'none', RequestEvent['kind'], string]),
);

describe('a request', () => {
  it.each(cases)('%s by %s: %s', (from, kind, want) => {
    const record = from === 'none' ? undefined : inStatus[from];
    const outcome = transition(record, events[kind], later);
    expect(said(outcome)).toBe(want);
    // What did not happen leaves it as it is.
    expect(outcome.ok || outcome.record === record).toBe(true);
  });

  const open = ['pending', 'approved'] as const;
  it.each(open.flatMap((from) => Object.keys(requestMoves).map((kind) => [from, kind as keyof typeof requestMoves] as const)))(
    'that was left %s past its time has expired, whatever %s wants, and says so',
    (from, kind) => {
      const record = inStatus[from];
      const outcome = transition(record, events[kind], lapseOf(record));
      const told = { name: 'approval.expired', attributes: expect.objectContaining({ request_id: record.id, was: from }) };
      const expired = { ok: true, record: { ...record, status: 'expired' }, told };
      const refused = { ok: false, why: 'expired', record: expired.record, lapsed: expired };
      expect(outcome).toEqual(kind === 'expire' ? expired : refused);
      expect(resultOf(outcome)).not.toHaveProperty('lapsed');
      expect(asOf(record, lapseOf(record)).status).toBe('expired');
      expect(asOf(record, lapseOf(record) - 1)).toBe(record);
    },
  );

  it('lives an hour, its grant no longer than it may be used', () => {
    expect(made).toMatchObject({ end: start + requestLifeMs, record: { createdAt: start, expiresAt: start + requestLifeMs } });
    const until = later + grantLifeMs - 1;
    expect(transition(pending, { kind: 'approve', grant, answer: { ...enough, until } }, later)).toMatchObject({ end: until });
  });

  it('waits on where one approval is not enough, and counts each', async () => {
    const first = transition(pending, { kind: 'approve', grant, answer: { decision, seen: 0 } }, later);
    expect(first).toMatchObject({
      record: { status: 'pending', grants: [grant] },
      grant,
      end: pending.expiresAt,
      told: { name: 'approval.partial', attributes: { count: 1 } },
    });
    const by = decisionBy('user:bob', later);
    const second: Grant = await grantFor(pending, bob, later);
    const answer = { decision: by, seen: 1, until: later + grantLifeMs };
    const both = transition(requireRecord(first), { kind: 'approve', grant: second, answer }, later);
    expect(both).toMatchObject({
      record: { status: 'approved', decision: by, grants: [grant, second] },
      told: { attributes: { count: 2 } },
    });
    expect(transition(requireRecord(first), { kind: 'approve', grant: second, answer: { ...answer, seen: 0 } }, later)).toMatchObject({
      why: 'changed',
    });
    const full = { ...pending, grants: Array.from({ length: mostGrants }, () => grant) };
    expect(transition(full, { kind: 'approve', grant: second, answer: { ...answer, seen: mostGrants } }, later)).toMatchObject({
      why: 'changed',
    });
  });

  it('that is a report is found again by its own words, and never consumed', () => {
    const draft = reportBy('mcp:a', 'req-0badcafe');
    const report = requireRecord(transition(undefined, { kind: 'open', draft, id: 'req-0badcafe' }, start));
    expect(transition(report, { kind: 'open', draft: { ...draft, title: 'in other words' }, id: report.id }, later)).toEqual({
      ok: true,
      record: report,
    });
    const others = { ...reportBy('mcp:b', 'req-0badcafe') };
    expect(transition(report, { kind: 'open', draft: others, id: report.id }, later)).toEqual({ ok: false, why: 'id_taken' });
    const settled: RequestRecord = { ...report, status: 'approved', decision, grants: [grant] };
    expect(transition(settled, { kind: 'consume', digest: report.digest, by: 'x' }, later)).toMatchObject({ why: 'mismatch' });
  });

  it('tells the trail nothing that may hold a secret', () => {
    const draft = draftOf({ claim: 'a claim', title: 'a title' });
    const outcome = transition(undefined, { kind: 'open', draft, id: 'req-00000002' }, start);
    const attributes = Object.keys((outcome.ok && outcome.told?.attributes) || {});
    expect(attributes.toSorted()).toEqual(
      ['request_id', 'gen_ai.tool.name', 'gen_ai.agent.id', 'host', 'tier', 'impact', 'digest', 'reported'].toSorted(),
    );
  });
});
