import { describe, expect, it, vi } from 'vitest';
import type { RequestRecord } from '#kernel/approval/request';
import { Fault } from '#kernel/errors';
import { runCall } from '#pipeline/run-call';
import { createApprover } from '../../integration/stores/store-fixtures.ts';
import { agent, createBench } from './support/bench.ts';
import { createProbe } from './support/probe-tool.ts';

const stop = { vmid: 100 };
type Bench = Awaited<ReturnType<typeof createBench>>;

function stops(bench: Bench): readonly string[] {
  return bench.cluster.effects.filter((effect) => effect.startsWith('changeGuest'));
}

/** Asks, and has a person approve. */
async function grantStop(bench: Bench, input: object = stop): Promise<string> {
  const { request_id: id = '' } = await bench.call('stop_vm', input);
  expect(await bench.approvals.approve(id, bench.alice.signer)).toMatchObject({ ok: true });
  return id;
}

describe('a red call', () => {
  it('without a grant asks a person and does nothing', async () => {
    const bench = await createBench();
    const outcome = await bench.call('stop_vm', { ...stop, reason: 'it is slow' });
    expect(outcome).toMatchObject({ status: 'pending', code: 'approval_pending', request_id: expect.stringMatching(/^req-[0-9a-f]{8}$/) });
    expect(outcome.message).toBe(
      `Stop VM 100 (web) on pve: waiting for a person to approve request ${outcome.request_id}; nothing has been done yet`,
    );
    expect(outcome.next).toContain(`check_request_status with request_id ${outcome.request_id}`);
    expect(stops(bench)).toEqual([]);
    expect(await bench.trail.names()).toEqual(['approval.requested', 'tool.finished']);
    expect(await bench.store.requests.get(outcome.request_id ?? '')).toMatchObject({
      status: 'pending',
      tier: 'red',
      impact: 'disruptive',
      title: 'Stop VM 100 (web) on pve',
      claim: 'it is slow',
      code: 'confirmation_required',
      risk: expect.arrayContaining([expect.stringContaining('a hard stop'), 'now: running, up for 90 s', 'no snapshot to go back to']),
      agent: { id: 'mcp:laptop', host: 'mcp', model: 'some-model', label: 'Laptop' },
      action: { tool: 'stop_vm', arguments: { vmid: 100 }, agentId: 'mcp:laptop', cluster: 'lab' },
    });
  });

  it('without anybody to wait opens no dialog', async () => {
    const bench = await createBench();
    const ask = vi.fn<() => void>();
    await bench.call('stop_vm', stop, { waitMs: 0, gate: { ask } });
    expect(ask).not.toHaveBeenCalled();
  });

  it('whose caller gives up while it is looked at again consumes no grant', async () => {
    const bench = await createBench();
    const id = await grantStop(bench);
    const caller = new AbortController();
    let looks = 0;
    const tools = bench.deps.tools.map((tool) => ({
      ...tool,
      precheck: async () => {
        looks += 1;
        if (looks === 2) caller.abort(new Error('gone'));
        return undefined;
      },
    }));
    const call = { tool: 'stop_vm', input: stop, agent, signal: caller.signal, waitMs: 0 };
    expect(await runCall(call, { ...bench.deps, tools })).toMatchObject({ status: 'error' });
    expect(looks).toBe(2);
    expect(await bench.store.requests.get(id)).toMatchObject({ status: 'approved' });
    expect(stops(bench)).toEqual([]);
  });

  it('runs exactly once for one approval, and the next call asks anew', async () => {
    const bench = await createBench();
    const id = await grantStop(bench);
    expect(await bench.call('stop_vm', stop)).toMatchObject({
      status: 'ok',
      request_id: id,
      result: { status: 'stopped', task: { exitstatus: 'OK' } },
    });
    for (const guest of bench.cluster.guests) guest.status = 'running';
    const again = await bench.call('stop_vm', stop);
    expect(again).toMatchObject({ status: 'pending' });
    expect(again.request_id).not.toBe(id);
    expect(stops(bench)).toEqual(['changeGuest stop 100 on pve']);
    expect(await bench.trail.names()).toEqual([
      'approval.requested',
      'tool.finished',
      'approval.approved',
      'approval.consumed',
      'tool.started',
      'tool.finished',
      'approval.requested',
      'tool.finished',
    ]);
  });

  it('is the same call with another reason or spelling, and another one with anything else', async () => {
    const bench = await createBench();
    const id = await grantStop(bench);
    for (const [tool, input] of [
      ['stop_vm', { vmid: 101 }],
      ['stop_vm', { vmid: 100, node: 'pve' }],
      ['stop_vm', { vmid: 100, cluster: 'lab' }],
      ['restart_vm', stop],
      ['stop_container', { vmid: 200 }],
    ] as const) {
      expect((await bench.call(tool, input)).status).not.toBe('ok');
    }
    expect((await bench.call('stop_vm', stop, { agent: { ...agent, id: 'mcp:other' } })).status).toBe('pending');
    expect(stops(bench)).toEqual([]);
    expect(await bench.call('stop_vm', { vmid: '0100', reason: 'other words' })).toMatchObject({ status: 'ok', request_id: id });
  });

  it('that is asked again while pending stays one question', async () => {
    const bench = await createBench();
    const first = await bench.call('stop_vm', stop);
    expect(await bench.call('stop_vm', { ...stop, reason: 'please' })).toMatchObject({ status: 'pending', request_id: first.request_id });
    expect(await bench.approvals.countPending()).toBe(1);
  });

  it('is refused when too many wait already', async () => {
    const bench = await createBench();
    for (let value = 0; value < 5; value += 1) await bench.store.requests.open(await draftLike(bench, `x${value}`));
    expect(await bench.call('stop_vm', stop)).toMatchObject({ status: 'denied', code: 'too_many_pending' });
  });

  it('is not run by an approval whose key is no longer trusted', async () => {
    const bench = await createBench();
    await grantStop(bench);
    bench.pinned.splice(0);
    expect(await bench.call('stop_vm', stop)).toMatchObject({ status: 'denied', code: 'untrusted_key' });
    expect(stops(bench)).toEqual([]);
  });

  it('is not run by an approval that ran out', async () => {
    const bench = await createBench();
    await grantStop(bench);
    bench.clock.advance(300_000);
    expect(await bench.call('stop_vm', stop)).toMatchObject({ status: 'pending' });
    expect(stops(bench)).toEqual([]);
  });

  it('is not approved by a key nobody pinned', async () => {
    const bench = await createBench();
    const { request_id: id = '' } = await bench.call('stop_vm', stop);
    expect(await bench.approvals.approve(id, createApprover('user:mallory').signer)).toMatchObject({ ok: false, code: 'key_not_trusted' });
    expect(await bench.call('stop_vm', stop)).toMatchObject({ status: 'pending', request_id: id });
  });

  it('does not run under a policy that changed since', async () => {
    const bench = await createBench();
    await grantStop(bench);
    const later = await createBench({
      deps: { approvals: bench.deps.approvals, settings: async () => ({ ...bench.state.settings, version: 'other' }) },
    });
    expect(await later.call('stop_vm', stop)).toMatchObject({ status: 'pending' });
    expect(stops(later)).toEqual([]);
  });
});

