/** What a cluster says now, for people: no tool call, so nothing of it is in the trail. */
import type { EffectiveAction } from './approval/request.ts';
import type { JsonObject } from './json.ts';
import type { GuestRef, GuestRow, NodeRow } from './ports/cluster.ts';
import type { Message } from './text/message.ts';

/** One thing that a cluster says now, for a person. `value` may hold outside text: show it plainly. */
export interface LiveFact {
  readonly label: Message;
  readonly value: Message;
  /** The guest, node or service that it is of, where a request names several. */
  readonly about?: Message;
  /** Worth stopping at. */
  readonly warns?: boolean;
}

/** Why each is protected, in the policy's words. */
export interface ProtectedNames {
  readonly guests: ReadonlyMap<number, string>;
  readonly nodes: ReadonlyMap<string, string>;
}

/** One look at a whole cluster. */
export interface ClusterOverview {
  /** Rows of `GET /cluster/resources`; those of guests and storages whose node is offline say so. */
  readonly resources: readonly JsonObject[];
  /** Tasks that run or ended lately, newest first. Absent: they cannot be read. */
  readonly tasks?: readonly JsonObject[];
}

export interface Unreadable {
  readonly failed: string;
}

/** All that the API says of one guest, secrets taken out; each part by itself. */
export interface GuestSheet {
  readonly status: JsonObject | Unreadable;
  readonly config: JsonObject | Unreadable;
  readonly snapshots: readonly JsonObject[] | Unreadable;
  readonly backups: readonly JsonObject[] | Unreadable;
  readonly tasks: readonly JsonObject[] | Unreadable;
  /** Of the last hour. */
  readonly metrics: readonly JsonObject[] | Unreadable;
}

/** Its first 500 lines, secrets taken out. */
export interface TaskLook {
  readonly running: boolean;
  readonly exitStatus?: string;
  readonly lines: readonly string[];
}

export interface LiveLists {
  readonly clusters: readonly string[];
  nodes(cluster: string, signal: AbortSignal): Promise<readonly NodeRow[]>;
  guests(cluster: string, signal: AbortSignal): Promise<readonly GuestRow[]>;
  /** Guests and nodes on which no call that changes anything gets through. Guests protected by an address or as another one's gateway, DNS server or storage alone are not among them. */
  protectedNames(cluster: string, signal: AbortSignal): Promise<ProtectedNames>;
  /** One or two requests, however large the cluster is. */
  overview(cluster: string, signal: AbortSignal): Promise<ClusterOverview>;
  /** Rejects only when `signal` aborts. */
  guest(cluster: string, guest: GuestRef, signal: AbortSignal): Promise<GuestSheet>;
  task(cluster: string, upid: string, signal: AbortSignal): Promise<TaskLook>;
  /** About what `action` touches: state, what runs there, HA, snapshots, last backup. What cannot be read is said. */
  facts(action: Pick<EffectiveAction, 'targets'>, signal: AbortSignal): Promise<readonly LiveFact[]>;
}
