/** Writes down what has lapsed. Housekeeping only: whoever reads or changes a request compares the time itself. */
import { isOpen, transition } from '../transition.ts';
import { type FoundRequest, findRequest } from './find-requests.ts';
import { firstLiveScore, historyScore, lives } from './keys.ts';
import { execute, type StoreContext } from './store-context.ts';
import { requestText } from './stored-request.ts';

/** At most this many at once, so that one caller does not pay for everybody's past. */
export const expiryBatch = 100;

/** Marks lapsed requests as expired, each with its audit record. Returns how many there were to look at. */
export async function expireDue(context: StoreContext): Promise<number> {
  const { connections } = context;
  // Only these two may write an outcome; whoever has neither leaves it to others.
  if (!connections.has('exec') && !connections.has('admin')) return 0;
  const ids = await dueIds(context);
  for (const id of ids) await expireOne(context, id);
  return ids.length;
}

async function dueIds({ connections, keys, now }: StoreContext): Promise<readonly string[]> {
  const limit = ['LIMIT', 0, expiryBatch] as const;
  const granted = await connections.asAny(['exec', 'admin'], (client) => client.zrangebyscore(keys.granted, '-inf', now(), ...limit));
  if (!connections.has('agent') && !connections.has('admin')) return granted;
  const pending = await connections.asAny(['agent', 'admin'], (client) =>
    client.zrangebyscore(keys.pending, '(0', `(${firstLiveScore(now())}`, ...limit),
  );
  return [...granted, ...pending];
}

async function expireOne(context: StoreContext, id: string): Promise<void> {
  const found = await readable(context, id);
  if (found?.record.status === 'expired') await writeExpired(context, found);
  // Somebody has put it into the wrong place of the index; it is as good as it was.
  if (found && isOpen(found.record.status)) return;
  // Decided meanwhile, damaged, or never there: in any case nothing that waits.
  await leavePending(context, id);
  await context.connections.asAny(['exec', 'admin'], (client) => client.zrem(context.keys.granted, id));
}

async function readable(context: StoreContext, id: string): Promise<FoundRequest | undefined> {
  try {
    return await findRequest(context, id);
  } catch {
    return undefined;
  }
}

/** Once, whoever comes first: the outcome is only written where there is none. */
export async function writeExpired(context: StoreContext, { kept, at, place }: FoundRequest): Promise<void> {
  const expired = transition(kept, { kind: 'expire' }, at);
  if (!expired.ok || !expired.told) return;
  const { keys, connections, self } = context;
  const { record, told } = expired;
  const first = await connections.asAny(['exec', 'admin'], async (client) => {
    const replies = await execute(
      client
        .multi()
        .set(keys.decided(record.id), requestText({ record, place }), 'EX', lives.outcome, 'NX')
        .zadd(keys.history, historyScore(place), record.id)
        .publish(keys.channel, self),
    );
    return replies?.[0] === 'OK';
  });
  if (!first) return;
  await context.chain.append(told);
  context.ring();
}

/**
 * Takes a request out of what is counted and listed as pending. The agent's user may not remove, so it moves the request to the front,
 * score 0, where nothing looks; an administrator's process removes it from there.
 */
export async function leavePending({ connections, keys }: StoreContext, id: string): Promise<void> {
  if (!connections.has('agent') && !connections.has('admin')) return;
  await connections.asAny(['agent', 'admin'], async (client, role) =>
    role === 'admin' ? client.zrem(keys.pending, id) : client.zadd(keys.pending, 'XX', 0, id),
  );
}
