/** What a call touches: first as the caller named it, then as what it is. */
import type { ShownChange } from './effects.ts';
import { english, joined, type Message, say } from './text/message.ts';
import { showPlainly } from './text/text.ts';

export const guestTypes = ['qemu', 'lxc'] as const;
/** Proxmox VE's own names: `qemu` is a virtual machine, `lxc` a container. */
export type GuestType = (typeof guestTypes)[number];

/** `read` looks; `operate` changes state or runs something. */
export type Access = 'read' | 'operate';

/** A guest as the caller named it. `node` and `guestType` are claims that resolution checks. */
export interface GuestResource {
  readonly kind: 'guest';
  readonly access: Access;
  readonly vmid: number;
  readonly node?: string;
  readonly guestType?: GuestType;
  /** It is destroyed: whether a backup is left counts. */
  readonly destroyed?: true;
  /** It is copied onto the storages that it lies on: what else these hold counts. */
  readonly copied?: true;
}

/** What is said of a guest that is to be made. */
interface NewGuestFacts {
  readonly access: Access;
  readonly vmid: number;
  /** Absent: it gets into none. */
  readonly pool?: string;
  /** Absent: it is named after what it is made from. */
  readonly name?: string;
}

/** A guest that is to be made: nobody may have its number. */
export interface NewGuestResource extends NewGuestFacts {
  readonly kind: 'new_guest';
  /** The number that the guest had of whose backup it is made. */
  readonly from?: { readonly vmid: number; readonly node: string; readonly archive: string };
}

/** A storage that something is written to, as one node sees it: `node`, or the one on which the guest `vmid` is. */
export interface StorageResource {
  readonly kind: 'storage';
  readonly access: Access;
  readonly storage: string;
  readonly node?: string;
  readonly vmid?: number;
}

/** Tags that a guest gets: named, or those of its snapshot or of an archive that `node` sees. */
export interface TagsResource {
  readonly kind: 'tags';
  readonly access: Access;
  readonly vmid: number;
  readonly tags?: readonly string[];
  readonly snapshot?: string;
  readonly archive?: { readonly node: string; readonly volume: string };
}

/** A node as the caller named it: a row of the node list, or (to be refused with the right name) an address or alias. */
export interface NodeResource {
  readonly kind: 'node';
  readonly access: Access;
  readonly node: string;
  /** A guest is put there, and nothing is done to the node itself. */
  readonly place?: true;
}

/** A systemd unit on a node. Touching one is an action on the node, too. */
export interface ServiceResource {
  readonly kind: 'service';
  readonly access: Access;
  readonly node: string;
  readonly service: string;
}

export interface CommandResource {
  readonly kind: 'command';
  readonly access: Access;
  /** `agent_shell`: an agent's own shell, outside of every sandbox of ours; `agent_run`: there, and it is to be `banksman run` alone. */
  readonly surface: 'ssh' | 'readonly_bash' | 'workspace_command' | 'agent_shell' | 'agent_run';
  readonly text: string;
  /** The run is to have the network: something settles that for exactly this run. */
  readonly network?: boolean;
  /** Set where a person agreed to exactly this run without an enforced sandbox. */
  readonly unsandboxed?: boolean;
}

/** What a tool does with a path; `search` takes a file or a directory. */
export type PathUse = 'read' | 'write' | 'list' | 'search';

/** A path as the caller wrote it. Below `/tmp` it means the agent's own sandbox, otherwise the workspace. */
export interface PathResource {
  readonly kind: 'path';
  readonly access: Access;
  readonly path: string;
  /** undefined: `read` or `write`, as `access` says. */
  readonly use?: PathUse;
  /** An agent's own tool opens it: absolute, and `/tmp` is the machine's. */
  readonly machine?: true;
  /** What the path is after links, set by resolution: `src/a.ts`, `/tmp/a.ts`. Part of the digest. */
  readonly real?: string;
  /** Set where a person (or a rule that a person made) settled what the path policy asked about this very `real`. */
  readonly agreed?: boolean;
}

export interface DestinationResource {
  readonly kind: 'destination';
  readonly access: Access;
  readonly host: string;
}

/** Changes that wait for a person. The caller names `id`; the rest is what they are, set by resolution and part of the digest. */
export interface HeldResource {
  readonly kind: 'held';
  readonly access: Access;
  readonly id: string;
  /** Of every entry and all of its bytes. */
  readonly digest?: string;
  /** As a person is shown them. */
  readonly changes?: readonly ShownChange[];
  readonly more?: number;
  readonly lost?: boolean;
}

/** What a tool's `touches` names, so that the policy never guesses from argument names. */
export type Resource =
  | GuestResource
  | NewGuestResource
  | NodeResource
  | StorageResource
  | TagsResource
  | ServiceResource
  | CommandResource
  | PathResource
  | DestinationResource
  | HeldResource;

