/** Links a record into the chain. */
import { hash } from 'node:crypto';
import type { AuditDraft, AuditRecord, ChainPoint } from '#kernel/audit-event';
import { canonicalJson } from '#kernel/json';
import { fitRecord } from './fit-record.ts';

/** What the first record names as its predecessor. */
export const genesisHash = '0'.repeat(64);

/**
 * Seals a draft, cut where it is too large (`fitRecord`), as the successor of `previous` (undefined: the first record of a trail).
 * @param time ms since the epoch
 * @throws {TypeError} when the attributes hold what JSON cannot carry (RFC 8785: NaN, a lone surrogate)
 */
export function seal(draft: AuditDraft, previous: ChainPoint | undefined, time: number): AuditRecord {
  const open = {
    version: 1,
    sequence: (previous?.sequence ?? 0) + 1,
    time: new Date(time).toISOString(),
    name: draft.name,
    attributes: fitRecord(draft).attributes,
    previous: previous?.hash ?? genesisHash,
  } as const;
  return { ...open, hash: hashOf(open) };
}

/** SHA-256, in hex, over the canonical JSON of everything in the record but `hash` itself; keys nobody knows count, too. */
export function hashOf(record: Omit<AuditRecord, 'hash'>): string {
  const { hash: _own, ...sealed }: Omit<AuditRecord, 'hash'> & { readonly hash?: string } = record;
  return hash('sha256', canonicalJson(sealed), 'hex');
}
