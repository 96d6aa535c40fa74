/** A new question to a person, or the one that is open already. */

import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod';
import { type RequestDraft, type RequestRecord, requestLifeMs } from '#kernel/approval/request';
import { Fault } from '#kernel/errors';
import type { TransitionResult } from '#kernel/ports/request-store';
import { isOpen, requireStorable, resultOf, transition } from '../transition.ts';
import { lives, pendingScore, placeOfPending, secondsLeft } from './keys.ts';
import { expireDue } from './move-request.ts';
import { execute, type StoreContext } from './store-context.ts';
import { findRequests, requestText, type StoredRequest } from './stored-request.ts';

export interface Opener {
  open(draft: RequestDraft): Promise<TransitionResult>;
}

const maxIdTries = 64;
/** Whatever is further ahead than this was not put there by a process with the same clock. In µs. */
const farAhead = 1_000_000;

/** Reports have a cap of their own, so that waiting calls keep nobody from reporting a block. */
function isPendingLike(record: RequestRecord, draft: RequestDraft): boolean {
  return record.status === 'pending' && (record.reported === undefined) === (draft.reported === undefined);
}

/** What an agent has open, and the newest place in the index, while it is its turn. */
interface Asking {
  readonly mine: readonly RequestRecord[];
  readonly newest: number;
  readonly turn: AgentTurn;
}

export function createOpener(context: StoreContext): Opener {
  /** The newest place this process has given: kept, because its request may have left the index. */
  let lastPlace = 0;
  const nextPlace = (now: number, newest: number): number => {
    const wanted = now * 1000;
    const known = newest < wanted + farAhead ? newest : 0;
    lastPlace = Math.max(wanted, known + 1, lastPlace < wanted + farAhead ? lastPlace + 1 : 0);
    return lastPlace;
  };
  /** `taken`: somebody took the id in the last moment. */
  const openOnce = async (draft: RequestDraft, { mine, newest, turn }: Asking): Promise<TransitionResult | 'taken'> => {
    const id = draft.reportId ?? (await freeId(context));
    const now = context.now();
    const outcome = transition(undefined, { kind: 'open', draft, id }, now);
    if (!outcome.ok) return resultOf(outcome);
    const { record, told } = outcome;
    const stored: StoredRequest = { record, place: nextPlace(now, newest) };
    // Written down before it can be answered.
    if (told) await context.chain.append(told);
    turn.requireHeld();
    if (draft.reportId !== undefined) return putReport(context, stored, mine);
    await keepCopy(context, stored);
    turn.requireHeld();
    return (await put(context, stored, [...mine, record])) ? { ok: true, record } : 'taken';
  };
  return {
    open: async (draft) => {
      requireStorable(draft);
      await expireDue(context);
      return inAgentTurn(context, draft.agent.id, async (turn) => {
        const known = draft.reportId === undefined ? undefined : await reportedBefore(context, draft, draft.reportId);
        if (known) return known;
        const { mine, newest } = await look(context, draft.agent.id);
        const same = mine.find((record) => record.digest === draft.digest);
        if (same) return { ok: true, record: same };
        if (mine.filter((record) => isPendingLike(record, draft)).length >= context.maxPendingPerAgent)
          return { ok: false, why: 'too_many' };
        for (;;) {
          const outcome = await openOnce(draft, { mine, newest, turn });
          if (outcome !== 'taken') return outcome;
        }
      });
    },
  };
}

/**
 * What the id that a report names stands for already; undefined: nothing. SECURITY: whose request it is otherwise is not told.
 */
async function reportedBefore(context: StoreContext, draft: RequestDraft, id: string): Promise<TransitionResult | undefined> {
  if (await isFree(context, id)) return undefined;
  const [found] = await findRequests(context, [id]);
  const known = found ? transition(found.record, { kind: 'open', draft, id }, found.at) : undefined;
  if (!found || !known?.ok) return { ok: false, why: 'id_taken' };
  // The process that opened it may have ended before it stood in the index.
  if (found.record.status === 'pending') await putIntoIndex(context, found);
  return { ok: true, record: found.record };
}

/** The id is the agent's choice, so somebody else may take it in the last moment: nothing of theirs may change then. */
async function putReport(context: StoreContext, stored: StoredRequest, mine: readonly RequestRecord[]): Promise<TransitionResult> {
  const { connections, keys, now, ring } = context;
  const { id, agent, expiresAt } = stored.record;
  const life = secondsLeft(expiresAt, now(), 'request');
  const text = requestText(stored);
  const isMine = await connections.as('agent', async (client) => (await client.set(keys.blocked(id), text, 'EX', life, 'NX')) === 'OK');
  if (!isMine) return { ok: false, why: 'id_taken' };
  await keepCopy(context, stored);
  await putIntoIndex(context, stored);
  await connections.as('agent', (client) => client.set(keys.ofAgent(agent.id), idsOf([...mine, stored.record]), 'EX', lives.request));
  ring();
  return { ok: true, record: stored.record };
}

