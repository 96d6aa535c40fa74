/** What the HA stack knows: its configuration, and what its manager has made of it. `ha-manager.ts` moves it on. */
import { createHash } from 'node:crypto';
import { textOf } from '#kernel/json';
import type { GuestKind, GuestState } from './state.ts';

export const haStates = ['started', 'stopped', 'enabled', 'disabled', 'ignored'] as const;
export type HaRequest = (typeof haStates)[number];

/** States of a service in the CRM (`PVE/HA/Manager.pm`). */
export type CrmState =
  | 'request_start'
  | 'started'
  | 'request_stop'
  | 'stopped'
  | 'migrate'
  | 'relocate'
  | 'fence'
  | 'recovery'
  | 'freeze'
  | 'error';

export interface HaResource {
  /** `vm:112`, `ct:210`. */
  readonly sid: string;
  readonly kind: GuestKind;
  readonly vmid: number;
  /** As configured; undefined: PVE's default, `started`. */
  state: HaRequest | undefined;
  /** The rest of the section: `comment`, `group`, `max_restart`, `max_relocate`, `failback`. */
  readonly options: Map<string, string | number>;
  /** The manager's own state; undefined: it has not looked yet. */
  crmState: CrmState | undefined;
  /** Counts requests, so that an older one that is still being followed gives way. */
  round: number;
}

export interface HighAvailability {
  readonly resources: Map<string, HaResource>;
  /** The node whose manager is the master; undefined: no manager has run yet. */
  master: string | undefined;
  /** Rows of `/cluster/ha/rules`, as the API shows them. */
  readonly rules: object[];
  /** The manager takes requests and does nothing about them. */
  stalled: boolean;
}

export function createHighAvailability(): HighAvailability {
  return { resources: new Map(), master: undefined, rules: [], stalled: false };
}

/** Service id of a guest. */
export function sidOf({ kind, vmid }: Pick<GuestState, 'kind' | 'vmid'>): string {
  return `${kind === 'qemu' ? 'vm' : 'ct'}:${vmid}`;
}

/** What rules of affinity between guests say of a move: who would be moved along, and who on that node keeps it away. */
export function affinityOf(
  ha: HighAvailability,
  guest: GuestState,
): { readonly along: readonly string[]; readonly apart: readonly string[] } {
  const sid = sidOf(guest);
  const others = (affinity: string) =>
    ha.rules.flatMap((rule) => {
      const row = rule as Readonly<Record<string, unknown>>;
      const named = (textOf(row['resources']) ?? '').split(',');
      const counts = row['type'] === 'resource-affinity' && row['affinity'] === affinity && row['disable'] !== 1 && named.includes(sid);
      return counts ? named.filter((one) => one !== sid && ha.resources.has(one)) : [];
    });
  return managedResource(ha, guest) === undefined ? { along: [], apart: [] } : { along: others('positive'), apart: others('negative') };
}

/** Nodes on which a guest runs that is to be apart from this one, as the precondition of a move has them. */
export function nodesApart(ha: HighAvailability, guest: GuestState, guests: ReadonlyMap<number, GuestState>): ReadonlyMap<string, object> {
  const rows = affinityOf(ha, guest).apart.flatMap((sid) => {
    const node = guests.get(Number(sid.split(':')[1]))?.node;
    return node === undefined ? [] : [{ node, row: { sid, cause: 'resource-affinity' } }];
  });
  const byNode = Map.groupBy(rows, ({ node }) => node);
  return new Map([...byNode].map(([node, found]) => [node, { 'blocking-ha-resources': found.map(({ row }) => row) }]));
}

/** The resource whose power is HA's business: actions on an `ignored` one are carried out directly. */
export function managedResource(ha: HighAvailability, guest: Pick<GuestState, 'kind' | 'vmid'>): HaResource | undefined {
  const resource = ha.resources.get(sidOf(guest));
  return resource?.state === 'ignored' ? undefined : resource;
}

/** `ha` of a guest's `status/current` (`PVE::HA::Config::get_service_status`): an ignored resource is not managed. */
export function haStatusOf(ha: HighAvailability, guest: GuestState): object {
  const resource = managedResource(ha, guest);
  return resource === undefined ? { managed: 0 } : { managed: 1, state: resource.crmState ?? null };
}

/** `hastate` of a row of `/cluster/resources`: the manager's state, the configured one before it has looked. */
export function haStateOf(ha: HighAvailability, guest: GuestState): string | undefined {
  const resource = ha.resources.get(sidOf(guest));
  return resource?.crmState ?? resource?.state;
}

/** `PVE::HA::Tools::get_verbose_service_state`: what the web interface shows at once, before the guest has followed. */
export function verboseState(resource: HaResource, guest: GuestState | undefined): string {
  const wanted = requestOf(resource);
  const { crmState } = resource;
  if (wanted === 'ignored') return 'ignored';
  if (guest === undefined) return 'not found';
  if (crmState === 'started' && !guest.running) return 'starting';
  return feedback.get(`${crmState ?? ''} ${wanted}`) ?? crmState ?? 'queued';
}

/** CRM state and request → what is said instead of the state. */
const feedback: ReadonlyMap<string, string> = new Map([
  ['stopped started', 'starting'],
  ['stopped disabled', 'disabled'],
  ['started stopped', 'stopping'],
  ['started disabled', 'stopping'],
  ['error disabled', 'clearing error flag'],
]);

/** Why nothing but `disabled` may be asked of a resource in this state (`check_service_state`); undefined where it may. */
export function refusedInError({ sid, crmState }: HaResource, wanted?: HaRequest): string | undefined {
  if (crmState !== 'error' || wanted === 'disabled') return undefined;
  return `service '${sid}' in error state, must be disabled and fixed first`;
}

/** The request with PVE's default and its alias resolved. */
export function requestOf({ state = 'started' }: HaResource): Exclude<HaRequest, 'enabled'> {
  return state === 'enabled' ? 'started' : state;
}

/** SHA-1 of the resources' configuration, as `digest` has it. */
export function resourcesDigest(ha: HighAvailability): string {
  const sections = [...ha.resources.values()].map(({ sid, state, options }) => [sid, state, ...options]);
  return createHash('sha1').update(JSON.stringify(sections)).digest('hex');
}

/** Puts a guest under the manager's care; the manager has not looked yet. */
export function addResource(ha: HighAvailability, { kind, vmid }: Pick<GuestState, 'kind' | 'vmid'>): HaResource {
  const sid = sidOf({ kind, vmid });
  const resource: HaResource = { sid, kind, vmid, state: undefined, options: new Map(), crmState: undefined, round: 0 };
  ha.resources.set(sid, resource);
  return resource;
}
