/**
 * What an agent may know of a request. Its own: everything it said itself, and the answer. Another's: that it is there, its tool and how
 * it stands, and the title only where that names nothing but guests, nodes and services, so that two agents do not stop the same guest.
 * Commands, paths, destinations, arguments, claims, models and people's messages stay with the agent they belong to.
 */

import * as z from 'zod';
import { lapsesAt, type RequestRecord, requestIdPattern } from '#kernel/approval/request';
import type { JsonObject } from '#kernel/json';
import { showPlainly } from '#kernel/text/text';

export function viewOf(record: RequestRecord, agentId: string): JsonObject {
  const { id, status, action, createdAt } = record;
  const mine = record.agent.id === agentId;
  return {
    request_id: id,
    status,
    tool: action.tool,
    mine,
    ...(mine || namesOnlyCluster(record) ? { title: record.title } : {}),
    created_at: isoTime(createdAt),
    expires_at: isoTime(lapsesAt(record)),
    ...(mine ? ownParts(record) : {}),
  };
}

function ownParts({ reported, claim, decision }: RequestRecord): JsonObject {
  return {
    ...(reported === undefined ? {} : { reason: reported.reason, destination: reported.destination }),
    ...(claim === undefined ? {} : { claim }),
    ...(decision?.message === undefined ? {} : { message: decision.message }),
  };
}

const clusterKinds: ReadonlySet<unknown> = new Set(['guest', 'node', 'service']);

function namesOnlyCluster({ reported, action }: RequestRecord): boolean {
  return reported === undefined && action.targets.length > 0 && action.targets.every((target) => clusterKinds.has(target.kind));
}

/** A stored time may be anything that a number can be. */
function isoTime(ms: number): string | null {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? null : date.toISOString();
}

// The id of a request as tools take it: any short text, checked before anything is looked up.

/** INVARIANT: not sanitized, unlike other texts: what is no id as it was sent must not become one (docs/design.md#requests-and-grants). */
export const requestIdArgument = z.string().meta({ description: 'For example `req-1a2b3c4d`.', pattern: '^req-[a-f0-9]{8}$' });

export function isRequestId(text: string): boolean {
  return requestIdPattern.test(text);
}

/** The answer to what is none, given without touching the store. */
export function invalidRequestId(id: string) {
  const message = 'not a request id; one looks like `req-1a2b3c4d`';
  return { message, result: { request_id: showPlainly(id, 40), status: 'invalid', message }, next: 'use `req-` and 8 hex digits' } as const;
}
