/** Pages of requests, newest first: the indexes are read as far as a page needs. */

import { grantLifeMs, type RequestStatus, requestIdPattern } from '#kernel/approval/request';
import { Fault } from '#kernel/errors';
import type { RequestPage, RequestQuery } from '#kernel/ports/request-store';
import { isBlank, type Looked, matchRequest, mayMatch, mergePage, mostLookedAt, type RequestMatch } from '../request-search.ts';
import { firstLiveScore, historyScore, pendingScore, placeOfHistory, placeOfPending } from './keys.ts';
import type { StoreContext } from './store-context.ts';
import { type FoundRequest, findRequests, keyReaders } from './stored-request.ts';

interface Wanted {
  /** undefined: any. */
  readonly statuses: ReadonlySet<RequestStatus> | undefined;
  readonly before: Position;
  /** Asked about a request's JSON before it is parsed. */
  readonly mayFit: (json: string) => boolean;
  readonly matches: RequestMatch;
  readonly count: number;
  /** How many to look at in one go. */
  readonly batch: number;
}

/** Grants live five minutes, so there are few at a time. */
const maxGrants = 5000;

/** Some members of an index, and where the last of them stands; undefined: no more follow. */
interface Members {
  readonly ids: readonly string[];
  readonly end?: Position | undefined;
}

/** One index, and which of its ids come next. */
interface Source {
  readonly holds: readonly RequestStatus[];
  next(context: StoreContext, wanted: Wanted, offset: number): Promise<Members>;
}

const sources: readonly Source[] = [
  // What has lapsed stays in its index until somebody writes it down.
  {
    holds: ['pending', 'expired'],
    next: ({ connections, keys, now }, { before, statuses, batch }, offset) =>
      connections.asAny(['agent', 'admin'], async (client) => {
        const [live, lapsed] = [statuses?.has('pending') ?? true, statuses?.has('expired') ?? true];
        const max = live ? pendingScore(before.place) : `(${Math.min(pendingScore(before.place) + 1, firstLiveScore(now()))}`;
        const min = lapsed ? '(0' : firstLiveScore(now());
        const flat = await client.zrange(keys.pending, max, min, 'BYSCORE', 'REV', 'LIMIT', offset, batch, 'WITHSCORES');
        return membersOf(flat, placeOfPending, { before, batch });
      }),
  },
  {
    holds: ['approved', 'expired'],
    next: ({ connections, keys }) =>
      connections.asAny(keyReaders, async (client) => ({ ids: await client.zrange(keys.granted, 0, maxGrants - 1) })),
  },
  {
    holds: ['denied', 'expired', 'cancelled', 'revoked', 'consumed'],
    next: ({ connections, keys }, { before, batch }, offset) =>
      connections.asAny(['exec', 'admin'], async (client) => {
        const max = historyScore(before.place);
        const flat = await client.zrange(keys.history, max, '-inf', 'BYSCORE', 'REV', 'LIMIT', offset, batch, 'WITHSCORES');
        return membersOf(flat, placeOfHistory, { before, batch });
      }),
  },
];

/** What the indexes that matter have for a page. */
export async function collectRequests(context: StoreContext, wanted: Wanted): Promise<Looked<Position, FoundRequest>> {
  const { statuses } = wanted;
  const needed = statuses ? sources.filter((source) => source.holds.some((status) => statuses.has(status))) : sources;
  const looked = await Promise.all(needed.map((source) => collect(context, source, wanted)));
  return { found: looked.flatMap(({ found }) => found), reached: looked.flatMap(({ reached }) => reached) };
}

/** Reads on until there are enough that fit, or no more at all, or it has looked at enough. */
async function collect(context: StoreContext, source: Source, wanted: Wanted): Promise<Looked<Position, FoundRequest>> {
  const fitting: FoundRequest[] = [];
  for (let offset = 0; ; ) {
    const { ids, end } = await source.next(context, wanted, offset);
    const found = await findRequests(context, ids, wanted.mayFit);
    fitting.push(...found.filter((request) => fits(request, source, wanted)));
    offset += wanted.batch;
    if (end === undefined || fitting.length >= wanted.count) return { found: newest(fitting, wanted.count), reached: [] };
    if (offset >= mostLookedAt) return { found: fitting, reached: [end] };
  }
}

