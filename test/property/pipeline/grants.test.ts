import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { catalog } from '#app/catalog';
import type { Agent } from '#kernel/agent';
import { agentHosts } from '#kernel/agent';
import { modelTiers, securityLevels } from '#kernel/tiers';
import { createBench, demoProtection } from '../../unit/pipeline/support/bench.ts';

const redTools = catalog.filter((tool) => tool.tier === 'red').map((tool) => tool.name);
const agents: fc.Arbitrary<Agent> = fc.record({
  id: fc.constantFrom('mcp:a', 'mcp:b', 'user:alice', 'cli:ann', 'admin', ''),
  host: fc.constantFrom(...agentHosts),
  modelTier: fc.constantFrom(...modelTiers),
});

/** What a model may try: the right keys, keys that sound like an approval, and anything else. */
const value = fc.oneof(fc.constantFrom<unknown>(100, '100', 103, 200, true, 'yes', 'pve', null), fc.jsonValue({ maxDepth: 2 }));
const input = fc.oneof(
  fc.record(
    {
      vmid: fc.constantFrom<unknown>(100, '0100', 103, 200, 201),
      node: fc.constantFrom('pve', 'Home'),
      reason: fc.string(),
      cluster: fc.constant('lab'),
    },
    { requiredKeys: ['vmid'] },
  ),
  fc.dictionary(
    fc.constantFrom('vmid', 'node', 'confirmed', 'approved', 'force', 'grant', 'request_id', 'digest', 'signature', '__proto__', 'x'),
    value,
  ),
  fc.jsonValue(),
);

type Step =
  | { readonly kind: 'call'; readonly tool: string; readonly vmid: number; readonly agent: string }
  | { readonly kind: 'approve' | 'deny' | 'revoke'; readonly pick: number }
  | { readonly kind: 'wait'; readonly ms: number }
  | { readonly kind: 'move'; readonly node: string };
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('call' as const),
      tool: fc.constantFrom('stop_vm', 'start_vm'),
      vmid: fc.constantFrom(100, 101),
      agent: fc.constantFrom('mcp:a', 'mcp:b'),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('approve' as const), pick: fc.nat(5) }) },
  fc.record({ kind: fc.constantFrom('deny' as const, 'revoke' as const), pick: fc.nat(5) }),
  fc.record({ kind: fc.constant('wait' as const), ms: fc.constantFrom(1_000, 299_999, 300_000, 3_600_000) }),
  fc.record({ kind: fc.constant('move' as const), node: fc.constantFrom('pve', 'Home') }),
);

describe('a red handler', () => {
  it('is not reached by any input of any caller at any level without a consumed grant', async () => {
    for (const securityLevel of securityLevels) {
      const bench = await createBench({ config: { protected: demoProtection, securityLevel } });
      await fc.assert(
        fc.asyncProperty(fc.constantFrom(...redTools, 'reboot_node'), input, agents, async (tool, given, agent) => {
          const outcome = await bench.call(tool, given, { agent });
          expect(outcome.status).not.toBe('ok');
          expect(bench.cluster.calls.filter((call) => call.startsWith('changeGuest'))).toEqual([]);
        }),
        { numRuns: 60 },
      );
      expect((await bench.trail.names()).filter((name) => name === 'approval.consumed' || name === 'tool.started')).toEqual([]);
    }
  });

  it('runs once per approval, for the very call and agent that it was given to, whatever the order of things', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 14 }), async (steps) => {
        const bench = await createBench({ config: {} });
        const approved = new Map<string, number>();
        const ran = new Map<string, number>();
        for (const one of steps) await take(one, { bench, approved, ran });
        for (const [what, times] of ran) expect(times, what).toBeLessThanOrEqual(approved.get(what) ?? 0);
        expect(bench.cluster.effects.filter((effect) => effect.startsWith('changeGuest'))).toHaveLength(
          [...ran.values()].reduce((a, b) => a + b, 0),
        );
      }),
      { numRuns: 25 },
    );
  });
});

interface Run {
  readonly bench: Awaited<ReturnType<typeof createBench>>;
  readonly approved: Map<string, number>;
  readonly ran: Map<string, number>;
}

async function take(one: Step, run: Run): Promise<void> {
  const { bench } = run;
  if (one.kind === 'wait') bench.clock.advance(one.ms);
  else if (one.kind === 'move') for (const guest of bench.cluster.guests.slice(0, 2)) guest.node = one.node;
  else if (one.kind === 'call') await callOnce(one, run);
  else await answer(one, run);
}

async function callOnce(one: Extract<Step, { kind: 'call' }>, { bench, ran }: Run): Promise<void> {
  const where = bench.cluster.guests.find((guest) => guest.vmid === one.vmid)?.node;
  const outcome = await bench.call(one.tool, { vmid: one.vmid }, { agent: { id: one.agent, host: 'mcp', modelTier: 'advanced' } });
  if (outcome.status === 'ok') count(ran, `${one.agent} ${one.tool} ${one.vmid} ${where}`);
}

async function answer(one: Extract<Step, { pick: number }>, { bench, approved }: Run): Promise<void> {
  const { records } = await bench.approvals.list({ limit: 10 });
  const record = records[one.pick % Math.max(records.length, 1)];
  if (record === undefined) return;
  if (one.kind === 'deny') await bench.approvals.deny(record.id, 'user:alice');
  else if (one.kind === 'revoke') await bench.approvals.revoke(record.id, 'user:alice');
  else if ((await bench.approvals.approve(record.id, bench.alice.signer)).ok) {
    const { tool, arguments: given, targets } = record.action;
    count(approved, `${record.agent.id} ${tool} ${given['vmid']} ${targets[0]?.['node']}`);
  }
}

function count(map: Map<string, number>, key: string): void {
  map.set(key, (map.get(key) ?? 0) + 1);
}
