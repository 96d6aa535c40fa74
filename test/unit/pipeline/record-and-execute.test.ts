import { beforeEach, describe, expect, it, vi } from 'vitest';
import { startDeadline } from '#execution/deadline';
import type { AuditDraft } from '#kernel/audit-event';
import { allow, ask, type Decision } from '#kernel/decision';
import { Fault } from '#kernel/errors';
import { asIs } from '#kernel/text/message';
import type { ToolContext } from '#kernel/tool';
import { type PipelineDeps, type WorkspaceJudge, withSettings } from '#pipeline/deps';
import { execute } from '#pipeline/execute';
import { agent, createBench } from './support/bench.ts';
import { createProbe } from './support/probe-tool.ts';

const limits = { callMs: 20, slowMs: 60_000 };
const forever = () => new Promise<never>(() => undefined);

const fullDisk: PipelineDeps['audit'] = {
  append: () => Promise.reject(new Fault('audit_unavailable', 'disk full', { next: 'free some space' })),
  appendAll: async () => undefined,
  read: async () => [],
  ofRequest: async () => [],
  changesSince: async () => [],
  attempts: async () => [],
  endAttempt: async () => false,
  head: async () => undefined,
};

describe('a trail that cannot be written', () => {
  it.each(['yellow', 'red'] as const)('before the effect: a %s handler never starts', async (tier) => {
    const probe = createProbe({ tier });
    const bench = await createBench({ tools: [probe.tool] });
    if (tier === 'red') {
      const { request_id: id = '' } = await bench.call('probe_tool');
      await bench.approvals.approve(id, bench.alice.signer);
    }
    bench.trail.fail((draft) => draft.name === 'tool.started');
    expect(await bench.call('probe_tool')).toMatchObject({ status: 'error', message: expect.stringContaining('disk full') });
    expect(probe.runs).toEqual([]);
  });

  it('before the effect: whoever looks for calls without an end is told which one did not run', async () => {
    const doubted: string[] = [];
    const told: string[] = [];
    const ownCalls = {
      begins: (call: string) => void told.push(`begins ${call}`),
      ends: (call: string, { name }: AuditDraft) => void told.push(`ends ${call} ${name}`),
      notBegun: (call: string) => void doubted.push(call),
    };
    const bench = await createBench({ tools: [createProbe({ tier: 'yellow' }).tool], deps: { ownCalls } });
    bench.trail.fail((draft) => draft.name === 'tool.started');
    await bench.call('probe_tool');
    expect(doubted).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/)]);
    bench.trail.fail(() => false);
    await bench.call('probe_tool');
    expect(doubted).toHaveLength(1);
    const [, begins, ends = ''] = told;
    expect(ends).toBe(`${begins?.replace('begins', 'ends')} tool.finished`);
  });

  it('after a green call: the result is withheld', async () => {
    const probe = createProbe({}, () => ({ ok: true, message: 'read', result: { secret: 'x' } }));
    const { call, trail, lines } = await createBench({ tools: [probe.tool] });
    trail.fail(() => true);
    const outcome = await call('probe_tool');
    expect(outcome).toMatchObject({ status: 'error', code: 'audit_unavailable', next: expect.stringContaining('banksman doctor') });
    expect(outcome).not.toHaveProperty('result');
    expect(lines).toEqual([expect.stringMatching(/^warn FAILED: probe_tool \(green\) .* audit_unavailable: /)]);
  });

  it('after an effect: what happened is reported with the failure', async () => {
    const probe = createProbe({ tier: 'yellow' }, () => ({ ok: true, message: 'restarted x', result: {} }));
    const { call, trail } = await createBench({ tools: [probe.tool] });
    trail.fail((draft) => draft.name === 'tool.finished');
    const outcome = await call('probe_tool');
    expect(outcome).toMatchObject({
      status: 'error',
      code: 'audit_unavailable',
      message: expect.stringMatching(/^restarted x; but the audit trail/),
    });
    expect(probe.runs).toHaveLength(1);
  });

  it('neither before nor after: said once, and no result is said to be withheld where there was none', async () => {
    const probe = createProbe({ tier: 'yellow' });
    const { call } = await createBench({ tools: [probe.tool], deps: { audit: fullDisk } });
    expect(await call('probe_tool')).toEqual({
      status: 'error',
      code: 'audit_unavailable',
      message: 'disk full; nothing was done',
      next: 'free some space',
      effect: { state: 'not_sent' },
    });
    expect(probe.runs).toEqual([]);
  });

  it('the store’s own remedy is passed on', async () => {
    const { call } = await createBench({ tools: [createProbe().tool], deps: { audit: fullDisk } });
    expect(await call('probe_tool')).toMatchObject({ code: 'audit_unavailable', next: 'free some space' });
  });
});

