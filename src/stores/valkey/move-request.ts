/** What happens to a request that is there: a person's answer, and what a process does without one. `transition` says what; here it is kept. */

import type { Redis } from 'iovalkey';
import { type RequestRecord, requestIdPattern } from '#kernel/approval/request';
import { Fault, faultMessage } from '#kernel/errors';
import type { TransitionResult } from '#kernel/ports/request-store';
import { asListed, say } from '#kernel/text/message';
import { isOpen, lapseOf, type Moved, type Refused, type RequestEvent, requestMoves, resultOf, transition } from '../transition.ts';
import { firstLiveScore, historyScore, lives, secondsLeft } from './keys.ts';
import { wasMarked } from './spent-marks.ts';
import { execute, type StoreContext } from './store-context.ts';
import { type FoundRequest, findRequest, interpret, readRequests, requestText } from './stored-request.ts';
import { addEntries, mayAddLeaves } from './tree-leaves.ts';

type Answer = Extract<RequestEvent, { kind: 'approve' | 'deny' | 'revoke' }>;
type End = Extract<RequestEvent, { kind: 'cancel' | 'consume' }>;
type Transaction = ReturnType<Redis['multi']>;

// A person's answer: one transaction on watched keys, the audit record in it.

/** Others keep changing the same request: give up after so many attempts. */
const maxTries = 20;

export async function answerRequest(context: StoreContext, id: string, event: Answer): Promise<TransitionResult> {
  if (!requestIdPattern.test(id)) return { ok: false, why: 'not_found' };
  for (let tries = 0; tries < maxTries; tries += 1) {
    const looked = await context.adminTurn((client) => answerOnce(context, client, { id, event }));
    if (looked === 'changed') continue;
    const { found, outcome } = looked;
    if (outcome.ok) context.ring();
    else if (found && outcome.lapsed) await writeExpired(context, found);
    return resultOf(outcome);
  }
  throw new Fault('store_busy', say`request \`${id}\` kept changing`, { retryable: true, next: 'try again' });
}

interface Looked {
  readonly found: FoundRequest | undefined;
  readonly outcome: Moved | Refused;
}

/** `changed`: somebody else was faster between the look and the change. */
async function answerOnce(
  context: StoreContext,
  client: Redis,
  { id, event }: { readonly id: string; readonly event: Answer },
): Promise<Looked | 'changed'> {
  const { keys, now } = context;
  await context.replication.require(client);
  await client.watch(keys.blocked(id), keys.approved(id), keys.decided(id));
  let sent = false;
  try {
    const [texts] = await readRequests(client, [id], context);
    const found = interpret(texts, id, now());
    const outcome = transition(found?.kept, event, found?.at ?? now());
    if (!found || !outcome.ok || !outcome.told) return { found, outcome };
    const hasTree = await mayAddLeaves(context, client);
    const written = await context.chain.within(outcome.told, async (entry) => {
      sent = true;
      const transaction = keepAnswer(client.multi(), outcome, found.place, context);
      const replies = await execute(addEntries(context, transaction, { entries: [entry], hasTree }).publish(keys.channel, context.self));
      // Before the chain goes on: a record that a fail-over may undo must not have a successor.
      if (replies !== undefined) await context.replication.confirm(client);
      return replies !== undefined;
    });
    return written ? { found, outcome } : 'changed';
  } finally {
    // A transaction ends the watch itself.
    if (!sent) await client.unwatch();
  }
}

function keepAnswer(transaction: Transaction, { record, end }: Moved, place: number, { keys, now }: StoreContext): Transaction {
  const { id, agent, status } = record;
  const text = requestText({ record, place });
  if (status === 'pending') return transaction.set(keys.copy(id), text, 'EX', lives.outcome).set(keys.blocked(id), text, 'KEEPTTL');
  const moved = transaction.del(keys.blocked(id)).zrem(keys.pending, id);
  if (status !== 'approved' || end === undefined) {
    return moved
      .del(keys.approved(id))
      .zrem(keys.granted, id)
      .set(keys.decided(id), text, 'EX', lives.outcome)
      .zadd(keys.history, historyScore(place), id)
      .del(keys.copy(id));
  }
  return (
    moved
      .set(keys.copy(id), text, 'EX', lives.outcome)
      .set(keys.approved(id), text, 'EX', secondsLeft(end, now(), 'grant'))
      .zadd(keys.granted, end, id)
      // The grant may outlive the hour of the list that finds it again.
      .expire(keys.ofAgent(agent.id), lives.request)
  );
}

// What a process does without a person: use a grant, or give a request up.

/**
 * INVARIANT: one transaction takes the grant away and writes the outcome where there is none yet; only who got both has won. A grant that was put
 * back has its outcome still, one that was cancelled likewise.
 */
