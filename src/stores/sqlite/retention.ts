/** Keeps the file from growing without end: drops what is old enough, and says so in the trail itself. */
import { flawOf } from '#audit/verify-chain';
import type { AuditRecord, ChainPoint } from '#kernel/audit-event';
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
  auditLeastMs: 7 * dayMs,
};

/** Nothing is dropped before the oldest is over its time by this share, so that the trail is not full of its own pruning. */
const slack = 0.02;
/** Over the size, so much is dropped that this share of it is left. */
const lowWater = 0.9;
/** At most this many at once, so that nobody waits long for the lock. */
const batch = 1000;
const maxBatches = 20;

/** One sweep. Resolves when nothing more is to be dropped now, or others should have a turn. */
export async function prune(
  database: Database,
  { now, append, retention = defaultRetention }: { readonly now: number; readonly append: AppendSealed; readonly retention?: Retention },
): Promise<void> {
  for (let done = 0; done < maxBatches; done += 1) {
    if (!(await database.read((tx) => areRequestsDue(tx, now, retention)))) break;
    await database.write((tx) => pruneRequests(tx, now - retention.requestsMs));
  }
  for (let done = 0; done < maxBatches; done += 1) {
    const before = await database.read((tx) => auditDue(tx, now, retention));
    if (before === undefined) return;
    if (!(await database.write((tx) => pruneAudit(tx, before, append)))) return;
  }
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
    batch,
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

/**
 * Drops the oldest records, after a record of its own that says up to where: `verify` accepts a trail that does not begin with record 1
 * only where such a record is in it. False where there is nothing to drop.
 *
 * SECURITY: a record that does not fit stays, and all after it: it is the evidence.
 */
function pruneAudit(tx: Transaction, { before, atMost }: Due, append: AppendSealed): boolean {
  const rows = tx.all('SELECT sequence, body FROM audit ORDER BY sequence LIMIT ?', atMost);
  const gone = soundPrefix(rows.map(recordOf), before);
  const last = gone.at(-1);
  if (!last) return false;
  append(tx, {
    name: 'audit.checkpoint',
    attributes: { base: { sequence: last.sequence, hash: last.hash }, removed: gone.length, removed_until: last.time },
  });
  tx.run('DELETE FROM audit WHERE sequence <= ?', last.sequence);
  return true;
}

function soundPrefix(records: readonly AuditRecord[], before: number): readonly AuditRecord[] {
  const [first] = records;
  // What the first one continues was dropped earlier; the record that says so is somewhere in the trail.
  let last: ChainPoint | undefined = first && first.sequence > 1 ? { sequence: first.sequence - 1, hash: first.previous } : undefined;
  const sound: AuditRecord[] = [];
  for (const record of records) {
    const time = timeOf(record);
    if (time === undefined || time >= before || flawOf(record, last, new Map())) break;
    sound.push(record);
    last = record;
  }
  return sound;
}

function timeOf({ time }: AuditRecord): number | undefined {
  const at = Date.parse(time);
  return Number.isNaN(at) ? undefined : at;
}
