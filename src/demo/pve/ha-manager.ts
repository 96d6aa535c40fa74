/**
 * The HA manager (`PVE::HA::Manager`, `PVE::HA::LRM`) as far as a client sees it: a request is only noted; the manager looks some time
 * later, and the node's agent then starts or stops the guest in a task of its own, as root. A guest whose node goes away is fenced and
 * recovered on another one.
 */
import { type Cluster, seesOnline } from './cluster.ts';
import { type GuestTarget, shutdownPlan, startPlan, stopPlan } from './guest-plans.ts';
import { type CrmState, type HaRequest, type HaResource, refusedInError, requestOf } from './high-availability.ts';
import type { GuestState, NodeState } from './state.ts';
import { TaskError, type TaskPlan, type TaskSteps } from './task-engine.ts';

const pollMs = 200;
/** In starts of a guest: how long until a dead node counts as such, and again until it counts as fenced; about a minute each. */
const unseenSteps = 40;

/** Notes what is wanted of a resource; the guest follows later, or never while the manager is stalled. */
export function request(cluster: Cluster, resource: HaResource, state: HaRequest | undefined, stopTimeoutSeconds?: number): void {
  resource.state = state;
  resource.round += 1;
  const { round } = resource;
  cluster.tasks.background(() => follow(cluster, resource, { round, stopTimeoutSeconds }));
}

/** The worker of a wrapped action: it asks and is done (`Requesting HA start for VM 112`). */
export function requestPlan(cluster: Cluster, words: string, ask: (log: (line: string) => void) => void): TaskPlan {
  return function* (task) {
    task.log(`Requesting HA ${words}`);
    yield Math.ceil(cluster.taskDurationMs / 2);
    ask(task.log);
  };
}

/** What a worker runs to ask the manager. @throws {TaskError} where `ha-manager` refuses, with its words in the log */
export function askedByCommand(resource: HaResource, command: string, log: (line: string) => void): void {
  const refusal = refusedInError(resource);
  if (refusal === undefined) return;
  log(refusal);
  throw new TaskError(`command 'ha-manager ${command}' failed: exit code 255`);
}

interface Round {
  readonly round: number;
  readonly stopTimeoutSeconds: number | undefined;
}

/** States that the manager leaves by itself before it looks at a request. */
const busy: ReadonlySet<CrmState | undefined> = new Set<CrmState>(['migrate', 'relocate', 'fence', 'recovery', 'freeze']);

function* follow(cluster: Cluster, resource: HaResource, { round, stopTimeoutSeconds }: Round): TaskSteps {
  const { ha, state } = cluster;
  const obsolete = () => resource.round !== round || ha.stalled || !state.quorate || !ha.resources.has(resource.sid);
  yield cluster.taskDurationMs;
  while (busy.has(resource.crmState) && !obsolete()) yield pollMs;
  const guest = state.guests.get(resource.vmid);
  if (obsolete() || guest === undefined) return;
  ha.master ??= guest.node;
  const wanted = requestOf(resource);
  if (wanted === 'ignored' || isInError(resource, wanted)) return;
  yield* bringTo(resource, { cluster, guest, runs: wanted === 'started', stopTimeoutSeconds }, obsolete);
}

function* bringTo(resource: HaResource, deed: Deed, obsolete: () => boolean): TaskSteps {
  resource.crmState = deed.runs ? 'started' : 'request_stop';
  yield deed.cluster.taskDurationMs;
  if (obsolete()) return;
  yield* carryOut(deed, obsolete);
  if (!deed.runs && !deed.guest.running && !obsolete()) resource.crmState = 'stopped';
}

/** The way out of an error: disabled, and only then anything else. */
function isInError(resource: HaResource, wanted: HaRequest): boolean {
  if (resource.crmState !== 'error') return false;
  if (wanted === 'disabled') resource.crmState = 'stopped';
  return true;
}

interface Deed {
  readonly cluster: Cluster;
  readonly guest: GuestState;
  readonly runs: boolean;
  readonly stopTimeoutSeconds: number | undefined;
}

