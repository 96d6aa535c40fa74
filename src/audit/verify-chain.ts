/** Finds the records of a trail that do not fit, and reads on behind them. */
import type { AuditRecord, ChainPoint, ChainVerdict, Flaw } from '#kernel/audit-event';
import { isJsonObject } from '#kernel/json';
import type { ChainAnchor, ChainReading, TreeLeaf } from '#kernel/ports/audit-log';
import { createLeafMatch } from './match-leaves.ts';
import { genesisHash, hashOf } from './seal.ts';

/** So many flaws are named; the rest is counted. */
const mostNamed = 20;

export interface ChainExpectation {
  /** The record before the first one given; undefined: the trail starts at record 1. */
  readonly start?: ChainPoint | undefined;
  /** Points known from elsewhere than the records (the store's head anchor, what an editor saw last), in any order. */
  readonly anchors?: readonly ChainPoint[];
  readonly onFit?: OnFit;
}

/** Told of each record that fits, up to the first one of its chain that does not: what follows that is nobody's word. */
export type OnFit = (record: AuditRecord) => Promise<void> | undefined;

/**
 * Reads records as they come (a million need no more memory than one) and checks number, link, hash and anchors.
 *
 * A trail may begin later than with record 1 where one of its records (`audit.checkpoint`) says what was dropped before.
 *
 * Finds every edit, deletion, insertion, duplicate, reordering and renumbering, and, through an anchor, a cut-off end.
 * LIMIT: whoever can rewrite records *and* anchors can forge a whole trail, or drop its beginning and append the record that says so; only
 * a point kept or signed outside the store (by an editor, or in a signed export) tells.
 */
export async function verifyChain(
  records: Iterable<AuditRecord> | AsyncIterable<AuditRecord>,
  expected: ChainExpectation = {},
): Promise<ChainVerdict> {
  const anchors = new Map((expected.anchors ?? []).map((anchor) => [anchor.sequence, anchor.hash]));
  const beginning = createBeginning();
  const flaws = createFlaws();
  let last: ChainPoint | undefined = expected.start;
  let count = 0;
  for await (const record of records) {
    const flaw = flawOf(record, last ?? beginning.before(record), anchors);
    if (flaw === undefined) count += 1;
    else flaws.add(flaw);
    const told = flaws.tell(record, expected.onFit);
    if (told !== undefined) await told;
    beginning.see(record);
    anchors.delete(record.sequence);
    last = pointAfter(record, last, flaw);
  }
  const unfit = flaws.verdict(count);
  if (unfit !== undefined) return unfit;
  const flaw = beginning.flaw(anchors);
  return flaw ? { ok: false, records: count, ...flaw } : conclude(count, last, [...anchors.keys()]);
}

/** The flaws of a trail that is read on behind each of them. */
function createFlaws() {
  const named: Flaw[] = [];
  let all = 0;
  return {
    /** Behind a flaw nobody is told of anything. */
    tell: (record: AuditRecord, onFit: OnFit | undefined) => (all === 0 ? onFit?.(record) : undefined),
    add(flaw: Flaw): void {
      all += 1;
      if (named.length < mostNamed) named.push(flaw);
    },
    /** @param fit how many records do @returns undefined where there is no flaw */
    verdict(fit: number): ChainVerdict | undefined {
      const [first] = named;
      return first && { ok: false, records: fit, ...first, message: inWords(named, all, fit), flaws: named };
    },
  };
}

/** Whatever hash the next record continues fits: that this one is damaged has been said. */
const anyHash = '*';

/** What the record after this one is held against: after a flawed one so that one damage is named once. */
function pointAfter(record: AuditRecord, last: ChainPoint | undefined, flaw: Flaw | undefined): ChainPoint {
  if (flaw === undefined) return record;
  const sequence = Number.isSafeInteger(record.sequence) ? record.sequence : (last?.sequence ?? 0) + 1;
  // INVARIANT: a record that is whole in itself vouches for its hash, so that one put in another's place leaves its successor unfit.
  return { sequence, hash: safeHashOf(record) === record.hash ? record.hash : anyHash };
}

function inWords([first, ...more]: readonly Flaw[], unfit: number, fit: number): string {
  const named = more.slice(0, 5).map(({ broken }) => broken);
  const left = unfit - 1 - named.length;
  const others = named.length === 0 ? '' : `; unfit, too: ${named.join(', ')}${left > 0 ? ` and ${left} more` : ''}`;
  return `${first?.message ?? ''}${others}; ${fit} of ${fit + unfit} records fit`;
}

