/** What surely stands in the way of a change, from live data, before a person is asked. An undefined fact stands in nobody's way. */
import { type Fault, toFault } from '#kernel/errors';
import { type JsonObject, wordOf } from '#kernel/json';
import type { ClusterPort, ClusterStatusRow, GuestAction, NodeRow, Permissions } from '#kernel/ports/cluster';
import { describeTarget, type GuestTarget } from '#kernel/resource';
import type { Obstacle } from '#kernel/tool';
import { type GuestState, haAdvice, haStateAfter, isAfter, readState } from './guest-state.ts';
import { holds, type Right } from './visible.ts';

/** One look at a guest and what is around it. */
export interface GuestLook {
  readonly guest: GuestTarget;
  readonly state: GuestState;
  readonly config: JsonObject | undefined;
  readonly cluster: readonly ClusterStatusRow[] | undefined;
  readonly nodes: readonly NodeRow[] | undefined;
  readonly permissions: Permissions | undefined;
  readonly tasks: readonly JsonObject[] | undefined;
}

export async function lookAtGuest(api: ClusterPort, guest: GuestTarget, signal: AbortSignal): Promise<GuestLook> {
  const none = () => undefined;
  const [state, config, cluster, nodes, permissions, tasks] = await Promise.all([
    readState(api, guest, signal),
    api.guestConfig(guest, signal).catch(none),
    api.clusterStatus(signal).catch(none),
    api.nodes(signal).catch(none),
    api.permissions(signal).catch(none),
    api.recentTasks(signal).catch(none),
  ]);
  return { guest, state, config, cluster, nodes, permissions, tasks };
}

/** What a change needs of the guest and of the cluster. */
export interface Needs {
  /** `stopped`, as in `it cannot be stopped`. */
  readonly done: string;
  readonly rights: readonly Right[];
  /** What would happen without a quorum; undefined: it needs none. */
  readonly withoutQuorum?: string;
  /** Why a template is no guest for it, and what else to do; absent: one will do. */
  readonly noTemplate?: { readonly why: string; readonly next: string };
  /** A lock that does not stand in its way. */
  readonly lock?: string;
}

/** The first of what stands in the way; a missing right with the words that give it. */
export async function guestObstacle(look: GuestLook, needs: Needs, api: ClusterPort, signal: AbortSignal): Promise<Obstacle | undefined> {
  const lacked = lackedRight(look.permissions, needs.rights);
  if (lacked !== undefined) return { ...lacked.obstacle, next: await api.grantHint(lacked.right.privilege, lacked.right.path, signal) };
  return noCluster(look, needs) ?? wrongKind(look, needs) ?? isLocked(look, needs) ?? isBusy(look);
}

/** The first that the token has not, as an obstacle; what cannot be read is none. */
export function lackedRight(permissions: Permissions | undefined, rights: readonly Right[]) {
  const right = rights.find(
    ({ path, or = path, privilege }) =>
      permissions !== undefined && !holds(permissions, path, privilege) && !holds(permissions, or, privilege),
  );
  if (right === undefined) return undefined;
  const message = `the API token lacks \`${right.privilege}\` on \`${right.path}\``;
  return { right, obstacle: { code: 'pve_forbidden', message } };
}

function isQuorate(look: Pick<GuestLook, 'cluster'>): boolean | undefined {
  return look.cluster?.find((row) => row.type === 'cluster')?.quorate;
}

function noCluster(look: GuestLook, { withoutQuorum }: Needs): Obstacle | undefined {
  const { guest, nodes, state } = look;
  if (isQuorate(look) === false && withoutQuorum !== undefined) {
    return {
      code: 'pve_no_quorum',
      message: `the cluster has no quorum: ${withoutQuorum}`,
      next: 'the cluster takes no changes until most of its nodes are online again; see get_cluster_status',
    };
  }
  if (nodes?.find((row) => row.node === guest.node)?.status === 'offline') return nodeOffline(guest.node, guest);
  // Every endpoint was asked, and what changes something goes the same way.
  return state.fault?.code === 'pve_node_unreachable' ? apiGone(guest, state.fault) : undefined;
}

function apiGone(guest: GuestTarget, { code, message }: Fault): Obstacle {
  return {
    code,
    message: `the API of node ${guest.node} does not answer, so ${describeTarget(guest)} cannot be reached: ${message}`,
    next: `the cluster counts ${guest.node} as online, so it may come back: try again in a minute; if it stays so, a person looks at \`pveproxy\` there`,
  };
}

/** @param guest what cannot be reached because of it; undefined: nothing can be put there */
export function nodeOffline(node: string, guest?: GuestTarget): Obstacle {
  const so = guest === undefined ? 'nothing can be put there' : `${describeTarget(guest)} cannot be reached`;
  return {
    code: 'node_offline',
    message: `node ${node} is offline, so ${so}`,
    next: `see get_cluster_status; wake_node may bring ${node} up`,
  };
}

function wrongKind({ guest, config }: GuestLook, { noTemplate }: Needs): Obstacle | undefined {
  if (Number(config?.['template']) !== 1 || noTemplate === undefined) return undefined;
  return { code: 'guest_is_template', message: `${describeTarget(guest)} is a template, ${noTemplate.why}`, next: noTemplate.next };
}

function isLocked({ guest, config }: GuestLook, { done, lock: allowed }: Needs): Obstacle | undefined {
  const lock = config?.['lock'];
  if (typeof lock !== 'string' || lock === allowed) return undefined;
  return {
    code: 'guest_locked',
    message: `${describeTarget(guest)} is locked (\`${lock}\`), so it cannot be ${done}`,
    next: `see with get_recent_tasks and \`filter\` \`${guest.vmid}\` whether a task of it is running, and wait for that; where there is none, a person can unlock it: \`${guest.guestType === 'qemu' ? 'qm' : 'pct'} unlock ${guest.vmid}\` on ${guest.node}`,
  };
}