export async function endRequest(context: StoreContext, id: string, event: End): Promise<TransitionResult> {
  const found = await findRequest(context, id);
  if (!found) return { ok: false, why: 'not_found' };
  const outcome = await endingOf(context, found, event);
  if (!outcome.ok || !outcome.told) {
    if (!outcome.ok && outcome.lapsed) await writeExpired(context, found);
    return resultOf(outcome);
  }
  const refused = await whyNotTaken(await spend(context, found, outcome), { context, found, event });
  if (refused) return refused;
  if (event.kind === 'cancel') await leavePending(context, id);
  await context.chain.append(outcome.told);
  context.ring();
  return resultOf(outcome);
}

interface Taken {
  /** The grant's text. */
  readonly taken: string | null;
  /** No outcome stood there. */
  readonly first: boolean;
  /** The grant had been used before. */
  readonly marked: boolean;
}

/** undefined: it is ours. */
function whyNotTaken(
  { taken, first, marked }: Taken,
  { context, found, event }: { readonly context: StoreContext; readonly found: FoundRequest; readonly event: End },
): Promise<TransitionResult> | undefined {
  if (!first) return asItIsNow(context, found, event);
  if (event.kind !== 'consume') return undefined;
  if (marked) return Promise.resolve(resultOf(transition({ ...found.kept, status: 'consumed' }, event, found.at)));
  return taken === found.text ? undefined : undo(context, found, taken === null);
}

async function endingOf(context: StoreContext, { kept, at }: FoundRequest, event: End): Promise<Moved | Refused> {
  const outcome = transition(kept, event, at);
  if (!outcome.ok || event.kind !== 'consume' || !(await context.marks.isSpent(kept))) return outcome;
  return transition({ ...kept, status: 'consumed' }, event, at);
}

/**
 * SECURITY: a grant that not enough replicas know to be used could be used again after a fail-over, so nothing runs for it. It stays used; a
 * fail-over may bring it back, and then it is good for the one run that it has not had.
 */
async function spend(context: StoreContext, found: FoundRequest, { record, told }: Moved): Promise<Taken> {
  try {
    return await takeAway(context, found, record);
  } catch (thrown) {
    if (!(thrown instanceof Fault && thrown.code === 'store_unconfirmed')) throw thrown;
    if (told) context.owed.push({ ...told, attributes: { ...told.attributes, confirmed: false } });
    await payOwed(context).catch(() => undefined);
    context.ring();
    const { id, status } = record;
    throw new Fault(
      'store_unconfirmed',
      say`${faultMessage(thrown)}. Request \`${id}\` counts as ${asListed(status)} here, and no call has run for it`,
      {
        cause: thrown,
        next: 'check the store’s replicas, then call again: a person is asked anew unless the approval came back',
      },
    );
  }
}

/**
 * Tells whoever reads the trail what was done where a fail-over may have undone it; housekeeping tries until it is written. The same drafts are
 * handed on each time, so each is written once.
 */
export async function payOwed({ owed, chain }: StoreContext): Promise<void> {
  const drafts = owed.splice(0);
  if (drafts.length === 0) return;
  try {
    await chain.appendGroup(drafts);
  } catch (thrown) {
    owed.unshift(...drafts);
    throw thrown;
  }
}

/** Takes away the grant, if there is one, and writes the outcome, if there is none. */
async function takeAway(context: StoreContext, { place, kept }: FoundRequest, record: RequestRecord): Promise<Taken> {
  const { connections, keys, self, replication } = context;
  const { id } = record;
  const hasMarks = kept.status === 'approved' && (await context.marks.mayBeUsed());
  return connections.as('exec', async (client: Redis) => {
    await replication.require(client);
    const transaction = client
      .multi()
      .getdel(keys.approved(id))
      .set(keys.decided(id), requestText({ record, place }), 'EX', lives.outcome, 'NX')
      .zadd(keys.history, historyScore(place), id)
      .zrem(keys.granted, id)
      .publish(keys.channel, self);
    const [taken, set, , , , ...marks] = (await execute(hasMarks ? context.marks.add(transaction, id) : transaction)) ?? [];
    const first = set === 'OK';
    if (first) await replication.confirm(client);
    return { taken: (taken ?? null) as string | null, first, marked: hasMarks && wasMarked(marks) };
  });
}

/** The server dropped the grant at the end of its time between the look and the change (or it is another one): the outcome says so. */
async function undo(context: StoreContext, { kept, at, place }: FoundRequest, isGone: boolean): Promise<TransitionResult> {
  const { connections, keys, chain } = context;
  const expired = transition(kept, { kind: 'expire' }, Math.max(at, lapseOf(kept)));
  if (!expired.ok || !expired.told) return resultOf(expired);
  const { record, told } = expired;
  const text = requestText({ record, place });
  await connections.as('exec', (client) => client.set(keys.decided(record.id), text, 'EX', lives.outcome));
  await chain.append(told);
  context.ring();
  return { ok: false, why: isGone ? 'expired' : 'mismatch', record };
}

/** Somebody else has ended it. */
async function asItIsNow(context: StoreContext, before: FoundRequest, event: End): Promise<TransitionResult> {
  const record = (await findRequest(context, before.kept.id))?.record ?? before.kept;
  return { ok: false, why: requestMoves[event.kind].otherwise, record };
}

// Writes down what has lapsed. Housekeeping only: whoever reads or changes a request compares the time itself.

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
