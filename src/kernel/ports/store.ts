import type { AuditLog, TrailTree } from './audit-log.ts';
import type { CodeStore } from './code-store.ts';
import type { PersonaLedger } from './persona-ledger.ts';
import type { RequestStore } from './request-store.ts';
import type { SecurityStore } from './security-store.ts';
import type { StoreCare } from './store-care.ts';

/** One engine holding all; `close` flushes and releases everything (idempotent). */
export interface Store {
  readonly requests: RequestStore;
  readonly audit: AuditLog;
  readonly security: SecurityStore;
  /** Absent where people answer elsewhere. */
  readonly codes?: CodeStore;
  /** Absent where several machines share the engine: the directories it counts are on one machine's disk. */
  readonly personas?: PersonaLedger;
  /** Absent where the engine is not on this machine: it looks after itself. */
  readonly care?: StoreCare;
  /**
   * Of several machines that claim the same within `forMs`, one gets it. Absent where the engine is on one machine. @throws {Fault} `store_…`
   */
  claim?(what: string, forMs: number): Promise<boolean>;
  /** There is none where `location` says: this one is empty, and goes when it is closed. */
  readonly isMissing?: true;
  /** Where it is, for people: a file path or a URL without credentials. */
  readonly location: string;
  close(): Promise<void>;
}

/** An engine on this machine. */
export interface LocalStore extends Store {
  readonly audit: AuditLog & { readonly tree: Required<Omit<TrailTree, 'pin' | 'begin'>> };
  readonly codes: CodeStore;
  readonly personas: PersonaLedger;
  readonly care: StoreCare;
}
