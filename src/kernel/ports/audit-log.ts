/** The tamper-evident trail's storage. */
import type { Attempt } from '../attempt.ts';
import type { AuditDraft, AuditRecord, ChainPoint } from '../audit-event.ts';

/** The Merkle tree over a trail's records: its hashes stay when records leave. @throws {Fault} `no_tree` where the store's rules do not allow one yet */
export interface TrailTree {
  state(): Promise<TreeState>;
  /** Hashes (hex) of a stored level (0: the records'; 8, 16 …: above 256 of the level below), from a position on, at most `count`. */
  hashes(level: number, from: number, count: number): Promise<readonly string[]>;
  /** The records of these leaves; undefined where one has left the trail. */
  records(from: number, count: number): Promise<readonly (AuditRecord | undefined)[]>;
  /** The leaf of the record with this hash (the record's own, hex); undefined where it is not there. */
  find(hash: string): Promise<number | undefined>;
  /**
   * When the newest of the first `count` records was written (ms since the epoch); undefined where there is none. Absent where each writer has a
   * chain of its own: there each leaf tells (`ChainReading`).
   */
  newestOf?(count: number): Promise<number | undefined>;
  /**
   * Before a checkpoint of this size is signed: what proofs from it need stays, and no fail-over undoes what is in it. Absent where both is so anyway.
   * @throws {Fault} `store_unconfirmed`
   */
  pin?(size: number): Promise<void>;
  /** Gives the tree its name where no record has done so yet. Absent where it has one from the start. */
  begin?(): Promise<void>;
  /** Writes down (`audit.key`) that this key signs checkpoints from now on; nothing where the trail has said so. */
  announceKey(verifierKey: string): Promise<void>;
}

/** What a tree was at one time: `root` is base64. Whoever keeps it elsewhere can tell later whether the trail goes on from it. */
export interface Checkpoint {
  readonly origin: string;
  readonly size: number;
  readonly root: string;
}

/** All of one moment. */
export interface TreeState {
  /** Names this trail: no other store has it. */
  readonly origin: string;
  /**
   * Number of the record that is leaf 0: in a store that is older than its tree the oldest that was still kept. Where each writer has a chain of its
   * own, the tree alone numbers them all.
   */
  readonly first: number;
  /** Leaves. */
  readonly size: number;
  /** Number of the trail's newest record; `first - 1` while there is none. */
  readonly end: number;
  /** undefined where each writer has a chain of its own. */
  readonly head: ChainPoint | undefined;
  /** Leaves before this one are not all kept: those above them are. */
  readonly kept: number;
  /** By the store's clock (ms since the epoch), where it knows what has to be older than that. */
  readonly now?: number;
}

export interface AuditLog {
  /** Absent where what is read is a damaged file. */
  readonly tree?: TrailTree;
  /** Seals and appends in one durable transaction (fsynced when it resolves). @throws {Fault} `audit_unavailable` */
  append(draft: AuditDraft): Promise<AuditRecord>;
  /**
   * The same for several, in their order: all or none. After a failure that leaves open whether they were written, try again with the very
   * same drafts (the objects, others may follow): each is then written once. @throws {Fault} `audit_unavailable`
   */
  appendAll(drafts: readonly AuditDraft[]): Promise<void>;
  /** Records in sequence order, from `after` (exclusive, 0 = all), at most `limit`. */
  read(after: number, limit: number): Promise<readonly AuditRecord[]>;
  /**
   * The records that name this request, in their order. A store that has no index of them looks at what was written since `since` (ms since the
   * epoch) alone.
   */
  ofRequest(requestId: string, since: number): Promise<readonly AuditRecord[]>;
  /**
   * How many changes of clusters began since `since` (ms since the epoch), by the agent's id as the trail has it.
   * @param upTo a record of the trail: later ones do not count. A store that cannot tell which are later counts them all the same
   */
  changesSince(since: number, upTo?: ChainPoint): Promise<readonly (readonly [agentId: string, count: number])[]>;
  /** Begun and not ended, or unknown and not seen: from what the store keeps of them, and never by reading the trail through. The oldest first, a thousand at most. */
  attempts(): Promise<readonly Attempt[]>;
  /**
   * Appends what ends an attempt or marks it as seen, where the attempt is in a state for it (`attemptAfter`), in one step: of several who try, one
   * does. @returns whether it was written now. @throws {Fault} `audit_unavailable`
   */
  endAttempt(draft: AuditDraft): Promise<boolean>;
  /** The newest record's sequence and hash; undefined in an empty trail. */
  head(): Promise<{ readonly sequence: number; readonly hash: string } | undefined>;
}

// A trail that several writers share, each with a chain of its own, because none of them may lock out the others.

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
