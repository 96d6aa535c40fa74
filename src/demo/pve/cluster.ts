/** The one cluster behind all API endpoints and ssh nodes: state, access control, tasks, time. */

import { randomBytes } from 'node:crypto';
import type { Random } from '../random.ts';
import { AccessControl } from './access-control.ts';
import { createHighAvailability, type HighAvailability } from './high-availability.ts';
import { buildState, type ClusterSeed, type ClusterState, memberPaths, type NodeState } from './state.ts';
import { type DemoClock, TaskEngine, TaskFaults } from './task-engine.ts';

/** What the API tells about certificates: PEM and SHA-256 fingerprint. */
export interface ClusterCertificates {
  /** PEM of the authority that issued them. */
  authority: string;
  readonly nodes: Map<string, { readonly certificatePem: string; readonly fingerprint: string }>;
}

export interface Cluster {
  readonly state: ClusterState;
  readonly access: AccessControl;
  readonly tickets: TicketOffice;
  readonly tasks: TaskEngine;
  readonly taskFaults: TaskFaults;
  readonly clock: DemoClock;
  readonly random: Random;
  /** How long a start or stop takes, in ms; other steps are multiples. */
  readonly taskDurationMs: number;
  readonly certificates: ClusterCertificates;
  readonly ha: HighAvailability;
  /** Called whenever a node or its proxy goes down or comes up. */
  onNodeChange: (node: NodeState) => void;
}

export interface ClusterOptions {
  readonly seed: ClusterSeed;
  readonly clock: DemoClock;
  readonly random: Random;
  readonly taskDurationMs: number;
}

export function createCluster(options: ClusterOptions): Cluster {
  const { seed, clock, random, taskDurationMs } = options;
  const state = buildState(seed, clock.now());
  const taskFaults = new TaskFaults(taskDurationMs);
  const tasks = new TaskEngine(clock, (node) => state.nodes.get(node)?.bootedAt ?? clock.now(), taskFaults.filter);
  for (const task of [...seed.tasks].sort((one, other) => other.startedSecondsAgo - one.startedSecondsAgo)) tasks.addFinished(task);
  return {
    state,
    access: new AccessControl(seed.access, {
      poolsOf: (path) => [...state.pools.values()].filter((pool) => memberPaths(pool).includes(path)).map((pool) => pool.id),
      members: () => [...state.pools.values()].flatMap(memberPaths),
    }),
    tickets: createTicketOffice(clock),
    tasks,
    taskFaults,
    clock,
    random,
    taskDurationMs,
    certificates: { authority: '', nodes: new Map() },
    ha: createHighAvailability(),
    onNodeChange: () => undefined,
  };
}

/** Whether `viewer` sees `node` as a member that is online. Without quorum a node sees itself only. */
export function seesOnline(cluster: Cluster, viewer: string, node: NodeState): boolean {
  return node.up && (node.name === viewer || cluster.state.quorate);
}

/** Ends or starts a node's `pveproxy`. */
export function setProxyUp(cluster: Cluster, name: string, up: boolean): void {
  const node = cluster.state.nodes.get(name);
  if (node === undefined || node.proxyUp === up) return;
  node.proxyUp = up;
  cluster.onNodeChange(node);
}

const lifetimeMs = 2 * 3_600_000;

export interface Ticket {
  readonly ticket: string;
  readonly csrfToken: string;
}

export interface TicketOffice {
  issue(user: string): Ticket;
  /** The user behind a ticket; undefined when it is unknown or older than two hours. */
  userOf(ticket: string): string | undefined;
  csrfTokenFits(ticket: string, csrfToken: string | undefined): boolean;
}

function createTicketOffice(clock: DemoClock): TicketOffice {
  const issued = new Map<string, { readonly user: string; readonly csrfToken: string; readonly at: number }>();
  return {
    issue(user) {
      const at = clock.now();
      const stamp = Math.floor(at / 1000)
        .toString(16)
        .toUpperCase()
        .padStart(8, '0');
      const ticket = `PVE:${user}:${stamp}::${randomBytes(128).toString('base64')}`;
      const csrfToken = `${stamp}:${randomBytes(32).toString('base64')}`;
      issued.set(ticket, { user, csrfToken, at });
      return { ticket, csrfToken };
    },
    userOf(ticket) {
      const known = issued.get(ticket);
      return known !== undefined && clock.now() - known.at <= lifetimeMs ? known.user : undefined;
    },
    csrfTokenFits(ticket, csrfToken) {
      const known = issued.get(ticket);
      return known !== undefined && known.csrfToken === csrfToken;
    },
  };
}
