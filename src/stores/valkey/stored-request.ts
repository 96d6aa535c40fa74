/** Requests as JSON in the store. Whatever comes back is input: whoever has a credential can write. */

import type { Redis } from 'iovalkey';
import * as z from 'zod';
import { type RequestRecord, type RequestStatus, requestIdPattern, requestStatuses } from '#kernel/approval/request';
import { requestParts } from '#kernel/approval/request-schema';
import { Fault } from '#kernel/errors';
import { say } from '#kernel/text/message';
import { asOf, lapseOf } from '../transition.ts';
import type { StoreContext } from './store-context.ts';
import type { ValkeyRole } from './store-url.ts';
import { isRedirected } from './valkey-faults.ts';

/** A request and its place in the order of creation: µs since the epoch, unique among those that one process opened. */
export interface StoredRequest {
  readonly record: RequestRecord;
  readonly place: number;
}

const time = z.number().int().nonnegative();

/** Loose: what an older version kept beside these counts for nothing any more. */
const schema = z.object({
  id: z.string().regex(requestIdPattern),
  status: z.enum(requestStatuses),
  place: time,
  createdAt: time,
  expiresAt: time,
  // These the kernel's own schemas look at.
  request: z.unknown().optional(),
  decision: z.unknown().optional(),
  grants: z.unknown().optional(),
  consumedAt: time.optional(),
  consumedBy: z.string().optional(),
});

/** For every key. Who ended it and why stand at the top for other readers. */
export function requestText({ record, place }: StoredRequest): string {
  const { id, status, createdAt, expiresAt, decision, grants, consumedAt, consumedBy, ...request } = record;
  const by = consumedBy ?? decision?.by;
  return JSON.stringify({
    id,
    status,
    by,
    message: decision?.message,
    place,
    createdAt,
    expiresAt,
    request,
    decision,
    grants,
    consumedAt,
    consumedBy,
  });
}

/** @throws {Fault} `store_corrupt` for text that none of our writers can have made for this key */
export function parseStored(text: string, id: string, statuses: readonly RequestStatus[]): StoredRequest {
  const stored = parsed(text);
  if (stored?.record.id === id && statuses.includes(stored.record.status)) return stored;
  throw new Fault('store_corrupt', say`request \`${id}\` in the store is damaged or was not written by Banksman`, {
    next: 'check who can write to the store',
  });
}

