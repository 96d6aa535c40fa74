/** Laws of reported blocks, on the real store: what a report is never worth, how long it lives, what leaves of it. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RequestRecord } from '#kernel/approval/request';
import { blockReasons } from '#kernel/approval/security';
import { createBench } from '../../unit/pipeline/support/bench.ts';

type Bench = Awaited<ReturnType<typeof createBench>>;

const id = fc.integer({ min: 0, max: 4 }).map((number) => `req-0000000${number}`);
const by = fc.constantFrom('mcp:a', 'mcp:b');
const destination = fc.constantFrom('blocked.example', 'other.example:8443', '10.0.0.9');
const reason = fc.constantFrom(...blockReasons);
const agentOf = (name: string) => ({ id: name, host: 'mcp', modelTier: 'advanced' }) as const;

type Step =
  | { readonly kind: 'report'; readonly id: string; readonly by: string; readonly destination: string }
  | { readonly kind: 'call'; readonly by: string }
  | { readonly kind: 'approve' | 'revoke'; readonly pick: number }
  | { readonly kind: 'consume'; readonly pick: number; readonly other: number }
  | { readonly kind: 'wait'; readonly ms: number };
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('report' as const), id, by, destination }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('call' as const), by }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('approve' as const), pick: fc.nat(9) }) },
  fc.record({ kind: fc.constant('revoke' as const), pick: fc.nat(9) }),
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('consume' as const), pick: fc.nat(9), other: fc.nat(9) }) },
  fc.record({ kind: fc.constant('wait' as const), ms: fc.constantFrom(1_000, 300_000, 3_600_000) }),
);

interface Run {
  readonly bench: Bench;
  approvedCalls: number;
  runs: number;
  /** What came of consuming reports by hand. */
  readonly consumptions: boolean[];
}

async function take(one: Step, run: Run): Promise<void> {
  const { bench } = run;
  switch (one.kind) {
    case 'wait':
      return bench.clock.advance(one.ms);
    case 'report': {
      const input = { request_id: one.id, reason: 'url_blocked', destination: one.destination };
      await bench.call('report_block', input, { agent: agentOf(one.by) });
      return;
    }
    case 'call':
      if ((await bench.call('stop_vm', { vmid: 100 }, { agent: agentOf(one.by) })).status === 'ok') run.runs += 1;
      return;
    case 'consume':
      return consume(one, run);
    case 'approve':
    case 'revoke':
      return answer(one, run);
  }
}

async function picked({ bench }: Run, place: number): Promise<RequestRecord | undefined> {
  const { records } = await bench.approvals.list({ limit: 20 });
  return records[place % Math.max(records.length, 1)];
}

async function consume(one: Extract<Step, { kind: 'consume' }>, run: Run): Promise<void> {
  const [record, other] = [await picked(run, one.pick), await picked(run, one.other)];
  if (record?.reported === undefined || other === undefined) return;
  for (const digest of [record.digest, other.digest])
    run.consumptions.push((await run.bench.deps.approvals.consume(record.id, digest, 'x')).ok);
}

async function answer(one: Extract<Step, { kind: 'approve' | 'revoke' }>, run: Run): Promise<void> {
  const record = await picked(run, one.pick);
  if (record === undefined) return;
  if (one.kind === 'revoke') await run.bench.approvals.revoke(record.id, 'user:alice');
  else if ((await run.bench.approvals.approve(record.id, run.bench.alice.signer)).ok && record.reported === undefined)
    run.approvedCalls += 1;
}