describe('a record', () => {
  it('comes before and after an effect, with one call id, the target, and the request', async () => {
    const bench = await createBench();
    const { request_id: id = '' } = await bench.call('stop_vm', { vmid: 100, reason: 'because' });
    await bench.approvals.approve(id, bench.alice.signer);
    await bench.call('stop_vm', { vmid: 100 });
    const [started, finished] = (await bench.trail.all()).filter((record) => record.name.startsWith('tool.')).slice(-2);
    expect(started?.name).toBe('tool.started');
    expect(finished?.name).toBe('tool.finished');
    expect(started?.attributes).toMatchObject({
      'gen_ai.tool.call.arguments': { vmid: 100 },
      tier: 'red',
      target: [{ kind: 'guest', cluster: 'lab', vmid: 100, node: 'pve', guestType: 'qemu', name: 'web' }],
      rules: ['tier:red', 'level:balanced'],
      request_id: id,
      policy_version: bench.state.settings.version,
    });
    expect(finished?.attributes).toMatchObject({ status: 'ok', code: 'ok', request_id: id, duration_ms: expect.any(Number) });
    expect(finished?.attributes['gen_ai.tool.call.id']).toBe(started?.attributes['gen_ai.tool.call.id']);
  });

  it('of a failure names it as an error type; of a refusal the rule behind it', async () => {
    const { call, trail } = await createBench();
    await call('stop_vm', { vmid: 999 });
    expect(await trail.last()).toMatchObject({ name: 'tool.finished', attributes: { status: 'error', 'error.type': 'unknown_guest' } });
    await call('stop_vm', { vmid: 103 });
    expect(await trail.last()).toMatchObject({
      name: 'tool.denied',
      attributes: { code: 'protected_resource', rules: ['protected.guests:103'] },
    });
  });

  it('shows names from callers plainly', async () => {
    const { call, trail } = await createBench();
    await call('get_vms', {}, { agent: { ...agent, label: 'a\u202eb\n', model: 'm\ud800\u200b' } });
    expect((await trail.last())?.attributes['agent']).toMatchObject({ label: 'a\\u{202e}b\\n', model: 'm\ufffd\\u{200b}' });
  });
});

describe('a record of a green call', () => {
  const touchesFile = () => [{ kind: 'path', access: 'read', path: '.env', use: 'read' } as const];
  const judging = (decision: Decision): WorkspaceJudge => ({
    decideCommand: async () => expect.fail('no command'),
    decidePath: async () => ({ decision }),
    held: async () => undefined,
    sandbox: async () => ({ state: 'enforced', reason: 'as told' }),
  });
  const grouped: AuditDraft[] = [];
  const noteRead = async (draft: AuditDraft) => void grouped.push(draft);

  beforeEach(() => void grouped.splice(0));

  it('may wait for others where it only looked', async () => {
    const { tool } = createProbe({ touches: touchesFile });
    const { call, trail } = await createBench({ tools: [tool], deps: { noteRead, judge: judging(allow('allowed', 'inside')) } });
    expect(await call('probe_tool')).toMatchObject({ status: 'ok' });
    expect(grouped).toEqual([expect.objectContaining({ name: 'tool.finished' })]);
    expect(await trail.names()).not.toContain('tool.finished');
  });

  it('is durable before the answer where it consumed a person’s grant', async () => {
    const { tool } = createProbe({ touches: touchesFile });
    const bench = await createBench({ tools: [tool], deps: { noteRead, judge: judging(ask('SECRET_FILE', asIs('a secret'))) } });
    const { request_id: id = '' } = await bench.call('probe_tool');
    await bench.approvals.approve(id, bench.alice.signer);
    expect(await bench.call('probe_tool')).toMatchObject({ status: 'ok', request_id: id });
    expect(grouped).toEqual([]);
    expect(await bench.trail.last()).toMatchObject({ name: 'tool.finished', attributes: { status: 'ok', request_id: id } });
  });
});

