/** What the tools need of one Proxmox VE cluster. Rows keep the API's own field names; what is typed here is checked at the edge. */
import type { JsonObject } from '../json.ts';
import type { GuestType } from '../resource.ts';

/** `GET /cluster/status`: one `cluster` row (only if clustered) and a `node` row each. */
export interface ClusterStatusRow {
  readonly type: 'cluster' | 'node';
  readonly name: string;
  readonly quorate?: boolean;
  readonly nodes?: number;
  readonly nodeid?: number;
  readonly ip?: string;
  readonly online?: boolean;
  readonly local?: boolean;
}

/** `GET /nodes`. `status` is `online`, `offline` or `unknown`. */
export interface NodeRow {
  readonly node: string;
  readonly status: string;
  /** Every other field of the API's row. */
  readonly raw: JsonObject;
}

/**
 * The status of a guest or storage whose node is offline. The API goes on telling the last one for minutes; it is kept in the row as
 * `last_known_status`.
 */
export const offlineStatus = 'unknown, node offline';

/** A `qemu` or `lxc` row of `GET /cluster/resources`. Partial rows (node offline for long) have no name. */
export interface GuestRow {
  readonly vmid: number;
  readonly node: string;
  readonly type: GuestType;
  readonly status: string;
  readonly name?: string;
  readonly raw: JsonObject;
}

export interface GuestRef {
  readonly vmid: number;
  readonly node: string;
  readonly guestType: GuestType;
}

export type ResourceType = 'vm' | 'storage' | 'node' | 'sdn';
export type GuestAction = 'start' | 'stop' | 'reboot' | 'shutdown' | 'reset' | 'suspend' | 'resume';

export interface ActionParameters {
  /** How long the guest may take to shut down, in whole seconds; only for `reboot` and `shutdown`. Absent: the API's own 60. */
  readonly timeoutSeconds?: number;
  /** Stop it the hard way when that time is over; only for `shutdown`. */
  readonly forceStop?: boolean;
}

export type BackupMode = 'snapshot' | 'suspend' | 'stop';

/** What is done to a guest besides switching it. `digest` is of the configuration it was meant for: any other one is refused. */
export type GuestOperation =
  | { readonly kind: 'snapshot'; readonly name: string; readonly description?: string; readonly memory?: boolean }
  | { readonly kind: 'rollback'; readonly name: string }
  | { readonly kind: 'delete_snapshot'; readonly name: string }
  | {
      readonly kind: 'clone';
      readonly newVmid: number;
      readonly name?: string;
      readonly target?: string;
      readonly storage?: string;
      readonly pool?: string;
      readonly full?: boolean;
      readonly snapshot?: string;
    }
  /** `live`: it runs; a VM is moved as it runs, a container is stopped and started again. */
  | { readonly kind: 'migrate'; readonly target: string; readonly live: boolean; readonly localDisks: boolean; readonly storage?: string }
  | { readonly kind: 'resize'; readonly disk: string; readonly size: string; readonly digest?: string }
  | {
      readonly kind: 'configure';
      readonly set: Readonly<Record<string, string>>;
      readonly remove: readonly string[];
      readonly digest?: string;
    }
  /** `purge`: out of backup jobs, replication and HA, too. */
  | { readonly kind: 'destroy'; readonly purge: boolean }
  | { readonly kind: 'backup'; readonly storage: string; readonly mode: BackupMode; readonly notes?: string }
  /** The guest is the new one, on the node that it is to be on. */
  | { readonly kind: 'restore'; readonly archive: string; readonly storage?: string; readonly pool?: string };

/** `upid` where the API began a task; without one it is done already, or (`said`) the API says something that is no task. */
export interface OperationAnswer {
  readonly upid?: string;
  readonly said?: string;
}

export const timeframes = ['hour', 'day', 'week', 'month', 'year'] as const;
export type Timeframe = (typeof timeframes)[number];

/** Lists that the API has of one thing. Rows keep the API's own field names. */
export type RowsSource =
  | { readonly rows: 'pending' | 'interfaces'; readonly guest: GuestRef }
  | { readonly rows: 'services' | 'updates' | 'replication_state'; readonly node: string }
  /** `since` in seconds since the epoch; finished tasks and running ones. */
  | { readonly rows: 'tasks'; readonly node: string; readonly vmid?: number; readonly errors?: boolean; readonly since?: number }
  | { readonly rows: 'metrics'; readonly of: GuestRef | { readonly node: string }; readonly timeframe: Timeframe }
  /** `storage`: how each is defined, and where it is served from. */
  | { readonly rows: 'ha' | 'ha_rules' | 'ha_groups' | 'ha_resources' | 'replication' | 'storage' }
  /** The one pool, with its members. */
  | { readonly rows: 'pool'; readonly pool: string }
  | { readonly rows: 'content'; readonly node: string; readonly storage: string; readonly content: 'backup' | 'images' };

