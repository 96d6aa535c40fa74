/** Destroying a guest: its file and its own disks; with `purge` also what other configurations say of it. */
import { failed } from '../api-error.ts';
import { type ApiCall, type ApiMethod, requireQuorum } from '../api-method.ts';
import type { Cluster } from '../cluster.ts';
import { guestOperations } from '../declared/read-tables.ts';
import { free, isFileStorage, parseVolume, volumesIn } from '../drives.ts';
import { checkLock, locked } from '../guest-plans.ts';
import { sidOf } from '../high-availability.ts';
import { begin, rootOnly, targetOf } from '../methods/guest-actions.ts';
import { requireGuest } from '../methods/guests.ts';
import { type GuestKind, type GuestState, isTemplate } from '../state.ts';
import { type TaskContext, TaskError, type TaskPlan } from '../task-engine.ts';
import { asTaskError, refuseProtected } from './config-change.ts';

export const destroyMethods: readonly ApiMethod[] = [...guestOperations('DELETE', '', (kind) => (call) => destroy(call, kind))];

function destroy(call: ApiCall, kind: GuestKind): string {
  if (kind === 'qemu') rootOnly(call, 'skiplock');
  requireQuorum(call);
  const guest = requireGuest(call, kind);
  check(call, guest);
  const target = targetOf(call, kind);
  return begin(target, call, kind === 'qemu' ? 'qmdestroy' : 'vzdestroy', (task) =>
    locked(target, task, () => {
      // The same again: it may be another guest by now.
      asTaskError(() => check(call, requireGuest(call, kind)));
      return destroyPlan(call, guest)(task);
    }),
  );
}

/** What is refused at once; a lock of a VM and linked clones are found by the worker. @throws {ApiError} 500 */
function check({ cluster, parameters }: ApiCall, guest: GuestState): void {
  const { kind, vmid, config } = guest;
  const name = `${kind === 'qemu' ? 'VM' : 'CT'} ${vmid}`;
  refuseProtected(guest, `can't remove ${name}`);
  const lock = config.get('lock');
  if (kind === 'lxc' && lock !== undefined) throw failed(`CT is locked (${lock})`);
  if (!parameters.flag('purge') && cluster.ha.resources.has(sidOf(guest)))
    throw failed(`unable to remove ${name} - used in HA resources and purge parameter not set.`);
  if (!guest.running) return;
  if (kind === 'qemu') throw failed(`VM ${vmid} is running - destroy failed`);
  if (!parameters.flag('force')) throw failed(`unable to destroy CT ${vmid} - container is running`);
}

function destroyPlan(call: ApiCall, guest: GuestState): TaskPlan {
  const { cluster, parameters } = call;
  const { kind, vmid } = guest;
  return function* (task) {
    if (guest.running) {
      task.log(`forced to stop CT ${vmid} before destroying!`);
      guest.running = false;
    }
    if (guest.config.get('lock') !== 'suspended') checkLock(guest);
    refuseUsedBase(cluster, guest);
    yield Math.ceil(cluster.taskDurationMs / 2);
    removeDisks(cluster, guest, parameters.flag('destroy-unreferenced-disks'), task);
    cluster.state.guests.delete(vmid);
    for (const pool of cluster.state.pools.values())
      if (pool.guests.has(vmid))
        cluster.state.pools.set(pool.id, { ...pool, guests: new Set([...pool.guests].filter((one) => one !== vmid)) });
    cluster.state.firewalls.delete(vmid);
    cluster.access.forgetPath(`/vms/${vmid}`);
    if (parameters.flag('purge')) purge(cluster, guest, `${kind === 'qemu' ? 'VM' : 'CT'} ${vmid}`, task);
  };
}

function refuseUsedBase({ state }: Cluster, guest: GuestState): void {
  if (!isTemplate(guest)) return;
  const used = volumesIn(guest.kind, guest.config).find(({ volid }) => state.volumes.some(({ parent }) => parent === volid));
  if (used !== undefined) throw new TaskError(`base volume '${used.volid}' is still in use by linked cloned`);
}

/** Only what the guest owns; an attached disk of another guest stays. */
function removeDisks(cluster: Cluster, guest: GuestState, unreferenced: boolean, task: TaskContext): void {
  const { state } = cluster;
  const ram = [guest.config, ...guest.snapshots.map(({ config }) => config)].flatMap((config) => config.get('vmstate') ?? []).map(String);
  const named = volumesIn(guest.kind, guest.config).map(({ volid }) => volid);
  const own = [...named, ...ram].filter((volid) => parseVolume(volid).owner === guest.vmid);
  const lost = unreferenced
    ? state.volumes.filter((one) => one.vmid === guest.vmid && one.content !== 'backup').map(({ volid }) => volid)
    : [];
  for (const volid of new Set([...own, ...lost])) {
    const storage = state.storages.get(volid.slice(0, volid.indexOf(':')));
    if (free(cluster, volid) && !isFileStorage(storage)) task.log(`  Logical volume "${parseVolume(volid).file}" successfully removed.`);
  }
}

function purge(cluster: Cluster, guest: GuestState, name: string, task: TaskContext): void {
  task.log(`purging ${name} from related configurations..`);
  for (const job of cluster.state.backupJobs.values()) {
    const ids = job.get('vmid');
    if (typeof ids !== 'string') continue;
    const rest = ids.split(',').filter((id) => Number(id) !== guest.vmid);
    if (rest.length === 0) cluster.state.backupJobs.delete(String(job.get('id')));
    else job.set('vmid', rest.join(','));
  }
  if (cluster.ha.resources.delete(sidOf(guest))) task.log(`NOTE: removed ${name} from HA resource configuration.`);
}
