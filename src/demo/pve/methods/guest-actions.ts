/**
 * Start, stop, shutdown, reboot, reset, snapshot. A VM's request is answered 200 with a UPID whatever state the VM is in; most of a
 * container's are checked at once. Both as recorded from a real cluster.
 */
import { badParameters, failed } from '../api-error.ts';
import { type ApiCall, type ApiMethod, count, flag, on, requirePrivilege, requireQuorum, route, text } from '../api-method.ts';
import {
  type GuestTarget,
  hibernatePlan,
  notOnNode,
  rebootPlan,
  resetPlan,
  resumePlan,
  shutdownPlan,
  startPlan,
  stopPlan,
  suspendPlan,
} from '../guest-plans.ts';
import { askedByCommand, request, requestPlan } from '../ha-manager.ts';
import { managedResource } from '../high-availability.ts';
import type { ParameterSpecs } from '../parameter.ts';
import { type GuestKind, guestOn, lockOf } from '../state.ts';
import type { TaskPlan } from '../task-engine.ts';

const powerGuest = on('/vms/{vmid}', 'VM.PowerMgmt');
const nodeName = { ...text, format: 'pve-node' } as const;
const defaultTimeoutSeconds = 60;

function action(kind: GuestKind, name: string, parameters: ParameterSpecs, run: (call: ApiCall) => unknown): ApiMethod {
  return route(`POST /nodes/{node}/${kind}/{vmid}/status/${name}`, powerGuest, run, { parameters });
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
  action('qemu', 'start', { skiplock: flag, timeout: count, machine: text, ...migration }, startQemu),
  action('qemu', 'stop', { skiplock: flag, migratedfrom: nodeName, timeout: count, keepActive: flag, 'overrule-shutdown': flag }, stopQemu),
  action('qemu', 'shutdown', { skiplock: flag, timeout: count, forceStop: flag, keepActive: flag }, shutdownQemu),
  action('qemu', 'reboot', { timeout: count }, rebootQemu),
  action('qemu', 'reset', { skiplock: flag }, resetQemu),
  action('lxc', 'start', { skiplock: flag, debug: flag }, startLxc),
  action('lxc', 'stop', { skiplock: flag, 'overrule-shutdown': flag }, stopLxc),
  action('lxc', 'shutdown', { timeout: count, forceStop: flag }, shutdownLxc),
  action('lxc', 'reboot', { timeout: count }, rebootLxc),
  action(
    'qemu',
    'suspend',
    { skiplock: flag, statestorage: { ...text, format: 'pve-storage-id', requires: 'todisk' }, todisk: flag },
    suspendQemu,
  ),
  action('qemu', 'resume', { nocheck: flag, skiplock: flag }, resumeQemu),
  action('lxc', 'suspend', {}, suspendLxc),
  action('lxc', 'resume', {}, resumeLxc),
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
    // Perl's truth.
    const given = !['', '0', 'false'].includes(call.parameters.text(name) ?? '');
    if (given && call.user !== 'root@pam') throw badParameters({ [name]: 'Only root may use this option.' });
  }
}

/** The task that only asks the HA manager, for a guest that it manages; undefined: the node acts itself. */
function askManager(call: ApiCall, target: GuestTarget, want: 'start' | 'stop', stopTimeoutSeconds?: number): string | undefined {
  const { cluster, kind, vmid } = target;
  const resource = managedResource(cluster.ha, target);
  if (resource === undefined) return undefined;
  const words = `${want} for ${kind === 'qemu' ? 'VM' : 'CT'} ${vmid}`;
  const [state, command] =
    want === 'start'
      ? (['started', `set ${resource.sid} --state started`] as const)
      : (['stopped', `crm-command stop ${resource.sid} ${stopTimeoutSeconds ?? 0}`] as const);
  const plan = requestPlan(cluster, words, (log) => {
    askedByCommand(resource, command, log);
    request(cluster, resource, state, stopTimeoutSeconds);
  });
  return begin(target, call, `ha${want}`, plan);
}

/** @throws {ApiError} 400 for overruling where the HA manager would be asked */
function stopWith(call: ApiCall, target: GuestTarget, type: 'qmstop' | 'vzstop'): string {
  const overrule = call.parameters.flag('overrule-shutdown');
  if (overrule && managedResource(call.cluster.ha, target) !== undefined)
    throw badParameters({ 'overrule-shutdown': 'Not applicable for HA resources.' });
  return askManager(call, target, 'stop', 0) ?? begin(target, call, type, stopPlan(target, { overrule }));
}

function timeoutOf(call: ApiCall): number {
  return call.parameters.integer('timeout') ?? defaultTimeoutSeconds;
}