async function draftLike(bench: Bench, value: string) {
  const { digestOf } = await import('#approval/digest');
  const action = { tool: 'x', arguments: { value }, targets: [], agentId: agent.id, cluster: null, policyVersion: '1' };
  return {
    action,
    digest: digestOf(action),
    tier: 'red' as const,
    impact: 'none' as const,
    title: bench.state.settings.version,
    risk: [],
    code: 'x',
    reason: 'x',
    agent: { id: agent.id, host: agent.host },
  };
}

describe('a call that waits for a person', () => {
  const waiting = (bench: Bench, ask: (request: RequestRecord, done: AbortSignal) => void, more: object = {}) =>
    bench.call('stop_vm', stop, { waitMs: 120_000, gate: { ask }, ...more });

  it('runs when the answer comes, and tells the dialog that it is over', async () => {
    const bench = await createBench();
    const progress: string[] = [];
    let over: AbortSignal | undefined;
    const outcome = await waiting(
      bench,
      (request, done) => {
        over = done;
        void bench.approvals.approve(request.id, bench.alice.signer);
      },
      { onProgress: (message: string) => progress.push(message) },
    );
    expect(outcome).toMatchObject({ status: 'ok' });
    expect(over?.aborted).toBe(true);
    expect(progress).toContain(`waiting for a person: ${outcome.request_id}`);
    expect(stops(bench)).toHaveLength(1);
  });

  it('is told what the person said when they refuse', async () => {
    const bench = await createBench();
    const outcome = await waiting(bench, (request) => void bench.approvals.deny(request.id, 'user:alice', 'backup runs'));
    expect(outcome).toMatchObject({
      status: 'denied',
      code: 'denied_by_person',
      message: 'a person refused this call, saying: backup runs',
      next: 'do not try again or another way; ask the user',
    });
    expect(stops(bench)).toEqual([]);
  });

  it.each([
    ['cancelled', 'request_cancelled'],
    ['expired', 'request_expired'],
  ])('is told when the request is %s', async (how, code) => {
    const bench = await createBench();
    const outcome = await waiting(
      bench,
      (request) => {
        if (how === 'cancelled') void bench.approvals.cancel(request.id, 'window');
        else bench.clock.advance(3_600_000);
      },
      { waitMs: 7_200_000 },
    );
    expect(outcome).toMatchObject({ status: 'denied', code });
  });

  it('stays pending when nobody answers in time; a late answer still counts', async () => {
    const bench = await createBench();
    const asked = Promise.withResolvers<void>();
    const waited = waiting(bench, () => asked.resolve());
    await asked.promise;
    await bench.clock.sleeping();
    bench.clock.advance(120_000);
    const outcome = await waited;
    expect(outcome).toMatchObject({ status: 'pending' });
    await bench.approvals.approve(outcome.request_id ?? '', bench.alice.signer);
    expect(await bench.call('stop_vm', stop)).toMatchObject({ status: 'ok' });
  });

  it('can be given up: the request stays pending, nothing runs', async () => {
    const bench = await createBench();
    const caller = new AbortController();
    let id = '';
    const outcome = await waiting(
      bench,
      (request) => {
        id = request.id;
        caller.abort();
      },
      { signal: caller.signal },
    );
    expect(outcome).toMatchObject({ status: 'error', code: 'cancelled' });
    expect(await bench.store.requests.get(id)).toMatchObject({ status: 'pending' });
    expect(stops(bench)).toEqual([]);
  });

  it('does not use up its own time meanwhile', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    const bench = await createBench();
    const outcome = await waiting(bench, (request) => {
      vi.advanceTimersByTime(1_800_000);
      void bench.approvals.approve(request.id, bench.alice.signer);
    });
    vi.useRealTimers();
    expect(outcome).toMatchObject({ status: 'ok' });
  });

  it('shares one approval with its twin: one runs, the other is told', async () => {
    const bench = await createBench();
    const asked = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
    const both = asked.map((one) => waiting(bench, (request) => one.resolve(request.id)));
    const ids = await Promise.all(asked.map((one) => one.promise));
    expect(new Set(ids).size).toBe(1);
    await bench.approvals.approve(ids[0] ?? '', bench.alice.signer);
    // The one that lost looks again until the other has begun.
    const passing = setInterval(() => bench.clock.advance(50), 1);
    const outcomes = await Promise.all(both).finally(() => clearInterval(passing));
    expect(outcomes.map((outcome) => outcome.code).toSorted()).toEqual(['grant_used', 'ok']);
    expect(outcomes.find(({ status }) => status === 'denied')?.message).toMatch(/used by another call: the approval was used at /);
    expect(stops(bench)).toHaveLength(1);
  });

  it('has a dialog that throws told as a fault, and the request stays answerable', async () => {
    const bench = await createBench();
    const outcome = await waiting(bench, () => {
      throw new Fault('no_window', 'no window is open');
    });
    expect(outcome).toMatchObject({ status: 'error', code: 'no_window' });
    expect(await bench.approvals.countPending()).toBe(1);
  });
});

