/**
 * The end of tasks that outlived their call: asked for as long as this process lives, and written to the trail. A process that stays takes up
 * those of earlier ones as well.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { AuditRecord } from '#kernel/audit-event';
import { reasonOf } from '#kernel/errors';
import { isJsonObject, type JsonObject, type JsonValue } from '#kernel/json';
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
  /** Follows the tasks of the last day whose end no record holds: the process that called was gone by then. Never rejects. */
  resume(apiOf: (cluster: string) => ClusterPort | undefined): Promise<void>;
  /** Stops asking. What has not ended by then has no record of its end. */
  close(): Promise<void>;
}

/** In ms: the first wait, doubling up to the longest, until nobody asks any more. A backup or migration takes hours. */
const waits = { first: 2_000, longest: 30_000, inAll: 24 * 3_600_000 } as const;
/** Followed at a time; more are left to get_recent_tasks. */
const mostTasks = 50;
/** Looked through for tasks without an end: a busy day has that many. */
const recordsLookedAt = 2_000;

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
      if (await isWritten(audit, upid, attributes['request_id'])) return;
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
    async resume(apiOf) {
      try {
        for (const task of unfinishedIn(await lastRecords(audit), apiOf)) this.follow(task);
      } catch (thrown) {
        if (!closing.signal.aborted) log.warn(`whether tasks of earlier processes have ended is not looked at: ${reasonOf(thrown)}`);
      }
    },
    async close() {
      closing.abort();
      await Promise.all(following.values());
    },
  };
}

async function lastRecords(audit: AuditLog): Promise<readonly AuditRecord[]> {
  const head = await audit.head();
  return head === undefined ? [] : audit.read(Math.max(0, head.sequence - recordsLookedAt), recordsLookedAt);
}

/** Several processes may follow the same task; one record of its end is enough. */
async function isWritten(audit: AuditLog, upid: string, requestId: unknown): Promise<boolean> {
  if (typeof requestId !== 'string') return false;
  const records = await audit.ofRequest(requestId, Date.now() - waits.inAll);
  return records.some(({ name, attributes }) => name === 'task.ended' && attributes['upid'] === upid);
}

/** Of calls that ended while their task went on, as far as its cluster is still configured. */
function unfinishedIn(records: readonly AuditRecord[], apiOf: (cluster: string) => ClusterPort | undefined): readonly UnfinishedTask[] {
  const ended = new Set(records.flatMap(({ name, attributes }) => (name === 'task.ended' ? [attributes['upid']] : [])));
  const since = Date.now() - waits.inAll;
  const left = records.filter(({ name, time }) => name === 'tool.finished' && Date.parse(time) >= since);
  return left.flatMap(({ attributes }) => {
    const upid = upidLeft(attributes['effect']);
    const api = apiOf(clusterIn(attributes['target']));
    return upid === undefined || ended.has(upid) || api === undefined ? [] : [{ api, upid, attributes: ofCall(attributes) }];
  });
}

function upidLeft(effect: JsonValue | undefined): string | undefined {
  const upid = isJsonObject(effect) && effect['last_seen'] !== 'ended' ? effect['upid'] : undefined;
  return typeof upid === 'string' ? upid : undefined;
}

/** Empty where no target names one. */
function clusterIn(targets: JsonValue | undefined): string {
  const [first] = Array.isArray(targets) ? targets : [];
  const cluster = isJsonObject(first) ? first['cluster'] : undefined;
  return typeof cluster === 'string' ? cluster : '';
}

/** What a record of its end says of the call. */
function ofCall(attributes: JsonObject): JsonObject {
  const kept = ['gen_ai.tool.name', 'gen_ai.tool.call.id', 'agent', 'request_id'];
  return Object.fromEntries(Object.entries(attributes).filter(([key]) => kept.includes(key)));
}
