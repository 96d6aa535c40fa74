/**
 * Start, stop, shutdown, reboot, reset, snapshot. A VM's request is answered 200 with a UPID whatever state the VM is in; most of a
 * container's are checked at once. Both as recorded from a real cluster.
 */
import { badParameters, failed } from '../api-error.ts';
import type { ApiCall, ApiMethod } from '../api-method.ts';
import { type GuestTarget, notOnNode, rebootPlan, resetPlan, shutdownPlan, snapshotPlan, startPlan, stopPlan } from '../guest-plans.ts';
import { request, requestPlan } from '../ha-manager.ts';
import { managedResource } from '../high-availability.ts';
import type { ParameterSpecs } from '../parameter.ts';
import { type GuestKind, guestOn } from '../state.ts';
import type { TaskPlan } from '../task-engine.ts';
import { requireGuest } from './guests.ts';

const powerGuest = { path: '/vms/{vmid}', privileges: ['VM.PowerMgmt'] } as const;
const flag = { type: 'boolean', optional: true } as const;
const seconds = { type: 'integer', optional: true, minimum: 0 } as const;
const text = { type: 'string', optional: true } as const;
const nodeName = { type: 'string', optional: true, format: 'pve-node' } as const;
const defaultTimeoutSeconds = 60;

function action(kind: GuestKind, name: string, parameters: ParameterSpecs, run: (call: ApiCall) => unknown): ApiMethod {
  return { verb: 'POST', path: `/nodes/{node}/${kind}/{vmid}/status/${name}`, permission: powerGuest, proxied: true, parameters, run };
}

const migration: ParameterSpecs = {
  stateuri: { ...text, maxLength: 128 },
  migratedfrom: nodeName,
  migration_type: { ...text, enum: ['secure', 'insecure'] },
  migration_network: text,
  targetstorage: text,
  'force-cpu': text,
  'with-conntrack-state': flag,
  'nets-host-mtu': { ...text, pattern: 'net\\d+=\\d+(,net\\d+=\\d+)*' },
};

export const guestActionMethods: readonly ApiMethod[] = [
  action('qemu', 'start', { skiplock: flag, timeout: seconds, machine: text, ...migration }, startQemu),
  action(
    'qemu',
    'stop',
    { skiplock: flag, migratedfrom: nodeName, timeout: seconds, keepActive: flag, 'overrule-shutdown': flag },
    stopQemu,
  ),
  action('qemu', 'shutdown', { skiplock: flag, timeout: seconds, forceStop: flag, keepActive: flag }, shutdownQemu),
  action('qemu', 'reboot', { timeout: seconds }, rebootQemu),
  action('qemu', 'reset', { skiplock: flag }, resetQemu),
  action('lxc', 'start', { skiplock: flag, debug: flag }, startLxc),
  action('lxc', 'stop', { skiplock: flag, 'overrule-shutdown': flag }, stopLxc),
  action('lxc', 'shutdown', { timeout: seconds, forceStop: flag }, shutdownLxc),
  action('lxc', 'reboot', { timeout: seconds }, rebootLxc),
  ...(['qemu', 'lxc'] as const).map(snapshotMethod),
];

export function targetOf(call: ApiCall, kind: GuestKind): GuestTarget {
  return { cluster: call.cluster, kind, node: call.node, vmid: call.parameters.integer('vmid') ?? 0 };
}

export function begin(target: GuestTarget, call: ApiCall, type: string, plan: TaskPlan): string {
  return target.cluster.tasks.start({ node: target.node, type, id: String(target.vmid), user: call.user }, plan);
}

/** Not even a token of root may: the check is on the plain user. */
export function rootOnly(call: ApiCall, ...names: readonly string[]): void {
  for (const name of names) {
    const value = call.parameters.text(name);
    if (value !== undefined && value !== '0' && value !== 'false' && call.user !== 'root@pam')
      throw badParameters({ [name]: 'Only root may use this option.' });
  }
}

/** Starting writes to the configuration, so it needs quorum; stopping does not. */
function requireQuorum(call: ApiCall): void {
  if (!call.cluster.state.quorate) throw failed('cluster not ready - no quorum?');
}

/** The task that only asks the HA manager, for a guest that it manages; undefined: the node acts itself. */
function askManager(call: ApiCall, target: GuestTarget, want: 'start' | 'stop', stopTimeoutSeconds?: number): string | undefined {
  const { cluster, kind, vmid } = target;
  const resource = managedResource(cluster.ha, target);
  if (resource === undefined) return undefined;
  const words = `${want} for ${kind === 'qemu' ? 'VM' : 'CT'} ${vmid}`;
  const state = want === 'start' ? 'started' : 'stopped';
  return begin(
    target,
    call,
    `ha${want}`,
    requestPlan(cluster, words, () => request(cluster, resource, state, stopTimeoutSeconds)),
  );
}

function timeoutOf(call: ApiCall): number {
  return call.parameters.integer('timeout') ?? defaultTimeoutSeconds;
}

export function isRunning({ cluster, kind, node, vmid }: GuestTarget): boolean {
  return guestOn(cluster.state, kind, node, vmid)?.running ?? false;
}

