/** The shared trail: a sorted set to which its writers can only add. */

import { leafHash } from '#audit/merkle';
import { callOf, createAttemptIndex } from '#kernel/attempt';
import type { AuditDraft, AuditRecord } from '#kernel/audit-event';
import { Fault, faultMessage, toFault } from '#kernel/errors';
import { isJsonObject } from '#kernel/json';
import type { AuditLog, ChainedAuditLog, ChainReading, LeafReading } from '#kernel/ports/audit-log';
import { say } from '#kernel/text/message';
import { storedRecord } from '../stored-record.ts';
import { lives } from './keys.ts';
import type { TrailEntry, TrailReader } from './read-trail.ts';
import { createTreeReader, createValkeyTree, type TreeDeps, type TreeReader, whereNoTree } from './valkey-tree.ts';

export interface AuditDeps extends TreeDeps {
  readonly ring: () => void;
}

export function createValkeyAudit(deps: AuditDeps): ChainedAuditLog {
  const { trail } = deps;
  const write = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      const written = await work();
      deps.ring();
      return written;
    } catch (thrown) {
      throw unavailable(thrown);
    }
  };
  const attempts = createDayMemory(deps, (draft) => write(() => deps.chain.append(draft)));
  const { reading, ...tree } = createValkeyTree(deps);
  return {
    tree,
    append: (draft) => write(() => deps.chain.append(draft)),
    appendAll: (drafts) => write(() => deps.chain.appendGroup(drafts)),
    read: async (after, limit) => (await trail.at(Math.max(0, after), Math.max(0, limit))).map((member) => storedRecord(member, 0)),
    ofRequest: async (requestId, since) =>
      (await recordsSince(deps, since, requestId)).filter(({ attributes }) => attributes['request_id'] === requestId),
    ...attempts,
    head: async () => {
      const count = await trail.count();
      const [newest] = count === 0 ? [] : await trail.at(count - 1, 1);
      return newest === undefined ? undefined : { sequence: count, hash: storedRecord(newest, 0).hash };
    },
    readChains: async (since) => ({
      // Before the first page is read, so that records appended meanwhile do no harm.
      anchors: deps.chain.anchors(),
      keptSince: deps.now() - lives.outcome * 1000,
      ...(since === undefined ? await treeOf(reading) : {}),
      records: everyRecord(trail, since === undefined ? undefined : since - skewMs),
    }),
  };
}

async function treeOf(reading: () => Promise<LeafReading | undefined>): Promise<Pick<ChainReading, 'tree'>> {
  const tree = await reading();
  return tree === undefined ? {} : { tree };
}

/** Clocks of the store's users may differ by this much, in ms. */
const skewMs = 60_000;

/** Those that hold `text`; the rest is not even parsed. */
async function recordsSince({ trail }: AuditDeps, since: number, text: string): Promise<readonly AuditRecord[]> {
  const found: AuditRecord[] = [];
  for await (const page of trail.pages(since - skewMs, text))
    for (const { member } of page) if (member.includes(text)) found.push(storedRecord(member, 0));
  return found;
}

async function* everyRecord(trail: TrailReader, since: number | undefined): AsyncGenerator<AuditRecord> {
  for await (const page of trail.pages(since)) yield* page.map(({ member }) => storedRecord(member, 0));
}

function unavailable(thrown: unknown): Fault {
  const fault = toFault(thrown);
  const { audience, retryable } = fault;
  const next = fault.words.next ?? fault.next;
  return new Fault('audit_unavailable', say`the audit record could not be written: ${faultMessage(fault)}`, {
    audience,
    retryable,
    cause: fault,
    ...(next === undefined ? {} : { next }),
  });
}

// What a day's records say of calls: which have no end, and who changed how much. The trail is read once, and then what came since.

/** Names that an attempt's records have, as they stand in a member. */
const aboutAttempts = /"name":"(tool\.(?:started|finished|denied)|attempt\.(?:resolved|seen))"/;

/** Whoever ends an attempt holds its key this long, in s: others look again after it. */
const endingSeconds = 30;

interface Change {
  readonly agent: string;
  /** ms since the epoch. */
  readonly time: number;
  /** Its leaf in the trail's tree, hex. */
  readonly leaf: string;
}

/**
 * The trail lasts a day, so the first look reads at most that. LIMIT: of its records only those of a minute are held: writers share no clock, and what
 * one began another one may seem to have ended before.
 */
