/** Pages of requests, newest first, over the indexes: no scan, whatever else is in the store. */
import type { RequestPage, RequestQuery } from '#kernel/ports/request-store';
import { grantLifeMs } from '#kernel/request';
import { mergePage } from '../look-through.ts';
import { isBlank, matchRequest, mayMatch } from '../match-request.ts';
import { collectRequests, type Wanted } from './collect-requests.ts';
import { keyReaders } from './find-requests.ts';
import { firstLiveScore, pendingScore } from './request-index.ts';
import { cursorOf, newestFirst, positionOf, readCursor } from './request-position.ts';
import type { StoreContext } from './store-context.ts';

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

/** A grant that is spent leaves the index at once, one that has run out counts no more. */
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
