/** What surely stands in the way of an action on a guest: looked at before a person is asked for what cannot work. */
import type { ClusterPort, GuestAction } from '#kernel/ports/cluster';
import { describeTarget, type GuestTarget } from '#kernel/resource';
import type { Obstacle } from '#kernel/tool';
import { type GuestState, haAdvice, haStateAfter, readState, statusAfter } from './guest-state.ts';
import { holds } from './visible.ts';

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
