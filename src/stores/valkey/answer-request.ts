/** A person's answer: approve, deny, revoke. One transaction each, the audit record in it. */
import type { Redis } from 'iovalkey';
import { type Grant, type RequestDecision, type RequestRecord, requestIdPattern } from '#kernel/approval/request';
import type { AuditDraft } from '#kernel/audit-event';
import { Fault } from '#kernel/errors';
import type { StoredAnswer, TransitionResult } from '#kernel/ports/request-store';
import { approvalAttributes, auditAttributes, grantFlaw } from '../request-rules.ts';
import { writeExpired } from './expire-requests.ts';
import { type FoundRequest, interpret, readRequests } from './find-requests.ts';
import { historyScore, lives, secondsLeft } from './keys.ts';
import { execute, type StoreContext } from './store-context.ts';
import { requestText, type StoredRequest } from './stored-request.ts';

export interface Answerer {
  approve(id: string, grant: Grant, answer: StoredAnswer): Promise<TransitionResult>;
  deny(id: string, decision: RequestDecision): Promise<TransitionResult>;
  revoke(id: string, decision: RequestDecision): Promise<TransitionResult>;
}

type Refusal = Extract<TransitionResult, { ok: false }>;
type Transaction = ReturnType<Redis['multi']>;

/** What is to be done to a request, once it is known to be in the right state. */
interface Change {
  readonly from: 'pending' | 'approved';
  /** Why not, after all. */
  refuse?(record: RequestRecord): Refusal | undefined;
  next(record: RequestRecord): RequestRecord;
  write(transaction: Transaction, stored: StoredRequest): Transaction;
  audit(record: RequestRecord): AuditDraft;
}

/** Others keep changing the same request: give up after so many attempts. */
const maxTries = 20;

export function createAnswerer(context: StoreContext): Answerer {
  const transition = (id: string, change: Change): Promise<TransitionResult> => attempt(context, id, change);
  return {
    approve: (id, grant, answer) => transition(id, approval(context, grant, answer)),
    deny: (id, decision) => transition(id, denial(context, decision)),
    revoke: (id, decision) => transition(id, revocation(context, decision)),
  };
}

async function attempt(context: StoreContext, id: string, change: Change): Promise<TransitionResult> {
  if (!requestIdPattern.test(id)) return { ok: false, why: 'not_found' };
  for (let tries = 0; tries < maxTries; tries += 1) {
    const outcome = await context.adminTurn((client) => once(context, client, { id, change }));
    if (outcome === 'changed') continue;
    if ('found' in outcome) return lapsed(context, outcome.found);
    if (outcome.ok) context.ring();
    return outcome;
  }
  throw new Fault('store_busy', `request \`${id}\` kept changing`, { retryable: true, next: 'try again' });
}

/** `changed`: somebody else was faster between the look and the change. */
async function once(
  context: StoreContext,
  client: Redis,
  { id, change }: { readonly id: string; readonly change: Change },
): Promise<TransitionResult | { readonly found: FoundRequest } | 'changed'> {
  const { keys } = context;
  await client.watch(keys.blocked(id), keys.approved(id), keys.decided(id));
  let sent = false;
  try {
    const [texts] = await readRequests(client, [id], context);
    const found = interpret(texts, id, context.now());
    if (!found) return { ok: false, why: 'not_found' };
    if (found.record.status === 'expired') return found.was === 'expired' ? refused('expired', found.record) : { found };
    if (found.record.status !== change.from) return refused(change.from === 'pending' ? 'not_pending' : 'not_approved', found.record);
    const refusal = change.refuse?.(found.record);
    if (refusal) return refusal;
    const record = change.next(found.record);
    const written = await context.chain.within(change.audit(record), async ({ score, member }) => {
      sent = true;
      const transaction = change.write(client.multi(), { record, place: found.place });
      const replies = await execute(transaction.zadd(keys.log, score, member).publish(keys.channel, context.self));
      return replies !== undefined;
    });
    return written ? { ok: true, record } : 'changed';
  } finally {
    // A transaction ends the watch itself.
    if (!sent) await client.unwatch();
  }
}

async function lapsed(context: StoreContext, found: FoundRequest): Promise<Refusal> {
  await writeExpired(context, found);
  return refused('expired', found.record);
}

function refused(why: Refusal['why'], record: RequestRecord): Refusal {
  return { ok: false, why, record };
}

function approval({ keys, now }: StoreContext, grant: Grant, answer: StoredAnswer): Change {
  const { decision, until } = answer;
  const isEnough = until !== undefined;
  const audited = (record: RequestRecord): AuditDraft => ({
    name: isEnough ? 'approval.approved' : 'approval.partial',
    attributes: approvalAttributes(record, grant, answer),
  });
  return {
    from: 'pending',
    refuse: (record) => {
      const flaw = grantFlaw(grant, record, answer, now());
      return flaw && refused(flaw, record);
    },
    next: (record) => {
      const grants = [...(record.grants ?? []), grant];
      return isEnough ? { ...record, status: 'approved', decision, grants } : { ...record, grants };
    },
    write: (transaction, stored) => {
      const { id, agent } = stored.record;
      const text = requestText(stored);
      transaction.set(keys.copy(id), text, 'EX', lives.outcome);
      if (until === undefined) return transaction.set(keys.blocked(id), text, 'KEEPTTL');
      return (
        transaction
          .set(keys.approved(id), text, 'EX', secondsLeft(until, now(), 'grant'))
          .del(keys.blocked(id))
          .zrem(keys.pending, id)
          .zadd(keys.granted, until, id)
          // The grant may outlive the hour of the list that finds it again.
          .expire(keys.ofAgent(agent.id), lives.request)
      );
    },
    audit: audited,
  };
}

function denial({ keys }: StoreContext, decision: RequestDecision): Change {
  return {
    from: 'pending',
    next: (record) => ({ ...record, status: 'denied', decision }),
    write: (transaction, stored) => {
      const { id } = stored.record;
      return ended(transaction.del(keys.blocked(id)).zrem(keys.pending, id), stored, keys);
    },
    audit: (record) => ({ name: 'approval.denied', attributes: auditAttributes(record, decision) }),
  };
}

function revocation({ keys }: StoreContext, decision: RequestDecision): Change {
  return {
    from: 'approved',
    next: (record) => ({ ...record, status: 'revoked', decision }),
    write: (transaction, stored) => {
      const { id } = stored.record;
      return ended(transaction.del(keys.approved(id)).zrem(keys.granted, id), stored, keys);
    },
    audit: (record) => ({ name: 'approval.revoked', attributes: auditAttributes(record, decision) }),
  };
}

function ended(transaction: Transaction, stored: StoredRequest, keys: StoreContext['keys']): Transaction {
  const { id } = stored.record;
  return transaction
    .set(keys.decided(id), requestText(stored), 'EX', lives.outcome)
    .zadd(keys.history, historyScore(stored.place), id)
    .del(keys.copy(id));
}
