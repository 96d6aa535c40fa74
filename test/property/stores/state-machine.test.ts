/** Whatever is done to a store, in whatever order: only declared edges, one consuming per grant, and the trail tells the same story. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type CallApprovals, createApprovals } from '#approval/approvals';
import { digestOf } from '#approval/digest';
import { verifyTrail } from '#audit/verify-trail';
import type { Approvals } from '#kernel/app';
import type { RequestStatus } from '#kernel/approval/request';
import type { RequestStore } from '#kernel/ports/request-store';
import type { Store } from '#kernel/ports/store';
import {
  createApprover,
  createFakeClock,
  decisionBy,
  draftBy,
  type FakeClock,
  grantFor,
  openTestStore,
  requestTransitions,
  storeApproval,
} from '../../integration/stores/store-fixtures.ts';

const agents = ['mcp:a', 'mcp:b', 'user:alice'];
const alice = createApprover('user:alice');
const mallory = createApprover('user:mallory');

interface World {
  readonly stores: readonly Store[];
  readonly clock: FakeClock;
  readonly ids: string[];
  readonly wins: Map<string, number>;
  /** What must never have worked. */
  readonly scandals: string[];
}

interface Step {
  readonly world: World;
  readonly requests: RequestStore;
  readonly approvals: Approvals & CallApprovals;
  /** Chooses among the requests there are. */
  readonly pick: number;
  readonly id: string;
  readonly ms: number;
}

const operations: Record<string, (step: Step) => Promise<unknown>> = {
  open: async ({ world, requests, pick }) => {
    const result = await requests.open(draftBy(agents[pick % agents.length]!, 100 + (pick % 4)));
    if (result.ok && !world.ids.includes(result.record.id)) world.ids.push(result.record.id);
  },
  approve: ({ approvals, id }) => approvals.approve(id, alice.signer),
  deny: ({ approvals, id }) => approvals.deny(id, 'user:alice'),
  cancel: ({ approvals, id }) => approvals.cancel(id, 'mcp:a'),
  revoke: ({ approvals, id }) => approvals.revoke(id, 'user:alice'),
  consume: async ({ world, requests, approvals, id }) => {
    const record = await requests.get(id);
    const digest = record ? digestOf(record.action) : '';
    const results = await Promise.all([approvals.consume(id, digest, 'x'), approvals.consume(id, digest, 'y')]);
    world.wins.set(id, (world.wins.get(id) ?? 0) + results.filter((result) => result.ok).length);
  },
  'consume for another digest': async ({ world, approvals, id }) => {
    if ((await approvals.consume(id, 'f'.repeat(64), 'x')).ok) world.scandals.push('consumed for another digest');
  },
  'approve with a strange key': async ({ world, approvals, id }) => {
    if ((await approvals.approve(id, mallory.signer)).ok) world.scandals.push('approved with a strange key');
  },
  'approve with a stale grant': async ({ world, requests, id }) => {
    const record = await requests.get(id);
    const grant = await grantFor(record ?? { id, digest: '', expiresAt: 0 }, alice, world.clock.now() - 300_000);
    if ((await storeApproval(requests, id, grant, decisionBy())).ok) world.scandals.push('approved with a stale grant');
  },
  wait: async ({ world, ms }) => world.clock.advance(ms),
};

const operation = fc.record({
  // The ones that lead on count double, so that sequences get somewhere.
  what: fc.constantFrom(...Object.keys(operations), 'open', 'approve', 'consume'),
  pick: fc.nat({ max: 20 }),
  where: fc.nat({ max: 1 }),
  ms: fc.constantFrom(1000, 299_999, 300_000, 3_600_000),
});
type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never;

/** One sequence that ends a request in each way there is: chance alone does not get everywhere in so few runs. */
const grandTour: Operation[] = (
  [
    ['open', 0],
    ['approve', 0],
    ['revoke', 0],
    ['open', 1],
    ['approve', 1],
    ['consume', 1],
    ['open', 3],
    ['deny', 2],
    ['open', 6],
    ['cancel', 3],
    ['open', 4],
    ['wait', 0],
  ] as const
).map(([what, pick]) => ({ what, pick, where: pick % 2, ms: 3_600_000 }));

