/** What this process knows of its own calls: which run, how the last ones ended, and which the store may hold though they never began. */
import type { AuditDraft } from '#kernel/audit-event';

/** What a process sent before it was killed may still be under way: that there is nothing of it counts only when it is seen this much later, in ms. */
export const underWay = 30_000;

/** In this process, whichever App of it. */
export interface OwnCalls {
  begins(call: string): void;
  /** @param draft what was written, or kept beside the store */
  ends(call: string, draft: AuditDraft): void;
  /** It did not run, and its beginning may be in the trail: then that is written down, once the store takes it. */
  notBegun(call: string): void;
}

/** A store that refused more of one process's calls has been away for long; those end with the process. */
const mostDoubted = 10_000;

export interface Doubted {
  add(call: string): void;
  knows(call: string): boolean;
  /** From when on what the call itself has to say cannot be under way any more. */
  isDue(call: string): boolean;
  forget(call: string): void;
}

function createDoubted(): Doubted {
  /** Since when, on the monotonic clock. */
  const since = new Map<string, number>();
  return {
    add: (call) => void (since.size < mostDoubted && since.set(call, performance.now())),
    knows: (call) => since.has(call),
    isDue: (call) => performance.now() - (since.get(call) ?? Number.POSITIVE_INFINITY) >= underWay,
    forget: (call) => void since.delete(call),
  };
}

/** Ends that are kept for a store that loses what it took, as in a fail-over; the oldest go. */
const mostEnds = 500;

/** INVARIANT: of the process and not of an App, for a window opens its App anew while calls of the old one go on. */
const running = new Set<string>();
const ends = new Map<string, AuditDraft>();
export const doubted = createDoubted();

function noteEnd(call: string, draft: AuditDraft): void {
  running.delete(call);
  ends.set(call, draft);
  const [oldest] = ends.keys();
  if (ends.size > mostEnds && oldest !== undefined) ends.delete(oldest);
}

/** Undefined: not kept any more, or not of this process. */
export const endOfOwn = (call: string): AuditDraft | undefined => ends.get(call);
export const runsHere = (call: string): boolean => running.has(call);

export const ownCalls: OwnCalls = {
  begins: (call) => void running.add(call),
  ends: noteEnd,
  notBegun(call) {
    running.delete(call);
    doubted.add(call);
  },
};
