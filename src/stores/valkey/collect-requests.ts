/** Reads the indexes, newest first, as far as a page needs. */
import type { RequestStatus } from '#kernel/request';
import { type Looked, mostLookedAt } from '../look-through.ts';
import type { RequestMatch } from '../match-request.ts';
import { type FoundRequest, findRequests, keyReaders } from './find-requests.ts';
import { firstLiveScore, historyScore, pendingScore, placeOfHistory, placeOfPending } from './request-index.ts';
import { isBefore, newestFirst, type Position, positionOf, positionOfMember } from './request-position.ts';
import type { StoreContext } from './store-context.ts';

export interface Wanted {
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
