/** The trail as people read it. */
import { compareTrail } from '#audit/compare-trail';
import { isChained, verifyTrail } from '#audit/verify-trail';
import type { Store } from '#kernel/ports/store';
import type { AuditTrail } from './app.ts';

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
