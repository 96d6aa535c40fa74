/** Records of a user's own process, on their way to the service that keeps them. */
import { fitRecord } from '#audit/fit-record';
import { type AuditDraft, mostRecordBytes } from '#kernel/audit-event';
import { Fault, faultMessage, toFault } from '#kernel/errors';
import { wireLimits } from '#kernel/wire';

/** Of a record, for the name of who reported it. In bytes. */
const room = 1024;

/** Cut before it is sent: what the service adds has its place. */
export function fitReported(draft: AuditDraft): AuditDraft {
  return fitRecord(draft, mostRecordBytes - room);
}

/**
 * In parts that a message has room for; what the service has taken is not sent again with the rest.
 * @throws {Fault} `audit_unavailable`
 */
export function createReporting(
  send: (drafts: readonly AuditDraft[]) => Promise<unknown>,
): (drafts: readonly AuditDraft[]) => Promise<void> {
  const taken = new WeakSet<AuditDraft>();
  return async (drafts) => {
    try {
      for (const part of partsOf(drafts.filter((draft) => !taken.has(draft)))) {
        await send(part.map(fitReported));
        for (const draft of part) taken.add(draft);
      }
      for (const draft of drafts) taken.delete(draft);
    } catch (thrown) {
      const { next, retryable, words } = toFault(thrown);
      const remedy = words.next ?? next;
      const known = remedy === undefined ? {} : { next: remedy };
      throw new Fault('audit_unavailable', faultMessage(thrown), { retryable, cause: thrown, ...known });
    }
  };
}

/** Many records that are as large as may be. */
const mostTogether = Math.floor(wireLimits.messageBytes / mostRecordBytes / 2);

function* partsOf(drafts: readonly AuditDraft[]): Generator<readonly AuditDraft[]> {
  for (let at = 0; at < drafts.length; at += mostTogether) yield drafts.slice(at, at + mostTogether);
}