/** One thing that the API has, as an object. */
export type RecordSource =
  | { readonly record: 'agent_network' | 'agent_os'; readonly guest: GuestRef }
  | { readonly record: 'ceph' }
  /** Whether and where it may be migrated to; offline nodes are not told apart. */
  | { readonly record: 'migration'; readonly guest: GuestRef; readonly target?: string }
  | { readonly record: 'feature'; readonly guest: GuestRef; readonly feature: 'snapshot' | 'clone' | 'copy' }
  | { readonly record: 'snapshot_config'; readonly guest: GuestRef; readonly name: string }
  | { readonly record: 'storage'; readonly node: string; readonly storage: string };

/** `GET /nodes/{node}/tasks/{upid}/status`. `exitStatus` is `OK`, `WARNINGS: n` or the error's text once stopped. */
export interface TaskStatus {
  readonly upid: string;
  readonly node: string;
  readonly running: boolean;
  readonly exitStatus?: string;
}

/**
 * How an endpoint's certificate is recognised: by a CA, by the configured fingerprint, or by what a verified node said of its node.
 * `unseen`: the nodes' certificates are known, but nobody looked yet which of them answers there. `unknown`: there is only the one
 * fingerprint so far, so that this endpoint is of no use when the pinned node goes away.
 */
export type CertificateKnown = 'ca' | 'pinned' | 'learned' | 'unseen' | 'unknown';

/** One configured address of the API. */
export interface EndpointState {
  /** `https://host:port` */
  readonly origin: string;
  /** Which node answers there, as far as that is known. */
  readonly node?: string;
  readonly certificate: CertificateKnown;
}

/** Path → privilege → whether it is handed down to the paths below. A path or privilege that is not there is not held. */
export type Permissions = Readonly<Record<string, Readonly<Record<string, boolean>>>>;

/** On whose behalf a cluster is asked: where many ask at once, it decides whose turn it is. */
export interface Asker {
  /** An agent's id; the turns go round between askers. Empty: nobody's call. */
  readonly id: string;
  /** A person waits for it, or something is to be changed: before the others. */
  readonly first: boolean;
  /** Aborts when the call has been answered: nothing is sent after that. Absent: there is no call. */
  readonly until?: AbortSignal;
  /** Nothing is decided between its looks: which storages hold backups is read once. */
  readonly looksOnce?: boolean;
}

/** The client of one configured cluster. Every method honours `signal` down to the socket and rejects with a `Fault`. */
export interface ClusterPort {
  readonly name: string;
  /** The configured endpoints, in their order. Waits until what the first answer of this process began to learn of them is known. */
  endpoints(): Promise<readonly EndpointState[]>;
  clusterStatus(signal: AbortSignal): Promise<readonly ClusterStatusRow[]>;
  nodes(signal: AbortSignal): Promise<readonly NodeRow[]>;
  guests(signal: AbortSignal): Promise<readonly GuestRow[]>;
  resources(type: ResourceType | undefined, signal: AbortSignal): Promise<readonly JsonObject[]>;
  nodeStatus(node: string, signal: AbortSignal): Promise<JsonObject>;
  /** Newest first, as the API gives them (it takes no limit). */
  recentTasks(signal: AbortSignal): Promise<readonly JsonObject[]>;
  backups(node: string, storage: string, signal: AbortSignal): Promise<readonly JsonObject[]>;
  /** Of the token itself, on every path that has rights of its own. */
  permissions(signal: AbortSignal): Promise<Permissions>;
  /** For people: how an administrator gives this token `privilege` on `path`. */
  grantHint(privilege: string, path: string, signal: AbortSignal): Promise<string>;
  guestConfig(guest: GuestRef, signal: AbortSignal): Promise<JsonObject>;
  guestStatus(guest: GuestRef, signal: AbortSignal): Promise<JsonObject>;
  snapshots(guest: GuestRef, signal: AbortSignal): Promise<readonly JsonObject[]>;
  /**
   * Starts the action and returns its task's UPID. Never sent twice: on an ambiguous failure (time-out, reset) the client looks for
   * the task in the cluster's list and returns that, else rejects with `outcome_unknown`. Every fault says in `effect` what is known.
   */
  changeGuest(guest: GuestRef, action: GuestAction, signal: AbortSignal, parameters?: ActionParameters): Promise<string>;
  /** Sent once, as `changeGuest`; what has no task and whose answer is lost is `outcome_unknown`. */
  operate(guest: GuestRef, operation: GuestOperation, signal: AbortSignal): Promise<OperationAnswer>;
  rows(source: RowsSource, signal: AbortSignal): Promise<readonly JsonObject[]>;
  record(source: RecordSource, signal: AbortSignal): Promise<JsonObject>;
  /**
   * Those of one guest on every storage that its node sees and that may hold some. @throws {Fault} `backups_unread` where none is found and not each
   * storage could be read: that is no proof that there are none
   */
  guestBackups(guest: GuestRef, signal: AbortSignal): Promise<readonly JsonObject[]>;
  /** The configuration in a backup, as its file reads. */
  archivedConfig(node: string, archive: string, signal: AbortSignal): Promise<string>;
  /** Whether the cluster says that no guest has this number, seen or not. */
  isFree(vmid: number, signal: AbortSignal): Promise<boolean>;
  /** Polls the node named in the UPID, not the node that was called. */
  taskStatus(upid: string, signal: AbortSignal): Promise<TaskStatus>;
  taskLog(upid: string, signal: AbortSignal): Promise<readonly string[]>;
}
