/** The tamper-evident trail's storage. */
import type { AuditDraft, AuditRecord } from '../audit-event.ts';

export interface AuditLog {
  /** Seals and appends in one durable transaction (fsynced when it resolves). @throws {Fault} `audit_unavailable` */
  append(draft: AuditDraft): Promise<AuditRecord>;
  /** The same for several, in their order. Embedded, one transaction for all: all or none; shared, one after
   * another, so that a retry after a failure may write some twice. @throws {Fault} `audit_unavailable` */
  appendAll(drafts: readonly AuditDraft[]): Promise<void>;
  /** Records in sequence order, from `after` (exclusive, 0 = all), at most `limit`. */
  read(after: number, limit: number): Promise<readonly AuditRecord[]>;
  /** The newest record's sequence and hash; undefined in an empty trail. */
  head(): Promise<{ readonly sequence: number; readonly hash: string } | undefined>;
}