describe('a reported block', () => {
  it('however it is answered, is never consumed and lets no call run', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 16 }), async (steps) => {
        const run: Run = { bench: await createBench({ config: {} }), approvedCalls: 0, runs: 0, consumptions: [] };
        for (const one of steps) await take(one, run);
        expect(run.consumptions).not.toContain(true);
        expect(run.runs).toBeLessThanOrEqual(run.approvedCalls);
        const { records } = await run.bench.approvals.list({ limit: 50 });
        expect(records.filter((record) => record.reported !== undefined && record.status === 'consumed')).toEqual([]);
      }),
      { numRuns: 30 },
    );
  });

  it('lives between one second and an hour', async () => {
    const bench = await createBench();
    const used = new Set<number>();
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: 0xffff_ffff }), reason, destination, fc.nat(10_000), async (number, why, where, ms) => {
        fc.pre(!used.has(number));
        used.add(number);
        bench.clock.advance(ms);
        const request_id = `req-${number.toString(16).padStart(8, '0')}`;
        // Each by an agent of its own: there is a cap per agent.
        const outcome = await bench.call(
          'report_block',
          { request_id, reason: why, destination: where },
          { agent: agentOf(`mcp:${number}`) },
        );
        expect(outcome.status).toBe('ok');
        const record = await bench.store.requests.get(request_id);
        const life = ((record?.expiresAt ?? Number.POSITIVE_INFINITY) - bench.clock.now()) / 1_000;
        expect(life).toBeGreaterThanOrEqual(1);
        expect(life).toBeLessThanOrEqual(3_600);
      }),
      { numRuns: 60 },
    );
  });

  it('keeps its pattern out of everything that an agent, a log or the trail gets', async () => {
    const bench = await createBench();
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 0xffff_ffff }),
        fc.string({ minLength: 1, maxLength: 40 }),
        fc.boolean(),
        async (number, text, valid) => {
          // A mark that nothing else holds, around whatever else the pattern is.
          const mark = `mark${number.toString(36)}end`;
          const request_id = `req-${number.toString(16).padStart(8, '0')}`;
          const from = { agent: agentOf(`mcp:${number}`) };
          const before = bench.lines.length;
          const input = {
            request_id: valid ? request_id : 'none',
            reason: 'url_blocked',
            destination: 'a.example',
            pattern: `${mark}${text}`,
          };
          const outcomes = [
            await bench.call('report_block', input, from),
            await bench.call('report_block', { ...input, unknown: 1 }, from),
            await bench.call('check_request_status', { request_id }, from),
            await bench.call('list_pending_approvals', { limit: 50 }, from),
            await bench.call('get_security_log', { limit: 10 }, from),
          ];
          const head = (await bench.store.audit.head())?.sequence ?? 0;
          const trail = await bench.store.audit.read(Math.max(0, head - 10), 10);
          const left = JSON.stringify([outcomes, trail, bench.lines.slice(before)]);
          expect(left).not.toContain(mark);
          // Not in `left`: the one who searches for it has written it down in the record of that very call.
          const search = await bench.call('list_pending_approvals', { filter: mark }, { agent: agentOf('mcp:other') });
          expect(search.result).toMatchObject({ pending: [] });
          const stored = await bench.store.requests.get(request_id);
          expect(stored?.reported?.pattern?.includes(mark) ?? !valid).toBe(true);
        },
      ),
      { numRuns: 40 },
    );
  });

  it('whose id is none is answered before any key is made of it', async () => {
    const touched: string[] = [];
    const bench = await createBench();
    const note = <T extends object>(target: T): T =>
      new Proxy(target, {
        get: (object, key) => {
          touched.push(String(key));
          return Reflect.get(object, key) as unknown;
        },
      });
    const watched = await createBench({ deps: { requests: note(bench.deps.requests), approvals: note(bench.deps.approvals) } });
    const anyId = fc.oneof(
      fc.string(),
      fc.string({ unit: 'binary' }),
      fc.string({ unit: fc.constantFrom('r', 'e', 'q', '-', '0', 'a', 'f', 'g', 'A', ':', '*', '\n') }),
      fc.string({ unit: fc.constantFrom(...'0123456789abcdef'.split('')), minLength: 7, maxLength: 9 }).map((hex) => `req-${hex}`),
      fc.string({ unit: fc.constantFrom(...'0123456789ABCDEF'.split('')), minLength: 8, maxLength: 8 }).map((hex) => `req-${hex}`),
      // What sanitizing would make an id of.
      fc
        .tuple(id, fc.nat(12), fc.constantFrom('\n', '\r\n', ' ', '\t', '\u0000', '\u200b', '\u202e', '\ufeff', '\u001b'))
        .map(([valid, at, extra]) => valid.slice(0, at) + extra + valid.slice(at)),
    );
    await fc.assert(
      fc.asyncProperty(anyId, async (request_id) => {
        fc.pre(!/^req-[a-f0-9]{8}$/.test(request_id));
        const report = await watched.call('report_block', { request_id, reason: 'url_blocked', destination: 'a.example' });
        const check = await watched.call('check_request_status', { request_id });
        expect([report.code, check.result]).toMatchObject(['invalid_request_id', { status: 'invalid' }]);
        expect(touched).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });
});
