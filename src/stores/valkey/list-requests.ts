/** Pages of requests, newest first, over the indexes: no scan, whatever else is in the store. */
import { Fault } from '#kernel/errors';
import type { RequestPage, RequestQuery } from '#kernel/ports/request-store';
import { grantLifeMs, type RequestStatus } from '#kernel/request';
import { isBlank, matchRequest, type RequestMatch } from '../match-request.ts';
import { type FoundRequest, findRequests, keyReaders } from './find-requests.ts';
import { firstLiveScore, historyScore, pendingScore, placeOfHistory, placeOfPending } from './request-index.ts';
import type { StoreContext } from './store-context.ts';

const maxPage = 500;
/** How many requests a search looks at in one go. */
const searchBatch = 250;
/** Grants live five minutes, so there are few at a time. */
const maxGrants = 5000;
/** Clocks of the store's users may differ by this much, in ms. What is further in the future no process of ours has written. */
const skewMs = 60_000;

export async function countPending({ connections, keys, now }: StoreContext): Promise<number> {
  return connections.asAny(['agent', 'admin'], (client) =>
    client.zcount(keys.pending, firstLiveScore(now()), pendingScore((now() + skewMs) * 1000)),
  );
}

/** A grant that is spent leaves the index at once, one that has run out counts no more. */
export async function countApproved({ connections, keys, now }: StoreContext): Promise<number> {
  return connections.asAny(keyReaders, (client) => client.zcount(keys.granted, `(${now()}`, now() + grantLifeMs + skewMs));
}

/** The cursor is a position, so requests that arrive between two pages neither repeat nor hide one. */
export async function listRequests(context: StoreContext, query: RequestQuery): Promise<RequestPage> {
  const limit = Math.min(Math.max(1, Math.trunc(query.limit)), maxPage);
  const wanted: Wanted = {
    statuses: query.statuses && new Set(query.statuses),
    before: positionOf(query.cursor),
    matches: matchRequest(query.search),
    count: limit + 1,
    batch: isBlank(query.search) ? limit + 1 : searchBatch,
  };
  const found = await Promise.all(sourcesFor(wanted.statuses).map((source) => collect(context, source, wanted)));
  // A request that moved from one index to another meanwhile is found twice; its later state was read later.
  const byId = new Map(found.flat().map((request) => [request.record.id, request]));
  const sorted = [...byId.values()].sort(newestFirst);
  const page = sorted.slice(0, limit);
  const records = page.map((request) => request.record);
  const last = page.at(-1);
  return sorted.length > limit && last ? { records, cursor: `${last.place}.${last.record.id.slice(4)}` } : { records };
}

interface Position {
  readonly place: number;
  readonly id: string;
}

interface Wanted {
  /** undefined: any. */
  readonly statuses: ReadonlySet<RequestStatus> | undefined;
  readonly before: Position;
  readonly matches: RequestMatch;
  readonly count: number;
  /** How many to look at in one go. */
  readonly batch: number;
}

/** One index, and which of its ids come next. */
interface Source {
  readonly holds: readonly RequestStatus[];
  ids(context: StoreContext, wanted: Wanted, offset: number): Promise<readonly string[]>;
}

const sources: readonly Source[] = [
  // What has lapsed stays in its index until somebody writes it down.
  {
    holds: ['pending', 'expired'],
    ids: ({ connections, keys, now }, { before, statuses, batch }, offset) =>
      connections.asAny(['agent', 'admin'], async (client) => {
        const [live, lapsed] = [statuses?.has('pending') ?? true, statuses?.has('expired') ?? true];
        const max = live ? pendingScore(before.place) : `(${Math.min(pendingScore(before.place) + 1, firstLiveScore(now()))}`;
        const min = lapsed ? '(0' : firstLiveScore(now());
        return upTo(
          before,
          placeOfPending,
          await client.zrange(keys.pending, max, min, 'BYSCORE', 'REV', 'LIMIT', offset, batch, 'WITHSCORES'),
        );
      }),
  },
  {
    holds: ['approved', 'expired'],
    ids: ({ connections, keys }, _wanted, offset) =>
      offset > 0 ? Promise.resolve([]) : connections.asAny(keyReaders, (client) => client.zrange(keys.granted, 0, maxGrants - 1)),
  },
  {
    holds: ['denied', 'expired', 'cancelled', 'revoked', 'consumed'],
    ids: ({ connections, keys }, { before, batch }, offset) =>
      connections.asAny(['exec', 'admin'], async (client) => {
        const max = historyScore(before.place);
        return upTo(
          before,
          placeOfHistory,
          await client.zrange(keys.history, max, '-inf', 'BYSCORE', 'REV', 'LIMIT', offset, batch, 'WITHSCORES'),
        );
      }),
  },
];

function sourcesFor(statuses: ReadonlySet<RequestStatus> | undefined): readonly Source[] {
  return statuses ? sources.filter((source) => source.holds.some((status) => statuses.has(status))) : sources;
}

/** Keeps its place in the count for what the cursor excludes: an empty id is no request and is skipped. */
function upTo(before: Position, placeOf: (score: number) => number, flat: readonly string[]): readonly string[] {
  return Array.from({ length: flat.length / 2 }, (_, index) => {
    const id = flat[2 * index] ?? '';
    return isBefore({ place: placeOf(Number(flat[2 * index + 1])), id }, before) ? id : '';
  });
}

/** Reads on until there are enough that fit, or no more at all. */
async function collect(context: StoreContext, source: Source, wanted: Wanted): Promise<readonly FoundRequest[]> {
  const fitting: FoundRequest[] = [];
  for (let offset = 0; fitting.length < wanted.count; offset += wanted.batch) {
    const ids = await source.ids(context, wanted, offset);
    const found = await findRequests(context, ids);
    fitting.push(...found.filter((request) => fits(request, source, wanted)));
    if (ids.length !== wanted.batch) break;
  }
  return fitting.sort(newestFirst).slice(0, wanted.count);
}

function fits({ record, place }: FoundRequest, source: Source, { statuses, before, matches }: Wanted): boolean {
  if (!isBefore({ place, id: record.id }, before) || !matches(record)) return false;
  return statuses ? statuses.has(record.status) : source.holds.includes(record.status);
}

function newestFirst(a: FoundRequest, b: FoundRequest): number {
  return b.place - a.place || (a.record.id < b.record.id ? 1 : -1);
}

function isBefore(position: Position, before: Position): boolean {
  return position.place < before.place || (position.place === before.place && position.id < before.id);
}

/** The newest possible place: beyond the year 2200, and still exact. */
const newest: Position = { place: 8_000_000_000_000_000, id: '' };

function positionOf(cursor: string | undefined): Position {
  if (cursor === undefined) return newest;
  const [, place, id] = /^(\d{1,16})\.([a-f0-9]{8})$/.exec(cursor) ?? [];
  if (place !== undefined && id !== undefined) return { place: Number(place), id: `req-${id}` };
  throw new Fault('bad_cursor', 'this `cursor` is not one that a list returned', {
    audience: 'user',
    next: 'start again without a cursor',
  });
}
