/** One record of the trail. Field names follow OpenTelemetry's GenAI conventions where they exist (v1.41, Development). */
import type { JsonObject } from './json.ts';

export const auditEventNames = [
  'tool.denied',
  'tool.started',
  'tool.finished',
  // What came of a call whose process is gone, or that nobody could find out; that a person has seen the latter.
  'attempt.resolved',
  'attempt.seen',
  // A task of the cluster that outlived its call has ended; absent while no process that stays has seen it.
  'task.ended',
  'approval.requested',
  // One of several people who have to agree has.
  'approval.partial',
  'approval.approved',
  'approval.denied',
  'approval.expired',
  'approval.cancelled',
  'approval.revoked',
  'approval.consumed',
  'approver.trusted',
  'policy.changed',
  // A step of a plan and what it came to; the plan's own end; a person who pauses, goes on or stops; a plan that was made anew without some steps.
  'plan.step',
  'plan.ended',
  'plan.control',
  'plan.struck',
  // What a command had changed in the workspace was taken back.
  'run.undone',
  // An agent's effective model tier, by its errors or successes.
  'standing.changed',
  // Something of a cluster changed without a call: a node, quorum, a guest, a storage.
  'cluster.changed',
  // Of the embedded store itself: a person trusts the clock, or it began anew, or it was restored from a backup.
  'store.changed',
  // What was dropped because it was old: `base` is the last record that is gone.
  'audit.checkpoint',
  // A key that signs checkpoints of this trail from here on.
  'audit.key',
] as const;
export type AuditEventName = (typeof auditEventNames)[number];

/** Most that a record's attributes take, in bytes of their canonical JSON: of what is larger the record keeps a part, and says so in `cut`. */
export const mostRecordBytes = 32 * 1024;
/** Of a record; more, and names that are longer (in bytes, as JSON), have no place of their own in one that is cut. */
export const mostAttributes = 64;
export const longestAttributeName = 100;

/** What happened, before it is sealed into the chain. `attributes` are redacted and JSON-safe already. */
export interface AuditDraft {
  readonly name: AuditEventName;
  readonly attributes: JsonObject;
}

/** A sealed record: `hash` = SHA-256 over the canonical JSON of everything else in it, `previous` included. Hex. */
export interface AuditRecord {
  readonly version: 1;
  readonly sequence: number;
  /** ISO 8601, UTC. */
  readonly time: string;
  readonly name: AuditEventName;
  readonly attributes: JsonObject;
  readonly previous: string;
  readonly hash: string;
  /** Which writer's chain this belongs to, where a store holds several; absent: the store's only one. */
  readonly chain?: string;
  /** When the previous record of that chain was written: what has been trimmed before it can then be told from what was taken away. */
  readonly previousTime?: string;
}

/** A point of the chain: a record's sequence and hash. */
export type ChainPoint = Pick<AuditRecord, 'sequence' | 'hash'>;

/** What is wrong with one record: its number, and the words for people. */
export interface Flaw {
  readonly broken: number;
  readonly message: string;
}

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

/** Seals a draft as the successor of `previous` (undefined: the first record). `time` is ms since the epoch. Pure. */
export type Seal = (draft: AuditDraft, previous: ChainPoint | undefined, time: number) => AuditRecord;
