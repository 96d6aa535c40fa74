/** Holds a stored trail against what somebody kept of it elsewhere. */
import type { SeenTrail } from '#kernel/app';
import type { ChainPoint, ChainVerdict } from '#kernel/audit-event';
import type { ChainAnchor, ChainedAuditLog, Checkpoint, TrailTree } from '#kernel/ports/audit-log';
import { rootOf } from './merkle.ts';
import { isChained, type ReadTrail, verifyShared, verifyTrail } from './verify-trail.ts';
import { readerOf } from './verify-tree.ts';

/**
 * As `verifyTrail`, and the trail must go on from what was seen: a rewritten one, one that was cut off with its anchor, and an older copy fit
 * together, and only this tells. Fails, too, where nothing can be told because what was seen is no longer kept.
 * @throws {Fault} where the store cannot be read at all
 */
export async function compareTrail(audit: ReadTrail, seen: SeenTrail): Promise<ChainVerdict> {
  const verdict = await compareRecords(audit, seen);
  const { checkpoints = [] } = seen;
  const newest = checkpoints.at(-1);
  if (!verdict.ok || newest === undefined) return verdict;
  if (audit.tree === undefined) return otherKind('one without a tree', 'one with a tree');
  const flaw = await firstFlaw(audit.tree, checkpoints);
  const others = checkpoints.length === 1 ? '' : `, and from all ${checkpoints.length} of the list`;
  return flaw === undefined
    ? { ...verdict, message: `${verdict.message}; it goes on from the checkpoint of ${newest.size} records${others}` }
    : failed(verdict.records, flaw);
}

/** Each by itself: who rewrote the trail may have added a checkpoint of it to those that somebody kept. The newest first. */
export async function firstFlaw(tree: TrailTree, checkpoints: readonly Checkpoint[]): Promise<string | undefined> {
  for (const checkpoint of checkpoints.toReversed()) {
    const flaw = await checkpointFlaw(tree, checkpoint);
    if (flaw !== undefined) return flaw;
  }
  return undefined;
}

async function compareRecords(audit: ReadTrail, { points, chains }: SeenTrail): Promise<ChainVerdict> {
  if (isChained(audit)) return points.length > 0 ? otherKind('a chain per writer', 'one') : compareChains(audit, chains);
  return chains.length > 0 ? otherKind('one chain', 'a chain per writer') : compareChain(audit, points);
}

/** Why a tree does not go on from a checkpoint; undefined where it does. Needs no record, so that it works after all of them have left. */
export async function checkpointFlaw(tree: TrailTree, { origin, size, root }: Checkpoint): Promise<string | undefined> {
  const state = await tree.state();
  if (state.origin !== origin)
    return `this is another trail (\`${state.origin}\`) than that of the checkpoint (\`${origin}\`): the store was replaced, or deleted and made anew`;
  if (state.size < size)
    return `the trail has ${state.size} records in all, and had ${size} at the checkpoint: its end was cut off, or an older copy was put in its place`;
  return (await isRoot(tree, size, root))
    ? undefined
    : `the first ${size} records are not those of the checkpoint: the trail was rewritten`;
}

async function isRoot(tree: TrailTree, size: number, root: string): Promise<boolean> {
  try {
    return (await rootOf(readerOf(tree), size)).toString('base64') === root;
  } catch (thrown) {
    // Hashes are missing.
    if (thrown instanceof RangeError) return false;
    throw thrown;
  }
}

async function compareChain(audit: ReadTrail, points: readonly ChainPoint[]): Promise<ChainVerdict> {
  const verdict = await verifyTrail(audit, points);
  if (!verdict.ok) return verdict;
  const [first] = await audit.read(0, 1);
  const start = first?.sequence ?? 0;
  // The one before the first is named by the first, and has been compared.
  const gone = points.find((point) => point.sequence < start - 1);
  if (gone === undefined) return verdict;
  return failed(
    verdict.records,
    `record ${gone.sequence} is no longer kept (the trail begins with record ${start}), so nothing tells whether this is the trail it was in`,
  );
}

async function compareChains(audit: ChainedAuditLog, chains: readonly ChainAnchor[]): Promise<ChainVerdict> {
  const { keptSince } = await audit.readChains();
  const kept = chains.filter(({ time }) => Date.parse(time) >= keptSince);
  if (kept.length === 0 && chains.length > 0)
    return failed(0, 'all that was seen of the trail is older than what the store keeps, so nothing tells whether this is the same one');
  const verdict = await verifyShared(audit, kept);
  const older = chains.length - kept.length;
  if (!verdict.ok || older === 0) return verdict;
  return {
    ...verdict,
    message: `${verdict.message}; ${older} of the ${chains.length} chains that were seen ended before what the store keeps, and were not compared`,
  };
}

function otherKind(is: string, seen: string): ChainVerdict {
  return failed(0, `the trail of this store is ${is}, and what was seen is of a trail that is ${seen}: they are not the same`);
}

function failed(records: number, message: string): ChainVerdict {
  return { ok: false, records, message };
}
