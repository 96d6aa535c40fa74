/** What it means that a command ended badly: that depends on how far it had come. */
import { Fault } from '#kernel/errors';
import { formatDuration } from '#kernel/text';
import { cancelledFault, stopReason } from '../time-limit.ts';
import { ConnectionLost } from './node-connection.ts';
import type { CommandPlace } from './run-command.ts';
import { cancelledOnNodeFault, leftRunningFault, lostFault, type NodeAt, timeoutFault } from './ssh-fault.ts';

/** A command that has a connection and a channel of its own. */
export interface Run {
  readonly place: CommandPlace;
  readonly at: NodeAt;
  /** The node's own limit for the command. */
  readonly seconds: number;
  readonly signal: AbortSignal;
}

/** How far a command had come: `at` once its address was known, `run` once it could have started. */
export interface Progress {
  readonly node: string;
  at?: NodeAt;
  run?: Run;
}

/** `thrown` under `limited`, a signal of `withTimeLimit` over `limitMs`, as what the caller is told. */
export function readCommandEnd(thrown: unknown, progress: Progress, limited: AbortSignal, limitMs: number): unknown {
  const { node, run } = progress;
  if (thrown instanceof ConnectionLost && run) return lostFault(run.at, run.seconds);
  const reason = stopReason(limited);
  if (reason === undefined || thrown !== limited.reason) return thrown;
  if (reason === 'limit') return limitFault(progress, limitMs);
  return run ? cancelledOnNodeFault(run.at, run.seconds) : cancelledFault(limited, `ssh to \`${node}\``);
}

function limitFault({ node, at, run }: Progress, limitMs: number): Fault {
  if (run) return leftRunningFault(run.at, run.seconds, limitMs);
  if (at) return timeoutFault(at, `not connected, or no free channel, within ${formatDuration(limitMs)}; nothing was run`);
  return new Fault('ssh_timeout', `the address of node \`${node}\` was not found within ${formatDuration(limitMs)}`, { retryable: true });
}
