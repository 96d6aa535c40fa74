/** The demo cluster as its users see it. */
import type { DemoClock } from './manual-clock.ts';
import type { ApiFault, FaultHandle } from './pve/api-faults.ts';
import type { Cluster } from './pve/cluster.ts';
import type { ClusterSeed } from './pve/cluster-seed.ts';
import type { TaskMatch } from './pve/task-faults.ts';

/** The configuration (`app/config.ts`), as JSON: usable as `--config`. */
export interface DemoConfig {
  readonly clusters: readonly [DemoClusterConfig];
  readonly protected: {
    readonly nodes: readonly string[];
    readonly guests: readonly number[];
    readonly services: readonly string[];
    readonly addresses: readonly string[];
  };
}

export interface DemoClusterConfig {
  readonly name: string;
  /** One per node, the first on 127.0.0.1, the others on other loopback addresses where the machine has them. */
  readonly endpoints: readonly string[];
  readonly tokenId: string;
  readonly tokenFile: string;
  readonly tls: { readonly fingerprint: string | Readonly<Record<string, string>> };
  readonly ssh: {
    readonly user: string;
    readonly knownHosts: string;
    readonly identityFiles: readonly string[];
    readonly agent: false;
    readonly nodes: Readonly<Record<string, { readonly host: string; readonly port: number; readonly aliases: readonly string[] }>>;
  };
  readonly wake: { readonly via: readonly ['pve', 'http']; readonly http: string; readonly mac: Readonly<Record<string, string>> };
}

export interface DemoOptions {
  /** Port of the first API endpoint; 0 (default): any free one. A taken port rejects with `EADDRINUSE`. */
  readonly port?: number;
  /** Default: the machine's. A manual one makes tasks stand still until it is moved. */
  readonly clock?: DemoClock;
  /** Of load figures; default 1. Keys and secrets are always random. */
  readonly seed?: number;
  /** How long a start or stop takes, in ms; default 1,500. */
  readonly taskDurationMs?: number;
  /** Default `demo`. Otherwise the whole cluster; the first token of its `access` goes into the configuration. */
  readonly state?: 'demo' | ClusterSeed;
  /** What `tls.fingerprint` of the configuration pins: the first node's certificate only (default, as the README has it), or each. */
  readonly pins?: 'first' | 'each';
  /** Opens the control endpoint, for faults from another process. Default: no. */
  readonly control?: boolean;
}

/** Things that go wrong on purpose. `clear` undoes all of them. */
export interface DemoFaults {
  /** Spoils answers of the HTTP layer. */
  api(fault: ApiFault): FaultHandle;
  /** The node's API and ssh refuse connections; the others answer 595 for it, with this reason (default `Connection refused`). */
  nodeDown(node: string, reason?: 'Connection refused' | 'No route to host'): Promise<void>;
  nodeUp(node: string): Promise<void>;
  /** Only the node's `pveproxy` ends: its guests and tasks live on, the others see it online and answer 595 for it. */
  proxyDown(node: string): Promise<void>;
  proxyUp(node: string): Promise<void>;
  /** Every node sees itself only; what writes to the configuration fails. */
  loseQuorum(): void;
  regainQuorum(): void;
  revokeToken(tokenId: string): void;
  expireToken(tokenId: string): void;
  /** Another certificate, so that a pin no longer fits. Absent node: all. */
  swapCertificate(node?: string): void;
  /** A new certificate that the cluster knows of, as after `pvecm updatecerts`: the other nodes vouch for it. */
  renewCertificate(node: string): void;
  /** Of tasks that start from now on. */
  taskNeverEnds(match: TaskMatch): void;
  taskFails(match: TaskMatch, text: string): void;
  /** The task does its work and ends with `WARNINGS: n`. */
  taskWarns(match: TaskMatch, ...lines: readonly string[]): void;
  /** A clean shutdown or reboot gets no answer from the guest. */
  guestIgnoresShutdown(vmid: number): void;
  /** The HA manager takes requests and does nothing about them. */
  haStalls(): void;
  removeWakeAddress(node: string): void;
  readonly ssh: {
    changeHostKey(node: string): void;
    refuseAuth(node: string): void;
    refuseConnections(node: string): Promise<void>;
    refuseChannels(node: string): void;
    hang(node: string): void;
  };
  clear(): Promise<void>;
}

export interface DemoCluster {
  readonly config: DemoConfig;
  /** The first endpoint. */
  readonly url: string;
  /** Its certificate's SHA-256 fingerprint. */
  readonly fingerprint: string;
  /** PEM of the authority that issued all certificates, in the private directory. */
  readonly caFile: string;
  readonly faults: DemoFaults;
  /** State, tasks and access control, for tests. Call `cluster.tasks.advance()` before reading what time changes. */
  readonly cluster: Cluster;
  /** Token id → its `Authorization` header value. */
  readonly authorization: Readonly<Record<string, string>>;
  /** Requests that reached the HTTP wake-on-LAN service: node names. */
  readonly wakeRequests: readonly string[];
  /** Where to post faults; undefined without `control`. */
  readonly controlUrl: string | undefined;
  /** Stops everything and removes the private directory. Twice is no error. */
  close(): Promise<void>;
}