function* carryOut({ cluster, guest, runs, stopTimeoutSeconds }: Deed, obsolete: () => boolean): TaskSteps {
  // Nothing happens on a node that is gone; a guest of it that is recovered elsewhere is followed anew.
  while (cluster.state.nodes.get(guest.node)?.up !== true && !obsolete()) yield pollMs;
  if (obsolete()) return;
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

export interface Move {
  /** A container that runs cannot be migrated: it is stopped, moved and started (`relocate`). */
  readonly how: 'migrate' | 'relocate';
  readonly node: string;
}

/** Notes a move; the manager ignores one to the guest's own node, or to one that is not online. */
export function moveResource(cluster: Cluster, resource: HaResource, move: Move): void {
  cluster.tasks.background(() => carryOver(cluster, resource, move));
}

function* carryOver(cluster: Cluster, resource: HaResource, { how, node }: Move): TaskSteps {
  yield cluster.taskDurationMs;
  const guest = cluster.state.guests.get(resource.vmid);
  if (guest === undefined || guest.node === node || !takesMoves(cluster, resource, node)) return;
  if (guest.running) yield* moveRunning(cluster, resource, guest, { how, node });
  else guest.node = node;
}

function takesMoves(cluster: Cluster, { crmState }: HaResource, node: string): boolean {
  return cluster.state.nodes.get(node)?.up === true && !cluster.ha.stalled && !busy.has(crmState);
}

function* moveRunning(cluster: Cluster, resource: HaResource, guest: GuestState, { how, node }: Move): TaskSteps {
  if (resource.crmState !== 'started') return;
  resource.crmState = how === 'migrate' && guest.kind === 'qemu' ? 'migrate' : 'relocate';
  if (resource.crmState === 'relocate') yield* carryOut({ cluster, guest, runs: false, stopTimeoutSeconds: undefined }, () => false);
  else yield cluster.taskDurationMs * 2;
  guest.node = node;
  thaw(cluster, resource);
}

/** Takes a node off the network or brings it back; its HA guests are fenced and recovered. */
export function setNodeUp(cluster: Cluster, node: NodeState, up: boolean): void {
  if (node.up === up) return;
  node.up = up;
  node.downSince = up ? undefined : cluster.clock.now();
  cluster.onNodeChange(node);
  if (up) resume(cluster, node);
  else if (resourcesOn(cluster, node).length > 0) cluster.tasks.background(() => fenceAll(cluster, node));
}

/** A node that is back has its own guests again, and may take those that nobody could. */
function resume(cluster: Cluster, node: NodeState): void {
  for (const resource of resourcesOn(cluster, node).filter(({ crmState }) => crmState === 'freeze')) thaw(cluster, resource);
  const waiting = [...cluster.ha.resources.values()].filter(({ crmState }) => crmState === 'fence' || crmState === 'recovery');
  for (const resource of waiting) recover(cluster, resource, node);
}

/** A reboot on purpose: the manager waits for the node instead of fencing it. */
export function freezeAll(cluster: Cluster, node: NodeState): void {
  for (const resource of resourcesOn(cluster, node)) resource.crmState = 'freeze';
}

function thaw(cluster: Cluster, resource: HaResource): void {
  resource.crmState = requestOf(resource) === 'started' ? 'started' : 'request_stop';
  request(cluster, resource, resource.state);
}

/** Those that the manager looks after on a node. */
function resourcesOn({ ha, state }: Cluster, node: NodeState): HaResource[] {
  return [...ha.resources.values()].filter(
    (resource) => resource.crmState !== undefined && state.guests.get(resource.vmid)?.node === node.name,
  );
}

function* fenceAll(cluster: Cluster, node: NodeState): TaskSteps {
  const since = node.downSince;
  const isBack = () => node.downSince !== since || cluster.ha.stalled || !cluster.state.quorate;
  yield unseenSteps * cluster.taskDurationMs;
  if (isBack()) return;
  const lost = resourcesOn(cluster, node).filter(({ crmState }) => crmState === 'started' || crmState === 'request_stop');
  for (const resource of lost) resource.crmState = 'fence';
  yield unseenSteps * cluster.taskDurationMs;
  if (isBack()) return;
  for (const resource of lost) resource.crmState = 'recovery';
  // With no node left to go to, they stay so.
  const other = [...cluster.state.nodes.values()].find((one) => one.name !== node.name && seesOnline(cluster, one.name, one));
  if (other !== undefined) for (const resource of lost) recover(cluster, resource, other);
}

function recover(cluster: Cluster, resource: HaResource, node: NodeState): void {
  const guest = cluster.state.guests.get(resource.vmid);
  if (guest === undefined) return;
  guest.running = false;
  guest.node = node.name;
  thaw(cluster, resource);
}
