/** What the store remembers of a grant that was used, whatever was done to its keys. */
import type { Redis } from 'iovalkey';
import { grantLifeMs, type RequestRecord } from '#kernel/approval/request';
import { Fault } from '#kernel/errors';
import { isJsonObject } from '#kernel/json';
import { parseStoredRecord } from '../stored-record.ts';
import type { Connections } from './connections.ts';
import type { Keys } from './keys.ts';
import { type TrailReader, trailReaders } from './read-trail.ts';

/**
 * SECURITY: an administrator's user can put a grant back and remove its outcome. Each use is therefore marked, in the transaction that takes the
 * grant away, in a set that `exec` can only add to, that an administrator cannot touch, and that housekeeping drops an hour later. A set holds the
 * ids of ten minutes. A grant lives for five, so a use that matters is in this window or in the last one; in the next one where a fail-over
 * put the server's clock back. That costs the same whatever else goes on.
 */
const windowMs = 2 * grantLifeMs;

export const spentWindow = (now: number): number => Math.floor(now / windowMs);

export interface MarkOptions {
  readonly connections: Connections;
  readonly keys: Keys;
  readonly trail: TrailReader;
  readonly now: () => number;
}

type Transaction = ReturnType<Redis['multi']>;

export interface SpentMarks {
  /** False where the server's access rules are of a version without marks. */
  mayBeUsed(): Promise<boolean>;
  /** Adds three commands. */
  add(transaction: Transaction, id: string): Transaction;
  /** Whether this request's grant has been used. */
  isSpent(record: RequestRecord): Promise<boolean>;
}

/** What the replies to those three say: it was marked before. */
export function wasMarked([added, last, next]: readonly unknown[]): boolean {
  return added === 0 || last === 1 || next === 1;
}

/** How long a no is believed, in ms: the rules may be renewed while this process runs. */
const noLastsMs = 30_000;

export function createSpentMarks(options: MarkOptions): SpentMarks {
  const { connections, keys, now } = options;
  let answer: { readonly allowed: boolean; readonly until: number } | undefined;
  const mayBeUsed = async (): Promise<boolean> => {
    if (answer && performance.now() < answer.until) return answer.allowed;
    const allowed = await mayAsk(options);
    answer = { allowed, until: allowed ? Number.POSITIVE_INFINITY : performance.now() + noLastsMs };
    return allowed;
  };
  const isMarked = async (id: string): Promise<boolean> => {
    const window = spentWindow(now());
    const found = await connections.as('exec', (client) =>
      Promise.all([-1, 0, 1].map((step) => client.sismember(keys.spent(window + step), id))),
    );
    return found.includes(1);
  };
  return {
    mayBeUsed,
    add: (transaction, id) => {
      const window = spentWindow(now());
      return transaction
        .sadd(keys.spent(window), id)
        .sismember(keys.spent(window - 1), id)
        .sismember(keys.spent(window + 1), id);
    },
    isSpent: async (record) => ((await mayBeUsed()) ? isMarked(record.id) : isConsumedInTrail(options, record)),
  };
}

async function mayAsk({ connections, keys }: MarkOptions): Promise<boolean> {
  try {
    await connections.as('exec', (client) => client.sismember(keys.spent(0), ''));
    return true;
  } catch (thrown) {
    if (thrown instanceof Fault && thrown.code === 'store_denied') return false;
    throw thrown;
  }
}

// Under access rules of a version without marks: the trail, which remembers too, but at a cost that grows with the traffic.

/** Clocks of the store's users may differ by this much, in ms. */
const skewMs = 60_000;

/**
 * Whether the trail says that this request's grant has been used: nobody but housekeeping can take a record out of it. What is written in the five
 * minutes of a grant is all there is to look at. A process that has no user who may read the trail does without.
 */
async function isConsumedInTrail({ connections, trail, now }: MarkOptions, { id, decision }: RequestRecord): Promise<boolean> {
  if (!trailReaders.some((role) => connections.has(role))) return false;
  const since = Math.max(decision?.at ?? 0, now() - grantLifeMs) - skewMs;
  for await (const page of trail.pages(since, id))
    if (page.some(({ member }) => member.includes(id) && isConsumption(member, id))) return true;
  return false;
}

function isConsumption(member: string, id: string): boolean {
  const record = parseStoredRecord(member);
  return record?.name === 'approval.consumed' && isJsonObject(record.attributes) && record.attributes['request_id'] === id;
}
