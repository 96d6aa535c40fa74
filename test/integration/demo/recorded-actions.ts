/** What went before each recorded pair, and the actions whose tasks some of them are about. */
import { createManualClock, type DemoCluster, type ManualClock, startDemoCluster } from '#demo/index';
import { call, data } from './api-client.ts';
import { labState, labTokens } from './lab-state.ts';

/** A fresh lab with a clock that stands still. */
export interface Lab {
  readonly demo: DemoCluster;
  readonly clock: ManualClock;
}

export async function startLab(): Promise<Lab> {
  const clock = createManualClock(Date.UTC(2026, 10, 21, 20, 8, 0));
  return { clock, demo: await startDemoCluster({ clock, state: labState, taskDurationMs: 1000 }) };
}

export interface Action {
  readonly path: string;
  readonly form?: Readonly<Record<string, string>>;
}

/** Posts as the operator and returns the UPID. */
export function post({ demo }: Lab, action: Action): Promise<string> {
  return data<string>(demo, { method: 'POST', path: action.path, form: action.form, authorization: demo.authorization[labTokens.ops] });
}

/** Posts, and lets the task come to its end. */
export async function finish(lab: Lab, action: Action): Promise<string> {
  const upid = await post(lab, action);
  lab.clock.advance(90_000);
  return upid;
}

export const startWeb: Action = { path: '/nodes/pve/qemu/100/status/start' };
export const shutdownWeb: Action = { path: '/nodes/pve/qemu/100/status/shutdown' };
export const startProxy: Action = { path: '/nodes/pve/lxc/201/status/start' };
const stopWeb: Action = { path: '/nodes/pve/qemu/100/status/stop' };
const stopManagement: Action = { path: '/nodes/agent1/qemu/103/status/stop' };

/** The actions behind the pairs named `X → task status (final)` and `X → task log`, and what each needs first. */
export const actions: Readonly<Record<string, { readonly action: Action; readonly before?: readonly Action[] }>> = {
  'start missing vm': { action: { path: '/nodes/pve/qemu/999/status/start' } },
  'start vm on the wrong node': { action: { path: '/nodes/pve/qemu/101/status/start' } },
  'start a container through the qemu path': { action: { path: '/nodes/pve/qemu/201/status/start' } },
  'start a vm through the lxc path': { action: { path: '/nodes/pve/lxc/100/status/start' } },
  'start locked vm': { action: { path: '/nodes/pve/qemu/104/status/start' } },
  'start template': { action: { path: '/nodes/pve/qemu/900/status/start' } },
  'stop stopped vm': { action: stopWeb },
  'shutdown stopped vm': { action: shutdownWeb },
  'start vm': { action: startWeb },
  'start vm json body': { action: { path: startWeb.path, form: { timeout: '30' } } },
  'start running vm': { action: startWeb, before: [startWeb] },
  'shutdown, guest ignores it (timeout 2)': { action: { path: shutdownWeb.path, form: { timeout: '2' } }, before: [startWeb] },
  'reboot, guest ignores it (timeout 2)': {
    action: { path: '/nodes/pve/qemu/100/status/reboot', form: { timeout: '2' } },
    before: [startWeb],
  },
  'stop vm': { action: stopWeb, before: [startWeb] },
  'stop vm with overrule-shutdown': { action: { path: stopWeb.path, form: { 'overrule-shutdown': '1' } }, before: [startWeb] },
  'start ct': { action: startProxy },
  'start ct again': { action: startProxy, before: [startProxy, { path: '/nodes/pve/lxc/201/status/shutdown' }] },
  'shutdown ct': { action: { path: '/nodes/pve/lxc/201/status/shutdown', form: { timeout: '20' } }, before: [startProxy] },
  'stop ct': { action: { path: '/nodes/pve/lxc/201/status/stop' }, before: [startProxy] },
  'proxied start on another node': { action: { path: '/nodes/agent1/qemu/103/status/start' } },
  'proxied stop on another node': { action: stopManagement, before: [{ path: '/nodes/agent1/qemu/103/status/start' }] },
};

/** Guests that must run before a pair that is no task's. */
export const runningBefore: Readonly<Record<string, readonly Action[]>> = {
  'qemu current running': [startWeb],
  'start running vm': [startWeb],
  'agent ping, no agent': [startWeb],
  'agent info via GET, no agent': [startWeb],
  'reboot ct': [startProxy],
  'shutdown ct': [startProxy],
  'proxied stop on another node': [{ path: '/nodes/agent1/qemu/103/status/start' }],
};

/** A history of finished tasks of several kinds; the last one has just ended. */
export async function makeHistory(lab: Lab): Promise<void> {
  for (const action of [startWeb, stopWeb, startProxy]) await finish(lab, action);
  await post(lab, { path: '/nodes/pve/lxc/201/status/stop' });
  lab.clock.advance(1500);
}

/** A shutdown that the guest ignores, half a second old, and its UPID. */
export async function hangingShutdown(lab: Lab): Promise<string> {
  await finish(lab, startWeb);
  const upid = await post(lab, { path: shutdownWeb.path, form: { timeout: '60' } });
  lab.clock.advance(500);
  return upid;
}

/** Logs in and returns the `Cookie` header. */
export async function login(lab: Lab, password: string): Promise<string> {
  const answer = await call(lab.demo, { method: 'POST', path: '/access/ticket', form: { username: 'jarvis@pve', password } });
  const { ticket } = (answer.body as { readonly data: { readonly ticket: string } }).data;
  return `PVEAuthCookie=${encodeURIComponent(ticket)}`;
}