describe('secrets', () => {
  const secret = '3f0c1a9e-77aa-4b0d-9d2e-0123456789ab';
  const knownSecrets = () => [secret];

  it('do not leave in a result, a message, a hint, a record or a log line', async () => {
    const probe = createProbe({}, () => ({
      ok: false,
      code: 'x',
      message: `said ${secret}`,
      next: `try ${secret}`,
      result: { rows: [{ text: secret, password: 'x' }] },
    }));
    const { call, trail, lines } = await createBench({ tools: [probe.tool], deps: { knownSecrets } });
    const outcome = await call('probe_tool', { value: `with ${secret}` });
    expect(probe.runs).toEqual([{ value: `with ${secret}` }]);
    expect(outcome).toMatchObject({
      message: 'said [redacted:known]; 2 secrets are hidden as `[redacted:…]`',
      result: { rows: [{ text: '[redacted:known]', password: '[redacted:field]' }] },
    });
    expect(JSON.stringify([outcome, await trail.all(), lines])).not.toContain(secret);
  });

  it.each([
    ['of a refused command', 'execute_ssh', { node: 'pve', command: `curl -H "X: ${secret}"` }],
    ['in a key', 'get_vms', { [secret]: 1 }],
    ['in a place of another kind', 'get_vms', [secret]],
    ['in a deep place', 'get_vms', { filter: { a: [secret] } }],
  ])('%s are not in the trail either', async (_what, tool, input) => {
    const { call, trail, lines } = await createBench({ deps: { knownSecrets } });
    const outcome = await call(tool, input);
    expect(outcome.status).not.toBe('ok');
    expect(JSON.stringify([outcome, await trail.all(), lines])).not.toContain(secret);
  });

  it('do not leave in an error of a connector', async () => {
    const { call, cluster, lines } = await createBench({ deps: { knownSecrets } });
    cluster.down = new Fault('pve_401', `bad token ${secret}`, { next: `check ${secret}` });
    expect(JSON.stringify([await call('get_vms'), lines])).not.toContain(secret);
  });
});

describe('time', () => {
  it('is up while a run is applied: the answer names the run, and what is held is asked for', async () => {
    const probe = createProbe({ tier: 'yellow' }, (_input, context: ToolContext) => {
      const asks = { tool: 'asked_tool', input: {}, instead: 'leave it out' };
      context.noteEffect({ state: 'sent', what: 'it was being applied as run `x-1`', next: 'undo it', runId: 'x-1' }, asks);
      return forever();
    });
    const { tool: asked, runs } = createProbe({ name: 'asked_tool', tier: 'red', internal: true });
    const { call } = await createBench({ tools: [probe.tool, asked], deps: { limits } });
    const outcome = await call('probe_tool');
    expect(outcome).toMatchObject({
      status: 'error',
      code: 'timeout',
      message: expect.stringMatching(/took longer than 20ms; it was being applied as run `x-1`; .*approv/),
      effect: { state: 'sent', run_id: 'x-1' },
      result: { held: { status: 'pending', request_id: outcome.request_id } },
      next: expect.stringMatching(/leave it out; undo it/),
    });
    expect(runs).toEqual([]);
  });

  it('is up for a handler that ignores its signal, and what goes on without it is said', async () => {
    const probe = createProbe({ tier: 'yellow' }, (_input, context: ToolContext) => {
      context.noteEffect({ state: 'sent', what: 'it may go on' });
      return forever();
    });
    const { call, trail } = await createBench({ tools: [probe.tool], deps: { limits } });
    const outcome = await call('probe_tool');
    expect(outcome).toMatchObject({
      status: 'error',
      code: 'timeout',
      message: 'probe_tool: took longer than 20ms; it may go on',
      effect: { state: 'sent' },
    });
    expect(outcome.next).toMatch(/look at the target/);
    expect((await trail.last())?.attributes).toMatchObject({
      code: 'timeout',
      message: expect.stringContaining('it may go on'),
      effect: { state: 'sent' },
    });
  });

  it('is the cause, whatever a handler makes of the abort', async () => {
    // Handed on as it is: its rejection comes before anybody else hears of the abort.
    const run = (_input: unknown, { signal }: ToolContext) => {
      const { promise, reject } = Promise.withResolvers<never>();
      signal.addEventListener('abort', () => reject(new Error('socket hang up')));
      return promise;
    };
    const { call } = await createBench({ tools: [createProbe({ run }).tool], deps: { limits } });
    expect(await call('probe_tool')).toMatchObject({ code: 'timeout', message: 'probe_tool: took longer than 20ms' });
  });

  it('also counts while the cluster is asked what a target is', async () => {
    const { call, cluster } = await createBench({ deps: { limits } });
    const nodes = vi.spyOn(cluster.access.api, 'nodes').mockImplementation(forever);
    expect(await call('stop_vm', { vmid: 100 })).toMatchObject({ status: 'error', code: 'timeout' });
    expect(nodes).toHaveBeenCalledOnce();
  });

  it('a lifecycle call that ends before its task is known says that it may have begun', async () => {
    const bench = await createBench({ deps: { limits: { callMs: 2_000, slowMs: 60_000 } } });
    const { request_id: id = '' } = await bench.call('stop_vm', { vmid: 100 });
    await bench.approvals.approve(id, bench.alice.signer);
    const caller = new AbortController();
    bench.cluster.beforeChange = () => {
      caller.abort();
      return forever();
    };
    expect(await bench.call('stop_vm', { vmid: 100 }, { signal: caller.signal })).toMatchObject({
      code: 'cancelled',
      message: expect.stringContaining('the stop of VM 100 (web) on pve may have been started'),
      next: expect.stringContaining('look at the target'),
      effect: { state: 'sent' },
    });
  });
});

