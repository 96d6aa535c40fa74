/**
 * The HA manager (`PVE::HA::Manager`, `PVE::HA::LRM`) as far as a client sees it: a request is only noted; the manager looks some time
 * later, and the node's agent then starts or stops the guest in a task of its own, as root.
 */
import type { Cluster } from './cluster.ts';
import { type GuestTarget, shutdownPlan, startPlan, stopPlan } from './guest-plans.ts';
import { type HaRequest, type HaResource, requestOf } from './high-availability.ts';
import type { GuestState } from './state.ts';
import type { TaskPlan, TaskSteps } from './task-engine.ts';

const pollMs = 200;

/** Notes what is wanted of a resource; the guest follows later, or never while the manager is stalled. */
export function request(cluster: Cluster, resource: HaResource, state: HaRequest | undefined, stopTimeoutSeconds?: number): void {
  resource.state = state;
  resource.round += 1;
  const { round } = resource;
  cluster.tasks.background(() => follow(cluster, resource, { round, stopTimeoutSeconds }));
}

/** The worker of a wrapped action: it asks and is done (`Requesting HA start for VM 112`). */
export function requestPlan(cluster: Cluster, words: string, ask: () => void): TaskPlan {
  return function* (task) {
    task.log(`Requesting HA ${words}`);
    yield Math.ceil(cluster.taskDurationMs / 2);
    ask();
  };
}

interface Round {
  readonly round: number;
  readonly stopTimeoutSeconds: number | undefined;
}

function* follow(cluster: Cluster, resource: HaResource, { round, stopTimeoutSeconds }: Round): TaskSteps {
  const { ha, state } = cluster;
  const obsolete = () => resource.round !== round || ha.stalled || !state.quorate || !ha.resources.has(resource.sid);
  yield cluster.taskDurationMs;
  const guest = state.guests.get(resource.vmid);
  if (obsolete() || guest === undefined) return;
  ha.master ??= guest.node;
  const wanted = requestOf(resource);
  if (wanted === 'ignored') return;
  const runs = wanted === 'started';
  resource.crmState = runs ? 'started' : 'request_stop';
  yield cluster.taskDurationMs;
  if (obsolete()) return;
  yield* carryOut({ cluster, guest, runs, stopTimeoutSeconds }, obsolete);
  if (!runs && !guest.running) resource.crmState = 'stopped';
}

interface Deed {
  readonly cluster: Cluster;
  readonly guest: GuestState;
  readonly runs: boolean;
  readonly stopTimeoutSeconds: number | undefined;
}

function* carryOut({ cluster, guest, runs, stopTimeoutSeconds }: Deed, obsolete: () => boolean): TaskSteps {
  if (guest.running !== runs) act(cluster, guest, runs, stopTimeoutSeconds);
  while (guest.running !== runs && !obsolete()) yield pollMs;
}

function act(cluster: Cluster, guest: GuestState, start: boolean, stopTimeoutSeconds = 60): void {
  const { kind, node, vmid } = guest;
  const target: GuestTarget = { cluster, kind, node, vmid };
  const prefix = kind === 'qemu' ? 'qm' : 'vz';
  const begin = (type: string, plan: TaskPlan) =>
    cluster.tasks.start({ node, type: prefix + type, id: String(vmid), user: 'root@pam' }, plan);
  if (start) begin('start', startPlan(target));
  else if (stopTimeoutSeconds === 0) begin('stop', stopPlan(target, { overrule: false }));
  else begin('shutdown', shutdownPlan(target, { timeoutSeconds: stopTimeoutSeconds, force: true }));
}