/** A guest as the cluster knows it. `addresses` are canonical (see `address.ts`) and come from its configuration. */
export interface GuestTarget {
  readonly kind: 'guest';
  readonly access: Access;
  readonly cluster: string;
  readonly vmid: number;
  readonly node: string;
  readonly guestType: GuestType;
  readonly name?: string;
  readonly status?: string;
  readonly addresses: readonly string[];
  /** Of one that is to be destroyed: how many backups of it the token sees; `unread`: nobody knows. */
  readonly backups?: number | 'unread';
}

export interface NewGuestTarget extends NewGuestFacts {
  readonly kind: 'new_guest';
  readonly cluster: string;
  /** `isSame`: who has the number now is the very guest that was backed up. */
  readonly from?: { readonly vmid: number; readonly isSame: boolean };
}

/** A row of the cluster's storages. */
export interface StorageTarget {
  readonly kind: 'storage';
  readonly access: Access;
  readonly cluster: string;
  readonly storage: string;
  readonly node: string;
  readonly shared: boolean;
}

/** `tags` in lower case and sorted, as Proxmox VE keeps them. */
export interface TagsTarget {
  readonly kind: 'tags';
  readonly access: Access;
  readonly cluster: string;
  readonly vmid: number;
  readonly tags: readonly string[];
}

/** A row of the cluster's own node list. `addresses` are canonical and come from the cluster and the ssh configuration. */
export interface NodeTarget {
  readonly kind: 'node';
  readonly access: Access;
  readonly cluster: string;
  readonly node: string;
  readonly online: boolean;
  readonly addresses: readonly string[];
  readonly place?: true;
}

/** A unit on a resolved node; `service` is the canonical unit name, suffix included (`docker.service`). */
export interface ServiceTarget {
  readonly kind: 'service';
  readonly access: Access;
  readonly cluster: string;
  readonly node: string;
  readonly service: string;
}

/** What a resource is, after resolution against live data. The approval, the call and the audit use this. */
export type Target =
  | GuestTarget
  | NewGuestTarget
  | NodeTarget
  | StorageTarget
  | TagsTarget
  | ServiceTarget
  | CommandResource
  | PathResource
  | DestinationResource
  | HeldResource;

const described: { readonly [Kind in Target['kind']]: (target: Extract<Target, { kind: Kind }>) => Message } = {
  guest: describeGuest,
  new_guest: ({ vmid, pool }) => (pool === undefined ? say`new guest ${vmid}` : say`new guest ${vmid} in pool ${pool}`),
  node: ({ node }) => say`node ${node}`,
  storage: ({ storage, node }) => say`storage ${storage} on ${node}`,
  tags: ({ vmid, tags }) => (tags.length === 0 ? say`tags of guest ${vmid}: none` : say`tags of guest ${vmid}: ${joined(tags)}`),
  service: ({ service, node }) => say`${service} on ${node}`,
  command: ({ text }) => say`command ${JSON.stringify(text)}`,
  path: ({ path }) => say`path ${path}`,
  destination: ({ host }) => say`destination ${host}`,
  held: ({ id }) => say`held changes ${id}`,
};

/** Whether a stored target is of a kind that can be described. */
export function isTargetKind(kind: unknown): kind is Target['kind'] {
  return typeof kind === 'string' && Object.hasOwn(described, kind);
}

/** A target in few words for people: `VM 100 (web) on pve`, `node pve`, `docker.service on pve`. */
export function targetWords(target: Target): Message {
  // Sound: the table has, under each kind, the function for that kind.
  return (described[target.kind] as (target: Target) => Message)(target);
}

/** The same for models, and whatever else is English. */
export function describeTarget(target: Target): string {
  return english(targetWords(target));
}

/** Units without which a node is none of its cluster's, and carries no guest's traffic. */
export const nodeServices: ReadonlySet<string> = new Set(['corosync.service', 'networking.service', 'pve-cluster.service']);

/** Tags as Proxmox VE keeps them: apart at blanks, `,` and `;`, in lower case, each once, sorted. */
export function tagsIn(text: unknown): readonly string[] {
  const words = typeof text === 'string' ? text.toLowerCase().split(/[\s,;]+/) : [];
  return [...new Set(words.filter((word) => word !== ''))].sort();
}

/** Of a name that anybody may give: what identifies the guest stands before and behind it, and must not be cut off. */
const longestName = 64;

function describeGuest({ guestType, vmid, name, node }: GuestTarget): Message {
  const guest = guestType === 'qemu' ? say`VM ${vmid}` : say`container ${vmid}`;
  const named = name ? say`${guest} (${showPlainly(name, longestName)})` : guest;
  return node === '' ? named : say`${named} on ${node}`;
}