/** Looking at a console holds nothing up. */
const harmlessTasks = /^(?:vnc|spice|term|qmterm|vzterm)/;

/** Running tasks hold the guest's own lock: another one waits ten seconds for it and fails, also a stop during a shutdown. */
function isBusy({ guest, tasks }: GuestLook): Obstacle | undefined {
  const running = (tasks ?? []).find(
    (task) => task['id'] === String(guest.vmid) && task['endtime'] === undefined && !harmlessTasks.test(wordOf(task['type'])),
  );
  if (running === undefined || typeof running['upid'] !== 'string') return undefined;
  return {
    code: 'guest_busy',
    message: `a task of ${describeTarget(guest)} is running (\`${wordOf(running['type'])}\`), and holds its lock`,
    next: `wait for it: get_task with \`upid\` \`${running['upid']}\`; then call again`,
  };
}

// Switching guests: what each action needs, and which state.

const powerNeeds: Readonly<Record<GuestAction, Pick<Needs, 'done' | 'withoutQuorum' | 'lock'>>> = {
  // A VM that was suspended to disk is locked so, and starting wakes it.
  start: { done: 'started', withoutQuorum: 'nothing can be started', lock: 'suspended' },
  // Stopping needs no quorum; a guest that is rebooted without one goes down and does not come up again.
  stop: { done: 'stopped' },
  reboot: { done: 'restarted', withoutQuorum: 'it would go down and not come up again' },
  shutdown: { done: 'shut down' },
  reset: { done: 'reset' },
  suspend: { done: 'suspended' },
  resume: { done: 'resumed', lock: 'suspended' },
};

export async function powerObstacle(
  api: ClusterPort,
  guest: GuestTarget,
  action: GuestAction,
  signal: AbortSignal,
): Promise<Obstacle | undefined> {
  const look = await lookAtGuest(api, guest, signal);
  const needs: Needs = {
    ...powerNeeds[action],
    rights: [{ privilege: 'VM.PowerMgmt', path: `/vms/${guest.vmid}` }],
    noTemplate: { why: 'which never runs', next: 'name another guest, or make one of it with clone_guest' },
  };
  return (await guestObstacle(look, needs, api, signal)) ?? haError(look, action) ?? wrongState(look, action);
}

/** The manager carries these out itself. */
const wrapped: ReadonlySet<GuestAction> = new Set(['start', 'stop', 'shutdown']);

function haError({ guest, state }: GuestLook, action: GuestAction): Obstacle | undefined {
  if (state.haState !== 'error' || !wrapped.has(action)) return undefined;
  return {
    code: 'ha_error',
    message: `${describeTarget(guest)} is in the HA state \`error\`, in which the HA manager carries out no request`,
    next: haAdvice(guest, 'error') ?? 'ask the user',
  };
}

/** Of a guest that only a running one will do for. */
const needsRunning: ReadonlySet<GuestAction> = new Set(['reboot', 'reset', 'suspend', 'resume']);

/** What leaves a running guest running. */
const repeatable: ReadonlySet<GuestAction> = new Set(['reboot', 'reset']);

/** What a paused guest takes. */
const whilePaused: ReadonlySet<GuestAction> = new Set(['stop', 'suspend', 'resume']);

function wrongState(look: GuestLook, action: GuestAction): Obstacle | undefined {
  const { guest, state } = look;
  if (action === 'resume' && isAsleep(look)) return undefined;
  if (state.qmpStatus === 'paused' && !whilePaused.has(action)) return isPaused(guest);
  if (needsRunning.has(action) && state.status === 'stopped') {
    return {
      code: 'guest_not_running',
      message: `${describeTarget(guest)} is stopped, and only a running guest is ${powerNeeds[action].done}`,
      next: `use start_${guest.guestType === 'qemu' ? 'vm' : 'container'}`,
    };
  }
  return repeatable.has(action) ? undefined : alreadyThere(look, action);
}

/** Paused, or suspended to disk. */
function isAsleep({ state, config }: GuestLook): boolean {
  return state.qmpStatus === 'paused' || config?.['lock'] === 'suspended';
}

function isPaused(guest: GuestTarget): Obstacle {
  return {
    code: 'guest_paused',
    message: `${describeTarget(guest)} is paused, and is neither started nor shut down so`,
    next: `resume it first: resume_vm with \`vmid\` ${guest.vmid}`,
  };
}

/** Where the HA manager wants something else than what is, the request still changes what it does next. */
function alreadyThere({ guest, state }: GuestLook, action: GuestAction): Obstacle | undefined {
  const { haState } = state;
  if (!isAfter(state, action)) return undefined;
  const agrees = haState === undefined || haState === 'ignored' || !wrapped.has(action) || haState === haStateAfter(action);
  if (!agrees) return undefined;
  const list = guest.guestType === 'qemu' ? 'get_vms' : 'get_containers';
  const word = action === 'suspend' ? 'paused' : (state.status ?? 'so');
  return {
    code: `guest_already_${word}`,
    message: `${describeTarget(guest)} is ${word} already`,
    next: `nothing is to be done; look with ${list} and \`filter\` \`${guest.vmid}\``,
  };
}

/** What `look` finds on a node over ssh; that it cannot look is an obstacle itself, with what to do about it. */
export async function overSsh(signal: AbortSignal, look: () => Promise<Obstacle | undefined>): Promise<Obstacle | undefined> {
  try {
    return await look();
  } catch (thrown) {
    signal.throwIfAborted();
    const { code, message, next } = toFault(thrown);
    return { code, message, ...(next === undefined ? {} : { next }) };
  }
}
