/** Places and lifetimes: how the sorted sets are ordered, and how long each key lives. */
import { grantLifeMs, requestLifeMs } from '#kernel/request';

/** In s: a request an hour, a grant five minutes, an outcome a day (docs/design.md#requests-and-grants). */
const dayMs = 86_400_000;
export const lives = { request: requestLifeMs / 1000, grant: grantLifeMs / 1000, outcome: dayMs / 1000 } as const;

/** The score in `idx:pending` is the moment of expiry in ms; its fraction keeps the order within a millisecond. */
export function pendingScore(place: number): number {
  return place / 1000 + requestLifeMs;
}

/** What has expired at `now` is below this, whatever its fraction. */
export const firstLiveScore = (now: number): number => now + 1;

/** `idx:decided` goes by creation, too, so that a list has one order whatever became of a request: creation + 24 h. */
export function historyScore(place: number): number {
  return place / 1000 + dayMs;
}

export const placeOfPending = (score: number): number => Math.round((score - requestLifeMs) * 1000);
export const placeOfHistory = (score: number): number => Math.round((score - dayMs) * 1000);

/** INVARIANT: never below a second nor above the life of its kind. */
export function secondsLeft(endMs: number, nowMs: number, kind: keyof typeof lives): number {
  return Math.min(lives[kind], Math.max(1, Math.ceil((endMs - nowMs) / 1000)));
}
