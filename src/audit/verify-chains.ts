/** Finds the records that do not fit in a trail of several chains, one per writer, and reads on behind them. */
import type { AuditRecord, ChainPoint, ChainVerdict, Flaw } from '#kernel/audit-event';
import type { ChainAnchor, ChainReading, TreeLeaf } from '#kernel/ports/chained-audit-log';
import { createLeafMatch } from './match-leaves.ts';
import { createFlaws, flawOf, type OnFit, pointAfter } from './verify-chain.ts';

/** What the tree lacks is asked for again, so that a second leaf of one record is told from one whose record is gone. */
export interface ChainsVerdict extends ChainVerdict {
  /** Leaves without a record; absent where there are none. */
  readonly lone?: ReadonlyMap<string, TreeLeaf>;
}

/**
 * Reads all chains in one pass. A chain may begin after its first record only where what came before was old enough to be trimmed.
 *
 * LIMIT: without a tree a whole chain whose writer is gone, or the end of one, can be taken away unseen; only a point kept outside the store tells.
 */
export async function verifyChains({ records, keptSince, anchors, tree }: ChainReading, onFit?: OnFit): Promise<ChainsVerdict> {
  const leaves = createLeafMatch(tree, keptSince);
  const last = new Map<string, ChainPoint>();
  const known = Map.groupBy(anchors, ({ chain }) => chain);
  const flaws = createFlaws();
  const flawed = new Set<string>();
  let count = 0;
  let read = 0;
  for await (const record of records) {
    const { chain = '' } = record;
    await leaves.see(record);
    const flaw = flawAt(record, read, { last: last.get(chain), keptSince, known });
    read += 1;
    if (flaw !== undefined) {
      flaws.add(flaw);
      flawed.add(chain);
    } else {
      count += 1;
      if (!flawed.has(chain)) await onFit?.(record);
    }
    if (record.chain !== undefined) last.set(chain, pointAfter(record, last.get(chain), flaw));
  }
  const { leafless, lone } = await leaves.end();
  for (const flaw of [...cutOff(last, { keptSince, anchors }), ...leafless]) flaws.add(flaw);
  const verdict = flaws.verdict(count) ?? allFit(count, last.size);
  return lone.size === 0 ? verdict : { ...verdict, lone };
}

function allFit(count: number, chains: number): ChainVerdict {
  if (count === 0) return { ok: false, records: 0, message: 'the trail is empty: nothing was recorded, or all of it was removed' };
  return { ok: true, records: count, message: `${count} records in ${chains} ${chains === 1 ? 'chain' : 'chains'}, unbroken` };
}

function flawAt(record: AuditRecord, read: number, soFar: ChainSoFar): Flaw | undefined {
  const { chain } = record;
  return chain === undefined ? noRecord(record, read) : flawInChain({ ...record, chain }, soFar);
}

function noRecord({ sequence }: AuditRecord, read: number): Flaw {
  return { broken: sequence, message: `after ${read} records stands one that is none, or that no writer sealed` };
}

interface ChainSoFar {
  readonly last: ChainPoint | undefined;
  readonly keptSince: number;
  readonly known: ReadonlyMap<string, readonly ChainAnchor[]>;
}

function flawInChain(record: AuditRecord & { readonly chain: string }, { last, keptSince, known }: ChainSoFar): Flaw | undefined {
  const early = last === undefined ? earlyStart(record, keptSince) : undefined;
  const previous = last ?? { sequence: record.sequence - 1, hash: record.previous };
  const start = record.sequence === 1 ? last : previous;
  const message = early ?? flawOf(record, start, pointsAt(record, known.get(record.chain)))?.message;
  return message === undefined ? undefined : { broken: record.sequence, message: `chain \`${record.chain}\`: ${message}` };
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

/** Chains that end before a record that is known to have been written. */
function cutOff(last: ReadonlyMap<string, ChainPoint>, { anchors, keptSince }: Omit<ChainReading, 'records'>): readonly Flaw[] {
  return anchors.flatMap((anchor) => {
    const end = last.get(anchor.chain)?.sequence ?? 0;
    if (end >= anchor.sequence || Date.parse(anchor.time) < keptSince) return [];
    const message = `chain \`${anchor.chain}\` ends at record ${end}, but record ${anchor.sequence} had been written: its end was cut off`;
    return [{ broken: end + 1, message }];
  });
}
