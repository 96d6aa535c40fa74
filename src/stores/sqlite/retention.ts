/** Keeps the file from growing without end: drops what is old enough, and says so in the trail itself. */
import { setTimeout as sleep } from 'node:timers/promises';
import { flawOf } from '#audit/verify-chain';
import { leastKeptMs } from '#audit/verify-tree';
import type { AuditRecord, ChainPoint } from '#kernel/audit-event';
import type { JsonObject } from '#kernel/json';
import type { Database, Transaction } from './database.ts';
import { type AppendSealed, recordOf } from './sqlite-audit.ts';

/** In ms and bytes. */
export interface Retention {
  /** Requests that are over are kept this long after they were made. */
  readonly requestsMs: number;
  /** Records are kept this long, */
  readonly auditMs: number;
  /** or until the file holds this much, */
  readonly bytes: number;
  /** but never less than this: whoever floods the trail must not wash away what they did before. */
  readonly auditLeastMs: number;
}

const dayMs = 86_400_000;
export const defaultRetention: Retention = {
  requestsMs: 30 * dayMs,
  auditMs: 90 * dayMs,
  bytes: 200_000_000,
  auditLeastMs: leastKeptMs,
};

/** Nothing is dropped before the oldest is over its time by this share, so that the trail is not full of its own pruning. */
const slack = 0.02;
/** Over the size, so much is dropped that this share of it is left. */
const lowWater = 0.9;
/** At most this many go at once, and so many records are looked at: nobody waits longer than that for the lock, or for this thread. */
const batch = 1000;
const requestBatch = 200;
const lookBatch = 100;
const maxBatches = 20;
/** After each step others have a turn: as long as the step took, and at least this, in ms. */
const leastRest = 10;

interface Sweep {
  readonly now: number;
  readonly append: AppendSealed;
  readonly retention?: Retention;
}

/** One sweep, in small steps. Resolves when nothing more is to be dropped now, or enough was. */
export async function prune(database: Database, { now, append, retention = defaultRetention }: Sweep): Promise<void> {
  for (let done = 0; done < maxBatches; done += 1) {
    if (!(await database.read((tx) => areRequestsDue(tx, now, retention)))) break;
    await restAfter(() => database.write((tx) => pruneRequests(tx, now - retention.requestsMs)));
  }
  for (let done = 0; done < maxBatches; done += 1) {
    const due = await database.read((tx) => auditDue(tx, now, retention));
    const run = due && (await soundRun(database, due));
    if (!run || !(await restAfter(() => database.write((tx) => pruneAudit(tx, run, append))))) return;
  }
}

async function restAfter<T>(step: () => Promise<T>): Promise<T> {
  const started = performance.now();
  const value = await step();
  // It must not keep a process alive.
  await sleep(Math.max(leastRest, performance.now() - started), undefined, { ref: false });
  return value;
}

function areRequestsDue(tx: Transaction, now: number, { requestsMs }: Retention): boolean {
  const oldest = tx.get('SELECT created_at FROM requests ORDER BY seq LIMIT 1');
  return oldest !== undefined && Number(oldest.created_at) < now - requestsMs * (1 + slack);
}

/** The schema lets go of nothing that is open or younger than the mark. */
function pruneRequests(tx: Transaction, before: number): void {
  tx.run('UPDATE retention SET requests_before = max(requests_before, ?)', before);
  tx.run(
    'DELETE FROM requests WHERE seq IN (SELECT seq FROM requests WHERE created_at < ? AND due_at IS NULL ORDER BY seq LIMIT ?)',
    before,
    requestBatch,
  );
}

interface Due {
  /** Records from before this moment (ms) go. */
  readonly before: number;
  readonly atMost: number;
}

function auditDue(tx: Transaction, now: number, { auditMs, auditLeastMs, bytes }: Retention): Due | undefined {
  const oldest = tx.get('SELECT sequence, body FROM audit ORDER BY sequence LIMIT 1');
  const since = oldest && timeOf(recordOf(oldest));
  if (since === undefined) return undefined;
  if (since < now - auditMs * (1 + slack)) return { before: now - auditMs, atMost: batch };
  const used = usedBytes(tx);
  if (used <= bytes || since >= now - auditLeastMs) return undefined;
  const share = 1 - (bytes * lowWater) / used;
  const records = Number(tx.get('SELECT max(sequence) - min(sequence) + 1 AS n FROM audit')?.n);
  return { before: now - auditLeastMs, atMost: Math.min(batch, Math.ceil(records * share)) };
}

function usedBytes(tx: Transaction): number {
  const pragma = (name: string): number => Number(tx.get(`PRAGMA ${name}`)?.[name]);
  return (pragma('page_count') - pragma('freelist_count')) * pragma('page_size');
}

/** The oldest records, one after the other, that are old enough and fit. */
interface Run {
  readonly first: number;
  readonly last: AuditRecord;
}

/**
 * SECURITY: a record that does not fit stays, and all after it: it is the evidence. Looked at in small pages that hold no lock; what goes between
 * two of them goes from the front.
 */
async function soundRun(database: Database, { before, atMost }: Due): Promise<Run | undefined> {
  let run: Run | undefined;
  for (let looked = 0; looked < atMost; ) {
    const limit = Math.min(lookBatch, atMost - looked);
    const records = await restAfter(() => database.read((tx) => recordsAfter(tx, run?.last.sequence ?? 0, limit)));
    const sound = soundPrefix(records, before, run?.last);
    const last = sound.at(-1);
    if (last) run = { first: run?.first ?? sound[0]?.sequence ?? last.sequence, last };
    looked += records.length;
    if (sound.length < limit) break;
  }
  return run;
}

function recordsAfter(tx: Transaction, sequence: number, limit: number): readonly AuditRecord[] {
  return tx.all('SELECT sequence, body FROM audit WHERE sequence > ? ORDER BY sequence LIMIT ?', sequence, limit).map(recordOf);
}

/**
 * Drops the run, after a record of its own that says up to where: `verify` accepts a trail that does not begin with record 1 only where such a
 * record is in it, with the last one to go, whose time shows that it was old. False where the trail does not begin with it any more.
 */
function pruneAudit(tx: Transaction, { first, last }: Run, append: AppendSealed): boolean {
  const [oldest] = recordsAfter(tx, 0, 1);
  const [still] = recordsAfter(tx, last.sequence - 1, 1);
  if (oldest?.sequence !== first || still?.hash !== last.hash) return false;
  append(tx, {
    name: 'audit.checkpoint',
    attributes: {
      base: { sequence: last.sequence, hash: last.hash },
      removed: last.sequence - first + 1,
      removed_until: last.time,
      last: last as unknown as JsonObject,
    },
  });
  tx.run('DELETE FROM audit WHERE sequence <= ?', last.sequence);
  return true;
}

/** @param before the record that the first one continues; undefined: it is the oldest there is */
function soundPrefix(records: readonly AuditRecord[], end: number, before: ChainPoint | undefined): readonly AuditRecord[] {
  const [first] = records;
  // What the oldest one continues was dropped earlier; the record that says so is somewhere in the trail.
  let last = before ?? (first && first.sequence > 1 ? { sequence: first.sequence - 1, hash: first.previous } : undefined);
  const sound: AuditRecord[] = [];
  for (const record of records) {
    const time = timeOf(record);
    if (time === undefined || time >= end || flawOf(record, last, new Map())) break;
    sound.push(record);
    last = record;
  }
  return sound;
}

function timeOf({ time }: AuditRecord): number | undefined {
  const at = Date.parse(time);
  return Number.isNaN(at) ? undefined : at;
}
