/** The main job below the editor: an agent asks, a person answers with a real key, the guest stops once. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { generateApproverKey, signerFrom } from '#app/for-hosts';
import type { RequestRecord } from '#kernel/approval/request';
import { agent, call, guestStatus, startWorld, type World } from './support.ts';

let world: World;
beforeEach(async () => {
  world = await startWorld();
});
afterEach(async () => {
  await world.close();
});

const never = new AbortController().signal;

describe('a red call', () => {
  it('waits for the person, runs once when approved, and is written down in order', async () => {
    const app = await world.open();
    const asked: RequestRecord[] = [];
    const outcome = await app.call({
      tool: 'stop_vm',
      input: { vmid: 100, reason: 'it hangs' },
      agent,
      signal: never,
      waitMs: 60_000,
      gate: {
        ask: (request) => {
          asked.push(request);
          void app.approvals.approve(request.id, world.person);
        },
      },
    });
    expect(outcome).toMatchObject({ status: 'ok', result: { vmid: 100, status: 'stopped', task: { exitstatus: 'OK' } } });
    expect(guestStatus(world, 100)).toBe('stopped');
    expect(asked).toHaveLength(1);
    expect(asked[0]).toMatchObject({ title: 'Stop VM 100 (web) on pve', claim: 'it hangs', agent: { id: agent.id } });
    const names = (await app.audit.tail(100)).map((record) => record.name);
    expect(names).toEqual(['approval.requested', 'approval.approved', 'approval.consumed', 'tool.started', 'tool.finished']);
    expect(await app.audit.verify()).toMatchObject({ ok: true, records: 5 });
    expect(world.lines.some((line) => /^info OK: stop_vm \(red\) \[\d/.test(line))).toBe(true);
  });

  it('left pending, approved later from another process, runs once when repeated; the next one asks anew', async () => {
    const [agentSide, personSide] = [await world.open(), await world.open()];
    const pending = await call(agentSide, 'stop_vm', { vmid: 100 });
    expect(pending).toMatchObject({ status: 'pending', code: 'approval_pending' });
    const id = pending.request_id ?? '';
    expect(await personSide.approvals.approve(id, world.person)).toMatchObject({ ok: true, code: 'approved' });
    expect(await call(agentSide, 'check_request_status', { request_id: id })).toMatchObject({
      status: 'ok',
      result: { status: 'approved' },
    });
    expect(await call(agentSide, 'stop_vm', { vmid: 100 })).toMatchObject({ status: 'ok', request_id: id });
    Object.assign(world.demo.cluster.state.guests.get(100) ?? {}, { running: true });
    const again = await call(agentSide, 'stop_vm', { vmid: 100 });
    expect(again.status).toBe('pending');
    expect(again.request_id).not.toBe(id);
  });

  it('an approval is for these arguments and this agent only', async () => {
    const app = await world.open();
    const pending = await call(app, 'stop_vm', { vmid: 100 });
    await app.approvals.approve(pending.request_id ?? '', world.person);
    expect(await call(app, 'stop_container', { vmid: 200 })).toMatchObject({ status: 'pending' });
    expect(await call(app, 'restart_vm', { vmid: 100 })).toMatchObject({ status: 'pending' });
    expect(await call(app, 'stop_vm', { vmid: 100 }, { agent })).toMatchObject({ status: 'pending' });
    expect(guestStatus(world, 100)).toBe('running');
  });

  it('two processes with the same approved call: one runs', async () => {
    const [one, two] = [await world.open(), await world.open()];
    const pending = await call(one, 'restart_vm', { vmid: 100 });
    await one.approvals.approve(pending.request_id ?? '', world.person);
    const outcomes = await Promise.all([call(one, 'restart_vm', { vmid: 100 }), call(two, 'restart_vm', { vmid: 100 })]);
    expect(outcomes.filter((outcome) => outcome.status === 'ok')).toHaveLength(1);
    const started = (await one.audit.tail(100)).filter((record) => record.name === 'tool.started');
    expect(started).toHaveLength(1);
  });

  it('run by hand in two processes at once: one runs, the other is told what becomes of that, and so is who comes later', async () => {
    const [app, other] = [await world.open(), await world.open()];
    const { request_id: id = '' } = await call(app, 'stop_vm', { vmid: 100 });
    await app.approvals.approve(id, world.person);
    const byHand = (at: typeof app) => at.runApproved(id, { by: 'user:alice', signal: never });
    const outcomes = await Promise.all([byHand(app), byHand(other)]);
    const [won, lost] = outcomes.toSorted((a, b) => Number(b.status === 'ok') - Number(a.status === 'ok'));
    expect(won).toMatchObject({ status: 'ok', result: { status: 'stopped' } });
    expect(lost).toMatchObject({ status: 'denied', code: 'grant_used', request_id: id });
    expect(lost?.message).toMatch(/used by another call: user:alice ran it by hand at .*, and the call (?:is running|ended with ok: )/);
    const late = await byHand(other);
    expect(late.message).toMatch(/used by another call: user:alice ran it by hand at .*, and the call ended with ok: /);
    const started = (await app.audit.tail(100)).filter(({ name }) => name === 'tool.started');
    expect(started).toHaveLength(1);
  });

  it('two windows answer the same request: one counts, the other is told', async () => {
    const [one, two] = [await world.open(), await world.open()];
    const { request_id: id = '' } = await call(one, 'stop_vm', { vmid: 100 });
    const answers = await Promise.all([one.approvals.approve(id, world.person), two.approvals.deny(id, 'user:bob')]);
    expect(answers.filter((answer) => answer.ok)).toHaveLength(1);
    expect(answers.find((answer) => !answer.ok)?.code).toBe('already_decided');
  });

  it('refused: the model is told, with the person’s words, and nothing happens', async () => {
    const app = await world.open();
    const outcome = await app.call({
      tool: 'stop_vm',
      input: { vmid: 100 },
      agent,
      signal: never,
      waitMs: 60_000,
      gate: { ask: (request) => void app.approvals.deny(request.id, 'user:alice', 'not during the backup') },
    });
    expect(outcome).toMatchObject({ status: 'denied', code: 'denied_by_person' });
    expect(outcome.message).toContain('not during the backup');
    expect(guestStatus(world, 100)).toBe('running');
  });

  it('signed with a key that nobody pinned: not approved; pinned after a person’s answer: approved', async () => {
    const app = await world.open();
    const stranger = signerFrom(generateApproverKey().privateKey, 'user:mallory');
    const { request_id: id = '' } = await call(app, 'stop_vm', { vmid: 100 });
    expect(await app.approvals.approve(id, stranger)).toMatchObject({ ok: false, code: 'key_not_trusted' });
    await app.approvals.trust(stranger);
    expect(await app.approvals.approve(id, stranger)).toMatchObject({ ok: true });
    expect(await call(app, 'stop_vm', { vmid: 100 })).toMatchObject({ status: 'ok' });
  });

  it('the target moved after the approval: what was approved does not run', async () => {
    const app = await world.open();
    const outcome = await app.call({
      tool: 'stop_vm',
      input: { vmid: 100 },
      agent,
      signal: never,
      waitMs: 60_000,
      gate: {
        ask: (request) => {
          const guest = world.demo.cluster.state.guests.get(100);
          if (guest !== undefined) guest.node = 'Home';
          void app.approvals.approve(request.id, world.person);
        },
      },
    });
    expect(outcome).toMatchObject({ status: 'denied', code: 'target_changed' });
    expect(guestStatus(world, 100)).toBe('running');
  });

  it('moved onto the protected node while the person was thinking: refused as protected', async () => {
    const app = await world.open();
    const outcome = await app.call({
      tool: 'stop_vm',
      input: { vmid: 100 },
      agent,
      signal: never,
      waitMs: 60_000,
      gate: {
        ask: (request) => {
          const guest = world.demo.cluster.state.guests.get(100);
          if (guest !== undefined) guest.node = 'agent1';
          void app.approvals.approve(request.id, world.person);
        },
      },
    });
    expect(outcome).toMatchObject({ status: 'denied', code: 'protected_resource' });
  });

  it('a caller that gives up leaves the request for the person; the guest runs on', async () => {
    const app = await world.open();
    const cancel = new AbortController();
    const outcome = await app.call({
      tool: 'stop_vm',
      input: { vmid: 100 },
      agent,
      signal: cancel.signal,
      waitMs: 60_000,
      gate: { ask: () => cancel.abort() },
    });
    expect(outcome).toMatchObject({ status: 'error', code: 'cancelled' });
    expect(await app.approvals.countPending()).toBe(1);
    expect(guestStatus(world, 100)).toBe('running');
  });

  it('at level strict a yellow call asks, too', async () => {
    const app = await world.open({ securityLevel: 'strict' });
    expect(await call(app, 'restart_service', { node: 'pve', service: 'nginx' })).toMatchObject({ status: 'pending' });
  });

  it('configuration can make a tool stricter, and green black', async () => {
    const app = await world.open({ tiers: { restart_service: 'red', get_vms: 'black', stop_vm: 'green' } });
    expect(await call(app, 'restart_service', { node: 'pve', service: 'nginx' })).toMatchObject({ status: 'pending' });
    expect(await call(app, 'get_vms')).toMatchObject({ status: 'denied', code: 'black_tier' });
    expect(await call(app, 'stop_vm', { vmid: 100 })).toMatchObject({ status: 'pending' });
  });
});
