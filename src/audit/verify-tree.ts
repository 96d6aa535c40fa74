/** Holds a trail against the Merkle tree beside it: every record that is kept, and that those that left were old. */
import type { AuditRecord, Flaw } from '#kernel/audit-event';
import { isJsonObject, textOf } from '#kernel/json';
import type { AuditLog, TrailTree, TreeState } from '#kernel/ports/audit-log';
import { hashOfLeaf } from './match-leaves.ts';
import { foldHashes, type TreeHash, type TreeReader, tileHeight, tileWidth } from './merkle.ts';
import { hashOf } from './seal.ts';

/** Records are kept at least so long, whatever their number (docs/adr/0015-retention.md). In ms. */
export const leastKeptMs = 7 * 86_400_000;
/** A clock that is set back by no more than this is no jump, in ms. */
const clockSlackMs = 3_600_000;

export function readerOf(tree: TrailTree): TreeReader {
  return async (level, from, count) => (await tree.hashes(level, from, count)).map((hash) => Buffer.from(hash, 'hex'));
}

/**
 * undefined where all fits. The records have been found to be a chain already.
 *
 * LIMIT: whoever rewrites records and hashes alike is found by nobody but who kept a checkpoint.
 */
export async function treeFlaw(audit: Pick<AuditLog, 'read'>, tree: TrailTree): Promise<Flaw | undefined> {
  const state = await tree.state();
  const { end } = state;
  if (state.size !== end - state.first + 1) {
    const message = `the trail ends at record ${end}, and the tree of its hashes at record ${state.first + state.size - 1}: one of them was cut off or added to`;
    return { broken: Math.min(end, state.first + state.size - 1) + 1, message };
  }
  return (await hashFlaw(tree, state)) ?? (await recordFlaw(audit, tree, state));
}

/** Every whole tile has its hash above it; of leaves that are not kept the hash above alone is there. */
export async function hashFlaw(tree: TrailTree, { first, size, kept: keptThen }: TreeState): Promise<Flaw | undefined> {
  const read = readerOf(tree);
  let kept = keptThen;
  for (let [level, count] = [0, size]; count > 0; [level, count] = [level + tileHeight, Math.floor(count / tileWidth)]) {
    for (let at = 0; at < count; at += tileWidth) {
      const due = Math.min(tileWidth, count - at);
      const hashes = await read(level, at, due);
      const above = due < tileWidth ? undefined : await read(level + tileHeight, at / tileWidth, 1);
      // Leaves may leave while they are read.
      if (level === 0 && hashes.length < due) ({ kept } = await tree.state());
      if (level === 0 && at + due <= kept ? isGone(hashes, above) : isTile(hashes, due, above)) continue;
      const broken = first + at * tileWidth ** (level / tileHeight);
      return { broken, message: `the hashes of the records from ${broken} on do not fit together: the tree was altered` };
    }
  }
  return undefined;
}

/** @param above the one hash above; undefined where the tile is not full */
function isTile(hashes: readonly TreeHash[], due: number, above: readonly TreeHash[] | undefined): boolean {
  if (hashes.length !== due) return false;
  return above === undefined || (above[0] !== undefined && foldHashes(hashes).equals(above[0]));
}

/** Some of those that are not kept are there all the same, and fit. */
function isGone(hashes: readonly TreeHash[], above: readonly TreeHash[] | undefined): boolean {
  return hashes.length === 0 ? above?.length === 1 : isTile(hashes, tileWidth, above);
}

const pageSize = 1000;

async function recordFlaw(audit: Pick<AuditLog, 'read'>, tree: TrailTree, { first, size, now }: TreeState): Promise<Flaw | undefined> {
  const dropped = createDropped(first);
  let oldest: number | undefined;
  for (let after = first - 1; ; ) {
    const records = (await audit.read(after, pageSize)).filter(({ sequence }) => sequence < first + size);
    const [start, last] = [records[0], records.at(-1)];
    if (start === undefined || last === undefined) break;
    oldest ??= start.sequence;
    const leaves = await tree.hashes(0, start.sequence - first, records.length);
    const unfit = records.find((record, index) => hashOfLeaf(record) !== leaves[index]);
    if (unfit !== undefined)
      return { broken: unfit.sequence, message: `record ${unfit.sequence} is not the one whose hash is in the tree: it was rewritten` };
    for (const record of records) dropped.see(record);
    after = last.sequence;
  }
  return oldest === undefined ? undefined : dropped.flaw(await tree.newestOf?.(oldest - first), now);
}

/** INVARIANT: what left was old when the record that says so was written, by a clock that had not jumped. */
function createDropped(first: number) {
  let latest: { readonly sequence: number; readonly time: number } | undefined;
  let found: Flaw | undefined;
  return {
    see(record: AuditRecord): void {
      const time = Date.parse(record.time);
      if (latest !== undefined && time < latest.time - clockSlackMs) found ??= jumped(latest.sequence, record);
      if (record.name !== 'audit.checkpoint' || droppedUpTo(record) < first) return;
      latest = { sequence: record.sequence, time };
      found ??= shownFlaw(record);
    },
    /** @param newest when the newest of those that are gone was written @param now by the clock, which is no more behind than a later record */
    flaw(newest: number | undefined, now: number | undefined): Flaw | undefined {
      if (found !== undefined || latest === undefined) return found;
      if (now !== undefined && now < latest.time - clockSlackMs) return ahead(latest);
      if (newest === undefined) return undefined;
      return newest <= latest.time - leastKeptMs ? undefined : young(latest.sequence, newest);
    },
  };
}

function droppedUpTo({ attributes }: AuditRecord): number {
  const sequence = isJsonObject(attributes.base) ? attributes.base.sequence : undefined;
  return typeof sequence === 'number' ? sequence : 0;
}

/** The record that says what left holds the last one of it, whose hash the next one names. */
function shownFlaw(record: AuditRecord): Flaw | undefined {
  const { base, last } = record.attributes;
  const isShown = isJsonObject(last) && isJsonObject(base) && hashOf(last as unknown as AuditRecord) === base.hash;
  const time = isShown ? Date.parse(textOf(last.time) ?? '') : Number.NaN;
  if (Number.isNaN(time)) {
    const message = `record ${record.sequence} says that records were dropped, and does not show the last of them: it is not Banksman that dropped them`;
    return { broken: record.sequence, message };
  }
  return time <= Date.parse(record.time) - leastKeptMs ? undefined : young(record.sequence, time);
}

function young(sequence: number, time: number): Flaw {
  const message = `records up to ${new Date(time).toISOString()} are gone, and were less than ${leastKeptMs / 86_400_000} days old when record ${sequence} says that they were dropped: they were removed`;
  return { broken: sequence, message };
}

function ahead({ sequence, time }: { readonly sequence: number; readonly time: number }): Flaw {
  const message = `record ${sequence} says that it dropped old records on ${new Date(time).toISOString()}, which is yet to come. Young records may have gone with it`;
  return { broken: sequence, message };
}

function jumped(sequence: number, { sequence: later, time }: AuditRecord): Flaw {
  const message = `record ${sequence} dropped old records by a clock that was ahead: record ${later}, after it, is of ${time}. Young records may have gone with it`;
  return { broken: sequence, message };
}
