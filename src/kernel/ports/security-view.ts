/** What a tool may know of the security settings, and the one thing it may add: the report of a block. */
import type { RequestRecord } from '../request.ts';
import type { ReportedBlock } from '../security.ts';
import type { SecurityLevel } from '../tiers.ts';

/** A block as an agent reports it; `destination` as it was written, a host, `host:port` or URL. */
export interface BlockReport extends ReportedBlock {
  /** Of the form `req-` + 8 hex digits; whoever calls has checked that. */
  readonly requestId: string;
}

export type ReportAnswer =
  /** A person has been asked, now or by the same report before. `destination` is canonical. */
  | { readonly kind: 'opened'; readonly record: RequestRecord; readonly destination: string }
  /** Settled in advance, so nobody is asked; `rule` says by what. */
  | { readonly kind: 'allowed' | 'blocked'; readonly destination: string; readonly rule: string }
  | { readonly kind: 'refused'; readonly why: 'invalid_destination' | 'id_taken' | 'too_many' | 'not_opened' };

export interface SecurityView {
  /** As it counts for this call. */
  readonly level: SecurityLevel;
  /** State of `run_command`'s OS sandbox, tried where it has not been yet. */
  sandbox(): Promise<string>;
  /** Opens a request for a person; it grants no call, whatever the answer. Idempotent, capped per agent, audited. @throws {Fault} `store_…` */
  report(block: BlockReport): Promise<ReportAnswer>;
}
