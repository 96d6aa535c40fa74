/** The trail as people read it. */
import { compareTrail } from '#audit/compare-trail';
import type { ChainVerdict } from '#audit/verify-chain';
import { isChained, verifyTrail } from '#audit/verify-trail';
import type { Store } from '#kernel/ports/store';
import { openDamagedTrail } from '#stores/sqlite/open-damaged-trail';
import type { AuditTrail } from './app.ts';
import { embeddedFile, type StoreOptions } from './open-store.ts';

/** `settle` writes what waits, so that a person sees what has been done so far. */
export function auditTrail({ audit }: Pick<Store, 'audit'>, settle: () => Promise<void>): AuditTrail {
  return {
    tail: async (count) => {
      await settle();
      const head = await audit.head();
      return head === undefined ? [] : audit.read(Math.max(0, head.sequence - count), count);
    },
    verify: async (seen) => {
      await settle();
      return verifyTrail(audit, seen === undefined ? [] : [seen]);
    },
    compare: async (seen) => {
      await settle();
      return compareTrail(audit, seen);
    },
    head: async () => (isChained(audit) ? undefined : audit.head()),
    continues: async ({ sequence, hash }) => {
      const [record] = await audit.read(sequence - 1, 1);
      return record !== undefined && (record.sequence > sequence || record.hash === hash);
    },
  };
}

/**
 * The same of an embedded store that does not open because its file is damaged: what of it can still be read. undefined for a shared store.
 * @throws {Fault} `store_corrupt` where not even the end of the trail can be found
 */
export async function verifyDamaged(options: StoreOptions): Promise<ChainVerdict | undefined> {
  if (!options.config.store.startsWith('sqlite:')) return undefined;
  const file = embeddedFile(options);
  const { audit, damage, close } = await openDamagedTrail(file);
  try {
    const verdict = await verifyTrail(audit);
    const where = damage === undefined ? '' : `; the file is damaged in ${damage}`;
    return { ...verdict, ok: false, message: `${verdict.message}${where} (${file}; it was left as it is)` };
  } finally {
    close();
  }
}