function startQemu(call: ApiCall): string {
  rootOnly(
    call,
    'stateuri',
    'skiplock',
    'migratedfrom',
    'migration_type',
    'migration_network',
    'targetstorage',
    'force-cpu',
    'with-conntrack-state',
    'nets-host-mtu',
  );
  requireQuorum(call);
  const target = targetOf(call, 'qemu');
  return askManager(call, target, 'start') ?? begin(target, call, 'qmstart', startPlan(target));
}

function stopQemu(call: ApiCall): string {
  rootOnly(call, 'skiplock', 'keepActive', 'migratedfrom');
  const target = targetOf(call, 'qemu');
  const asked = call.parameters.has('keepActive') ? undefined : askManager(call, target, 'stop', 0);
  return asked ?? begin(target, call, 'qmstop', stopPlan(target, { overrule: call.parameters.flag('overrule-shutdown') }));
}

function shutdownQemu(call: ApiCall): string {
  rootOnly(call, 'skiplock', 'keepActive');
  const target = targetOf(call, 'qemu');
  const timeoutSeconds = timeoutOf(call);
  const force = call.parameters.flag('forceStop');
  if (!force) refusePaused(target);
  const plan = shutdownPlan(target, { timeoutSeconds, force });
  return askManager(call, target, 'stop', timeoutSeconds) ?? begin(target, call, 'qmshutdown', plan);
}

/** @throws {ApiError} 500 at once for a VM that is not there or not running */
export function requireRunningVm(target: GuestTarget): void {
  if (guestOn(target.cluster.state, 'qemu', target.node, target.vmid) === undefined) throw failed(notOnNode(target));
  if (!isRunning(target)) throw failed(`VM ${target.vmid} not running`);
}

/** A VM whose processors stand still cannot hear the request. @throws {ApiError} 500 */
function refusePaused({ cluster, node, vmid }: GuestTarget): void {
  const guest = guestOn(cluster.state, 'qemu', node, vmid);
  if (guest?.running === true && guest.paused) throw failed('VM is paused - cannot shutdown');
}

function rebootQemu(call: ApiCall): string {
  const target = targetOf(call, 'qemu');
  requireRunningVm(target);
  refusePaused(target);
  return begin(target, call, 'qmreboot', rebootPlan(target, timeoutOf(call)));
}

function resetQemu(call: ApiCall): string {
  rootOnly(call, 'skiplock');
  const target = targetOf(call, 'qemu');
  requireRunningVm(target);
  return begin(target, call, 'qmreset', resetPlan(target));
}

function startLxc(call: ApiCall): string {
  rootOnly(call, 'skiplock');
  const target = targetOf(call, 'lxc');
  if (isRunning(target)) throw failed(`CT ${target.vmid} already running`);
  requireQuorum(call);
  return askManager(call, target, 'start') ?? begin(target, call, 'vzstart', startPlan(target));
}

function stopLxc(call: ApiCall): string {
  rootOnly(call, 'skiplock');
  const target = targetOf(call, 'lxc');
  if (!isRunning(target)) throw failed(`CT ${target.vmid} not running`);
  const plan = stopPlan(target, { overrule: call.parameters.flag('overrule-shutdown') });
  return askManager(call, target, 'stop', 0) ?? begin(target, call, 'vzstop', plan);
}

function shutdownLxc(call: ApiCall): string {
  const target = targetOf(call, 'lxc');
  if (!isRunning(target)) throw failed(`CT ${target.vmid} not running`);
  const timeoutSeconds = timeoutOf(call);
  const plan = shutdownPlan(target, { timeoutSeconds, force: call.parameters.flag('forceStop') });
  return askManager(call, target, 'stop', timeoutSeconds) ?? begin(target, call, 'vzshutdown', plan);
}

/** PVE says `VM` here, of a container too. */
function rebootLxc(call: ApiCall): string {
  const target = targetOf(call, 'lxc');
  if (!isRunning(target)) throw failed(`VM ${target.vmid} not running`);
  return begin(target, call, 'vzreboot', rebootPlan(target, timeoutOf(call)));
}

function snapshotMethod(kind: GuestKind): ApiMethod {
  return {
    verb: 'POST',
    path: `/nodes/{node}/${kind}/{vmid}/snapshot`,
    permission: { path: '/vms/{vmid}', privileges: ['VM.Snapshot'] },
    proxied: true,
    parameters: {
      snapname: { type: 'string', format: 'pve-configid', maxLength: 40 },
      description: text,
      ...(kind === 'qemu' ? { vmstate: flag } : {}),
    },
    run: (call) => snapshot(call, kind),
  };
}

function snapshot(call: ApiCall, kind: GuestKind): string {
  const name = call.parameters.text('snapname') ?? '';
  const reserved = kind === 'qemu' ? 'pending' : 'vzdump';
  for (const word of ['current', reserved]) if (name === word) throw failed(`unable to use snapshot name '${word}' (reserved name)`);
  if (kind === 'qemu') requireGuest(call, kind);
  const target = targetOf(call, kind);
  const wish = { name, description: call.parameters.text('description') ?? '', vmstate: call.parameters.flag('vmstate') };
  return begin(target, call, kind === 'qemu' ? 'qmsnapshot' : 'vzsnapshot', snapshotPlan(target, wish));
}
