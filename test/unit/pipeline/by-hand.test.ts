import { describe, expect, it } from 'vitest';
import { runApproved, whyNotHere } from '#app/people/run-approved';
import { createStanding } from '#identity/standing';
import { agent, createBench, demoProtection, settingsOf } from './support/bench.ts';

const stop = { vmid: 100 };
type Bench = Awaited<ReturnType<typeof createBench>>;

const stops = (bench: Bench) => bench.cluster.effects.filter((effect) => effect.startsWith('changeGuest'));

/** Asked by an agent that does not wait, and approved. */
async function approvedStop(bench: Bench): Promise<string> {
  const { request_id: id = '' } = await bench.call('stop_vm', { ...stop, reason: 'it is slow' });
  await bench.approvals.approve(id, bench.alice.signer);
  return id;
}

async function byHand(bench: Bench, id: string) {
  const record = await bench.store.requests.get(id);
  if (record === undefined) throw new Error('gone');
  const run = { by: 'user:alice', signal: new AbortController().signal };
  return runApproved(record, run, { deps: bench.deps, defaultTier: 'basic' });
}

describe('a call that a person runs by hand', () => {
  it('runs once, as it was asked, with the person named as who started it', async () => {
    const bench = await createBench();
    const id = await approvedStop(bench);
    const outcome = await byHand(bench, id);
    expect(outcome).toMatchObject({ status: 'ok', request_id: id });
    // A person reads it: no marks for models.
    expect(outcome.message).not.toContain('data from outside');
    expect(stops(bench)).toEqual(['changeGuest stop 100 on pve']);
    const records = (await bench.trail.all()).filter(({ name }) => name === 'tool.started' || name === 'tool.finished').slice(-2);
    expect(records.map(({ name }) => name)).toEqual(['tool.started', 'tool.finished']);
    for (const { attributes } of records) {
      expect(attributes).toMatchObject({ started_by: 'user:alice', agent: { id: agent.id }, request_id: id });
    }
    expect(await bench.store.requests.get(id)).toMatchObject({
      status: 'consumed',
      consumedBy: expect.stringMatching(/, by hand of user:alice$/),
    });
    const again = await byHand(bench, id);
    expect(again).toMatchObject({ status: 'denied', code: 'grant_used' });
    expect(again.message).toMatch(/used by another call: user:alice ran it by hand at \d\d:\d\d:\d\d, and the call ended with ok: /);
    expect(stops(bench)).toHaveLength(1);
  });

  it('while the settings cannot be read is said to be an outage, and its approval stays good', async () => {
    const bench = await createBench();
    const id = await approvedStop(bench);
    const { settings } = bench.state;
    // As an App has them then: strict, which stands for nothing that anybody set.
    bench.state.settings = { ...settingsOf({ protected: demoProtection, securityLevel: 'strict' }), unavailable: 'the server is away' };
    const refused = await byHand(bench, id);
    expect(refused).toMatchObject({ status: 'error', code: 'policy_unavailable', request_id: id });
    expect(refused.message).toMatch(/cannot be read now \(the server is away\)/);
    expect(stops(bench)).toEqual([]);
    bench.state.settings = settings;
    expect(await byHand(bench, id)).toMatchObject({ status: 'ok', request_id: id });
  });

  it('is told to the agent: by the status, and once by the same call, which then is a new one', async () => {
    const bench = await createBench();
    const id = await approvedStop(bench);
    await byHand(bench, id);
    const status = await bench.call('check_request_status', { request_id: id });
    expect(status.message).toMatch(/user:alice ran it by hand at \d\d:\d\d:\d\d, and the call ended with ok: /);
    expect(status.result).toMatchObject({
      status: 'consumed',
      outcome: { status: 'ok', code: 'ok', started_by: 'user:alice' },
    });
    const again = await bench.call('stop_vm', stop);
    expect(again).toMatchObject({ status: 'ok', code: 'already_run', request_id: id });
    expect(again.message).toContain('user:alice ran it by hand');
    expect(again.message).toContain('it was not run again');
    expect(stops(bench)).toHaveLength(1);
    for (const guest of bench.cluster.guests) guest.status = 'running';
    const third = await bench.call('stop_vm', stop);
    expect(third).toMatchObject({ status: 'pending' });
    expect(third.request_id).not.toBe(id);
    // The answer to the repeated call does not become the outcome of the run.
    expect((await bench.call('check_request_status', { request_id: id })).result).toMatchObject({ outcome: { code: 'ok' } });
  });

  it('keeps what it gave for its agent, and for nobody else: redacted, and cut to 8,000 characters', async () => {
    const secret = 'hunter2-the-api-token';
    const bench = await createBench({ deps: { knownSecrets: () => [secret] } });
    const id = await approvedStop(bench);
    const deps = {
      ...bench.deps,
      tools: bench.deps.tools.map((tool) =>
        tool.name === 'stop_vm'
          ? {
              ...tool,
              run: async () => ({
                ok: true as const,
                message: 'done',
                result: { exit_code: 0, stdout: `${secret} ${'long '.repeat(20_000)}` },
              }),
            }
          : tool,
      ),
    };
    const record = (await bench.store.requests.get(id))!;
    await runApproved(record, { by: 'user:alice', signal: new AbortController().signal }, { deps, defaultTier: 'basic' });
    const status = await bench.call('check_request_status', { request_id: id });
    const kept = (status.result as { readonly outcome: { readonly result: { readonly stdout: string; readonly exit_code: number } } })
      .outcome.result;
    expect(kept.exit_code).toBe(0);
    // Text from outside, for a model.
    expect(kept.stdout).toMatch(/^<outside-[0-9a-f]{8}>\n[\s\S]*redacted[\s\S]*characters left out[\s\S]*<\/outside-[0-9a-f]{8}>$/);
    expect(JSON.stringify(kept).length).toBeGreaterThan(7_000);
    const inTrail = (await bench.trail.all()).map((entry) => entry.attributes['result']).filter((result) => result !== undefined);
    expect(inTrail).toHaveLength(1);
    expect(JSON.stringify(inTrail[0]).length).toBeLessThanOrEqual(8_000);
    expect(JSON.stringify([status, await bench.trail.all()])).not.toContain(secret);
    const other = await bench.call('check_request_status', { request_id: id }, { agent: { ...agent, id: 'mcp:somebody-else' } });
    expect(other.result).toMatchObject({ status: 'consumed', mine: false });
    expect(JSON.stringify(other)).not.toMatch(/exit_code|long/);
  });

  it('is told as failed where it failed', async () => {
    const bench = await createBench();
    const id = await approvedStop(bench);
    const deps = {
      ...bench.deps,
      tools: bench.deps.tools.map((tool) =>
        tool.name === 'stop_vm' ? { ...tool, run: () => Promise.reject(new Error('the node is on fire')) } : tool,
      ),
    };
    const record = await bench.store.requests.get(id);
    const run = { by: 'user:alice', signal: new AbortController().signal };
    await runApproved(record!, run, { deps, defaultTier: 'basic' });
    const again = await bench.call('stop_vm', stop);
    expect(again).toMatchObject({ status: 'error', code: 'already_run' });
    expect(again.message).toContain('ended with error (');
  });

  it('is not told any more after an hour: the same call asks a person anew', async () => {
    const bench = await createBench();
    const id = await approvedStop(bench);
    await byHand(bench, id);
    for (const guest of bench.cluster.guests) guest.status = 'running';
    bench.clock.advance(3_600_001);
    const again = await bench.call('stop_vm', stop);
    expect(again).toMatchObject({ status: 'pending', code: 'approval_pending' });
    expect(again.request_id).not.toBe(id);
  });

  it('that still runs is said to, and is not run beside it', async () => {
    const bench = await createBench();
    const id = await approvedStop(bench);
    const record = (await bench.store.requests.get(id))!;
    await bench.store.requests.consume(id, record.digest, 'a window, by hand of user:alice');
    const said = await bench.call('stop_vm', stop);
    expect(said).toMatchObject({ status: 'pending', code: 'running_by_hand', request_id: id });
    expect(said.message).toContain('nothing more was done');
    // Past the longest that such a call lasts, nobody knows what came of it.
    bench.clock.advance(600_000);
    expect(await bench.call('stop_vm', stop)).toMatchObject({ status: 'error', code: 'already_run' });
    expect(stops(bench)).toEqual([]);
  });

  it('is not made of a report, which is no call', async () => {
    const bench = await createBench();
    const report = { request_id: 'req-0badcafe', reason: 'url_blocked', destination: 'evil.example' };
    await bench.call('report_block', report);
    await bench.approvals.approve('req-0badcafe', bench.alice.signer);
    const record = (await bench.store.requests.get('req-0badcafe'))!;
    expect(record.status).toBe('approved');
    expect(await whyNotHere(record, bench.deps)).toBe('there is no such call here');
    expect(await byHand(bench, record.id)).toMatchObject({ status: 'error', code: 'request_not_opened' });
  });

  it('neither suffers from the standing of its agent nor changes it', async () => {
    const bench = await createBench({ deps: { standing: createStanding() } });
    const id = await approvedStop(bench);
    for (let errors = 0; errors < 5; errors += 1) await bench.call('no_such_tool');
    expect(bench.deps.standing?.effective(agent).modelTier).toBe('intermediate');
    const fails = {
      ...bench.deps,
      tools: bench.deps.tools.map((tool) => (tool.name === 'stop_vm' ? { ...tool, permission: 'file:write' as const } : tool)),
    };
    const record = (await bench.store.requests.get(id))!;
    // As advanced as it was when it asked: this tool takes that.
    const run = { by: 'user:alice', signal: new AbortController().signal };
    expect(await runApproved(record, run, { deps: fails, defaultTier: 'basic' })).toMatchObject({ status: 'ok' });
    expect(bench.deps.standing?.effective(agent).modelTier).toBe('intermediate');
  });

  it('does not run without an approval, nor what is no longer what was asked; nothing new is asked', async () => {
    const bench = await createBench();
    const { request_id: pending = '' } = await bench.call('stop_vm', stop);
    expect(await byHand(bench, pending)).toMatchObject({ status: 'pending' });
    await bench.approvals.approve(pending, bench.alice.signer);
    bench.cluster.guests.find((guest) => guest.vmid === 100)!.node = 'Home';
    expect(await byHand(bench, pending)).toMatchObject({ status: 'denied', code: 'target_changed' });
    expect(await bench.approvals.countPending()).toBe(0);
    expect(await bench.store.requests.get(pending)).toMatchObject({ status: 'approved' });
    expect(stops(bench)).toEqual([]);
  });

  it('does not run under another policy, and the person is told before', async () => {
    const bench = await createBench();
    const id = await approvedStop(bench);
    const record = (await bench.store.requests.get(id))!;
    expect(await whyNotHere(record, bench.deps)).toBeUndefined();
    bench.state.settings = settingsOf({ protected: demoProtection, securityLevel: 'strict' });
    expect(await whyNotHere(record, bench.deps)).toContain('another policy');
    const outcome = await byHand(bench, id);
    expect(outcome).toMatchObject({ status: 'denied', code: 'policy_changed' });
    expect(outcome.message).toContain('asked under another policy');
    expect(stops(bench)).toEqual([]);
  });

  it('does not run where its cluster or workspace is not', async () => {
    const bench = await createBench();
    const record = (await bench.store.requests.get(await approvedStop(bench)))!;
    expect(await whyNotHere({ ...record, action: { ...record.action, cluster: 'other' } }, bench.deps)).toContain('the cluster other');
    const command = { ...record, action: { ...record.action, tool: 'run_command', cluster: null, workspace: '/home/a/project on laptop' } };
    expect(await whyNotHere(command, bench.deps)).toContain('/home/a/project on laptop');
    expect(await whyNotHere(command, { ...bench.deps, workspacePlace: '/home/a/other on laptop' })).toContain('/home/a/project on laptop');
    expect(await whyNotHere(command, { ...bench.deps, workspacePlace: '/home/a/project on laptop' })).toBeUndefined();
    const nowhere = { ...record, action: { ...record.action, tool: 'run_command' } };
    expect(await whyNotHere(nowhere, bench.deps)).toContain('(not named)');
    const unread = { ...bench.deps, settings: async () => ({ ...bench.state.settings, unavailable: 'the disk is gone' }) };
    expect(await whyNotHere(record, unread)).toBe('the security level cannot be read: the disk is gone');
  });
});

