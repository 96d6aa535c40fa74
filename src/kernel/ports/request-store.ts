/** Requests and grants, shared by every window and process of one user. Every transition is atomic with its audit record. */
import type { Grant, RequestDecision, RequestDraft, RequestRecord, RequestStatus, RequestWait } from '../approval/request.ts';

export interface RequestPage {
  /** A page looks at a bounded number of requests: where few fit it may hold fewer than were asked for, none even, and have a cursor still. */
  readonly records: readonly RequestRecord[];
  /** Pass it on for the next page; absent on the last. */
  readonly cursor?: string;
}

export interface RequestQuery {
  /** undefined: any status. */
  readonly statuses?: readonly RequestStatus[];
  readonly limit: number;
  readonly cursor?: string;
  /** Only records that hold this text, whatever its case, in id, title, tool, agent, model or target. */
  readonly search?: string;
}

/** A transition that did not happen says why, with the record as it is now. */
export type TransitionResult =
  | { readonly ok: true; readonly record: RequestRecord }
  | {
      readonly ok: false;
      readonly why:
        | 'not_found'
        | 'not_pending'
        | 'not_approved'
        | 'expired'
        | 'mismatch'
        | 'self_approval'
        | 'too_many'
        | 'id_taken'
        | 'changed';
      readonly record?: RequestRecord;
    };

export interface StoredAnswer {
  readonly decision: RequestDecision;
  /** How many grants the request had when it was looked at. */
  readonly seen: number;
  /** Enough people have agreed: when their approvals can be used no more, ms since the epoch. Absent: others have to agree, too. */
  readonly until?: number;
}

export interface RequestStore {
  /**
   * Which store this is, in the place where it lies: a copy, a hard link or what was put in its place is another one. It names a store and proves
   * nothing.
   */
  identity(): Promise<string>;
  /** The signature counter of a passkey, which only goes up. False where it did not; 0 after 0 is no counter at all. */
  advanceCounter(credentialId: string, counter: number): Promise<boolean>;
  /**
   * Opens a request, or returns the open (pending or approved, unexpired) one of the same agent and digest.
   * A fresh id is made from a CSPRNG and retried on collision. Audits `approval.requested` when new.
   * Refuses with `too_many` when the agent has `maxPendingPerAgent` others of the same kind (call or report) pending; a report with `id_taken` when its id is in use for
   * anything but the same report of the same agent (then that record is returned).
   */
  open(draft: RequestDraft): Promise<TransitionResult>;
  /** undefined for an unknown or malformed id. Lazily shows `expired` once past its time. */
  get(id: string): Promise<RequestRecord | undefined>;
  /** Newest first. */
  list(query: RequestQuery): Promise<RequestPage>;
  countPending(): Promise<number>;
  /** Approved, unexpired, not yet consumed. */
  countApproved(): Promise<number>;
  /**
   * Adds a grant to a pending request, only if it names this id and digest, the approver is not the requester, and neither has expired;
   * with `until`: pending → approved. `changed` where the request has another number of grants than `seen`.
   */
  approve(id: string, grant: Grant, answer: StoredAnswer): Promise<TransitionResult>;
  /** pending → denied. */
  deny(id: string, decision: RequestDecision): Promise<TransitionResult>;
  /** pending or approved → cancelled (by the agent or its host) or, from approved by a person, revoked. */
  cancel(id: string, by: string): Promise<TransitionResult>;
  revoke(id: string, decision: RequestDecision): Promise<TransitionResult>;
  /** approved → consumed: compare-and-set on status, digest and time, fsynced before it resolves. At most one caller ever gets `ok`. */
  consume(id: string, digest: string, by: string): Promise<TransitionResult>;
  /**
   * A call waits for the answer to this request, for `forMs` more; 0 or less: it no longer does. `by` tells the waits of all processes apart. There is one
   * mark a request, the newest wait's; a wait that renews its mark takes it back.
   */
  noteWait(id: string, by: string, forMs: number): Promise<void>;
  /** The mark of the newest wait, whether or not it still counts (`waitState`); undefined where no call ever waited. */
  waitOf(id: string): Promise<RequestWait | undefined>;
  /** Called after any change made by any process; the argument says nothing, re-read what you show. Returns the unsubscribe. */
  onChange(listener: () => void): () => void;
}
