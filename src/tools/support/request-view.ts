/**
 * What an agent may know of a request. Its own: everything it said itself, and the answer. Another's: that it is there, its tool and how
 * it stands, and the title only where that names nothing but guests, nodes and services, so that two agents do not stop the same guest.
 * Commands, paths, destinations, arguments, claims, models and people's messages stay with the agent they belong to.
 */
import type { JsonObject } from '#kernel/json';
import type { RequestRecord } from '#kernel/request';

export function viewOf(record: RequestRecord, agentId: string): JsonObject {
  const { id, status, action, createdAt, expiresAt, grant } = record;
  const mine = record.agent.id === agentId;
  return {
    request_id: id,
    status,
    tool: action.tool,
    mine,
    ...(mine || namesOnlyCluster(record) ? { title: record.title } : {}),
    created_at: isoTime(createdAt),
    expires_at: isoTime(grant?.payload.expiresAt ?? expiresAt),
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
