/**
 * Records of green reads, written in groups (within 50 ms: docs/design.md#the-promises), so that a read does not wait for a disk. A read is answered ahead
 * of its record only while the trail has just been seen to be writable: after a pause, or a failure, the next read waits for its record.
 */
import type { AuditDraft } from '#kernel/audit-event';
import { toFault } from '#kernel/errors';
import { hasCanonicalForm } from '#kernel/json';
import type { AuditLog } from '#kernel/ports/audit-log';
import type { Log } from '#kernel/ports/log';

/** How long a record waits for others. */
const groupMs = 20;
/** How long one durable record vouches for the next. */
const trustMs = 1_000;
/** So many are not kept from the disk any longer: writing them takes a millisecond, which answers wait for. */
const mostTogether = 24;
/** More than this never waits in memory: the next read waits for the disk instead. */
const mostWaiting = 200;

export interface ReadGroups {
  /** The trail, with all that was noted before in front of whatever is written or read through it. */
  readonly audit: AuditLog;
  /** Takes the record of a read. @throws {Fault} what the trail says, where it had to be written at once */
  note(draft: AuditDraft): Promise<void>;
  /** Writes what waits. Never rejects: what could not be written is logged and waits on. */
  settle(): Promise<void>;
}

/** `now` is a monotonic time in ms. */
export function groupReads(log: AuditLog, lines: Log, now: () => number = () => performance.now()): ReadGroups {
  const waiting: AuditDraft[] = [];
  const inTurn = createTurns();
  let timer: NodeJS.Timeout | undefined;
  let trustedUntil = Number.NEGATIVE_INFINITY;

  /** While a write is under way, the one before still vouches. */
  const write = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      const written = await work();
      trustedUntil = now() + trustMs;
      return written;
    } catch (thrown) {
      trustedUntil = Number.NEGATIVE_INFINITY;
      throw thrown;
    }
  };
  const drain = async (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    const group = [...waiting];
    if (group.length > 0) await write(() => log.appendAll(group));
    waiting.splice(0, group.length);
  };
  const append = (draft: AuditDraft) => inTurn(() => drain().then(() => write(() => log.append(draft))));
  const appendAll = (drafts: readonly AuditDraft[]) => inTurn(() => drain().then(() => write(() => log.appendAll(drafts))));
  const endAttempt = (draft: AuditDraft) => inTurn(() => drain().then(() => write(() => log.endAttempt(draft))));
  const appendTogether = createTogether(inTurn, async (drafts) => {
    await drain();
    await write(() => log.appendAll(drafts));
  });
  const settle = (): Promise<void> =>
    inTurn(drain).catch((thrown: unknown) =>
      lines.error(`audit: ${waiting.length} records of reads wait, the trail cannot be written: ${toFault(thrown).message}`),
    );
  const note = async (draft: AuditDraft): Promise<void> => {
    // One that can never be written must be refused to its own call, not hold up a group for ever.
    if (!isWritable(draft)) {
      await append(draft);
      return;
    }
    if (now() > trustedUntil || waiting.length >= mostWaiting) {
      await appendTogether(draft);
      return;
    }
    waiting.push(draft);
    if (waiting.length % mostTogether === 0) void settle();
    else timer ??= setTimeout(() => void settle(), groupMs);
  };
  return { audit: settledBefore(log, { append, appendAll, endAttempt }, settle), note, settle };
}

/** Reads that must wait for the disk: those that come before the turn of the first one share its write. */
function createTogether(
  inTurn: <T>(work: () => Promise<T>) => Promise<T>,
  write: (drafts: readonly AuditDraft[]) => Promise<void>,
): (draft: AuditDraft) => Promise<void> {
  let next: { readonly drafts: AuditDraft[]; readonly written: Promise<void> } | undefined;
  return (draft) => {
    if (next !== undefined && next.drafts.length < mostWaiting) {
      next.drafts.push(draft);
      return next.written;
    }
    const drafts = [draft];
    const begin = () => {
      if (next?.drafts === drafts) next = undefined;
      return write(drafts);
    };
    next = { drafts, written: inTurn(begin) };
    return next.written;
  };
}

function isWritable({ attributes }: AuditDraft): boolean {
  try {
    return hasCanonicalForm(attributes);
  } catch {
    return false;
  }
}

/** One piece of work at a time, in the order in which it came. */
function createTurns(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const mine = last.then(work);
    last = mine.catch(() => undefined);
    return mine;
  };
}

/** What can be read is read even where the trail cannot be written. */
function settledBefore(
  log: AuditLog,
  writing: Pick<AuditLog, 'append' | 'appendAll' | 'endAttempt'>,
  settle: () => Promise<void>,
): AuditLog {
  return {
    ...writing,
    read: (after, limit) => settle().then(() => log.read(after, limit)),
    ofRequest: (requestId, since) => settle().then(() => log.ofRequest(requestId, since)),
    changesSince: (since, upTo) => log.changesSince(since, upTo),
    attempts: () => settle().then(() => log.attempts()),
    head: () => settle().then(() => log.head()),
  };
}
