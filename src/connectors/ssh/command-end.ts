/** What it means that a command ended badly: that depends on how far it had come. */
import { Fault } from '#kernel/errors';
import { notSent } from '#kernel/known-effect';
import { formatDuration } from '#kernel/text';
import { cancelledFault, stopReason } from '../time-limit.ts';
import { ConnectionLost } from './node-connection.ts';
import type { Run } from './run-command.ts';
import { cancelledOnNodeFault, leftRunningFault, lostFault, type NodeAt, stoppedOnNodeFault, timeoutFault } from './ssh-fault.ts';

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
export function stoppedOnNode(run: Run): Fault {
  return interrupted(stoppedOnNodeFault(run.at, run.seconds), run);
}

function interrupted(fault: Fault, { at, output }: Run): Fault {
  const { stdout, stderr, truncated } = output?.() ?? { stdout: '', stderr: '', truncated: false };
  const result = { node: at.node, stdout, stderr, exit_code: null, ...(truncated ? { truncated } : {}) };
  return fault.with({ effect: { state: 'sent' }, result });
}

function beforeStart({ node, at }: Progress, limited: AbortSignal, limitMs: number, reason: 'limit' | 'caller'): Fault {
  if (reason === 'caller') return cancelledFault(limited, `ssh to \`${node}\``);
  if (at) return timeoutFault(at, `not connected, or no free channel, within ${formatDuration(limitMs)}; nothing was run`);
  return new Fault('ssh_timeout', `the address of node \`${node}\` was not found within ${formatDuration(limitMs)}`, { retryable: true });
}

function withoutEffect(thrown: unknown): unknown {
  return thrown instanceof Fault ? thrown.with({ effect: notSent }) : thrown;
}