/** undefined where the record continues `last` (undefined: it is the first) and is as it was sealed and anchored. */
export function flawOf(record: AuditRecord, last: ChainPoint | undefined, anchors: ReadonlyMap<number, string>): Flaw | undefined {
  const due = (last?.sequence ?? 0) + 1;
  if (record.sequence !== due) return misplaced(record.sequence, due);
  const broken = due;
  const damage = damageOf(record);
  if (damage !== undefined) return { broken, message: `record ${due} ${damage}` };
  if (!continues(record, last)) {
    return { broken, message: `record ${due} does not continue record ${due - 1}: one of them was replaced` };
  }
  const anchored = anchors.get(due);
  if (anchored !== undefined && anchored !== record.hash) {
    return { broken, message: `record ${due} is not the one that was anchored: the trail was rewritten` };
  }
  return undefined;
}

function continues({ previous }: AuditRecord, last: ChainPoint | undefined): boolean {
  const hash = last?.hash ?? genesisHash;
  return hash === anyHash || previous === hash;
}

/** What is wrong with the record by itself. */
function damageOf(record: AuditRecord): string | undefined {
  if (record.hash === '') return 'cannot be read: what is stored there is no record any more';
  return safeHashOf(record) === record.hash ? undefined : 'was altered: its content does not match its hash';
}

function misplaced(found: number, due: number): Flaw {
  const what = found > due ? 'removed, or records were reordered' : 'inserted, repeated or reordered';
  return {
    broken: Number.isSafeInteger(found) ? found : due,
    message: `record ${found} stands where record ${due} belongs: something was ${what}`,
  };
}

/** A record that cannot even be hashed (not JSON, a lone surrogate) is an altered one. */
function safeHashOf(record: AuditRecord): string | undefined {
  try {
    return hashOf(record);
  } catch {
    return undefined;
  }
}

function conclude(records: number, last: ChainPoint | undefined, unseen: readonly number[]): ChainVerdict {
  const end = last?.sequence ?? 0;
  const missing = unseen.filter((sequence) => sequence > end);
  if (missing.length > 0) {
    const message = `the trail ends at record ${end}, but record ${Math.max(...missing)} had been written: its end was cut off`;
    return { ok: false, records, broken: end + 1, message };
  }
  if (last === undefined) return { ok: false, records: 0, message: 'the trail is empty: nothing was recorded, or all of it was removed' };
  return { ok: true, records, message: `${records} records, unbroken up to ${last.hash.slice(0, 16)}` };
}

// A trail whose first records were dropped because they were old.

interface Beginning {
  /** What the first record continues; undefined: it is record 1, or none that could be. */
  before(first: AuditRecord): ChainPoint | undefined;
  see(record: AuditRecord): void;
  /** Asked after the last record. @param anchors those that were not met */
  flaw(anchors: ReadonlyMap<number, string>): Flaw | undefined;
}

/** INVARIANT: a trail that does not begin with record 1 holds a record (`audit.checkpoint`) that names the last one before it. */
function createBeginning(): Beginning {
  let base: ChainPoint | undefined;
  let isExplained = false;
  return {
    before: ({ sequence, previous }) => {
      base = Number.isSafeInteger(sequence) && sequence > 1 ? { sequence: sequence - 1, hash: previous } : undefined;
      return base;
    },
    see: (record) => {
      isExplained ||= base !== undefined && explains(record, base);
    },
    flaw: (anchors) => {
      if (base === undefined) return undefined;
      const anchored = anchors.get(base.sequence);
      if (anchored !== undefined && anchored !== base.hash) return rewritten(base);
      return isExplained ? undefined : beheaded(base);
    },
  };
}

function explains({ name, attributes }: AuditRecord, base: ChainPoint): boolean {
  if (name !== 'audit.checkpoint' || !isJsonObject(attributes.base)) return false;
  return attributes.base.sequence === base.sequence && attributes.base.hash === base.hash;
}

function rewritten({ sequence }: ChainPoint): Flaw {
  return {
    broken: sequence + 1,
    message: `record ${sequence + 1} does not continue the record that was anchored: the trail was rewritten`,
  };
}

function beheaded({ sequence }: ChainPoint): Flaw {
  return {
    broken: sequence + 1,
    message: `the trail begins with record ${sequence + 1}, and none of its records says that what came before was dropped: it was removed`,
  };
}

// Finds the records that do not fit in a trail of several chains, one per writer, and reads on behind them.

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
