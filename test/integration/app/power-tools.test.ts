/** Shutting down, resetting, suspending and resuming guests; and that a grant is worth something for the state that it was given for. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { App } from '#kernel/app';
import type { Outcome } from '#kernel/outcome';
import { agent, approvedCall, call, guestStatus, manageGuest, startWorld, type World } from './support.ts';

let world: World;
let app: App;
beforeEach(async () => {
  world = await startWorld();
  app = await world.open();
});
afterEach(async () => {
  await world.close();
});

function approved(tool: string, input: unknown, onApp = app): Promise<Outcome> {
  return approvedCall(world, onApp, { tool, input });
}

function guest(vmid: number) {
  const found = world.demo.cluster.state.guests.get(vmid);
  if (found === undefined) throw new Error(`no guest ${vmid}`);
  return found;
}

/** The facts on the card of a call that waits. */
async function cardOf(
  tool: string,
  input: unknown,
): Promise<{ readonly id: string; readonly risk: readonly string[]; readonly title: string }> {
  const { request_id: id = '' } = await call(app, tool, input);
  const record = await app.approvals.get(id);
  if (record === undefined) throw new Error('no request');
  return { id, risk: record.risk, title: record.title };
}

describe('a clean shutdown', () => {
  it.each([
    ['shutdown_vm', 100],
    ['shutdown_container', 201],
  ])('%s: the guest is down, and the card says what brings it back', async (tool, vmid) => {
    const { risk } = await cardOf(tool, { vmid });
    expect(risk.join('\n')).toContain(
      `can be taken back by start_${vmid === 100 ? 'vm' : 'container'}; what its memory held does not come back`,
    );
    expect(await approved(tool, { vmid })).toMatchObject({ status: 'ok', result: { vmid, status: 'stopped' } });
    expect(guestStatus(world, vmid)).toBe('stopped');
  });

  it('of a guest that ignores it leaves it running, and says how to go on', async () => {
    world.demo.faults.guestIgnoresShutdown(100);
    const outcome = await approved('shutdown_vm', { vmid: 100, timeout: 5 });
    expect(outcome).toMatchObject({
      status: 'error',
      code: 'guest_ignored_shutdown',
      message: expect.stringMatching(/did not shut down within 5 s and was not forced; it is running/),
      next: expect.stringContaining('stop_vm stops it the hard way'),
    });
    expect(guestStatus(world, 100)).toBe('running');
  });

  it('with `on_timeout` `stop` is hard where the guest ignores it, and the question says so', async () => {
    world.demo.faults.guestIgnoresShutdown(100);
    const input = { vmid: 100, timeout: 5, on_timeout: 'stop' };
    expect((await cardOf('shutdown_vm', input)).title).toBe('Shut down VM 100 (web) on pve, the hard way after 5 s');
    expect(await approved('shutdown_vm', input)).toMatchObject({ status: 'ok', result: { status: 'stopped' } });
  });

  it('keeps a stop out while it runs: nobody is asked for what fails after ten seconds', async () => {
    world.demo.faults.guestIgnoresShutdown(100);
    const shutting = approved('shutdown_vm', { vmid: 100, timeout: 8 });
    await expect.poll(() => world.demo.cluster.tasks.list().some((task) => task.type === 'qmshutdown')).toBe(true);
    expect(await call(app, 'stop_vm', { vmid: 100 })).toMatchObject({
      status: 'error',
      code: 'guest_busy',
      next: expect.stringMatching(/get_task with `upid` `UPID:pve:.*:qmshutdown:100:/),
      effect: { state: 'not_sent' },
    });
    expect(await shutting).toMatchObject({ code: 'guest_ignored_shutdown' });
  });

  it('under high availability is over when the guest is down, not when the manager noted it', async () => {
    manageGuest(world, 100, { crmState: 'started', state: 'started' });
    const outcome = await approved('shutdown_vm', { vmid: 100 });
    expect(outcome).toMatchObject({ status: 'ok', result: { status: 'stopped', task: { upid: expect.stringContaining(':hastop:') } } });
    expect(guestStatus(world, 100)).toBe('stopped');
  });

  it.each([
    ['shutdown_vm', 101, 'guest_already_stopped'],
    ['shutdown_vm', 200, 'wrong_kind'],
    ['shutdown_container', 100, 'wrong_kind'],
    ['shutdown_vm', 900, 'guest_is_template'],
    ['reset_vm', 101, 'guest_not_running'],
    ['suspend_vm', 101, 'guest_not_running'],
    ['resume_vm', 100, 'guest_already_running'],
    ['reset_vm', 104, 'guest_locked'],
  ])('%s %i: nobody is asked (%s)', async (tool, vmid, code) => {
    expect(await call(app, tool, { vmid })).toMatchObject({ status: 'error', code });
  });
});

describe('suspend, resume, reset', () => {
  it('suspend pauses, resume lets it go on; each names the other', async () => {
    expect((await cardOf('suspend_vm', { vmid: 100 })).risk.join('\n')).toContain('can be taken back by resume_vm');
    expect(await approved('suspend_vm', { vmid: 100 })).toMatchObject({ status: 'ok' });
    expect(guest(100).paused).toBe(true);
    expect(await call(app, 'suspend_vm', { vmid: 100 })).toMatchObject({ code: 'guest_already_paused' });
    expect(await call(app, 'start_vm', { vmid: 100 })).toMatchObject({ code: 'guest_paused', next: expect.stringContaining('resume_vm') });
    expect(await approved('resume_vm', { vmid: 100 })).toMatchObject({ status: 'ok' });
    expect(guest(100).paused).toBe(false);
  });

  it('reset says that it cannot be taken back', async () => {
    expect((await cardOf('reset_vm', { vmid: 100 })).risk.join('\n')).toContain('cannot be taken back: what its memory held');
    expect(await approved('reset_vm', { vmid: 100 })).toMatchObject({ status: 'ok', result: { status: 'running' } });
  });
});

describe('a grant for a state', () => {
  it.each([
    ['its configuration', () => guest(100).config.set('memory', '4096')],
    ['its snapshots', () => guest(100).snapshots.push({ name: 's1', description: '', parent: undefined, snaptime: 1, config: new Map() })],
  ])('is not consumed once %s is another', async (what, drift) => {
    const { id } = await cardOf('stop_vm', { vmid: 100 });
    const asked = app.call({
      tool: 'stop_vm',
      input: { vmid: 100 },
      agent,
      signal: new AbortController().signal,
      waitMs: 20_000,
      gate: {
        ask: (request) => {
          drift();
          void app.approvals.approve(request.id, world.person);
        },
      },
    });
    expect(await asked).toMatchObject({ status: 'denied', code: 'target_changed', message: expect.stringContaining(what) });
    expect(guestStatus(world, 100)).toBe('running');
    expect(id).toMatch(/^req-/);
  });
});