function createDayReader({ trail, now }: AuditDeps) {
  const index = createAttemptIndex();
  /** By the record's hash. */
  const changes = new Map<string, Change>();
  let readUntil: number | undefined;
  const begin = (member: string): void => {
    const record = storedRecord(member, 0);
    index.note(record);
    const change = changeOf(record, member);
    if (change) changes.set(record.hash, change);
  };
  const forgetBefore = (day: number): void => {
    index.forgetBefore(day);
    for (const [hash, { time }] of changes) if (time < day - skewMs) changes.delete(hash);
  };
  return {
    index,
    change: (hash: string): Change | undefined => changes.get(hash),
    countSince: (since: number, isLater: IsLater): readonly (readonly [agentId: string, count: number])[] => {
      const counts = new Map<string, number>();
      for (const change of changes.values())
        if (change.time >= since && !isLater(change)) counts.set(change.agent, (counts.get(change.agent) ?? 0) + 1);
      return [...counts];
    },
    catchUp: async (): Promise<void> => {
      const until = now();
      const day = until - lives.outcome * 1000;
      const ends = createEnds(index.note);
      for await (const page of trail.pages(newSince(readUntil, until) - skewMs)) {
        for (const entry of page) {
          const [, name] = aboutAttempts.exec(entry.member) ?? [];
          if (name === 'tool.started') begin(entry.member);
          else if (name !== undefined) ends.hold(entry);
        }
        ends.letGo((page.at(-1)?.score ?? 0) - skewMs);
      }
      ends.letGo(Number.POSITIVE_INFINITY);
      forgetBefore(day);
      readUntil = until;
    },
  };
}

/** Of a clock that was set back: what was read while it was ahead was read, and forgotten, by a time that never was. */
function newSince(readUntil: number | undefined, now: number): number {
  return readUntil === undefined || now < readUntil ? now - lives.outcome * 1000 : readUntil;
}

function createEnds(note: (record: AuditRecord) => void) {
  const held: TrailEntry[] = [];
  return {
    hold: (entry: TrailEntry): void => void held.push(entry),
    letGo: (upTo: number): void => {
      const later = held.findIndex(({ score }) => score > upTo);
      for (const { member } of held.splice(0, later < 0 ? held.length : later)) note(storedRecord(member, 0));
    },
  };
}

function createDayMemory(
  deps: AuditDeps,
  append: (draft: AuditDraft) => Promise<AuditRecord>,
): Pick<AuditLog, 'attempts' | 'endAttempt' | 'changesSince'> {
  const { connections, keys } = deps;
  const { index, change, countSince, catchUp } = createDayReader(deps);
  const tree = createTreeReader(deps);
  let turn: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const mine = turn.then(work);
    turn = mine.catch(() => undefined);
    return mine;
  };
  return {
    attempts: () => inTurn(() => catchUp().then(() => index.list().slice(0, 1000))),
    changesSince: (since, upTo) =>
      inTurn(async () => {
        await catchUp();
        const own = upTo && change(upTo.hash);
        return countSince(since - skewMs, own === undefined ? () => false : await laterThan(own, tree));
      }),
    endAttempt: (draft) =>
      inTurn(async () => {
        const call = callOf(draft) ?? '';
        const key = keys.ending(call);
        const held = await connections.asAny(['exec', 'admin'], (client) => client.set(key, '', 'EX', endingSeconds, 'NX'));
        if (held === null) return false;
        await catchUp();
        const takes = index.takes(draft);
        if (takes) index.note(await append(draft));
        // Nobody here may delete; a time that is over does. Where the answer was lost it stays: whether the record is there shows until it goes.
        await connections.asAny(['exec', 'admin'], (client) => client.set(key, '', 'PXAT', 1)).catch(() => undefined);
        return takes;
      }),
  };
}

/** undefined: it changes no cluster, or nobody's. */
function changeOf({ time, attributes: { agent, cluster, impact } }: AuditRecord, member: string): Change | undefined {
  const id = isJsonObject(agent) ? agent['id'] : undefined;
  if (typeof id !== 'string' || cluster === undefined || impact === 'none') return undefined;
  return { agent: id, time: Date.parse(time), leaf: leafHash(member).toString('hex') };
}

type IsLater = (change: Change) => boolean;

/** So many of the newest leaves are looked at for one's own, which was written a moment ago; where it is not among them, among more. */
const newestLeaves = [4096, 65_536];

/**
 * The order of changes is that of their leaves, which the server gives.
 * INVARIANT: of two changes at most one is later for the other, and all leaves before one's own are of records that have been read. So it is read after
 * the trail; one's own place is the last that it has, and what also has a leaf before that, is old, or has none at all is not later.
 */
async function laterThan(own: Change, tree: TreeReader): Promise<IsLater> {
  for (const count of newestLeaves) {
    const newest = await tree.newest(count).catch(whereNoTree);
    const hashes = newest?.map(({ hash }) => hash) ?? [];
    const place = hashes.lastIndexOf(own.leaf);
    if (place < 0) continue;
    const later = new Set(hashes.slice(place + 1));
    for (const hash of hashes.slice(0, place)) later.delete(hash);
    return ({ leaf, time }) => later.has(leaf) && time >= own.time - skewMs;
  }
  return () => false;
}
