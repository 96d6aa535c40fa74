/** Requests and grants, shared by every window and process of one user. Every transition is atomic with its audit record. */
import type { RequestDecision, RequestDraft, RequestRecord, RequestStatus, RequestWait, SignedGrant } from '../request.ts';

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
      readonly why: 'not_found' | 'not_pending' | 'not_approved' | 'expired' | 'mismatch' | 'self_approval' | 'too_many' | 'id_taken';
      readonly record?: RequestRecord;
    };

export interface RequestStore {
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
  /** Approved, unexpired, not yet spent. */
  countApproved(): Promise<number>;
  /** pending → approved, only if the grant names this id and digest, the approver is not the requester, and neither has expired. */
  approve(id: string, grant: SignedGrant, decision: RequestDecision): Promise<TransitionResult>;
  /** pending → denied. */
  deny(id: string, decision: RequestDecision): Promise<TransitionResult>;
  /** pending or approved → cancelled (by the agent or its host) or, from approved by a person, revoked. */
  cancel(id: string, by: string): Promise<TransitionResult>;
  revoke(id: string, decision: RequestDecision): Promise<TransitionResult>;
  /** approved → consumed: compare-and-set on status, digest and time, fsynced before it resolves. At most one caller ever gets `ok`. */
  spend(id: string, digest: string, by: string): Promise<TransitionResult>;
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
