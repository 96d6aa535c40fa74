/** Live rows as items of a quick pick. */
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
}

export interface GuestFilter {
  readonly guestType?: GuestType;
  readonly running?: boolean;
}

/** By number, of the wanted kind and state. Partial rows (their node is offline) have no name. */
export function guestPicks(rows: readonly GuestRow[], filter: GuestFilter): Pick[] {
  return (
    rows
      .filter((row) => filter.guestType === undefined || row.type === filter.guestType)
      // What is not known to run or to stand still cannot be started or stopped either.
      .filter((row) => filter.running === undefined || (row.status !== offlineStatus && (row.status === 'running') === filter.running))
      .sort((a, b) => a.vmid - b.vmid)
      .map((row) => ({
        label: plainLabel(row.name === undefined ? String(row.vmid) : `${row.vmid}  ${row.name}`),
        description: plainLabel(`${row.status} on ${row.node}`),
        icon: guestIcon(row),
        fills: { vmid: row.vmid, node: row.node },
      }))
  );
}

function guestIcon(row: GuestRow): string {
  if (row.status === offlineStatus) return 'question';
  if (row.type === 'lxc') return 'package';
  return row.status === 'running' ? 'vm-running' : 'vm-outline';
}

export function nodePicks(rows: readonly NodeRow[], offlineFirst: boolean): Pick[] {
  const rank = (row: NodeRow) => Number((row.status === 'online') === offlineFirst);
  return [...rows]
    .sort((a, b) => rank(a) - rank(b) || a.node.localeCompare(b.node))
    .map((row) => ({ label: plainLabel(row.node), description: plainLabel(row.status), icon: 'server', fills: { node: row.node } }));
}

/** The editor draws `$(name)` in labels as an icon; a backslash before it shows the text. */
export function plainLabel(text: string, maxLength = 120): string {
  return showPlainly(text, maxLength).replace(/\$\([A-Za-z0-9-]+(?:~[A-Za-z]+)?\)/g, '\\$&');
}
