import type { AuditLog } from './audit-log.ts';
import type { RequestStore } from './request-store.ts';

/** One engine holding both; `close` flushes and releases everything (idempotent). */
export interface Store {
  readonly requests: RequestStore;
  readonly audit: AuditLog;
  /** Where it is, for people: a file path or a URL without credentials. */
  readonly location: string;
  close(): Promise<void>;
}
