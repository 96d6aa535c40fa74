/** The blast radius of an action on a guest, from live data, as sentences for the person who decides. */
import type { JsonObject } from '#kernel/json';
import type { ClusterPort, GuestAction } from '#kernel/ports/cluster';
import { describeTarget, type GuestTarget } from '#kernel/resource';
import type { Obstacle } from '#kernel/tool';
import { type GuestState, haAdvice, haStateAfter, readState, statusAfter } from './guest-state.ts';
import { holds } from './visible.ts';

/** Facts, the most important first. A source that cannot be read is said, never guessed. */
export async function guestRisk(
  api: ClusterPort,
  guest: GuestTarget,
  action: GuestAction,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const [config, status, snapshots] = await Promise.all([
    api.guestConfig(guest, signal).catch(() => undefined),
    api.guestStatus(guest, signal).catch(() => undefined),
    api.snapshots(guest, signal).catch(() => undefined),
  ]);
  return [
    stateFact(status ?? (guest.status === undefined ? {} : { status: guest.status })),
    actionFact(action),
    ...highAvailability(status),
    ...startsOnBoot(config),
    ...lockFact(config),
    snapshotFact(snapshots),
    ...tags(config),
  ];
}

function stateFact(status: JsonObject): string {
  const uptime = Number(status['uptime'] ?? 0);
  const since = uptime > 0 ? `, up for ${roughly(uptime)}` : '';
  return `now: ${typeof status['status'] === 'string' ? status['status'] : 'unknown'}${since}`;
}

const actionFacts: Readonly<Record<GuestAction, string>> = {
  start: 'starting uses the node’s memory and CPU; nothing is lost',
  stop: 'a hard stop, like pulling the plug: unsaved work inside the guest is lost',
  reboot: 'a reboot: what runs inside is interrupted',
};

function actionFact(action: GuestAction): string {
  return actionFacts[action];
}

function highAvailability(status: JsonObject | undefined): readonly string[] {
  const ha = status?.['ha'];
  const managed = typeof ha === 'object' && ha !== null && 'managed' in ha && Number(ha.managed) === 1;
  return managed ? ['managed by HA: the HA manager may undo this'] : [];
}

function startsOnBoot(config: JsonObject | undefined): readonly string[] {
  return Number(config?.['onboot'] ?? 0) === 1 ? ['starts on boot: somebody expects it to run'] : [];
}

function lockFact(config: JsonObject | undefined): readonly string[] {
  return typeof config?.['lock'] === 'string' ? [`locked by \`${config['lock']}\`: the task will probably fail`] : [];
}

function snapshotFact(snapshots: readonly JsonObject[] | undefined): string {
  if (snapshots === undefined) return 'snapshots: not readable with this token';
  // The API always lists the current state as a pseudo-snapshot.
  const real = snapshots.filter((snapshot) => snapshot['name'] !== 'current');
  return real.length === 0 ? 'no snapshot to go back to' : `${real.length} snapshot${real.length === 1 ? '' : 's'}`;
}

function tags(config: JsonObject | undefined): readonly string[] {
  return typeof config?.['tags'] === 'string' && config['tags'] !== '' ? [`tags: ${config['tags']}`] : [];
}

function roughly(seconds: number): string {
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.round(seconds / 3_600)} h`;
  return `${Math.round(seconds / 86_400)} days`;
}

/** What could be read; an undefined fact stands in nobody's way. */
interface Facts {
  readonly guest: GuestTarget;
  readonly action: GuestAction;
  readonly state: GuestState;
  readonly template: boolean;
  readonly lock: string | undefined;
  readonly quorate: boolean | undefined;
  readonly nodeStatus: string | undefined;
  readonly mayOperate: boolean | undefined;
}

const privilege = 'VM.PowerMgmt';
const verbs: Readonly<Record<GuestAction, string>> = { start: 'started', stop: 'stopped', reboot: 'restarted' };

export async function guestObstacle(
  api: ClusterPort,
  guest: GuestTarget,
  action: GuestAction,
  signal: AbortSignal,
): Promise<Obstacle | undefined> {
  const facts = await readFacts(api, guest, action, signal);
  const found = noRight(facts) ?? noCluster(facts) ?? wrongKind(facts) ?? wrongState(facts);
  if (found === undefined || found.code !== 'pve_forbidden') return found;
  return { ...found, next: await api.grantHint(privilege, `/vms/${guest.vmid}`, signal) };
}

async function readFacts(api: ClusterPort, guest: GuestTarget, action: GuestAction, signal: AbortSignal): Promise<Facts> {
  const none = () => undefined;
  const [state, config = {}, cluster = [], nodes = [], permissions] = await Promise.all([
    readState(api, guest, signal),
    api.guestConfig(guest, signal).catch(none),
    api.clusterStatus(signal).catch(none),
    api.nodes(signal).catch(none),
    api.permissions(signal).catch(none),
  ]);
  return {
    guest,
    action,
    state,
    template: Number(config['template']) === 1,
    lock: typeof config['lock'] === 'string' ? config['lock'] : undefined,
    quorate: cluster.find((row) => row.type === 'cluster')?.quorate,
    nodeStatus: nodes.find((row) => row.node === guest.node)?.status,
    mayOperate: permissions && holds(permissions, `/vms/${guest.vmid}`, privilege),
  };
}

function noRight({ guest, mayOperate }: Facts): Obstacle | undefined {
  if (mayOperate !== false) return undefined;
  return { code: 'pve_forbidden', message: `the API token lacks \`${privilege}\` on \`/vms/${guest.vmid}\`` };
}

