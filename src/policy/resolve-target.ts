/** From what a caller named to what it is. Pure: the rows come from the cluster itself. */
import { canonicalAddress } from '#kernel/address';
import { nodeNamePattern } from '#kernel/arguments';
import type { JsonObject } from '#kernel/json';
import {
  type CommandResource,
  type DestinationResource,
  type GuestResource,
  type GuestTarget,
  type GuestType,
  type HeldResource,
  type NewGuestResource,
  type NodeResource,
  type NodeTarget,
  type PathResource,
  type Resource,
  type ServiceTarget,
  type StorageResource,
  type Target,
  tagsIn,
} from '#kernel/resource';
import { unitName } from './service-units.ts';

/** The cluster's own rows. */
export interface Inventory {
  readonly cluster: string;
  readonly nodes: readonly {
    readonly node: string;
    readonly online: boolean;
    readonly addresses: readonly string[];
    readonly aliases: readonly string[];
  }[];
  readonly guests: readonly {
    readonly vmid: number;
    readonly node: string;
    readonly type: GuestType;
    readonly name?: string;
    readonly status: string;
    /** As Proxmox VE keeps them. */
    readonly tags?: readonly string[];
    /** null: in none. undefined: nobody asked, or the token cannot see it. */
    readonly pool?: string | null;
  }[];
  /** Tags that guests bore, those that they bear among them; left out where none decides. */
  readonly bore?: ReadonlyMap<number, readonly string[]>;
  /** Tags of scopes that guests got with nobody's consent; left out where none decides. */
  readonly gained?: ReadonlyMap<number, readonly string[]>;
  /** Of those the ones that an agent's clone or restore brings, which is not known to have ended well. */
  readonly brought?: ReadonlyMap<number, readonly string[]>;
  /** Left out where no storage is named. */
  readonly storages?: readonly { readonly storage: string; readonly node: string; readonly shared: boolean }[];
}

/** `target` is what it is as far as known, even where `problem` says the call named it wrongly: protection is tested on it all the same. */
export interface Resolution {
  readonly target?: Target;
  readonly problem?: { readonly code: string; readonly message: string };
}

export function resolveTarget(resource: Resource, inventory: Inventory): Resolution {
  // Sound: the table has, under each kind, the function for that kind.
  return (resolvers[resource.kind] as (resource: Resource, inventory: Inventory) => Resolution)(resource, inventory);
}

const asNamed = (target: CommandResource | PathResource | DestinationResource | HeldResource): Resolution => ({ target });

const resolvers: {
  readonly [Kind in Resource['kind']]: (resource: Extract<Resource, { kind: Kind }>, inventory: Inventory) => Resolution;
} = {
  guest: resolveGuest,
  new_guest: resolveNewGuest,
  node: (resource, inventory) => placed(resource, resolveNode(resource.node, resource.access, inventory)),
  storage: resolveStorage,
  tags: ({ kind, access, vmid, tags }, { cluster }) => ({ target: { kind, access, cluster, vmid, tags: tagsIn(tags?.join(' ')) } }),
  service: resolveService,
  command: asNamed,
  path: asNamed,
  destination: asNamed,
  held: asNamed,
};

function resolveGuest(resource: GuestResource, inventory: Inventory): Resolution {
  const row = inventory.guests.find((guest) => guest.vmid === resource.vmid);
  if (row === undefined) {
    return problem(
      'unknown_guest',
      `no guest ${resource.vmid} in cluster \`${inventory.cluster}\`, or the token may not see it; call get_vms or get_containers for what there is`,
    );
  }
  const target: GuestTarget = {
    kind: 'guest',
    access: resource.access,
    cluster: inventory.cluster,
    vmid: row.vmid,
    node: row.node,
    guestType: row.type,
    ...(row.name === undefined ? {} : { name: row.name }),
    status: row.status,
    addresses: [],
  };
  if (resource.guestType !== undefined && resource.guestType !== row.type) {
    return { target, ...wrongKind(row.vmid, row.type) };
  }
  if (resource.node !== undefined && resource.node !== row.node) {
    return {
      target,
      ...problem(
        'wrong_node',
        `guest ${row.vmid} is on node \`${row.node}\`, not on \`${resource.node}\`; call again with that node or without one`,
      ),
    };
  }
  return { target };
}

function wrongKind(vmid: number, actual: GuestType): Resolution {
  const [is, tools] =
    actual === 'qemu' ? ['a virtual machine (qemu)', 'the `…_vm` tools'] : ['a container (lxc)', 'the `…_container` tools'];
  return problem('wrong_kind', `guest ${vmid} is ${is}; use ${tools}`);
}