function isRunning({ cluster, kind, node, vmid }: GuestTarget): boolean {
  return guestOn(cluster.state, kind, node, vmid)?.running ?? false;
}

function startQemu(call: ApiCall): string {
  rootOnly(call, 'stateuri', 'skiplock', ...Object.keys(migration));
  requireQuorum(call);
  const target = targetOf(call, 'qemu');
  return askManager(call, target, 'start') ?? begin(target, call, 'qmstart', startPlan(target));
}

function stopQemu(call: ApiCall): string {
  rootOnly(call, 'skiplock', 'keepActive', 'migratedfrom');
  const target = targetOf(call, 'qemu');
  if (call.parameters.has('migratedfrom')) return begin(target, call, 'qmstop', stopPlan(target, { overrule: false }));
  return stopWith(call, target, 'qmstop');
}

function shutdownQemu(call: ApiCall): string {
  rootOnly(call, 'skiplock', 'keepActive');
  const target = targetOf(call, 'qemu');
  const timeoutSeconds = timeoutOf(call);
  const force = call.parameters.flag('forceStop');
  if (!force) refusePaused(target);
  // A paused one that may be killed is killed at once.
  const plan = isPaused(target) ? stopPlan(target, { overrule: false }) : shutdownPlan(target, { timeoutSeconds, force });
  return askManager(call, target, 'stop', timeoutSeconds) ?? begin(target, call, 'qmshutdown', plan);
}

/** @throws {ApiError} 500 at once for a VM that is not there or not running */
function requireRunningVm(target: GuestTarget): void {
  if (guestOn(target.cluster.state, 'qemu', target.node, target.vmid) === undefined) throw failed(notOnNode(target));
  if (!isRunning(target)) throw failed(`VM ${target.vmid} not running`);
}

/** A VM whose processors stand still cannot hear the request. @throws {ApiError} 500 */
function refusePaused(target: GuestTarget): void {
  if (isPaused(target)) throw failed('VM is paused - cannot shutdown');
}

function isPaused({ cluster, node, vmid }: GuestTarget): boolean {
  const guest = guestOn(cluster.state, 'qemu', node, vmid);
  return guest?.running === true && guest.paused;
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

/** @throws {ApiError} 500 */
function runningContainer(call: ApiCall): GuestTarget {
  const target = targetOf(call, 'lxc');
  if (!isRunning(target)) throw failed(`CT ${target.vmid} not running`);
  return target;
}

/** @throws {ApiError} 500 */
function stoppedContainer(call: ApiCall): GuestTarget {
  const target = targetOf(call, 'lxc');
  if (isRunning(target)) throw failed(`CT ${target.vmid} already running`);
  return target;
}

function startLxc(call: ApiCall): string {
  rootOnly(call, 'skiplock');
  const target = stoppedContainer(call);
  requireQuorum(call);
  return askManager(call, target, 'start') ?? begin(target, call, 'vzstart', startPlan(target));
}

function stopLxc(call: ApiCall): string {
  rootOnly(call, 'skiplock');
  const target = runningContainer(call);
  return stopWith(call, target, 'vzstop');
}

function shutdownLxc(call: ApiCall): string {
  const target = runningContainer(call);
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

/** To disk takes more rights, as a volume is made. */
function suspendQemu(call: ApiCall): string {
  const todisk = call.parameters.flag('todisk');
  rootOnly(call, 'skiplock');
  const target = targetOf(call, 'qemu');
  requireRunningVm(target);
  if (todisk && managedResource(call.cluster.ha, target) !== undefined) throw failed('Cannot suspend HA managed VM to disk');
  if (todisk) requirePrivilege(call, `/vms/${target.vmid}`, 'VM.Config.Disk');
  if (todisk) requirePrivilege(call, `/storage/${call.parameters.text('statestorage') ?? 'local'}`, 'Datastore.AllocateSpace');
  return begin(target, call, todisk ? 'qmsuspend' : 'qmpause', todisk ? hibernatePlan(target) : suspendPlan(target));
}

/** One that sleeps on disk is locked and not running, and is woken. */
function resumeQemu(call: ApiCall): string {
  rootOnly(call, 'skiplock', 'nocheck');
  const target = targetOf(call, 'qemu');
  const guest = guestOn(target.cluster.state, 'qemu', target.node, target.vmid);
  if (guest === undefined || lockOf(guest) !== 'suspended') requireRunningVm(target);
  return begin(target, call, 'qmresume', resumePlan(target));
}

function suspendLxc(call: ApiCall): string {
  const target = runningContainer(call);
  return begin(target, call, 'vzsuspend', suspendPlan(target));
}

function resumeLxc(call: ApiCall): string {
  const target = stoppedContainer(call);
  return begin(target, call, 'vzresume', resumePlan(target));
}