/** Stopping needs no quorum; a guest that is rebooted without one goes down and does not come up again. */
function noCluster({ guest, action, quorate, nodeStatus }: Facts): Obstacle | undefined {
  if (quorate === false && action !== 'stop') {
    const why = action === 'reboot' ? 'it would go down and not come up again' : 'nothing can be started';
    return {
      code: 'pve_no_quorum',
      message: `the cluster has no quorum: ${why}`,
      next: 'the cluster takes no changes until most of its nodes are online again; see get_cluster_status',
    };
  }
  if (nodeStatus !== 'offline') return undefined;
  return {
    code: 'node_offline',
    message: `node ${guest.node} is offline, so ${describeTarget(guest)} cannot be reached`,
    next: `see get_cluster_status; wake_node may bring ${guest.node} up`,
  };
}

function wrongKind({ guest, action, state, template, lock }: Facts): Obstacle | undefined {
  const what = describeTarget(guest);
  if (template) {
    return {
      code: 'guest_is_template',
      message: `${what} is a template, which never runs`,
      next: 'name another guest: a person can make one of it by cloning',
    };
  }
  if (action !== 'reboot' && state.haState === 'error') {
    return {
      code: 'ha_error',
      message: `${what} is in the HA state \`error\`, in which the HA manager carries out no request`,
      next: haAdvice(guest, 'error') ?? 'ask the user',
    };
  }
  // A VM that was suspended to disk is locked so, and starting wakes it.
  if (lock === undefined || (lock === 'suspended' && action === 'start')) return undefined;
  return {
    code: 'guest_locked',
    message: `${what} is locked (\`${lock}\`), so it cannot be ${verbs[action]}`,
    next: `see with get_recent_tasks and \`filter\` \`${guest.vmid}\` whether a task of it is running, and wait for that; where there is none, a person can unlock it: \`${guest.guestType === 'qemu' ? 'qm' : 'pct'} unlock ${guest.vmid}\` on ${guest.node}`,
  };
}

function wrongState(facts: Facts): Obstacle | undefined {
  const { guest, action, state } = facts;
  if (action !== 'stop' && state.qmpStatus === 'paused') {
    return {
      code: 'guest_paused',
      message: `${describeTarget(guest)} is paused, and is neither started nor shut down so`,
      next: `a person can resume it: \`qm resume ${guest.vmid}\` on ${guest.node}`,
    };
  }
  if (action !== 'reboot') return alreadyThere(facts);
  if (state.status !== 'stopped') return undefined;
  return {
    code: 'guest_not_running',
    message: `${describeTarget(guest)} is stopped, and only a running guest is restarted`,
    next: `use start_${guest.guestType === 'qemu' ? 'vm' : 'container'}`,
  };
}

/** Where the HA manager wants something else than what is, the request still changes what it does next. */
function alreadyThere({ guest, action, state: { status, haState } }: Facts): Obstacle | undefined {
  if (status !== statusAfter[action]) return undefined;
  const agrees = haState === undefined || haState === 'ignored' || haState === haStateAfter(action);
  if (!agrees) return undefined;
  const list = guest.guestType === 'qemu' ? 'get_vms' : 'get_containers';
  return {
    code: `guest_already_${status}`,
    message: `${describeTarget(guest)} is ${status} already`,
    next: `nothing is to be done; look with ${list} and \`filter\` \`${guest.vmid}\``,
  };
}
