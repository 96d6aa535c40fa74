/** Reads the trail from where one sink is, and says what was gone before it could be read. */
import { hostname } from 'node:os';
import { isChained } from '#audit/verify-trail';
import type { AuditRecord, ChainPoint } from '#kernel/audit-event';
import type { AuditLog } from '#kernel/ports/audit-log';
import type { ChainedAuditLog } from '#kernel/ports/chained-audit-log';

/** How far one sink has been told. */
export interface Cursor {
  /** ISO 8601: what happened before is not told. */
  readonly since: string;
  /** ISO 8601: of the newest record that it was told; before the first, when it began. */
  readonly time: string;
  /** The newest record of each chain; a store with one chain has it under the empty name. */
  readonly points: Readonly<Record<string, ChainPoint & { readonly time: string }>>;
}

export interface TrailPage {
  /** Not told yet, in their order; empty: there are none. */
  readonly records: readonly AuditRecord[];
  /** Where the sink is once it was told these. */
  readonly cursor: Cursor;
  /** Records that are gone between where the sink was and the first of these. */
  readonly gone: number;
  /** The trail ends before where the sink was: it is another one, or an older copy. */
  readonly isOther?: true;
}

/** @param limit most records */
export type ReadTrail = (cursor: Cursor, limit: number) => Promise<TrailPage>;

/** Before the first record there can be. */
export function fromTheStart(): Cursor {
  const time = new Date(0).toISOString();
  return { since: time, time, points: {} };
}

/** Behind the newest record. */
export async function fromNow(audit: AuditLog): Promise<Cursor> {
  const time = new Date().toISOString();
  const head = isChained(audit) ? undefined : await audit.head();
  return { since: time, time, points: head === undefined ? {} : { '': { ...head, time } } };
}

export function trailReader(audit: AuditLog): ReadTrail {
  return isChained(audit) ? ownChains(audit) : oneChain(audit);
}

function oneChain(audit: AuditLog): ReadTrail {
  return async (cursor, limit) => {
    const { '': at } = cursor.points;
    const after = at?.sequence ?? 0;
    const records = await audit.read(after, limit);
    const isOther = records.length === 0 && at !== undefined && (await isElsewhere(audit, at));
    if (isOther) return { records, cursor: fromTheStart(), gone: 0, isOther };
    const [first] = records;
    // A new trail may have been pruned before this sink began: that is no loss of its own.
    const gone = first === undefined || at === undefined ? 0 : first.sequence - after - 1;
    return { records, cursor: advanced(cursor, records), gone };
  };
}

/** The trail ends before the place, or something else stands there. */
async function isElsewhere(audit: AuditLog, at: ChainPoint): Promise<boolean> {
  const head = await audit.head();
  return head === undefined || head.sequence < at.sequence || (head.sequence === at.sequence && head.hash !== at.hash);
}

/**
 * Of a store that several machines share, each machine tells what was written on it. LIMIT: a machine that is renamed leaves what it had not told.
 */
function ownChains(audit: ChainedAuditLog, own = `${hostname()}/`): ReadTrail {
  let seen: string | undefined;
  return async (cursor, limit) => {
    const head = JSON.stringify((await audit.head()) ?? {});
    if (head === seen) return { records: [], cursor, gone: 0 };
    const records: AuditRecord[] = [];
    let next = cursor;
    let gone = 0;
    const { records: all } = await audit.readChains(Date.parse(cursor.time));
    for await (const record of all) {
      if (records.length === limit) break;
      if (record.chain?.startsWith(own) !== true || isTold(record, next)) continue;
      gone += goneBefore(record, next);
      records.push(record);
      next = advanced(next, [record]);
    }
    if (records.length === 0) seen = head;
    return { records, cursor: recent(next), gone };
  };
}

function isTold({ chain = '', sequence, time }: AuditRecord, { points, since }: Cursor): boolean {
  const at = points[chain];
  return at === undefined ? time < since : sequence <= at.sequence;
}

function goneBefore({ chain = '', sequence }: AuditRecord, { points }: Cursor): number {
  const at = points[chain];
  return at === undefined ? 0 : sequence - at.sequence - 1;
}

function advanced(cursor: Cursor, records: readonly AuditRecord[]): Cursor {
  const points = { ...cursor.points };
  let { time } = cursor;
  for (const record of records) {
    points[record.chain ?? ''] = { sequence: record.sequence, hash: record.hash, time: record.time };
    if (record.time > time) time = record.time;
  }
  return { since: cursor.since, time, points };
}

/** A chain that has ended is remembered for as long as its records may be read again, and not for ever. */
const rememberedMs = 600_000;

function recent({ since, time, points }: Cursor): Cursor {
  const oldest = new Date(Date.parse(time) - rememberedMs).toISOString();
  return { since, time, points: Object.fromEntries(Object.entries(points).filter(([, point]) => point.time >= oldest)) };
}