describe('a consumed approval whose process was killed', () => {
  it('before the call began is not said to have run', async () => {
    const bench = await createBench();
    const id = await approvedStop(bench);
    const record = (await bench.store.requests.get(id))!;
    await bench.store.requests.consume(id, record.digest, 'a process that was killed');
    const status = await bench.call('check_request_status', { request_id: id });
    expect(status.message).toContain('nothing says that the call began: the outcome is unknown');
    expect(status.result).toMatchObject({ outcome: 'unknown' });
    expect(status.next).toContain('look at what it would have changed');
    expect(JSON.stringify(status)).not.toContain('has run');
  });

  it('in the middle has an unknown outcome', async () => {
    const bench = await createBench();
    const id = await approvedStop(bench);
    const record = (await bench.store.requests.get(id))!;
    await bench.store.requests.consume(id, record.digest, 'a process that was killed');
    await bench.store.audit.append({ name: 'tool.started', attributes: { request_id: id, 'gen_ai.tool.call.id': 'x' } });
    const status = await bench.call('check_request_status', { request_id: id });
    expect(status.message).toContain('the call began, and no end of it is written down: the outcome is unknown');
    expect(status.result).toMatchObject({ outcome: 'unknown' });
    expect(status.next).toContain('look at what it would have changed');
  });

  it('after the call ended has its outcome, from the call that used it alone', async () => {
    const bench = await createBench();
    const id = await approvedStop(bench);
    const ran = await bench.call('stop_vm', stop);
    const status = await bench.call('check_request_status', { request_id: id });
    expect(status.message).toContain(`the approval was used at`);
    expect(status.result).toMatchObject({ outcome: { status: 'ok', message: expect.stringContaining('it is stopped now') } });
    expect(ran.message).toContain('it is stopped now');
    // The agent has had the result; the trail does not keep it.
    expect(JSON.stringify(status.result)).not.toContain('"result"');
  });
});