/** Those that the cursor excludes keep their place in the count: an empty id is no request and is skipped. */
function membersOf(
  flat: readonly string[],
  placeOf: (score: number) => number,
  { before, batch }: Pick<Wanted, 'before' | 'batch'>,
): Members {
  const members = Array.from({ length: flat.length / 2 }, (_, index) => ({
    id: flat[2 * index] ?? '',
    place: placeOf(Number(flat[2 * index + 1])),
  }));
  const ids = members.map((member) => (isBefore(member, before) ? member.id : ''));
  const last = members.at(-1);
  return { ids, end: last && members.length === batch ? positionOfMember(last.place, last.id) : undefined };
}

function fits({ record, place }: FoundRequest, source: Source, { statuses, before, matches }: Wanted): boolean {
  if (!isBefore({ place, id: record.id }, before) || !matches(record)) return false;
  return statuses ? statuses.has(record.status) : source.holds.includes(record.status);
}

function newest(found: readonly FoundRequest[], count: number): readonly FoundRequest[] {
  return found.toSorted((a, b) => newestFirst(positionOf(a), positionOf(b))).slice(0, count);
}

// Positions in the one order that all lists have: newest first, by place and then by id.

interface Position {
  readonly place: number;
  readonly id: string;
}

/** The newest possible place: beyond the year 2200, and still exact. */
const newestPosition: Position = { place: 8_000_000_000_000_000, id: '' };

export const positionOf = ({ place, record }: FoundRequest): Position => ({ place, id: record.id });

/** Of a member of an index. What is no request's id comes last at its place, so that a cursor can always be made of it. */
function positionOfMember(place: number, member: string): Position {
  return { place, id: requestIdPattern.test(member) ? member : 'req-00000000' };
}

/** Negative where `a` is newer. */
export function newestFirst(a: Position, b: Position): number {
  if (a.place !== b.place) return b.place - a.place;
  if (a.id === b.id) return 0;
  return a.id < b.id ? 1 : -1;
}

function isBefore(position: Position, before: Position): boolean {
  return position.place < before.place || (position.place === before.place && position.id < before.id);
}

export function cursorOf({ place, id }: Position): string {
  return `${place}.${id.slice('req-'.length)}`;
}

/** @throws {Fault} `bad_cursor` */
export function readCursor(cursor: string | undefined): Position {
  if (cursor === undefined) return newestPosition;
  const [, place, id] = /^(\d{1,16})\.([a-f0-9]{8})$/.exec(cursor) ?? [];
  if (place !== undefined && id !== undefined) return { place: Number(place), id: `req-${id}` };
  throw new Fault('bad_cursor', 'this `cursor` is not one that a list returned', {
    audience: 'user',
    next: 'start again without a cursor',
  });
}

// Pages of requests, newest first, over the indexes: no scan, whatever else is in the store.

const maxPage = 500;
/** How many requests a search looks at in one go: little enough to leave the event loop alone for a few ms only. */
const searchBatch = 250;
/** Clocks of the store's users may differ by this much, in ms. What is further in the future no process of ours has written. */
const skewMs = 60_000;

export async function countPending({ connections, keys, now }: StoreContext): Promise<number> {
  return connections.asAny(['agent', 'admin'], (client) =>
    client.zcount(keys.pending, firstLiveScore(now()), pendingScore((now() + skewMs) * 1000)),
  );
}

/** A grant that is consumed leaves the index at once, one that has run out counts no more. */
export async function countApproved({ connections, keys, now }: StoreContext): Promise<number> {
  return connections.asAny(keyReaders, (client) => client.zcount(keys.granted, `(${now()}`, now() + grantLifeMs + skewMs));
}

/** The cursor is a position, so requests that arrive between two pages neither repeat nor hide one. */
export async function listRequests(context: StoreContext, query: RequestQuery): Promise<RequestPage> {
  const limit = Math.min(Math.max(1, Math.trunc(query.limit)), maxPage);
  const wanted: Wanted = {
    statuses: query.statuses && new Set(query.statuses),
    before: readCursor(query.cursor),
    mayFit: mayMatch(query.search),
    matches: matchRequest(query.search),
    count: limit + 1,
    batch: isBlank(query.search) ? limit + 1 : searchBatch,
  };
  const { found, reached } = await collectRequests(context, wanted);
  // A request that moved from one index to another meanwhile is found twice; its later state was read later.
  const byId = new Map(found.map((request) => [request.record.id, request]));
  const { items, next } = mergePage({ found: [...byId.values()], reached }, limit, { placeOf: positionOf, compare: newestFirst });
  const records = items.map((request) => request.record);
  return next === undefined ? { records } : { records, cursor: cursorOf(next) };
}
