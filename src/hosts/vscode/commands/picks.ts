/** Live rows as items of a quick pick. */
import type { ProtectedNames } from '#app/app';
import { type GuestRow, type NodeRow, offlineStatus } from '#kernel/ports/cluster';
import type { GuestType } from '#kernel/resource';
import { showPlainly } from '#kernel/text';

export interface Pick {
  readonly label: string;
  readonly description: string;
  /** A codicon's name. */
  readonly icon: string;
  /** What the choice fills in. */
  readonly fills: Readonly<Record<string, string | number>>;
  /** Why the call would be refused or come to nothing. */
  readonly blocked?: string;
}

/** What the cluster says now. */
export interface LiveRows {
  readonly guests: readonly GuestRow[];
  readonly nodes: readonly NodeRow[];
  /** Empty for a call that protection does not bind. */
  readonly protected: ProtectedNames;
}

export interface GuestFilter {
  readonly guestType?: GuestType;
  /** What the guest must be for the action to make sense; undefined: the call only looks. */
  readonly running?: boolean;
}

/**
 * By number, of the wanted kind. For an action templates and guests that are in that state already are left out; what is protected,
 * locked or on a node that is offline is marked. Partial rows (their node is offline) have no name.
 */
export function guestPicks(live: LiveRows, filter: GuestFilter): Pick[] {
  const offline = offlineNodes(live);
  return live.guests
    .filter((row) => filter.guestType === undefined || row.type === filter.guestType)
    .filter((row) => filter.running === undefined || isCandidate(row, filter.running, offline))
    .sort((a, b) => a.vmid - b.vmid)
    .map((row) => ({
      label: plainLabel(row.name === undefined ? String(row.vmid) : `${row.vmid}  ${row.name}`),
      description: plainLabel(`${offline.has(row.node) ? offlineStatus : row.status} on ${row.node}`),
      icon: guestIcon(row),
      fills: { vmid: row.vmid, node: row.node },
      ...blockedBy(filter.running === undefined ? undefined : guestBlock(row, live, offline)),
    }));
}

function offlineNodes({ nodes, guests }: LiveRows): ReadonlySet<string> {
  return new Set(
    [...nodes.filter((row) => row.status === 'offline'), ...guests.filter((row) => row.status === offlineStatus)].map((row) => row.node),
  );
}

/** What a guest on an offline node is doing is not known. */
function isCandidate(row: GuestRow, running: boolean, offline: ReadonlySet<string>): boolean {
  if (Number(row.raw['template'] ?? 0) === 1) return false;
  return offline.has(row.node) || (row.status === 'running') === running;
}

function guestBlock({ vmid, node, raw }: GuestRow, live: LiveRows, offline: ReadonlySet<string>): string | undefined {
  const { lock } = raw;
  return (
    live.protected.guests.get(vmid) ??
    (offline.has(node) ? `node ${node} is offline` : undefined) ??
    (typeof lock === 'string' && lock !== '' ? `it is locked (${lock}): an operation on it is running or was left unfinished` : undefined)
  );
}

function guestIcon(row: GuestRow): string {
  if (row.status === offlineStatus) return 'question';
  if (row.type === 'lxc') return 'package';
  return row.status === 'running' ? 'vm-running' : 'vm-outline';
}

/** @param toWake the action is about nodes that are off: the others are marked, and otherwise those */
export function nodePicks(live: Omit<LiveRows, 'guests'>, toWake: boolean): Pick[] {
  const rank = (row: NodeRow) => Number((row.status === 'online') === toWake);
  return [...live.nodes]
    .sort((a, b) => rank(a) - rank(b) || a.node.localeCompare(b.node))
    .map((row) => ({
      label: plainLabel(row.node),
      description: plainLabel(row.status),
      icon: 'server',
      fills: { node: row.node },
      ...blockedBy(live.protected.nodes.get(row.node) ?? nodeBlock(row, toWake)),
    }));
}

function nodeBlock({ node, status }: NodeRow, toWake: boolean): string | undefined {
  if (toWake) return status === 'online' ? `node ${node} is online already` : undefined;
  return status === 'offline' ? `node ${node} is offline` : undefined;
}

function blockedBy(reason: string | undefined): Partial<Pick> {
  // A row has one line: the policy's reason, without what it says to those who are refused.
  return reason === undefined ? {} : { blocked: plainLabel(reason.split(';')[0] ?? reason) };
}

/** The editor draws `$(name)` in labels as an icon; a backslash before it shows the text. */
export function plainLabel(text: string, maxLength = 120): string {
  return showPlainly(text, maxLength).replace(/\$\([A-Za-z0-9-]+(?:~[A-Za-z]+)?\)/g, '\\$&');
}
