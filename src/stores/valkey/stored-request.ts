/** Requests as JSON in the store. Whatever comes back is input: whoever has a credential can write. */
import * as z from 'zod';
import { type RequestRecord, type RequestStatus, requestIdPattern, requestStatuses } from '#kernel/approval/request';
import { requestParts } from '#kernel/approval/request-schema';
import { Fault } from '#kernel/errors';

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
  const stored = read(text);
  if (stored?.record.id === id && statuses.includes(stored.record.status)) return stored;
  throw new Fault('store_corrupt', `request \`${id}\` in the store is damaged or was not written by Banksman`, {
    next: 'check who can write to the store',
  });
}

function read(text: string): StoredRequest | undefined {
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
