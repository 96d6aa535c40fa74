/** The tamper-evident trail's storage. */
import type { Attempt } from '../attempt.ts';
import type { AuditDraft, AuditRecord, ChainPoint } from '../audit-event.ts';

/** The Merkle tree over the records of a trail that is one chain: its hashes stay when records leave. */
export interface TrailTree {
  state(): Promise<TreeState>;
  /** Hashes (hex) of a stored level (0: the records'; 8, 16 …: above 256 of the level below), from a position on, at most `count`. */
  hashes(level: number, from: number, count: number): Promise<readonly string[]>;
  /** When the newest of the first `count` records was written (ms since the epoch); undefined where there is none. */
  newestOf(count: number): Promise<number | undefined>;
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
  /** Sequence of the record that is leaf 0: in a store that is older than its tree the oldest that was still kept. */
  readonly first: number;
  /** Leaves. */
  readonly size: number;
  readonly head: ChainPoint | undefined;
}

export interface AuditLog {
  /** Absent where each writer has a chain of its own. */
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
   * @param upTo a record of the trail: later ones do not count. A store without one order for all of its records counts them all the same
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