describe('a target that changes while a person thinks', () => {
  const whileAsked = async (change: (bench: Bench) => unknown) => {
    const bench = await createBench();
    const outcome = await bench.call('stop_vm', stop, {
      waitMs: 120_000,
      gate: {
        ask: (request) => {
          change(bench);
          void bench.approvals.approve(request.id, bench.alice.signer);
        },
      },
    });
    return { bench, outcome };
  };
  const web = (bench: Bench) => bench.cluster.guests.find((guest) => guest.vmid === 100) ?? expect.fail('no guest 100');

  it('by moving is not run', async () => {
    const { bench, outcome } = await whileAsked((at) => {
      web(at).node = 'Home';
    });
    expect(outcome).toMatchObject({ status: 'denied', code: 'target_changed', request_id: expect.any(String) });
    expect(stops(bench)).toEqual([]);
    expect(await bench.store.requests.get(outcome.request_id ?? '')).toMatchObject({ status: 'approved' });
  });

  it.each<[string, string, (bench: Bench) => unknown]>([
    ['moving to a protected node', 'protected_resource', (bench) => Object.assign(web(bench), { node: 'agent1' })],
    [
      'taking a protected address',
      'protected_resource',
      (bench) => Object.assign(web(bench), { config: { ipconfig0: 'ip=192.168.1.65/24' } }),
    ],
    ['being replaced by another guest', 'target_changed', (bench) => Object.assign(web(bench), { name: 'database' })],
    ['becoming a container', 'wrong_kind', (bench) => Object.assign(web(bench), { type: 'lxc' })],
    ['being removed', 'unknown_guest', (bench) => bench.cluster.guests.splice(0, 1)],
    ['losing its cluster', 'gone', (bench) => Object.assign(bench.cluster, { down: new Fault('gone', 'x') })],
  ])('by %s is refused as %s', async (_what, code, change) => {
    const { bench, outcome } = await whileAsked(change);
    expect(outcome).toMatchObject({ code });
    expect(outcome.status).not.toBe('ok');
    expect(stops(bench)).toEqual([]);
  });

  it('into what was asked for leaves nothing to do, and the approval not consumed', async () => {
    const { bench, outcome } = await whileAsked((at) => {
      web(at).status = 'stopped';
    });
    expect(outcome).toMatchObject({ status: 'error', code: 'guest_already_stopped', effect: { state: 'not_sent' } });
    expect(await bench.trail.names()).not.toContain('approval.consumed');
    web(bench).status = 'running';
    expect(await bench.call('stop_vm', stop)).toMatchObject({ status: 'ok' });
  });

  it('in what does not identify it is still what was approved', async () => {
    const { outcome } = await whileAsked((at) => {
      web(at).config = { tags: 'new' };
    });
    expect(outcome).toMatchObject({ status: 'ok' });
  });
});

describe('the facts for the person', () => {
  it('that cannot be read are said to be missing; the question stands', async () => {
    const probe = createProbe({ tier: 'red', preview: () => Promise.reject(new Fault('x', 'no right to look')) });
    const { call, store } = await createBench({ tools: [probe.tool] });
    const { request_id: id = '' } = await call('probe_tool');
    expect(await store.requests.get(id)).toMatchObject({ risk: ['the blast radius could not be read: no right to look'] });
  });
});

it('a store that cannot be written is said, and nothing runs', async () => {
  const probe = createProbe({ tier: 'red' });
  const bench = await createBench({ tools: [probe.tool] });
  await bench.store.close();
  expect(await bench.call('probe_tool')).toMatchObject({ status: 'error' });
  expect(probe.runs).toEqual([]);
});
