/** Whether a guest has become what an action was to make it: a task's end alone does not say so, least of all the HA manager's. */
import { type Fault, toFault } from '#kernel/errors';
import { isJsonObject, type JsonObject } from '#kernel/json';
import type { ClusterPort, GuestAction } from '#kernel/ports/cluster';
import type { GuestTarget } from '#kernel/resource';
import type { ToolContext } from '#kernel/tool';

/** What an action leads to, as `status/current` says it; `qmpStatus` where that alone tells it. */
const after: Readonly<Record<GuestAction, { readonly status: 'running' | 'stopped'; readonly qmpStatus?: string }>> = {
  start: { status: 'running' },
  stop: { status: 'stopped' },
  reboot: { status: 'running' },
  shutdown: { status: 'stopped' },
  reset: { status: 'running' },
  suspend: { status: 'running', qmpStatus: 'paused' },
  resume: { status: 'running', qmpStatus: 'running' },
};

/** `running`, `stopped` or `paused`. */
export function wantedState(action: GuestAction): string {
  const { status, qmpStatus } = after[action];
  return qmpStatus === 'paused' ? qmpStatus : status;
}

/** Whether the guest is what the action leads to. A cluster that tells no `qmpstatus` is believed by its `status`. */
export function isAfter({ status, qmpStatus }: Pick<GuestState, 'status' | 'qmpStatus'>, action: GuestAction): boolean {
  const wanted = after[action];
  return status === wanted.status && (wanted.qmpStatus === undefined || (qmpStatus ?? status) === wanted.qmpStatus);
}

/** A guest as it was last seen; undefined keys where that could not be read. */
export interface GuestState {
  readonly node: string;
  readonly status?: string;
  /** `running`, `paused`, …: a VM only. */
  readonly qmpStatus?: string;
  /** The HA manager's state of it (`started`, `error`, `fence`, …); absent where it manages it not. */
  readonly haState?: string;
  /** Why its status could not be read. */
  readonly fault?: Fault;
}

/** How long to wait for a plain guest: a VM's reboot task ends when it is down, another starts it about two seconds later. In ms. */
const settleMs = 10_000;
const settlePollMs = 500;
/** The HA manager looks every ten seconds, and its node's worker again. */
const haPollMs = 1_000;
/** Left of the call for the answer, in ms. */
const spareMs = 2_000;

/** HA states that do not lead to another one by themselves: waiting is of no use. */
const stuckStates: ReadonlySet<string> = new Set(['error', 'ignored']);

/**
 * Looks until the guest is what `action` leads to, its state cannot be read, the HA manager is stuck, or the time is over. An HA guest is
 * followed to wherever it is recovered.
 * @param byHa the request went to the HA manager: it is not carried out yet
 */
export async function settledState(guest: GuestTarget, action: GuestAction, byHa: boolean, context: ToolContext): Promise<GuestState> {
  const { api } = context.cluster();
  const until = byHa ? Number.POSITIVE_INFINITY : context.clock.now() + settleMs;
  let place: GuestTarget = guest;
  for (;;) {
    const state = await readState(api, place, context.signal);
    context.signal.throwIfAborted();
    place = { ...guest, node: state.node };
    if (isAsWanted(state, action, byHa) || isHopeless(state, byHa)) return state;
    if (context.clock.now() >= until || context.leftMs() < spareMs + haPollMs) return state;
    if (byHa) context.progress(`waiting for the HA manager to ${action} it: ${stateWords(state, guest.node)}`);
    await context.clock.sleep(byHa ? haPollMs : settlePollMs, context.signal);
  }
}

/**
 * A request to the HA manager is carried out when the manager's own state says so, too: a guest that was down already, or still runs on a
 * node that is being fenced, may be something else a moment later.
 */
export function isAsWanted(state: GuestState, action: GuestAction, byHa: boolean): boolean {
  return isAfter(state, action) && (!byHa || state.haState === undefined || state.haState === haStateAfter(action));
}

/** Of a resource that the HA manager has done with. */
export function haStateAfter(action: GuestAction): 'started' | 'stopped' {
  return after[action].status === 'stopped' ? 'stopped' : 'started';
}

function isHopeless({ status, haState }: GuestState, byHa: boolean): boolean {
  return byHa ? stuckStates.has(haState ?? '') : status === undefined;
}

/**
 * Never rejects. Where the guest's node does not answer, the cluster's rows say where it is and how it was lately. A resource that the HA
 * manager has no state of (it ignores it, or has not looked yet) has its configured one in those rows.
 */
export async function readState(api: ClusterPort, guest: GuestTarget, signal: AbortSignal): Promise<GuestState> {
  try {
    const state = stateOf(guest.node, await api.guestStatus(guest, signal));
    if (state.haState !== 'unknown') return state;
    const row = (await api.guests(signal).catch(() => [])).find((entry) => entry.vmid === guest.vmid);
    const configured = row?.raw['hastate'];
    return configured === 'ignored' ? { ...state, haState: configured } : state;
  } catch (thrown) {
    const fault = toFault(thrown);
    const row = (await api.guests(signal).catch(() => [])).find((entry) => entry.vmid === guest.vmid);
    const { node = guest.node, raw: { hastate: haState } = {} } = row ?? {};
    const unread = { node, fault, ...(typeof haState === 'string' ? { haState } : {}) };
    if (node === guest.node) return unread;
    return api.guestStatus({ ...guest, node }, signal).then(
      (moved) => stateOf(node, moved),
      () => unread,
    );
  }
}

function stateOf(node: string, row: JsonObject): GuestState {
  const { status, qmpstatus, ha } = row;
  const managed = isJsonObject(ha) && Number(ha['managed']) === 1;
  return {
    node,
    ...(typeof status === 'string' ? { status } : {}),
    ...(typeof qmpstatus === 'string' ? { qmpStatus: qmpstatus } : {}),
    ...(managed ? { haState: typeof ha['state'] === 'string' ? ha['state'] : 'unknown' } : {}),
  };
}

/** `it is running`, `it is running on Home (HA state \`error\`)`, `its state could not be read: …`. @param from where it was asked for */
export function stateWords({ node, status, haState, fault }: GuestState, from: string): string {
  const ha = haState === undefined ? '' : ` (HA state \`${haState}\`)`;
  if (status === undefined) return `its state could not be read${ha}${fault === undefined ? '' : `: ${fault.message}`}`;
  return `it is ${status}${node === from ? '' : ` on ${node}`}${ha}`;
}

/** What a person can do about an HA state that stands in the way; undefined where waiting is all. */
export function haAdvice(guest: GuestTarget, haState: string | undefined): string | undefined {
  const sid = `${guest.guestType === 'qemu' ? 'vm' : 'ct'}:${guest.vmid}`;
  if (haState === 'error')
    return `a person must clear the error on a node: \`ha-manager set ${sid} --state disabled\`, wait until \`ha-manager status\` shows it as disabled, mend what made it fail, then \`ha-manager set ${sid} --state started\`; until then the HA manager refuses every other request`;
  if (haState === 'recovery') return 'the HA manager looks for a node to start it on; where there is none, it waits until one is back';
  if (haState === 'migrate' || haState === 'relocate')
    return 'the HA manager is moving it to another node, and takes up requests afterwards';
  if (haState === 'fence') return 'its node is being fenced; the HA manager recovers it on another node afterwards, if there is one';
  if (haState === 'ignored')
    return `the HA manager ignores it; a person can change that: \`ha-manager set ${sid} --state started\` on a node`;
  if (haState === 'freeze') return 'the HA manager has frozen it while its node restarts, and takes up requests when the node is back';
  return undefined;
}
