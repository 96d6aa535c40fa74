/** Finds the records of a trail that do not fit, and reads on behind them. */
import type { AuditRecord, ChainPoint } from '#kernel/audit-event';
import { createBeginning } from './beginning.ts';
import type { Flaw } from './flaw.ts';
import { genesisHash, hashOf } from './seal.ts';

export interface ChainVerdict {
  readonly ok: boolean;
  /** Records that were read and fit. */
  readonly records: number;
  /** Sequence number of the first record that does not fit (or is missing). */
  readonly broken?: number;
  /** For people: lower case, what was found and what was expected. */
  readonly message: string;
  /** Every record that does not fit, the first ones where there are many. Absent where all fit. */
  readonly flaws?: readonly Flaw[];
}

/** So many flaws are named; the rest is counted. */
const mostNamed = 20;

export interface ChainExpectation {
  /** The record before the first one given; undefined: the trail starts at record 1. */
  readonly start?: ChainPoint | undefined;
  /** Points known from elsewhere than the records (the store's head anchor, what an editor saw last), in any order. */
  readonly anchors?: readonly ChainPoint[];
}

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
  const flaws: Flaw[] = [];
  let last: ChainPoint | undefined = expected.start;
  let count = 0;
  let unfit = 0;
  for await (const record of records) {
    const flaw = flawOf(record, last ?? beginning.before(record), anchors);
    if (flaw === undefined) count += 1;
    else {
      unfit += 1;
      if (flaws.length < mostNamed) flaws.push(flaw);
    }
    beginning.see(record);
    anchors.delete(record.sequence);
    last = flaw === undefined ? record : pointAfter(record, last);
  }
  const [first] = flaws;
  if (first !== undefined) return { ok: false, records: count, ...first, message: inWords(flaws, unfit, count), flaws };
  const flaw = beginning.flaw(anchors);
  return flaw ? { ok: false, records: count, ...flaw } : conclude(count, last, [...anchors.keys()]);
}

/** Whatever hash the next record continues fits: that this one is damaged has been said. */
const anyHash = '*';

/** What the record after a flawed one is held against, so that one damage is named once. */
function pointAfter(record: AuditRecord, last: ChainPoint | undefined): ChainPoint {
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
