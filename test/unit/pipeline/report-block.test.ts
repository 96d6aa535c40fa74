import { describe, expect, it } from 'vitest';
import { digestOf } from '#approval/digest';
import type { Agent } from '#kernel/agent';
import { liveRule } from '../policy/live-rules.ts';
import { agent, createBench } from './support/bench.ts';
import { maxPendingPerAgent } from './support/limits.ts';

type Bench = Awaited<ReturnType<typeof createBench>>;
const id = 'req-0badc0de';
const secret = 'AKIA-the-matched-thing';
const report = { request_id: id, reason: 'credential_detected', destination: 'https://API.Example.com:8443/upload?x=1', pattern: secret };
const other: Agent = { id: 'mcp:other', host: 'mcp', modelTier: 'basic' };

/** The store, with a note of what was asked of it. */
function watched(bench: Bench) {
  const touched: string[] = [];
  const note = <T extends object>(target: T, prefix: string): T =>
    new Proxy(target, {
      get: (object, key) => {
        touched.push(`${prefix}.${String(key)}`);
        return Reflect.get(object, key) as unknown;
      },
    });
  const deps = { requests: note(bench.deps.requests, 'requests'), approvals: note(bench.deps.approvals, 'approvals') };
  return { touched, deps };
}

describe('report_block', () => {
  it('opens a request for a person, and says how they answer', async () => {
    const bench = await createBench();
    const outcome = await bench.call('report_block', report);
    expect(outcome).toMatchObject({
      status: 'ok',
      result: { request_id: id, requires_approval: true, approval_command: `banksman approvals approve ${id}` },
      next: expect.stringContaining('check_request_status'),
    });
    const record = await bench.store.requests.get(id);
    expect(record).toMatchObject({
      status: 'pending',
      title: 'Report a block (credential_detected): api.example.com:8443',
      reported: { reason: 'credential_detected', destination: 'api.example.com:8443', pattern: secret },
      action: { tool: 'report_block', arguments: { request_id: id, reason: 'credential_detected', destination: 'api.example.com:8443' } },
      agent: { id: agent.id },
    });
    expect((record?.expiresAt ?? 0) - (record?.createdAt ?? 0)).toBe(3_600_000);
    expect(await bench.trail.names()).toEqual(['approval.requested', 'tool.finished']);
    // What people see is whole, and can be approved.
    const card = await bench.approvals.card(id);
    expect(card).toMatchObject({ tampered: false });
    expect(card?.detail).toContain(`The detector matched: ${secret}`);
    expect(card?.detail).toContain('It allows no tool call.');
  });

  it('keeps what was matched from every answer, record and line', async () => {
    const bench = await createBench();
    const calls = [
      ['report_block', report],
      ['report_block', report],
      ['report_block', { ...report, request_id: 'x' }],
      ['report_block', { ...report, destination: 'no host' }],
      ['report_block', { ...report, reason: 'none' }],
      ['report_block', { ...report, [secret]: secret, nested: { pattern: secret } }],
      ['report_block', { pattern: secret }],
      ['report_block', { ...report, pattern: [secret] }],
      ['check_request_status', { request_id: id }],
      ['list_pending_approvals', {}],
      ['list_pending_approvals', { filter: secret.slice(0, 8) }],
      ['get_security_log', {}],
      ['get_security_status', {}],
    ] as const;
    for (const [tool, input] of calls) {
      const outcome = await bench.call(tool, input);
      // The name of a key that does not exist is quoted back to the one who made it up, and to nobody else.
      const said = JSON.stringify(outcome).replace(`unknown argument \`${secret}\``, '');
      expect(said, tool).not.toContain(secret);
    }
    await bench.approvals.deny(id, 'user:alice', 'no');
    expect(JSON.stringify(await bench.call('check_request_status', { request_id: id }))).not.toContain(secret);
    const trail = JSON.stringify((await bench.trail.all()).map(({ attributes: { message: _quoted, ...rest } }) => rest));
    expect(trail).not.toContain(secret);
    expect(trail).toContain('[concealed]');
    expect(bench.lines.filter((line) => line.includes(secret) && !line.includes('unknown argument'))).toEqual([]);
    expect((await bench.store.requests.get(id))?.reported?.pattern).toBe(secret);
  });

  it.each(['', 'x', 'req-1A2B3C4D', 'req-1a2b3c4', 'req-1a2b3c4d5', 'REQ-1a2b3c4d', "req-' OR 1", '../req-1a2b3c4d', 'req-1a2b3c4d\u202e'])(
    'answers %j without touching the store',
    async (bad) => {
      const bench = await createBench();
      const { touched, deps } = watched(bench);
      const late = await createBench({ deps });
      expect(await late.call('report_block', { ...report, request_id: bad })).toMatchObject({
        status: 'error',
        code: 'invalid_request_id',
      });
      expect(await late.call('check_request_status', { request_id: bad })).toMatchObject({ status: 'ok', result: { status: 'invalid' } });
      expect(touched.filter((entry) => !entry.endsWith('then'))).toEqual([]);
    },
  );

  it('refuses what is no destination, or no reason', async () => {
    const bench = await createBench();
    for (const destination of ['a b', 'user@host', 'x'.repeat(3_000), '//'])
      expect(await bench.call('report_block', { ...report, destination }), destination).toMatchObject({ code: 'invalid_destination' });
    expect(await bench.call('report_block', { ...report, reason: 'because' })).toMatchObject({ code: 'invalid_input' });
    expect(await bench.call('report_block', { ...report, confirmed: true })).toMatchObject({ code: 'invalid_input' });
    expect(await bench.approvals.countPending()).toBe(0);
  });

  it('said twice is one report; said otherwise or by another, the id is taken', async () => {
    const bench = await createBench();
    for (let time = 0; time < 3; time += 1) expect(await bench.call('report_block', report)).toMatchObject({ status: 'ok' });
    // The same host in other words is the same report.
    expect(await bench.call('report_block', { ...report, destination: 'api.example.com.:8443' })).toMatchObject({ status: 'ok' });
    expect(await bench.approvals.countPending()).toBe(1);
    for (const [changes, who] of [
      [{ destination: 'evil.example' }, agent],
      [{ reason: 'url_blocked' }, agent],
      [{ pattern: 'other' }, agent],
      [{}, other],
    ] as const)
      expect(await bench.call('report_block', { ...report, ...changes }, { agent: who })).toMatchObject({
        status: 'error',
        code: 'id_taken',
      });
    const { request_id: asked = '' } = await bench.call('stop_vm', { vmid: 100 });
    expect(await bench.call('report_block', { ...report, request_id: asked })).toMatchObject({ code: 'id_taken' });
  });

  it('is capped per agent', async () => {
    const bench = await createBench();
    const ids = Array.from({ length: maxPendingPerAgent + 1 }, (_, index) => `req-0000000${index}`);
    const outcomes = [];
    for (const request_id of ids) outcomes.push(await bench.call('report_block', { ...report, request_id }));
    expect(outcomes.map((outcome) => outcome.code)).toEqual([...Array<string>(maxPendingPerAgent).fill('ok'), 'too_many_pending']);
    // Reports keep no call from asking; the cap of calls keeps none from reporting (the stores' contract).
    expect(await bench.call('stop_vm', { vmid: 100 })).toMatchObject({ code: 'approval_pending' });
    expect(await bench.call('report_block', { ...report, request_id: 'req-000000ff' }, { agent: other })).toMatchObject({ status: 'ok' });
  });

  it('settled in advance bothers nobody, and is not stored', async () => {
    const bench = await createBench();
    const blocked = { ...report, reason: 'url_blocked', destination: 'hooks.api.slack.com' };
    expect(await bench.call('report_block', blocked)).toMatchObject({
      status: 'ok',
      message: expect.stringContaining('approval-domain:.api.slack.com'),
      result: { requires_approval: false, approval_command: null },
    });
    bench.state.settings = {
      ...bench.state.settings,
      rules: async () => [liveRule('destination:.example.com', 'block')],
    };
    expect(await bench.call('report_block', report)).toMatchObject({ status: 'error', code: 'destination_blocked' });
    expect(await bench.store.requests.get(id)).toBeUndefined();
  });
});

