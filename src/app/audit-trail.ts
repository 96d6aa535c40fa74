/** The trail as people read it. */
import { verifyTrail } from '#audit/verify-trail';
import type { Store } from '#kernel/ports/store';
import type { AuditTrail } from './app.ts';

/** `settle` writes what waits, so that a person sees what has been done so far. */
export function auditTrail(store: Store, settle: () => Promise<void>): AuditTrail {
  return {
    tail: async (count) => {
      await settle();
      const head = await store.audit.head();
      return head === undefined ? [] : store.audit.read(Math.max(0, head.sequence - count), count);
    },
    verify: async () => {
      await settle();
      return verifyTrail(store.audit);
    },
  };
}
