/** The names of everything in the shared store (docs/valkey.md). */
import { createHash } from 'node:crypto';
import { grantLifeMs, requestIdPattern, requestLifeMs } from '#kernel/approval/request';
import { isStorablePattern } from '../stored-setting.ts';

export interface Keys {
  /** What waits for a person; an hour. */
  blocked(id: string): string;
  /** What may run once; five minutes. */
  approved(id: string): string;
  /** How it ended; a day. */
  decided(id: string): string;
  /** What was asked, for when the server has dropped `blocked` or `approved` at the end of its time and nobody was there; a day. */
  copy(id: string): string;
  /** Which call waits for the answer; under `blocked:` likewise. */
  wait(id: string): string;
  /** An agent's own open requests. Under `blocked:`, because the agent's user may write nowhere else. */
  ofAgent(agentId: string): string;
  /** Held while a process writes down what came of a call of another one. Under `decided:`, where whoever may write that may write. */
  ending(call: string): string;
  /** Who says what several machines see. Under `decided:` likewise. */
  claim(what: string): string;
  /** Held while one of the agent's processes opens a request. */
  lockOf(agentId: string): string;
  /** A key that lives for an instant, to read the server's clock by. */
  probe(family: 'blocked' | 'decided', unique: string): string;
  readonly pending: string;
  readonly granted: string;
  readonly history: string;
  readonly level: string;
  /** Who paused the agents; absent while they are not. */
  readonly paused: string;
  /** An auto-approve rule. */
  rule(pattern: string): string;
  /** The list of the rules' patterns: nobody may list keys. */
  readonly rules: string;
  /** A random name that the first administrator gives this store. */
  readonly identity: string;
  /** The last signature counter of a passkey that keeps one. */
  counter(credentialId: string): string;
  /** A request's one-time code, hashed. */
  code(id: string): string;
  /** The requests whose grants were used in a span of time (`spent-marks.ts`). */
  spent(window: number): string;
  /** The trail's newest records. */
  readonly log: string;
  /** Which chunks of older ones there are. */
  readonly index: string;
  /** The chunks of an hour (`housekeeping.ts`). */
  packed(hour: number): string;
  /** Of the trail's tree: its name (`origin`), since when it is there, how many leaves have left the list, the keys that sign for it. */
  readonly tree: string;
  /** A list: each record's hash with its time. */
  readonly leaves: string;
  /** Hashes of a stored level, 128 positions together. */
  hashes(level: number, bucket: number): string;
  /** Which tiles of leaves a signed checkpoint ends in, and these tiles once they have left the list. */
  readonly signedTiles: string;
  readonly keptTiles: string;
  /** Written to be waited for, without content. */
  readonly pulse: string;
  readonly channel: string;
}

export function keysOf(prefix: string): Keys {
  const of = (family: string, id: string): string => `${prefix}:${family}:${requireId(id)}`;
  return {
    blocked: (id) => of('blocked', id),
    approved: (id) => of('approved', id),
    decided: (id) => of('decided', id),
    copy: (id) => `${of('decided', id)}:asked`,
    wait: (id) => `${of('blocked', id)}:wait`,
    ofAgent: (agentId) => `${prefix}:blocked:agent:${hashed(agentId)}`,
    ending: (call) => `${prefix}:decided:ending:${hashed(call)}`,
    claim: (what) => `${prefix}:decided:claim:${hashed(what)}`,
    lockOf: (agentId) => `${prefix}:blocked:lock:${hashed(agentId)}`,
    probe: (family, unique) => `${prefix}:${family}:clock:${hashed(unique)}`,
    pending: `${prefix}:idx:pending`,
    granted: `${prefix}:idx:approved`,
    history: `${prefix}:idx:decided`,
    level: `${prefix}:config:security_level`,
    paused: `${prefix}:config:agents_paused`,
    rule: (pattern) => `${prefix}:config:auto_approve:${requirePattern(pattern)}`,
    rules: `${prefix}:config:auto_approve_index`,
    identity: `${prefix}:config:store_identity`,
    counter: (credentialId) => `${prefix}:config:passkey_counter:${hashed(credentialId)}`,
    code: (id) => of('config:one_time_code', id),
    spent: (window) => `${prefix}:spent:${window}`,
    log: `${prefix}:log:events`,
    index: `${prefix}:log:index`,
    packed: (hour) => `${prefix}:log:packed:${hour}`,
    tree: `${prefix}:tree:log`,
    leaves: `${prefix}:tree:leaves`,
    hashes: (level, bucket) => `${prefix}:tree:${level}:${bucket}`,
    signedTiles: `${prefix}:tree:signed`,
    keptTiles: `${prefix}:tree:kept`,
    pulse: `${prefix}:tree:pulse`,
    channel: `${prefix}:events`,
  };
}

/** SECURITY: callers answer a malformed id or pattern before they come here; nothing else ever becomes part of a key. */
function requireId(id: string): string {
  if (requestIdPattern.test(id)) return id;
  throw new TypeError('not a request id');
}

function requirePattern(pattern: string): string {
  if (isStorablePattern(pattern)) return pattern;
  throw new TypeError('not a rule’s pattern');
}

function hashed(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}

// Places and lifetimes: how the sorted sets are ordered, and how long each key lives.

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
