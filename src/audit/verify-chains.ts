/** Finds the first record that does not fit in a trail of several chains, one per writer. */
import type { AuditRecord } from '#kernel/audit-event';
import type { ChainAnchor, ChainReading } from '#kernel/ports/chained-audit-log';
import { type ChainVerdict, flawOf } from './verify-chain.ts';

/**
 * Reads all chains in one pass. A chain may begin after its first record only where what came before was old enough to be trimmed.
 *
 * LIMIT: a whole chain whose writer is gone, or the end of one, can be taken away unseen; only a point kept outside the store tells.
 */
export async function verifyChains({ records, keptSince, anchors }: ChainReading): Promise<ChainVerdict> {
  const last = new Map<string, AuditRecord>();
  const known = Map.groupBy(anchors, ({ chain }) => chain);
  let count = 0;
  for await (const record of records) {
    const chain = record.chain;
    if (chain === undefined)
      return broken(count, record.sequence, `after ${count} records stands one that is none, or that no writer sealed`);
    const before = last.get(chain);
    const early = before === undefined ? earlyStart(record, keptSince) : undefined;
    const previous = before ?? { sequence: record.sequence - 1, hash: record.previous };
    const start = record.sequence === 1 ? before : previous;
    const flaw = early ?? flawOf(record, start, pointsAt(record, known.get(chain)))?.message;
    if (flaw !== undefined) return broken(count, record.sequence, `chain \`${chain}\`: ${flaw}`);
    last.set(chain, record);
    count += 1;
  }
  return conclude(count, last, { keptSince, anchors });
}

/** What the anchors say of this record. Two that disagree fit no record. */
function pointsAt({ sequence, hash }: AuditRecord, anchors: readonly ChainAnchor[] = []): ReadonlyMap<number, string> {
  const other = anchors.find((anchor) => anchor.sequence === sequence && anchor.hash !== hash);
  return new Map(other ? [[other.sequence, other.hash]] : []);
}

function earlyStart(record: AuditRecord, keptSince: number): string | undefined {
  if (record.sequence === 1) return undefined;
  const before = Date.parse(record.previousTime ?? '');
  if (before < keptSince) return undefined;
  return `it begins with record ${record.sequence}, and what came before was too young to be trimmed: it was removed`;
}

function conclude(count: number, last: ReadonlyMap<string, AuditRecord>, reading: Omit<ChainReading, 'records'>): ChainVerdict {
  for (const anchor of reading.anchors) {
    const end = last.get(anchor.chain)?.sequence ?? 0;
    if (end >= anchor.sequence || Date.parse(anchor.time) < reading.keptSince) continue;
    return broken(
      count,
      end + 1,
      `chain \`${anchor.chain}\` ends at record ${end}, but record ${anchor.sequence} had been written: its end was cut off`,
    );
  }
  if (count === 0) return { ok: false, records: 0, message: 'the trail is empty: nothing was recorded, or all of it was removed' };
  return { ok: true, records: count, message: `${count} records in ${last.size} ${last.size === 1 ? 'chain' : 'chains'}, unbroken` };
}

function broken(records: number, sequence: number, message: string): ChainVerdict {
  return { ok: false, records, broken: sequence, message };
}
