/** Suspend and resume of VMs and containers. */
import { failed, forbidden } from '../api-error.ts';
import type { ApiCall, ApiMethod } from '../api-method.ts';
import { hibernatePlan, resumePlan, suspendPlan } from '../guest-plans.ts';
import type { ParameterSpecs } from '../parameter.ts';
import { type GuestKind, guestOn, lockOf } from '../state.ts';
import { begin, isRunning, requireRunningVm, rootOnly, targetOf } from './guest-actions.ts';

const flag = { type: 'boolean', optional: true } as const;

export const suspendMethods: readonly ApiMethod[] = [
  method('qemu', 'suspend', suspendQemu, {
    skiplock: flag,
    statestorage: { type: 'string', optional: true, format: 'pve-storage-id', requires: 'todisk' },
    todisk: flag,
  }),
  method('qemu', 'resume', resumeQemu, { nocheck: flag, skiplock: flag }),
  method('lxc', 'suspend', suspendLxc, {}),
  method('lxc', 'resume', resumeLxc, {}),
];

function method(kind: GuestKind, name: string, run: (call: ApiCall) => string, parameters: ParameterSpecs): ApiMethod {
  const permission = { path: '/vms/{vmid}', privileges: ['VM.PowerMgmt'] } as const;
  return { verb: 'POST', path: `/nodes/{node}/${kind}/{vmid}/status/${name}`, permission, proxied: true, parameters, run };
}

/** To disk takes more rights, as a volume is made. */
function suspendQemu(call: ApiCall): string {
  const todisk = call.parameters.flag('todisk');
  rootOnly(call, 'skiplock');
  const target = targetOf(call, 'qemu');
  if (todisk) require(call, `/vms/${target.vmid}`, 'VM.Config.Disk');
  requireRunningVm(target);
  if (todisk) require(call, `/storage/${call.parameters.text('statestorage') ?? 'local'}`, 'Datastore.AllocateSpace');
  return begin(target, call, todisk ? 'qmsuspend' : 'qmpause', todisk ? hibernatePlan(target) : suspendPlan(target));
}

function require({ cluster, user }: ApiCall, path: string, privilege: string): void {
  if (!cluster.access.holds(user, path, privilege)) throw forbidden(`${path}, ${privilege}`);
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
  const target = targetOf(call, 'lxc');
  if (!isRunning(target)) throw failed(`CT ${target.vmid} not running`);
  return begin(target, call, 'vzsuspend', suspendPlan(target));
}

function resumeLxc(call: ApiCall): string {
  const target = targetOf(call, 'lxc');
  if (isRunning(target)) throw failed(`CT ${target.vmid} already running`);
  return begin(target, call, 'vzresume', resumePlan(target));
}