describe('a caller who gives up', () => {
  it('sees the handler’s signal abort', async () => {
    const caller = new AbortController();
    const seen = Promise.withResolvers<unknown>();
    const probe = createProbe({}, (_input, { signal }) => {
      signal.addEventListener('abort', () => seen.resolve(signal.reason));
      caller.abort();
      return forever();
    });
    const { call } = await createBench({ tools: [probe.tool] });
    expect(await call('probe_tool', {}, { signal: caller.signal })).toMatchObject({ status: 'error', code: 'cancelled' });
    expect(await seen.promise).toMatchObject({ code: 'cancelled' });
  });

  it('before it starts, or while the grant is consumed, sees no effect', async () => {
    const probe = createProbe({ tier: 'red' });
    const bench = await createBench({ tools: [probe.tool] });
    const { request_id: id = '' } = await bench.call('probe_tool');
    await bench.approvals.approve(id, bench.alice.signer);
    const caller = new AbortController();
    const { approvals } = bench.deps;
    const consume: typeof approvals.consume = async (...what) => {
      const consumed = await approvals.consume(...what);
      caller.abort();
      return consumed;
    };
    const late = await createBench({ tools: [probe.tool], deps: { approvals: { ...approvals, consume }, settings: bench.deps.settings } });
    expect(await late.call('probe_tool', {}, { signal: caller.signal })).toMatchObject({ status: 'error', code: 'cancelled' });
    expect(await late.call('probe_tool', {}, { signal: caller.signal })).toMatchObject({ status: 'error', code: 'cancelled' });
    expect(probe.runs).toEqual([]);
    expect(await bench.approvals.countPending()).toBe(0);
  });
});

it('the execute stage by itself starts nothing once the signal has aborted', async () => {
  const probe = createProbe({ tier: 'red' });
  const { deps } = await createBench({ tools: [probe.tool] });
  const call = { tool: 'probe_tool', input: {}, agent, signal: AbortSignal.abort(), waitMs: 0 };
  const decision = { effect: 'allow', code: 'x', reason: 'x', rules: [] } as const;
  const state = { tool: probe.tool, input: {}, resources: [], tier: 'red', targets: [], decision } as const;
  const deadline = startDeadline(60_000, call.signal);
  expect(await execute(state, call, await withSettings(deps), deadline)).toMatchObject({ outcome: { status: 'error', code: 'cancelled' } });
  deadline.end();
  expect(probe.runs).toEqual([]);
});

it('progress reaches the caller as plain text', async () => {
  const progress: string[] = [];
  const probe = createProbe({}, (_input, context) => {
    context.progress('Stop VM 100 (\u001b[31mred\u202e)');
    context.progress('one\n  two\r\n\n');
    context.progress('\n');
    return { ok: true, message: 'x', result: {} };
  });
  const { call } = await createBench({ tools: [probe.tool] });
  await call('probe_tool', {}, { onProgress: (message) => progress.push(message) });
  // On one line each, and nothing where there is nothing to say.
  expect(progress).toEqual(['Stop VM 100 (red)', 'one two']);
});

it('a tool outside the cluster group gets no cluster', async () => {
  const probe = createProbe({}, (_input, context) => {
    context.cluster();
    return { ok: true, message: 'x', result: {} };
  });
  const { call } = await createBench({ tools: [probe.tool] });
  expect(await call('probe_tool')).toMatchObject({ status: 'error', code: 'no_cluster' });
});
