/** The end of tasks that outlived their call: asked for as long as this process lives, and written to the trail. */
import { setTimeout as sleep } from 'node:timers/promises';
import { reasonOf } from '#kernel/errors';
import type { JsonObject } from '#kernel/json';
import type { AuditLog } from '#kernel/ports/audit-log';
import type { ClusterPort } from '#kernel/ports/cluster';
import type { Log } from '#kernel/ports/log';
import { lookAt } from '#tools/support/follow-task';

export interface UnfinishedTask {
  readonly api: ClusterPort;
  readonly upid: string;
  /** Which call it belongs to, as the record of its end says it. */
  readonly attributes: JsonObject;
}

export interface TaskFollower {
  /** Returns at once; never fails. */
  follow(task: UnfinishedTask): void;
  /** Stops asking. What has not ended by then has no record of its end. */
  close(): Promise<void>;
}

/** In ms: the first wait, doubling up to the longest, until nobody asks any more. A backup or migration takes hours. */
const waits = { first: 2_000, longest: 30_000, inAll: 24 * 3_600_000 } as const;
/** Followed at a time; more are left to get_recent_tasks. */
const mostTasks = 50;

export function createTaskFollower({
  audit,
  log,
  firstWaitMs = waits.first,
}: {
  readonly audit: AuditLog;
  readonly log: Log;
  readonly firstWaitMs?: number;
}): TaskFollower {
  const closing = new AbortController();
  const following = new Map<string, Promise<void>>();

  async function followToEnd({ api, upid, attributes }: UnfinishedTask): Promise<void> {
    const { signal } = closing;
    const until = performance.now() + waits.inAll;
    for (let wait = firstWaitMs; performance.now() < until; wait = Math.min(wait * 2, waits.longest)) {
      // INVARIANT: not referenced: a task of the cluster keeps no process of ours alive.
      await sleep(wait, undefined, { ref: false, signal });
      const seen = await lookAt(api, upid, signal);
      if ('code' in seen || seen.running) continue;
      const exitStatus = seen.exitStatus ?? 'no exit status';
      await audit.append({ name: 'task.ended', attributes: { ...attributes, upid, exit_status: exitStatus } });
      log.info(`task ended after its call: ${upid} ${exitStatus}`);
      return;
    }
    log.warn(`task not seen to end within a day: ${upid}`);
  }

  return {
    follow(task) {
      if (closing.signal.aborted || following.has(task.upid) || following.size >= mostTasks) return;
      const done = followToEnd(task)
        .catch((thrown: unknown) => {
          if (!closing.signal.aborted) log.error(`the end of task ${task.upid} is not in the trail: ${reasonOf(thrown)}`);
        })
        .finally(() => following.delete(task.upid));
      following.set(task.upid, done);
    },
    async close() {
      closing.abort();
      await Promise.all(following.values());
    },
  };
}
