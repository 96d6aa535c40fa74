/** What the store's worker and its client say to each other over the message port. */
import type { FaultData } from '#kernel/fault-data';
import type { AuditLog } from '#kernel/ports/audit-log';
import type { PersonaLedger } from '#kernel/ports/persona-ledger';
import type { RequestStore } from '#kernel/ports/request-store';
import type { SecurityStore } from '#kernel/ports/security-store';

type RequestCalls = { [Name in Exclude<keyof RequestStore, 'onChange'> as `requests.${Name}`]: RequestStore[Name] };
type AuditCalls = { [Name in keyof AuditLog as `audit.${Name}`]: AuditLog[Name] };
type SecurityCalls = { [Name in Exclude<keyof SecurityStore, 'onChange'> as `security.${Name}`]: SecurityStore[Name] };
type PersonaCalls = { [Name in keyof PersonaLedger as `personas.${Name}`]: PersonaLedger[Name] };

/** Every method that crosses, by name. */
export type StoreCalls = RequestCalls & AuditCalls & SecurityCalls & PersonaCalls & { close(): Promise<void> };
export type StoreCallName = keyof StoreCalls;

export interface StoreCallMessage {
  readonly id: number;
  readonly name: StoreCallName;
  readonly values: readonly unknown[];
}

export type StoreWorkerMessage =
  | { readonly kind: 'ready' }
  | { readonly kind: 'failed'; readonly fault: FaultData }
  | { readonly kind: 'changed' }
  | { readonly kind: 'answer'; readonly id: number; readonly value: unknown }
  | { readonly kind: 'refusal'; readonly id: number; readonly fault: FaultData };

/** What the worker is started with. */
export interface StoreWorkerData {
  readonly file: string;
  readonly busyDeadlineMs?: number;
}
