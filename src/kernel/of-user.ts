/** What one OS user may know of a store that holds several users' requests and records: their own, and of others not even that there are any. */
import { osUserOf } from './agent.ts';
import type { RequestStatus } from './approval/request.ts';
import type { AuditRecord } from './audit-event.ts';
import { isJsonObject, type JsonObject } from './json.ts';
import type { RequestPage, RequestQuery, RequestStore } from './ports/request-store.ts';

export type ReadableRequests = Pick<RequestStore, 'get' | 'list' | 'countPending' | 'countApproved'>;

/** A request's page may be of others alone: so many are looked at for one answer. */
const mostPages = 10;
const pageSize = 200;

export function requestsOfUser(requests: Pick<ReadableRequests, 'get' | 'list'>, user: string): ReadableRequests {
  const list = (query: RequestQuery) => ownPage(requests, query, user);
  const count = async (status: RequestStatus): Promise<number> => {
    let found = 0;
    let cursor: string | undefined;
    do {
      const page = await list({ statuses: [status], limit: pageSize, ...(cursor === undefined ? {} : { cursor }) });
      found += page.records.length;
      cursor = page.cursor;
    } while (cursor !== undefined);
    return found;
  };
  return {
    get: async (id) => {
      const record = await requests.get(id);
      return record !== undefined && osUserOf(record.agent.id) === user ? record : undefined;
    },
    list,
    countPending: () => count('pending'),
    countApproved: () => count('approved'),
  };
}

/** It may hold fewer than were asked for, none even, and have a cursor still. */
async function ownPage(requests: Pick<ReadableRequests, 'list'>, query: RequestQuery, user: string): Promise<RequestPage> {
  let { cursor } = query;
  const { cursor: _old, search = `${user}/`, ...rest } = query;
  const found: RequestPage['records'][number][] = [];
  for (let page = 0; page < mostPages; page += 1) {
    const from = cursor === undefined ? {} : { cursor };
    const next = await requests.list({ ...rest, search, limit: query.limit - found.length, ...from });
    found.push(...next.records.filter(({ agent }) => osUserOf(agent.id) === user));
    cursor = next.cursor;
    if (cursor === undefined || found.length >= query.limit) break;
  }
  return { records: found, ...(cursor === undefined ? {} : { cursor }) };
}

export function isRecordOfUser({ attributes }: Pick<AuditRecord, 'attributes'>, user: string): boolean {
  return attributes['reported_by'] === user || agentsIn(attributes).some((agent) => osUserOf(agent) === user);
}

/** Whom a record names as its agent, under whichever name: a call's holds an object, others the id alone. One that is no text is `''`. */
export function agentsIn(attributes: JsonObject): readonly string[] {
  const named = [attributes['agent'], attributes['gen_ai.agent.id'], attributes['agentId']].filter((one) => one !== undefined);
  return named.map((one) => (isJsonObject(one) ? one['id'] : one)).map((id) => (typeof id === 'string' ? id : ''));
}
