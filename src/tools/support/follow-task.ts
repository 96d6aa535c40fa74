/** Following a Proxmox VE task to its end: a POST that answers 200 has only been accepted. */
import { Fault, toFault } from '#kernel/errors';
import type { ClusterPort, TaskStatus } from '#kernel/ports/cluster';
import type { ToolContext } from '#kernel/tool';

/** Poll intervals in ms: a stop takes a second, a container's start three; doubling up to 2 s keeps a long task cheap. */
const firstPollMs = 250;
const longestPollMs = 2_000;

/** Asking in vain ends so long before the call does, in ms: time for the state of the guest and the answer. */
const spareMs = 5_000;

/** Refusals (no token, no right) in a row after which asking again is of no use; other failures may pass. */
const mostRefusals = 3;

export interface TaskEnd {
  readonly upid: string;
  /** `OK`, `WARNINGS: n`, or the error's text. */
  readonly exitStatus: string;
  readonly succeeded: boolean;
  readonly warnings: boolean;
  /** The log's last lines. */
  readonly log: readonly string[];
}

/** The task goes on, as far as is known: nobody could be asked. */
export interface LostTask {
  readonly upid: string;
  readonly lost: Fault;
}

/**
 * Polls until the task has stopped, over whatever fails meanwhile: a token that was deleted or a node whose proxy died says nothing about the
 * task. Where its own node does not answer, the cluster's list may know the end. What is known is noted as it goes, for when `context.signal`
 * aborts.
 */
export async function followTask(api: ClusterPort, upid: string, context: ToolContext): Promise<TaskEnd | LostTask> {
  const end = await follow(api, upid, context, 0);
  // Never left: there is no time at which it would be.
  return 'left' in end ? { upid, lost: new Fault('internal_error', 'the task was left', { audience: 'bug' }) } : end;
}

/** It goes on, and the call has not the time to see its end. */
export interface LeftTask {
  readonly upid: string;
  readonly left: true;
}

/** For what may take hours: as `followTask`, but hands back in time what is still running. */
export async function followLongTask(api: ClusterPort, upid: string, context: ToolContext): Promise<TaskEnd | LostTask | LeftTask> {
  return follow(api, upid, context, spareMs);
}

async function follow(api: ClusterPort, upid: string, context: ToolContext, leaveAtMs: number): Promise<TaskEnd | LostTask | LeftTask> {
  context.noteEffect({ state: 'task', upid, lastSeen: 'accepted' });
  let wait = firstPollMs;
  let refusals = 0;
  for (let polls = 1; ; polls += 1) {
    const seen = await lookAt(api, upid, context.signal);
    if ('code' in seen) {
      refusals = isRefusal(seen) ? refusals + 1 : 0;
      if (refusals >= mostRefusals || context.leftMs() < spareMs + longestPollMs) return { upid, lost: seen };
      context.progress(`the task could not be asked about (${seen.message}), ${upid}`);
    } else {
      refusals = 0;
      if (!seen.running) return endOf(api, seen, context);
      context.noteEffect({ state: 'task', upid, lastSeen: 'running' });
      if (context.leftMs() < leaveAtMs) return { upid, left: true };
      context.progress(`waiting for the task to end (asked ${polls === 1 ? 'once' : `${polls} times`}), ${upid}`);
    }
    // Towards the end more often: PVE's own verdict on a guest that does not answer comes shortly before it.
    await context.clock.sleep(Math.min(wait, Math.max(firstPollMs, context.leftMs() / 4)), context.signal);
    wait = Math.min(wait * 2, longestPollMs);
  }
}

function isRefusal({ code }: Fault): boolean {
  return code === 'pve_unauthorized' || code === 'pve_forbidden';
}

/** The task as its node has it, else as the cluster's list does; the node's own failure where neither knows. */
export async function lookAt(api: ClusterPort, upid: string, signal: AbortSignal): Promise<TaskStatus | Fault> {
  try {
    return await api.taskStatus(upid, signal);
  } catch (thrown) {
    signal.throwIfAborted();
    const rows = await api.recentTasks(signal).catch(() => []);
    signal.throwIfAborted();
    const row = rows.find((entry) => entry['upid'] === upid);
    const { endtime, node, status } = row ?? {};
    if (endtime === undefined || typeof node !== 'string' || typeof status !== 'string') return toFault(thrown);
    return { upid, node, running: false, exitStatus: status };
  }
}

async function endOf(api: ClusterPort, status: TaskStatus, context: ToolContext): Promise<TaskEnd> {
  const { upid, exitStatus = 'no exit status' } = status;
  context.noteEffect({ state: 'task', upid, lastSeen: 'ended', exitStatus });
  const warnings = /^WARNINGS: \d+/.test(exitStatus);
  const succeeded = exitStatus === 'OK' || warnings;
  // The outcome is known; a log that cannot be read must not turn it into an error.
  const log = await api.taskLog(upid, context.signal).catch(() => []);
  return { upid, exitStatus, succeeded, warnings, log: log.slice(-10) };
}