/** Its number may be another guest's that the token does not see: the cluster refuses that itself. */
function resolveNewGuest(resource: NewGuestResource, { cluster, guests }: Inventory): Resolution {
  const { vmid } = resource;
  const { from, ...named } = resource;
  // Until somebody has looked into the backup.
  const target = { ...named, cluster, ...(from === undefined ? {} : { from: { vmid: from.vmid, isSame: false } }) };
  const taken = guests.find((guest) => guest.vmid === vmid);
  if (taken === undefined) return { target };
  return {
    target,
    ...problem(
      'guest_exists',
      `${taken.type === 'qemu' ? 'VM' : 'container'} ${vmid} exists already, and nothing is overwritten: take another number`,
    ),
  };
}

/** On the node that is named, or the one of the guest. */
function resolveStorage({ access, storage, node, vmid }: StorageResource, inventory: Inventory): Resolution {
  const at = node ?? inventory.guests.find((guest) => guest.vmid === vmid)?.node;
  const rows = inventory.storages ?? [];
  const row = rows.find((entry) => entry.storage === storage && entry.node === at);
  if (row !== undefined) return { target: { kind: 'storage', access, cluster: inventory.cluster, ...row } };
  // The guest or node itself is the trouble: that is said of it.
  if (at === undefined || !inventory.nodes.some((entry) => entry.node === at)) return {};
  const there = rows.filter((entry) => entry.node === at).map((entry) => `\`${entry.storage}\``);
  const known = there.length === 0 ? '' : `; storages there: ${there.join(', ')}`;
  return problem('unknown_storage', `no storage \`${storage}\` on node \`${at}\`, or the token may not see it${known}`);
}

function placed({ place }: NodeResource, { target, problem: trouble }: Resolution): Resolution {
  const at = target?.kind === 'node' && place === true ? { ...target, place } : target;
  return { ...(at === undefined ? {} : { target: at }), ...(trouble === undefined ? {} : { problem: trouble }) };
}

function resolveNode(name: string, access: NodeTarget['access'], inventory: Inventory): Resolution {
  const row = inventory.nodes.find((entry) => entry.node === name);
  if (row !== undefined) return { target: nodeTarget(row, access, inventory) };
  const meant = inventory.nodes.find((entry) => answersTo(entry, name));
  if (meant !== undefined) {
    return {
      target: nodeTarget(meant, access, inventory),
      ...problem('unknown_node', `\`${name}\` is not a node's name; it looks like node \`${meant.node}\`: call again with that name`),
    };
  }
  const known = inventory.nodes.map((entry) => `\`${entry.node}\``).join(', ');
  if (!nodeNamePattern.test(name))
    return problem('invalid_input', `\`node\`: must be letters, digits, \`_\` or \`-\`, at most 50; nodes here: ${known}`);
  return problem('unknown_node', `no node \`${name}\` in cluster \`${inventory.cluster}\`; nodes here: ${known}`);
}

function answersTo(entry: Inventory['nodes'][number], name: string): boolean {
  const address = canonicalAddress(name);
  if (address !== undefined) return entry.addresses.some((own) => canonicalAddress(own) === address);
  const lower = name.toLowerCase().replace(/\.$/, '');
  return [entry.node, ...entry.aliases].some((alias) => alias.toLowerCase() === lower);
}

function nodeTarget(row: Inventory['nodes'][number], access: NodeTarget['access'], inventory: Inventory): NodeTarget {
  return { kind: 'node', access, cluster: inventory.cluster, node: row.node, online: row.online, addresses: row.addresses };
}

function resolveService(resource: Extract<Resource, { kind: 'service' }>, inventory: Inventory): Resolution {
  const { target: node, problem: trouble } = resolveNode(resource.node, resource.access, inventory);
  if (node?.kind !== 'node') return trouble === undefined ? {} : { problem: trouble };
  const target: ServiceTarget = {
    kind: 'service',
    access: resource.access,
    cluster: inventory.cluster,
    node: node.node,
    service: unitName(resource.service),
  };
  return trouble === undefined ? { target } : { target, problem: trouble };
}

function problem(code: string, message: string): Resolution {
  return { problem: { code, message } };
}

/**
 * The IP addresses of a guest, from its configuration (`GET /nodes/{node}/{qemu,lxc}/{vmid}/config`): `net0` of a container and `ipconfig0` of a cloud-init VM: `…,ip=192.168.1.65/24,ip6=fd00::1/64,…`. `dhcp`, `auto` and `manual` say nothing.
 */
export function guestAddresses(config: JsonObject): readonly string[] {
  const addresses = Object.entries(config)
    .filter(([key]) => /^(?:net|ipconfig)\d+$/.test(key))
    .flatMap(([, value]) => (typeof value === 'string' ? value.split(',') : []))
    .map((part) => /^ip6?=(.+)$/.exec(part.trim())?.[1])
    .map((text) => (text === undefined ? undefined : canonicalAddress(text)));
  return addresses.filter((address) => address !== undefined);
}
