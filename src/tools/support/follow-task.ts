/** Following a Proxmox VE task to its end: a POST that answers 200 has only been accepted. */
import type { ClusterPort, TaskStatus } from '#kernel/ports/cluster';
import type { ToolContext } from '#kernel/tool';

/** Poll intervals in ms: a stop takes a second, a container's start three; doubling up to 2 s keeps a long task cheap. */
const firstPollMs = 250;
const longestPollMs = 2_000;

export interface TaskEnd {
  readonly upid: string;
  /** `OK`, `WARNINGS: n`, or the error's text. */
  readonly exitStatus: string;
  readonly succeeded: boolean;
  readonly warnings: boolean;
  /** The log's last lines. */
  readonly log: readonly string[];
}

/**
 * Polls until the task has stopped. Runs as long as `context.signal` lets it; what to say when that aborts has been registered before.
 */
export async function followTask(api: ClusterPort, upid: string, context: ToolContext): Promise<TaskEnd> {
  context.stillRunning(`still running, ${upid}`);
  let wait = firstPollMs;
  let polls = 0;
  for (;;) {
    const status = await api.taskStatus(upid, context.signal);
    if (!status.running) return endOf(api, status, context.signal);
    polls += 1;
    context.progress(`waiting for the task to end (asked ${polls === 1 ? 'once' : `${polls} times`}), ${upid}`);
    await context.clock.sleep(wait, context.signal);
    wait = Math.min(wait * 2, longestPollMs);
  }
}

async function endOf(api: ClusterPort, status: TaskStatus, signal: AbortSignal): Promise<TaskEnd> {
  const exitStatus = status.exitStatus ?? 'no exit status';
  const warnings = /^WARNINGS: \d+/.test(exitStatus);
  const succeeded = exitStatus === 'OK' || warnings;
  // The outcome is known; a log that cannot be read must not turn it into an error.
  const log = await api.taskLog(status.upid, signal).catch(() => []);
  return { upid: status.upid, exitStatus, succeeded, warnings, log: log.slice(-10) };
}