async function putIntoIndex({ connections, keys, self }: StoreContext, { record, place }: StoredRequest): Promise<void> {
  await connections.as('agent', (client) =>
    execute(client.multi().zadd(keys.pending, pendingScore(place), record.id).publish(keys.channel, self)),
  );
}

/** The agent's open requests, and the newest place in the index. */
async function look(context: StoreContext, agentId: string) {
  const { connections, keys } = context;
  const [list, newest] = await connections.as('agent', async (client) =>
    Promise.all([client.get(keys.ofAgent(agentId)), client.zrange(keys.pending, -1, -1, 'WITHSCORES')]),
  );
  const records = (await findRequests(context, idsIn(list))).map((request) => request.record);
  const mine = records.filter(({ agent, status }) => agent.id === agentId && isOpen(status));
  return { mine, newest: placeOfPending(Number(newest[1] ?? requestLifeMs)) };
}

function idsOf(records: readonly RequestRecord[]): string {
  return JSON.stringify(records.map((record) => record.id));
}

const idList = z.array(z.string()).max(10_000);

function idsIn(text: string | null): readonly string[] {
  try {
    return idList.safeParse(JSON.parse(text ?? '[]')).data ?? [];
  } catch {
    // Not ours; a list that is lost costs a repeated question at most.
    return [];
  }
}

async function freeId(context: StoreContext): Promise<string> {
  for (let tries = 0; tries < maxIdTries; tries += 1) {
    const id = context.newId();
    if (await isFree(context, id)) return id;
  }
  throw new Fault('store_unavailable', 'no free request id was found', { audience: 'bug' });
}

async function isFree({ connections, keys }: StoreContext, id: string): Promise<boolean> {
  const places = [keys.blocked(id), keys.approved(id), keys.decided(id), keys.copy(id)];
  // One by one: the access rules take no command whose keys are of several kinds.
  const taken = await connections.as('agent', (client) => Promise.all(places.map((key) => client.exists(key))));
  return !taken.includes(1);
}

/** Only `exec` and `admin` may; a request that an agent alone opened is forgotten when it lapses unseen. */
async function keepCopy({ connections, keys }: StoreContext, stored: StoredRequest): Promise<void> {
  if (!connections.has('exec') && !connections.has('admin')) return;
  const text = requestText(stored);
  await connections.asAny(['exec', 'admin'], (client) => client.set(keys.copy(stored.record.id), text, 'EX', lives.outcome));
}

/** False where somebody took the id in the last moment. */
async function put(
  { connections, keys, self, now, ring, replication }: StoreContext,
  stored: StoredRequest,
  mine: readonly RequestRecord[],
): Promise<boolean> {
  const { id, agent, expiresAt } = stored.record;
  const life = secondsLeft(expiresAt, now(), 'request');
  const replies = await connections.as('agent', async (client) => {
    const done = await execute(
      client
        .multi()
        .set(keys.blocked(id), requestText(stored), 'EX', life, 'NX')
        .zadd(keys.pending, pendingScore(stored.place), id)
        .set(keys.ofAgent(agent.id), idsOf(mine), 'EX', lives.request)
        .publish(keys.channel, self),
    );
    await replication.confirm(client);
    return done;
  });
  ring();
  return replies?.[0] === 'OK';
}

// One process at a time opens requests for an agent, so that asking twice is one question and the cap holds.

interface AgentTurn {
  /** Throws once the turn may be somebody else's. Asked right before the change is sent. */
  requireHeld(): void;
}

/** Longer than an operation may take; a process that dies in its turn holds up the others of the same agent this long. In ms. */
const turnMs = 8000;
const waitMs = 10_000;

/**
 * The agent's user has no scripts and may not watch keys: a key that only one can make is all there is.
 * What a turn that lasted too long could cost is one question too many, never a grant.
 * @throws {Fault} `store_busy` when another process held the turn all the time
 */
async function inAgentTurn<T>(context: StoreContext, agentId: string, work: (turn: AgentTurn) => Promise<T>): Promise<T> {
  const { connections, keys, self } = context;
  const key = keys.lockOf(agentId);
  const giveUp = performance.now() + waitMs;
  let until = 0;
  for (;;) {
    until = performance.now() + turnMs;
    if (await connections.as('agent', async (client) => (await client.set(key, self, 'PX', turnMs, 'NX')) === 'OK')) break;
    if (performance.now() >= giveUp) throw busyFault();
    await sleep(2 + Math.random() * 15);
  }
  const isHeld = (): boolean => performance.now() < until - turnMs / 4;
  try {
    return await work({
      requireHeld: () => {
        if (!isHeld()) throw busyFault();
      },
    });
  } finally {
    // There is no DEL for this user. Not awaited for its error: an end that cannot be said comes by itself.
    if (isHeld()) await connections.as('agent', (client) => client.set(key, '', 'PX', 1)).catch(() => undefined);
  }
}

function busyFault(): Fault {
  return new Fault('store_busy', 'other processes of this agent were asking at the same time and did not get done', {
    retryable: true,
    next: 'try again',
  });
}
