/** Verifies a stored trail from its first record to its head. */
import type { AuditRecord, ChainPoint, ChainVerdict } from '#kernel/audit-event';
import type { AuditLog, ChainAnchor, ChainedAuditLog, ChainReading, TreeLeaf } from '#kernel/ports/audit-log';
import { hashOfLeaf, withoutRecord } from './match-leaves.ts';
import { type OnFit, verifyChain, verifyChains } from './verify-chain.ts';
import { hashFlaw, treeFlaw } from './verify-tree.ts';

const pageSize = 1000;

/** Whoever uses the records while they are verified. */
export interface TrailReader {
  readonly onFit: OnFit;
  /** What was told does not count: it is read again from its beginning. */
  restart(): void;
}

export type ReadTrail = Pick<AuditLog, 'read' | 'head' | 'tree'>;

/**
 * Reads the whole trail page by page, and the tree of its hashes where there is one. The head anchor is taken first, so records that are appended meanwhile do no harm.
 * @param checkpoints points known from outside the store (what an editor saw last), where there are any; not used for chains of several writers
 * @param reader told of what fits while it is read
 * @throws {Fault} where the store cannot be read at all
 */
export async function verifyTrail(audit: ReadTrail, checkpoints: readonly ChainPoint[] = [], reader?: TrailReader): Promise<ChainVerdict> {
  if (isChained(audit)) return verifyShared(audit, [], reader);
  for (let tries = 1; ; tries += 1) {
    const first = await firstOf(audit);
    const verdict = await verifyOnce(audit, checkpoints, reader);
    // Where the beginning was dropped while it was read, the gap is no flaw.
    if (verdict.ok || tries === maxTries || (await firstOf(audit)) === first) return verdict;
    reader?.restart();
  }
}

/**
 * A record that its writer sends late takes its place among those that have been read, and old ones may be trimmed meanwhile: what looks like
 * a gap then is none at the next look. One look that finds all whole is enough.
 */
export async function verifyShared(
  audit: Pick<ChainedAuditLog, 'readChains' | 'tree'>,
  seen: readonly ChainAnchor[] = [],
  reader?: TrailReader,
): Promise<ChainVerdict> {
  for (let tries = 1; ; tries += 1) {
    const { anchors, ...reading } = await audit.readChains();
    const { lone = new Map<string, TreeLeaf>(), ...verdict } = await verifyChains(
      { ...reading, anchors: [...anchors, ...seen] },
      reader?.onFit,
    );
    if (!verdict.ok && tries < maxTries) {
      reader?.restart();
      continue;
    }
    const flaw = verdict.ok ? await sharedTreeFlaw(audit, reading, lone) : undefined;
    return flaw === undefined ? verdict : { ...verdict, ok: false, ...flaw };
  }
}

/** Leaves without a record, and hashes that do not fit together. */
async function sharedTreeFlaw(
  { readChains, tree }: Pick<ChainedAuditLog, 'readChains' | 'tree'>,
  reading: Partial<Pick<ChainReading, 'tree'>>,
  lone: ReadonlyMap<string, TreeLeaf>,
) {
  if (reading.tree === undefined) return undefined;
  const missing = new Map(lone);
  if (missing.size > 0)
    for await (const record of (await readChains()).records) {
      missing.delete(hashOfLeaf(record));
      if (missing.size === 0) break;
    }
  if (missing.size > 0) return withoutRecord(missing);
  return tree === undefined ? undefined : hashFlaw(tree, await tree.state());
}

/** Old records are dropped in one go, so a second look is nearly always enough. */
const maxTries = 3;

async function firstOf(audit: Pick<AuditLog, 'read'>): Promise<number | undefined> {
  return (await audit.read(0, 1))[0]?.sequence;
}

async function verifyOnce(audit: ReadTrail, checkpoints: readonly ChainPoint[], reader?: TrailReader): Promise<ChainVerdict> {
  const head = await audit.head();
  const told = reader === undefined ? {} : { onFit: reader.onFit };
  const verdict = await verifyChain(recordsOf(audit), { anchors: head ? [head, ...checkpoints] : checkpoints, ...told });
  if (verdict.ok && !head) return { ...verdict, ok: false, message: 'the trail has records but no head anchor: the store was altered' };
  const flaw = verdict.ok && audit.tree !== undefined ? await treeFlaw(audit, audit.tree) : undefined;
  return flaw === undefined ? verdict : { ...verdict, ok: false, ...flaw };
}

/** Whether the trail is several chains, one per writer. */
export function isChained(audit: ReadTrail): audit is ChainedAuditLog {
  return 'readChains' in audit;
}

/** All records after a sequence, in order, one page in memory at a time. */
export async function* recordsOf(audit: Pick<AuditLog, 'read'>, from = 0): AsyncGenerator<AuditRecord> {
  let after = from;
  for (;;) {
    const page = await audit.read(after, pageSize);
    yield* page;
    const last = page.at(-1);
    // A forged sequence must not send the reader round in circles; the chain check stops at such a record anyway.
    if (page.length < pageSize || !last || last.sequence <= after) return;
    after = last.sequence;
  }
}
