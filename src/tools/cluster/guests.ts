/** The tools that look at guests. */
import * as z from 'zod';
import { clusterArgument, nodeArgument, pagingArguments, vmidArgument } from '#kernel/arguments';
import { reasonOf } from '#kernel/errors';
import { isJsonObject, type JsonObject, type JsonValue, textOf } from '#kernel/json';
import { type ClusterPort, offlineStatus } from '#kernel/ports/cluster';
import { describeTarget, type GuestTarget, type GuestType, targetWords } from '#kernel/resource';
import { type Message, say } from '#kernel/text/message';
import { defineTool, type Tool, type ToolContext, type ToolResult } from '#kernel/tool';
import { realSnapshots } from '../support/condition.ts';
import { type PagingInput, pageOf } from '../support/paging.ts';
import { guestNamed, guestOf } from '../support/targets.ts';
import { guestNeeds, listOutcome } from '../support/visible.ts';

export const getGuest = defineTool({
  name: 'get_guest',
  title: 'Get guest',
  description:
    'One Proxmox VE guest in full: state, configuration, snapshots, pending changes, addresses, high availability, backups. Changes are pending that wait for its next start; addresses come from its guest agent. Use it before changing a guest. All guests: get_vms, get_containers.',
  group: 'cluster',
  tier: 'green',
  impact: 'none',
  permission: 'data:read',
  outsideText: ['description', 'notes'],
  input: z.strictObject({ vmid: vmidArgument, node: nodeArgument.optional(), cluster: clusterArgument }),
  touches: (input) => [guestNamed('read', input)],
  headline: (_input, targets) => say`Read ${targetWords(guestOf(targets))}`,
  run: async (_input, context) => {
    const guest = guestOf(context.targets);
    const { parts, unreadable } = await readParts(context.cluster().api, guest, context.signal);
    const missing = Object.entries(unreadable);
    const why = missing.length === 0 ? '' : `; not readable: ${missing.map(([part, reason]) => `${part} (${reason})`).join(', ')}`;
    const { status, snapshots, backups } = parts;
    const counts = [
      ...(Array.isArray(snapshots) ? [`${snapshots.length} snapshots`] : []),
      ...(Array.isArray(backups) ? [`${backups.length} backups`] : []),
    ];
    return {
      ok: true,
      message: `${describeTarget(guest)} is ${textOf(status) ?? guest.status ?? 'in an unknown state'}${counts.map((part) => `, ${part}`).join('')}${why}`,
      result: {
        vmid: guest.vmid,
        node: guest.node,
        type: guest.guestType,
        ...(guest.name === undefined ? {} : { name: guest.name }),
        ...parts,
        ...(missing.length === 0 ? {} : { unreadable }),
      },
    };
  },
});

interface Parts {
  readonly parts: Readonly<Record<string, JsonValue>>;
  readonly unreadable: Readonly<Record<string, string>>;
}

/** Each part by itself: a token may see some of them, and a guest's agent may not run. */
async function readParts(api: ClusterPort, guest: GuestTarget, signal: AbortSignal): Promise<Parts> {
  const state = api.guestStatus(guest, signal);
  const reads: Readonly<Record<string, Promise<JsonValue>>> = {
    status: state.then(({ status, qmpstatus }) => (qmpstatus === 'paused' ? 'paused' : (status ?? 'unknown'))),
    uptime: state.then(({ uptime }) => uptime ?? 0),
    ha: state.then(({ ha }) => ha ?? null),
    config: api.guestConfig(guest, signal),
    pending: api.rows({ rows: 'pending', guest }, signal).then((rows) => rows.filter(isPending)),
    snapshots: api.snapshots(guest, signal).then((rows) => [...realSnapshots(rows)]),
    addresses: addressesOf(api, guest, signal),
    backups: api.guestBackups(guest, signal).then((rows) => rows.map(backupRow)),
  };
  const settled = await Promise.allSettled(Object.values(reads));
  signal.throwIfAborted();
  const named = Object.keys(reads).map((name, index) => ({ name, end: settled[index] }));
  return {
    parts: Object.fromEntries(named.flatMap(({ name, end }) => (end?.status === 'fulfilled' ? [[name, end.value]] : []))),
    unreadable: Object.fromEntries(named.flatMap(({ name, end }) => (end?.status === 'rejected' ? [[name, reasonOf(end.reason)]] : []))),
  };
}

