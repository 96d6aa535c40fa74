/** Commands on cluster nodes over ssh (RFC 4254), by ssh2. */

import { homedir } from 'node:os';
import { join } from 'node:path';
import { Fault } from '#kernel/errors';
import { notSent } from '#kernel/known-effect';
import type { Clock } from '#kernel/ports/clock';
import type { Log } from '#kernel/ports/log';
import type { NodeShell, ShellResult } from '#kernel/ports/shell';
import { say } from '#kernel/text/message';
import { formatDuration } from '#kernel/text/text';
import { cancelledFault, stopReason, withTimeLimit } from '../time-limit.ts';
import { createConnectionPool } from './connection-pool.ts';
import { createKnownHostsFile } from './host-key-check.ts';
import { nodeLimitSeconds, wasTimedOut, wrapCommand } from './remote-command.ts';
import { type Run, runCommand } from './run-command.ts';
import * as faults from './ssh-fault.ts';
import {
  ConnectionLost,
  cancelledOnNodeFault,
  leftRunningFault,
  lostFault,
  type NodeAt,
  stoppedOnNodeFault,
  timeoutFault,
} from './ssh-fault.ts';

export interface NodeShellOptions {
  /** The cluster's configured name, for messages. */
  readonly cluster: string;
  readonly user: string;
  /** A file in OpenSSH's format; `~/` is the home directory. */
  readonly knownHosts: string;
  readonly identityFiles: readonly string[];
  /** Whether the agent behind `agentSocket` may be used. */
  readonly agent: boolean;
  /** Default: `SSH_AUTH_SOCK`. */
  readonly agentSocket?: string;
  readonly nodes: Readonly<Record<string, { readonly host: string; readonly port: number }>>;
  /** Where a node without an entry is found (port 22); undefined: nowhere. */
  readonly addressOf?: (node: string, signal: AbortSignal) => Promise<string | undefined>;
  /** Limit of one command in ms, connecting included. The node itself ends the command 3 s earlier. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly log: Log;
}

export interface ClosableNodeShell extends NodeShell {
  /** Connects, checks the host key and logs in, runs nothing: for `doctor`. @throws {Fault} as `exec` */
  probe(node: string, signal: AbortSignal): Promise<void>;
  /** Ends every connection and, with it, what is running; nothing can be run afterwards. */
  close(): void;
}

export function createNodeShell(options: NodeShellOptions): ClosableNodeShell {
  const { clock, log, timeoutMs } = options;
  const pool = createConnectionPool({
    clock,
    knownHosts: createKnownHostsFile(expandHome(options.knownHosts)),
    identities: { identityFiles: options.identityFiles.map(expandHome), ...agentSocketOf(options) },
    timeoutMs: Math.min(10_000, timeoutMs),
  });

  const closed = new AbortController();

  /** `work` with the node's connection, under the limit. */
  async function withNode<Result>(node: string, caller: AbortSignal, work: (run: Run) => Promise<Result>): Promise<Result> {
    const signal = AbortSignal.any([caller, closed.signal]);
    if (signal.aborted) throw cancelledFault(signal, `ssh to \`${node}\``);
    const deadline = clock.now() + timeoutMs;
    return withTimeLimit(clock, timeoutMs, signal, async (limited) => {
      const progress: Progress = { node };
      try {
        const at = await locate(options, node, limited);
        progress.at = at;
        return await pool.use(at, limited, (place) => {
          progress.run = { place, at, seconds: nodeLimitSeconds(deadline - clock.now()), signal: limited, asked: false };
          return work(progress.run);
        });
      } catch (thrown) {
        throw readCommandEnd(thrown, progress, limited, timeoutMs);
      }
    });
  }

  return {
    exec: (node, command, signal) =>
      withNode(node, signal, async (run) => {
        const startedAt = clock.now();
        const result: ShellResult = await runCommand(run, wrapCommand(command, run.seconds));
        if (wasTimedOut(result.exitCode, clock.now() - startedAt, run.seconds)) throw stoppedOnNode(run);
        if (result.truncated) log.debug(`${node}: output of a command was cut`);
        return result;
      }),
    probe: (node, signal) => withNode(node, signal, () => Promise.resolve()),
    close() {
      closed.abort();
      pool.close();
    },
  };
}

async function locate({ nodes, user, addressOf, cluster }: NodeShellOptions, node: string, signal: AbortSignal): Promise<faults.NodeAt> {
  const entry = Object.hasOwn(nodes, node) ? nodes[node] : undefined;
  if (entry) return { node, user, host: entry.host, port: entry.port };
  const host = await addressOf?.(node, signal);
  if (host === undefined) throw faults.notConfiguredFault(node, cluster);
  return { node, user, host, port: 22 };
}

function agentSocketOf({ agent, agentSocket = process.env['SSH_AUTH_SOCK'] }: NodeShellOptions): { agentSocket?: string } {
  return agent && agentSocket ? { agentSocket } : {};
}

function expandHome(path: string): string {
  return path === '~' || path.startsWith('~/') ? join(homedir(), path.slice(1)) : path;
}

// What it means that a command ended badly: that depends on how far it had come.

/** How far a command had come: `at` once its address was known, `run` once it could have started. */
export interface Progress {
  readonly node: string;
  at?: NodeAt;
  run?: Run;
}

/**
 * `thrown` under `limited`, a signal of `withTimeLimit` over `limitMs`, as what the caller is told: what is known of the command's effect
 * and what it had printed until then included.
 */
export function readCommandEnd(thrown: unknown, progress: Progress, limited: AbortSignal, limitMs: number): unknown {
  const { run } = progress;
  const reason = thrown === limited.reason ? stopReason(limited) : undefined;
  if (run?.asked !== true) return withoutEffect(reason === undefined ? thrown : beforeStart(progress, limited, limitMs, reason));
  if (thrown instanceof ConnectionLost) return interrupted(lostFault(run.at, run.seconds), run);
  if (reason === undefined) return thrown;
  const fault = reason === 'limit' ? leftRunningFault(run.at, run.seconds, limitMs) : cancelledOnNodeFault(run.at, run.seconds);
  return interrupted(fault, run);
}

/** The node's own `timeout` ended the command. */
function stoppedOnNode(run: Run): Fault {
  return interrupted(stoppedOnNodeFault(run.at, run.seconds), run);
}

function interrupted(fault: Fault, { at, output }: Run): Fault {
  const { stdout, stderr, truncated } = output?.() ?? { stdout: '', stderr: '', truncated: false };
  const result = { node: at.node, stdout, stderr, exit_code: null, ...(truncated ? { truncated } : {}) };
  return fault.with({ effect: { state: 'sent' }, result });
}

function beforeStart({ node, at }: Progress, limited: AbortSignal, limitMs: number, reason: 'limit' | 'caller'): Fault {
  if (reason === 'caller') return cancelledFault(limited, `ssh to \`${node}\``);
  if (at) return timeoutFault(at, say`not connected, or no free channel, within ${formatDuration(limitMs)}; nothing was run`);
  return new Fault('ssh_timeout', say`the address of node \`${node}\` was not found within ${formatDuration(limitMs)}`, {
    retryable: true,
  });
}

function withoutEffect(thrown: unknown): unknown {
  return thrown instanceof Fault ? thrown.with({ effect: notSent }) : thrown;
}
