/** The trail as people read it. */
import { verifyTrail } from '#audit/verify-trail';
import type { Store } from '#kernel/ports/store';
import type { AuditTrail } from './app.ts';

export function auditTrail(store: Store): AuditTrail {
  return {
    tail: async (count) => {
      const head = await store.audit.head();
      return head === undefined ? [] : store.audit.read(Math.max(0, head.sequence - count), count);
    },
    verify: () => verifyTrail(store.audit),
  };
}
