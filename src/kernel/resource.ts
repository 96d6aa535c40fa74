/** What a call touches: first as the caller named it, then as what it is. */
import type { ShownChange } from './effects.ts';
import { showPlainly } from './text.ts';

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
}

/** A node as the caller named it: a row of the node list, or (to be refused with the right name) an address or alias. */
export interface NodeResource {
  readonly kind: 'node';
  readonly access: Access;
  readonly node: string;
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
  readonly surface: 'ssh' | 'readonly_bash' | 'workspace_command';
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
export type Resource = GuestResource | NodeResource | ServiceResource | CommandResource | PathResource | DestinationResource | HeldResource;

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
}

/** A row of the cluster's own node list. `addresses` are canonical and come from the cluster and the ssh configuration. */
export interface NodeTarget {
  readonly kind: 'node';
  readonly access: Access;
  readonly cluster: string;
  readonly node: string;
  readonly online: boolean;
  readonly addresses: readonly string[];
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
export type Target = GuestTarget | NodeTarget | ServiceTarget | CommandResource | PathResource | DestinationResource | HeldResource;

/** A target in few words for people: `VM 100 (web) on pve`, `node pve`, `docker.service on pve`. */
export function describeTarget(target: Target): string {
  switch (target.kind) {
    case 'guest':
      return describeGuest(target);
    case 'node':
      return `node ${target.node}`;
    case 'service':
      return `${target.service} on ${target.node}`;
    case 'command':
      return `command ${JSON.stringify(target.text)}`;
    case 'path':
      return `path ${target.path}`;
    case 'destination':
      return `destination ${target.host}`;
    case 'held':
      return `held changes ${target.id}`;
  }
}

/** Of a name that anybody may give: what identifies the guest stands before and behind it, and must not be cut off. */
const longestName = 64;

function describeGuest({ guestType, vmid, name, node }: GuestTarget): string {
  return `${guestType === 'qemu' ? 'VM' : 'container'} ${vmid}${name ? ` (${showPlainly(name, longestName)})` : ''}${node === '' ? '' : ` on ${node}`}`;
}
