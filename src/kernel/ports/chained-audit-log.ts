/** A trail that several writers share, each with a chain of its own, because none of them may lock out the others. */
import type { AuditRecord, ChainPoint } from '../audit-event.ts';
import type { AuditLog } from './audit-log.ts';

/** A record known from elsewhere than the log: the memory of who wrote it. */
export interface ChainAnchor extends ChainPoint {
  readonly chain: string;
  /** ISO 8601, UTC. */
  readonly time: string;
}

export interface ChainReading {
  /** Every record, each chain's own in sequence order. */
  readonly records: AsyncIterable<AuditRecord>;
  /** Records from before this moment (ms since the epoch) may have been trimmed. */
  readonly keptSince: number;
  readonly anchors: readonly ChainAnchor[];
  /** Absent where the store's access rules do not allow one yet. */
  readonly tree?: LeafReading;
}

/** The tree's leaves, those of records that have left the trail as far as they are kept. */
export interface LeafReading {
  /** Records from before this moment (ms since the epoch) may have none. */
  readonly since: number;
  /** In pages. An empty one: there are no more by now, and whoever asks again gets what came since. */
  readonly leaves: AsyncIterable<readonly TreeLeaf[]>;
}

export interface TreeLeaf {
  /** Hex. */
  readonly hash: string;
  /** The record's, ms since the epoch, cut to a second. */
  readonly time: number;
}

/** `read` and `head` count records by their place in the merged log, whatever chain they belong to. */
export interface ChainedAuditLog extends AuditLog {
  /** @param since leaves out what is clearly older (ms since the epoch) */
  readChains(since?: number): Promise<ChainReading>;
}