async function act(world: World, { what, pick, where, ms }: Operation): Promise<void> {
  const { requests, audit } = world.stores[where]!;
  const { clock, ids } = world;
  // A new one each time: it has no memory of nonces, so what holds is the store.
  const approvals = createApprovals({ requests, audit, clock, via: 'cli', trustedKeys: async () => [alice.pinned] });
  const id = ids[pick % Math.max(1, ids.length)] ?? 'req-00000000';
  await operations[what]!({ world, requests, approvals, pick, id, ms });
}

async function statuses(world: World): Promise<ReadonlyMap<string, RequestStatus>> {
  const { records } = await world.stores[0]!.requests.list({ limit: 500 });
  return new Map(records.map((record) => [record.id, record.status]));
}

/** `start` stands for "was not there". */
type Edge = `${RequestStatus | 'start'} to ${RequestStatus | 'gone'}`;
const declaredEdges: ReadonlySet<Edge> = new Set<Edge>([
  'start to pending',
  ...Object.entries(requestTransitions).flatMap(([from, targets]) => targets.map((to) => `${from as RequestStatus} to ${to}` as const)),
]);

/** One operation takes a request along one edge at most. */
function edgesTaken(before: ReadonlyMap<string, RequestStatus>, after: ReadonlyMap<string, RequestStatus>): readonly Edge[] {
  const ids = new Set([...before.keys(), ...after.keys()]);
  return [...ids]
    .filter((id) => before.get(id) !== after.get(id))
    .map((id): Edge => `${before.get(id) ?? 'start'} to ${after.get(id) ?? 'gone'}`);
}

const undeclared = (edges: readonly Edge[]): readonly Edge[] => edges.filter((edge) => !declaredEdges.has(edge));

const statusAfter: Record<string, RequestStatus> = {
  'approval.requested': 'pending',
  'approval.approved': 'approved',
  'approval.denied': 'denied',
  'approval.expired': 'expired',
  'approval.cancelled': 'cancelled',
  'approval.revoked': 'revoked',
  'approval.consumed': 'consumed',
};

/** The trail, read alone: the edges it tells of, and where each request ended. */
async function storyOf(world: World): Promise<{ readonly edges: readonly Edge[]; readonly ends: ReadonlyMap<string, RequestStatus> }> {
  const ends = new Map<string, RequestStatus>();
  const edges: Edge[] = [];
  for (const record of await world.stores[1]!.audit.read(0, 10_000)) {
    const id = String(record.attributes.request_id);
    const next = statusAfter[record.name]!;
    edges.push(`${ends.get(id) ?? 'start'} to ${next}`);
    ends.set(id, next);
  }
  return { edges, ends };
}

/** Time alone may have taken a request further than anybody has written down yet. */
function withTime(told: RequestStatus | undefined, now: RequestStatus): RequestStatus | undefined {
  return now === 'expired' && told !== undefined && requestTransitions[told].includes('expired') ? 'expired' : told;
}

describe('the store', () => {
  it('keeps its promises through any sequence of operations', async () => {
    const reached = new Set<RequestStatus>();
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { minLength: 5, maxLength: 40 }), async (steps) => {
        const clock = createFakeClock();
        const first = await openTestStore({ clock });
        const stores = [first, await openTestStore({ clock, file: first.location })];
        const world: World = { stores, clock, ids: [], wins: new Map(), scandals: [] };
        for (const step of steps) {
          const before = await statuses(world);
          await act(world, step);
          const after = await statuses(world);
          expect(undeclared(edgesTaken(before, after))).toEqual([]);
          for (const status of after.values()) reached.add(status);
        }
        const [story, now, verdict] = await Promise.all([storyOf(world), statuses(world), verifyTrail(first.audit)]);
        expect(world.scandals).toEqual([]);
        expect(Math.max(0, ...world.wins.values())).toBeLessThanOrEqual(1);
        expect(undeclared(story.edges)).toEqual([]);
        expect([...now].map(([id, status]) => withTime(story.ends.get(id), status))).toEqual([...now.values()]);
        expect(verdict.ok).toBe(world.ids.length > 0);
        await Promise.all(stores.map((store) => store.close()));
      }),
      { numRuns: 60, examples: [[grandTour]] },
    );
    // The sequences must have been worth something.
    expect([...reached].sort()).toEqual(Object.keys(requestTransitions).sort());
  });
});
