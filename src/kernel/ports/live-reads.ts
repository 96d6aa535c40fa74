/** What the API's reads return of a whole cluster: enough to build a copy of it in memory (`docs/adr/0025-twin.md`). */

/** A row or object as the API returns it. */
export type Row = Readonly<Record<string, unknown>>;

export interface LiveGuest {
  readonly vmid: number;
  /** `…/config?current=1`: the values in force, with the digest. */
  readonly config: Row;
  /** `…/pending`; absent: nothing is pending. */
  readonly pending?: readonly Row[];
  /** `…/snapshot`, the row `current` included. */
  readonly snapshots: readonly Row[];
  /** Name → `…/snapshot/{name}/config`; a snapshot without is one of the guest as it is. */
  readonly snapshotConfigs?: Readonly<Record<string, Row>>;
  /** Its processors stand still (`qmpstatus` of `…/status/current`), which no list says. */
  readonly paused?: boolean;
}

/** What a copy answers with: `data` of a refusal is its message. */
export interface CopyAnswer {
  readonly status: number;
  readonly data: unknown;
  readonly errors?: Readonly<Record<string, string>>;
}

/** @param path below `/api2/json`, percent-decoded */
export type AskCopy = (verb: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, parameters: Row) => CopyAnswer;

/** What a copy is to know besides what every list has. */
export interface LiveWanted {
  readonly vmids: readonly number[];
  /** Nodes whose storages' contents matter. */
  readonly nodes: readonly string[];
  /** Backups whose configuration matters, and where they are seen. */
  /** Pools that guests are to get into. */
  readonly pools: readonly string[];
  readonly archives: readonly { readonly node: string; readonly volume: string }[];
}

/** What was read. Lists that were not, or that the token may not see, are empty: the twin has no more than its reader. */
export interface LiveReads {
  /** `/cluster/status` */
  readonly status: readonly Row[];
  /** `/cluster/resources` */
  readonly resources: readonly Row[];
  readonly guests: readonly LiveGuest[];
  /** `/storage` */
  readonly storages: readonly Row[];
  /**
   * `/nodes/{node}/storage/{storage}/content`, each row with the node it was read from, a backup with its configuration where that was read (`archived`); volumes of shared
   * storages once.
   */
  readonly volumes: readonly (Row & { readonly node?: string })[];
  /** `/pools?poolid=…` */
  readonly pools: readonly Row[];
  /** Service rows of `/cluster/ha/status/current`. */
  readonly ha: readonly Row[];
  /** Rows of `/cluster/ha/rules`: none before 9.0. */
  readonly haRules: readonly Row[];
  /** `/cluster/options` */
  readonly options: Row;
  /** `/cluster/backup` */
  readonly backupJobs: readonly Row[];
  /** `/access/permissions` of the token that will act: path → privilege → 0 or 1. */
  readonly permissions: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}