describe('an approved report', () => {
  it('is approved like any request, and allows nothing', async () => {
    const bench = await createBench();
    await bench.call('report_block', report);
    expect(await bench.approvals.approve(id, bench.alice.signer)).toMatchObject({
      ok: true,
      message: expect.stringContaining('it was a report'),
    });
    expect(await bench.call('check_request_status', { request_id: id })).toMatchObject({
      result: { status: 'approved' },
      next: 'a person settled this report; it allows no tool call',
    });
    const record = await bench.store.requests.get(id);
    expect(await bench.deps.approvals.consume(id, record?.digest ?? '', 'x')).toMatchObject({ ok: false, why: 'not_approved' });
    expect((await bench.store.requests.get(id))?.status).toBe('approved');
    expect(await bench.call('stop_vm', { vmid: 100 })).toMatchObject({ status: 'pending' });
  });

  it('by the one who reported it is refused', async () => {
    const bench = await createBench();
    await bench.call('report_block', report, { agent: { id: 'user:alice', host: 'cli', modelTier: 'advanced' } });
    expect(await bench.approvals.approve(id, bench.alice.signer)).toMatchObject({ ok: false, code: 'self_approval' });
  });

  it('does not stand in for a call even if a store hands it out as that call’s own request', async () => {
    const bench = await createBench();
    await bench.call('report_block', report);
    await bench.approvals.approve(id, bench.alice.signer);
    const { approvals } = bench.deps;
    const confused = await createBench({
      deps: {
        approvals: {
          ...approvals,
          open: async () => {
            const record = await bench.store.requests.get(id);
            return record === undefined ? { ok: false, why: 'not_found' } : { ok: true, record };
          },
          consume: async () => ({ ok: false, why: 'grant_used', message: 'the consuming came too late' }),
        },
      },
    });
    expect(await confused.call('stop_vm', { vmid: 100 })).toMatchObject({ status: 'error', code: 'request_not_opened' });
    expect(confused.cluster.effects.filter((effect) => effect.startsWith('changeGuest'))).toEqual([]);
  });

  it('is not the same action as a call of report_block that needs a person', async () => {
    const bench = await createBench({ config: { tiers: { report_block: 'red' } } });
    const { pattern: _none, ...plain } = report;
    const input = { ...plain, destination: 'api.example.com:8443' };
    const asked = await bench.call('report_block', input);
    expect(asked).toMatchObject({ status: 'pending', code: 'approval_pending' });
    const record = await bench.store.requests.get(asked.request_id ?? '');
    expect(record).not.toHaveProperty('reported');
    await bench.approvals.approve(asked.request_id ?? '', bench.alice.signer);
    expect(await bench.call('report_block', input)).toMatchObject({ status: 'ok', result: { requires_approval: true } });
    const reported = await bench.store.requests.get(id);
    expect(reported?.reported).toMatchObject({ destination: 'api.example.com:8443' });
    expect(reported?.digest).not.toBe(record?.digest);
    expect(reported && digestOf(reported.action)).toBe(reported?.digest);
  });
});
