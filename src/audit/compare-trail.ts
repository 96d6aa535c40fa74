/** Holds a stored trail against what somebody kept of it elsewhere. */
import type { SeenTrail } from '#kernel/app';
import type { ChainPoint, ChainVerdict } from '#kernel/audit-event';
import type { ChainAnchor, ChainedAuditLog } from '#kernel/ports/chained-audit-log';
import { isChained, type ReadTrail, verifyShared, verifyTrail } from './verify-trail.ts';

/**
 * As `verifyTrail`, and the trail must go on from what was seen: a rewritten one, one that was cut off with its anchor, and an older copy fit
 * together, and only this tells. Fails, too, where nothing can be told because what was seen is no longer kept.
 * @throws {Fault} where the store cannot be read at all
 */
export async function compareTrail(audit: ReadTrail, seen: SeenTrail): Promise<ChainVerdict> {
  if (isChained(audit)) return seen.points.length > 0 ? otherKind('a chain per writer', 'one') : compareChains(audit, seen.chains);
  return seen.chains.length > 0 ? otherKind('one chain', 'a chain per writer') : compareChain(audit, seen.points);
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
