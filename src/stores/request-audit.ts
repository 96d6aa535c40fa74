/** What the trail says about a request: who, which tool, which digest; never arguments, titles or claims, which may hold secrets. */
import type { JsonObject, JsonValue } from '#kernel/json';
import type { RequestRecord } from '#kernel/request';

/** Strings in `more` may come from people; they are made well-formed, because the canonical form has no place for lone surrogates. */
export function auditAttributes(record: RequestRecord, more: Readonly<Record<string, JsonValue | undefined>> | object = {}): JsonObject {
  const attributes = {
    request_id: record.id,
    'gen_ai.tool.name': record.action.tool,
    'gen_ai.agent.id': record.agent.id,
    host: record.agent.host,
    tier: record.tier,
    impact: record.impact,
    digest: record.digest,
    // SECURITY: the reason alone; the destination may hold a credential, and the pattern is for people only.
    reported: record.reported?.reason,
    ...more,
  };
  return Object.fromEntries(Object.entries(attributes).map(([key, value]) => [key, wellFormed(value as JsonValue | undefined)]));
}

function wellFormed(value: JsonValue | undefined): JsonValue | undefined {
  return typeof value === 'string' ? value.toWellFormed() : value;
}
