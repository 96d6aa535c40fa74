/** What a process does without a person: use a grant, or give a request up. */
import type { Redis } from 'iovalkey';
import { grantLifeMs, type RequestRecord } from '#kernel/approval/request';
import { isJsonObject } from '#kernel/json';
import type { TransitionResult } from '#kernel/ports/request-store';
import { auditAttributes } from '../request-rules.ts';
import { parseStoredRecord } from '../stored-record.ts';
import { rangeOfLog, trailReaders } from './audit-chain.ts';
import { leavePending, writeExpired } from './expire-requests.ts';
import { type FoundRequest, findRequest } from './find-requests.ts';
import { historyScore, lives } from './keys.ts';
import { execute, type StoreContext } from './store-context.ts';
import { requestText } from './stored-request.ts';

type Refusal = Extract<TransitionResult, { ok: false }>;

interface Consumption {
  readonly id: string;
  readonly digest: string;
  /** The process, for people. */
  readonly by: string;
}

/**
 * approved → consumed. INVARIANT: one transaction takes the grant away and writes the outcome where there is none yet; only who got both
 * has won. A grant that was put back has its outcome still, one that was cancelled likewise.
 */
export async function consumeRequest(context: StoreContext, what: Consumption): Promise<TransitionResult> {
  const found = await findRequest(context, what.id);
  if (!found) return { ok: false, why: 'not_found' };
  if (found.record.status === 'expired') return lapsed(context, found);
  const refusal = await whyNotConsumed(context, found.record, what);
  if (refusal) return refusal;
  const record: RequestRecord = { ...found.record, status: 'consumed', consumedAt: context.now(), consumedBy: what.by };
  const { taken, first } = await end(context, { ...found, record });
  if (!first) return refuseAsItIs(context, found.record);
  if (taken !== found.text) return undo(context, found, taken === null);
  await context.chain.append({
    name: 'approval.consumed',
    attributes: auditAttributes(record, { by: what.by, approver: record.decision?.by ?? null }),
  });
  context.ring();
  return { ok: true, record };
}

async function whyNotConsumed(context: StoreContext, record: RequestRecord, { digest }: Consumption): Promise<Refusal | undefined> {
  if (record.status !== 'approved') return refused('not_approved', record);
  // SECURITY: approving a report settles it; no call is behind it.
  if (record.digest !== digest || record.reported) return refused('mismatch', record);
  return (await isConsumedInTrail(context, record)) ? refused('not_approved', { ...record, status: 'consumed' }) : undefined;
}

/** pending or approved → cancelled. */
export async function cancelRequest(context: StoreContext, id: string, by: string): Promise<TransitionResult> {
  const found = await findRequest(context, id);
  if (!found) return { ok: false, why: 'not_found' };
  if (found.record.status === 'expired') return lapsed(context, found);
  if (found.record.status !== 'pending' && found.record.status !== 'approved') return refused('not_pending', found.record);
  const record: RequestRecord = { ...found.record, status: 'cancelled' };
  const { first } = await end(context, { ...found, record });
  if (!first) return { ...(await refuseAsItIs(context, found.record)), why: 'not_pending' };
  await leavePending(context, id);
  await context.chain.append({ name: 'approval.cancelled', attributes: auditAttributes(record, { by }) });
  context.ring();
  return { ok: true, record };
}

/** Takes away the grant, if there is one, and writes the outcome, if there is none. */
async function end({ connections, keys, self }: StoreContext, { record, place }: FoundRequest) {
  const { id } = record;
  const replies = await connections.as('exec', (client: Redis) =>
    execute(
      client
        .multi()
        .getdel(keys.approved(id))
        .set(keys.decided(id), requestText({ record, place }), 'EX', lives.outcome, 'NX')
        .zadd(keys.history, historyScore(place), id)
        .zrem(keys.granted, id)
        .publish(keys.channel, self),
    ),
  );
  return { taken: (replies?.[0] ?? null) as string | null, first: replies?.[1] === 'OK' };
}

/** The server dropped the grant at the end of its time between the look and the change (or it is another one): the outcome says so. */
async function undo(context: StoreContext, found: FoundRequest, isGone: boolean): Promise<Refusal> {
  const { connections, keys, chain } = context;
  const record: RequestRecord = { ...found.record, status: 'expired' };
  const text = requestText({ record, place: found.place });
  await connections.as('exec', (client) => client.set(keys.decided(record.id), text, 'EX', lives.outcome));
  await chain.append({ name: 'approval.expired', attributes: { ...auditAttributes(record), was: 'approved' } });
  context.ring();
  return refused(isGone ? 'expired' : 'mismatch', record);
}

async function refuseAsItIs(context: StoreContext, before: RequestRecord): Promise<Refusal> {
  const now = await findRequest(context, before.id);
  return refused('not_approved', now?.record ?? before);
}

async function lapsed(context: StoreContext, found: FoundRequest): Promise<Refusal> {
  await writeExpired(context, found);
  return refused('expired', found.record);
}

function refused(why: Refusal['why'], record: RequestRecord): Refusal {
  return { ok: false, why, record };
}

// What the trail remembers of a grant, whatever was done to its keys.

const pageSize = 1000;
/** Clocks of the store's users may differ by this much, in ms. */
const skewMs = 60_000;

/**
 * Whether the trail says that this request's grant has been used. SECURITY: an administrator's user can put a grant back and remove its
 * outcome, and a server that lost its last second does the same; neither can take a record out of the trail. What is written in the five
 * minutes of a grant is all there is to look at. A process that has no user who may read the trail does without.
 */
async function isConsumedInTrail({ connections, keys, now }: StoreContext, { id, decision }: RequestRecord): Promise<boolean> {
  if (!trailReaders.some((role) => connections.has(role))) return false;
  const since = Math.max(decision?.at ?? 0, now() - grantLifeMs) - skewMs;
  for (let offset = 0; ; offset += pageSize) {
    const page = await connections.asAny(trailReaders, (client, role) => rangeOfLog(client, role, keys.log, [since, offset, pageSize]));
    if (page.some((member) => member.includes(id) && isConsumption(member, id))) return true;
    if (page.length < pageSize) return false;
  }
}

function isConsumption(member: string, id: string): boolean {
  const record = parseStoredRecord(member);
  return record?.name === 'approval.consumed' && isJsonObject(record.attributes) && record.attributes['request_id'] === id;
}