function parsed(text: string): StoredRequest | undefined {
  const found = schema.safeParse(parsedJson(text)).data;
  const draft = found && requestParts.draft(found.request);
  if (!draft) return undefined;
  const { id, status, place, createdAt, expiresAt, consumedAt, consumedBy } = found;
  // Asking a schema about what is not there costs more than all the rest.
  const decision = found.decision === undefined ? undefined : requestParts.decision(found.decision);
  const grants = found.grants === undefined ? [] : requestParts.grants(found.grants);
  return {
    place,
    record: {
      ...draft,
      id,
      status,
      createdAt,
      expiresAt,
      ...(decision ? { decision } : {}),
      ...(grants.length > 0 ? { grants } : {}),
      ...(consumedAt === undefined ? {} : { consumedAt }),
      ...(consumedBy === undefined ? {} : { consumedBy }),
    },
  };
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

// Looks requests up wherever they stand now.

/** A request as it counts now, and what its key said. */
export interface FoundRequest extends StoredRequest {
  /** As it was written down; the other `record` is `expired` once its time is past. */
  readonly kept: RequestRecord;
  /** When it was looked at (ms since the epoch); where the server has dropped it at its end, not before that. */
  readonly at: number;
  /** The exact text of its key, to compare with when it is changed. */
  readonly text: string;
}

/** Who may read single keys of all three kinds. */
export const keyReaders: readonly ValkeyRole[] = ['agent', 'exec', 'admin'];

/** undefined for an unknown or malformed id. @throws {Fault} `store_corrupt` for what is no request */
export async function findRequest(context: StoreContext, id: string): Promise<FoundRequest | undefined> {
  if (!requestIdPattern.test(id)) return undefined;
  const found = await context.connections.asAny(keyReaders, (client) => readRequests(client, [id], context));
  return interpret(found[0], id, context.now());
}

/**
 * Those of `ids` that are requests, in that order; what is damaged is left out, so that one bad key does not hide the rest.
 * @param mayFit asked about a request's JSON before it is parsed; absent: all
 */
export async function findRequests(
  context: StoreContext,
  ids: readonly string[],
  mayFit: (json: string) => boolean = () => true,
): Promise<readonly FoundRequest[]> {
  const valid = ids.filter((id) => requestIdPattern.test(id));
  if (valid.length === 0) return [];
  const found = await context.connections.asAny(keyReaders, (client) => readRequests(client, valid, context));
  const read = (id: string, index: number): FoundRequest | undefined =>
    mayFit(latestOf(found[index])?.text ?? '') ? interpretOrSkip(found[index], id, context.now()) : undefined;
  return valid.map(read).filter((request) => request !== undefined);
}

type Texts = readonly (string | null)[];

/**
 * INVARIANT: the keys are read in the order in which a request moves through them. One that moves meanwhile is then seen at least at its
 * later place, and the latest place counts. The copy matters only where there is nothing else.
 */
export async function readRequests(client: Redis, ids: readonly string[], { keys }: StoreContext): Promise<readonly Texts[]> {
  try {
    return await readTogether(client, ids, keys);
  } catch (thrown) {
    if (!isRedirected(thrown)) throw thrown;
    return readOneByOne(client, ids, keys);
  }
}

/** While a cluster's slot moves: each key is on one of two nodes. */
async function readOneByOne(client: Redis, ids: readonly string[], keys: StoreContext['keys']): Promise<readonly Texts[]> {
  const found: Texts[] = [];
  for (const id of ids) {
    const [blocked, granted, decided] = [
      await client.get(keys.blocked(id)),
      await client.get(keys.approved(id)),
      await client.get(keys.decided(id)),
    ];
    const isThere = [blocked, granted, decided].some((text) => text !== null);
    found.push([isThere ? null : await client.get(keys.copy(id)), blocked, granted, decided]);
  }
  return found;
}

async function readTogether(client: Redis, ids: readonly string[], keys: StoreContext['keys']): Promise<readonly Texts[]> {
  const waiting = ids.length > 1 ? await readWaiting(client, ids, keys) : undefined;
  if (waiting) return waiting;
  const pipeline = client.pipeline().mget(ids.map((id) => keys.blocked(id)));
  for (const id of ids) pipeline.get(keys.approved(id));
  for (const id of ids) pipeline.get(keys.decided(id));
  const [blocked, ...others] = await valuesOf<Texts | string | null>(pipeline);
  const found = ids.map((_, index) => [(blocked as Texts)[index] ?? null, others[index], others[ids.length + index]] as Texts);
  const left = ids.filter((_, index) => found[index]?.every((text) => text === null));
  const copies = await readCopies(client, left, keys);
  return ids.map((id, index) => [copies.get(id) ?? null, ...(found[index] ?? [])]);
}

/** A page of what waits is by far the commonest: three commands instead of two for each. undefined where any is something else. */
async function readWaiting(client: Redis, ids: readonly string[], keys: StoreContext['keys']): Promise<readonly Texts[] | undefined> {
  const pipeline = client
    .pipeline()
    .mget(ids.map((id) => keys.blocked(id)))
    .exists(ids.map((id) => keys.approved(id)))
    .exists(ids.map((id) => keys.decided(id)));
  const [blocked, granted, decided] = await valuesOf<Texts | number>(pipeline);
  const texts = blocked as Texts;
  return granted === 0 && decided === 0 && !texts.includes(null) ? texts.map((text) => [null, text, null, null]) : undefined;
}

async function readCopies(client: Redis, ids: readonly string[], keys: StoreContext['keys']): Promise<ReadonlyMap<string, string | null>> {
  if (ids.length === 0) return new Map();
  const pipeline = client.pipeline();
  for (const id of ids) pipeline.get(keys.copy(id));
  const copies = await valuesOf<string | null>(pipeline);
  return new Map(ids.map((id, index) => [id, copies[index] ?? null]));
}

/** @throws the first command's error */
async function valuesOf<T>(pipeline: ReturnType<Redis['pipeline']>): Promise<readonly T[]> {
  const replies = (await pipeline.exec()) ?? [];
  return replies.map(([error, value]) => {
    if (error) throw error;
    return value as T;
  });
}

/** What may stand at each place, in the order in which they are read. SECURITY: an agent's user can write to the second, and only `pending`. */
const statusesAt: readonly (readonly RequestStatus[])[] = [
  ['pending', 'approved'],
  ['pending'],
  ['approved'],
  ['denied', 'expired', 'cancelled', 'revoked', 'consumed'],
];

/** The text at the latest place, and which place that is. */
function latestOf(texts: Texts | undefined): { readonly at: number; readonly text: string } | undefined {
  const at = (texts ?? []).findLastIndex((place) => typeof place === 'string');
  const text = texts?.[at];
  return typeof text === 'string' ? { at, text } : undefined;
}

/** @throws {Fault} `store_corrupt` */
export function interpret(texts: Texts | undefined, id: string, now: number): FoundRequest | undefined {
  const latest = latestOf(texts);
  if (!latest) return undefined;
  const { at: where, text } = latest;
  const { record: kept, place } = parseStored(text, id, statusesAt[where] ?? []);
  // Only the copy is left: the server dropped the key at the end of its time.
  const at = where === 0 ? Math.max(now, lapseOf(kept)) : now;
  return { record: asOf(kept, at), kept, at, place, text };
}

function interpretOrSkip(texts: Texts | undefined, id: string, now: number): FoundRequest | undefined {
  try {
    return interpret(texts, id, now);
  } catch {
    return undefined;
  }
}