function isPending(row: JsonObject): boolean {
  return row['pending'] !== undefined || row['delete'] !== undefined;
}

function backupRow({ volid = null, ctime = null, size = null, notes, protected: kept }: JsonObject): JsonObject {
  return { volid, ctime, size, ...(notes === undefined ? {} : { notes }), ...(kept === undefined ? {} : { protected: kept }) };
}

/** A VM's agent says them where it runs, a container's namespace always does. Loopback and link-local addresses tell nobody anything. */
async function addressesOf(api: ClusterPort, guest: GuestTarget, signal: AbortSignal): Promise<JsonValue> {
  if (guest.guestType === 'lxc') {
    const rows = await api.rows({ rows: 'interfaces', guest }, signal);
    return rows.map(({ name = null, ...row }) => ({ name, addresses: usable([row['inet'], row['inet6']]) })).filter(hasAddress);
  }
  const { result } = await api.record({ record: 'agent_network', guest }, signal);
  const interfaces = Array.isArray(result) ? result.filter(isJsonObject) : [];
  return interfaces.map(({ name = null, 'ip-addresses': list }) => ({ name, addresses: usable(ipsOf(list)) })).filter(hasAddress);
}

function ipsOf(list: JsonValue | undefined): readonly (JsonValue | undefined)[] {
  return Array.isArray(list) ? list.map((entry: JsonValue) => (isJsonObject(entry) ? entry['ip-address'] : undefined)) : [];
}

function usable(list: readonly (JsonValue | undefined)[]): string[] {
  return list.flatMap((value) => textOf(value) ?? []).filter((text) => text !== '' && !/^(?:127\.|::1\b|fe80:)/i.test(text));
}

function hasAddress({ addresses }: { readonly addresses: readonly string[] }): boolean {
  return addresses.length > 0;
}

interface GuestListing {
  readonly name: string;
  readonly type: GuestType;
  /** The result's key, for example `vms`. */
  readonly key: string;
  readonly noun: string;
  readonly headline: Message;
  readonly which: string;
  readonly others: string;
}

const listings: readonly GuestListing[] = [
  {
    name: 'get_vms',
    type: 'qemu',
    key: 'vms',
    noun: 'VM',
    headline: say`List the VMs`,
    which: 'VMs (qemu)',
    others: 'Containers: get_containers.',
  },
  {
    name: 'get_containers',
    type: 'lxc',
    key: 'containers',
    noun: 'container',
    headline: say`List the containers`,
    which: 'containers (lxc)',
    others: 'VMs: get_vms.',
  },
];

/** `get_vms` and `get_containers`: the same rows, one kind each. */
export const guestListTools: readonly Tool[] = listings.map((listing) =>
  defineTool({
    name: listing.name,
    title: `Get ${listing.noun}s`,
    description: `The ${listing.which} of the Proxmox VE cluster: vmid, name, node, status, CPU, memory, tags. ${listing.others}`,
    group: 'cluster',
    tier: 'green',
    impact: 'none',
    permission: 'data:read',
    input: z.strictObject({ cluster: clusterArgument, ...pagingArguments }),
    touches: () => [],
    headline: () => listing.headline,
    run: (input, context) => listGuests(listing, input, context),
  }),
);

async function listGuests(listing: GuestListing, input: PagingInput, context: ToolContext): Promise<ToolResult> {
  const { api } = context.cluster();
  const rows = (await api.guests(context.signal)).filter((guest) => guest.type === listing.type);
  const count = (status: string) => rows.filter((guest) => guest.status === status).length;
  const unknown = count(offlineStatus) === 0 ? '' : `, ${count(offlineStatus)} unknown (node offline)`;
  // Of a filtered list it would count what the list leaves out.
  const running = (input.filter ?? '') === '' ? `, ${count('running')} running${unknown}` : '';
  const page = pageOf(
    rows.map((guest) => guest.raw),
    input,
    { name: `${listing.key} of ${api.name}`, key: (row) => [Number(row['vmid'])] },
  );
  return listOutcome({ page, key: listing.key, noun: listing.noun, needs: guestNeeds, also: running }, api, context.signal);
}
