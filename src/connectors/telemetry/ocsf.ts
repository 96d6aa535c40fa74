/** A record as an event of the Open Cybersecurity Schema Framework: API Activity, class 6003, of schema 1.2.0. Pure. */
import type { AuditRecord } from '#kernel/audit-event';
import { isJsonObject, type JsonObject } from '#kernel/json';
import { factsOf, type RecordFacts, type Weight } from './record-facts.ts';

const schemaVersion = '1.2.0';
const apiActivity = 6003;
const activities = { Create: 1, Read: 2, Update: 3, Delete: 4, Other: 99 } as const;
type Activity = keyof typeof activities;

const severities: Readonly<Record<Weight, readonly [number, string]>> = {
  info: [1, 'Informational'],
  notice: [1, 'Informational'],
  warning: [3, 'Medium'],
  error: [2, 'Low'],
};

/** @param source the product's version, and the machine that tells */
export function ocsfEvent(record: AuditRecord, { version, host }: { readonly version: string; readonly host: string }): JsonObject {
  const facts = factsOf(record);
  const activity = activityOf(record, facts);
  const [severityId, severity] = severities[facts.weight];
  const time = Date.parse(record.time);
  return {
    activity_id: activities[activity],
    activity_name: activity === 'Other' ? record.name : activity,
    category_uid: 6,
    category_name: 'Application Activity',
    class_uid: apiActivity,
    class_name: 'API Activity',
    type_uid: apiActivity * 100 + activities[activity],
    type_name: `API Activity: ${activity}`,
    time,
    severity_id: severityId,
    severity,
    message: facts.message,
    ...statusOf(facts),
    ...(facts.durationMs === undefined ? {} : { duration: facts.durationMs, start_time: time - facts.durationMs, end_time: time }),
    metadata: {
      version: schemaVersion,
      product: { name: 'Banksman', vendor_name: 'Banksman', version },
      // The record's own hash: who gets an event twice drops the second.
      uid: record.hash,
      log_name: 'audit',
      log_provider: 'banksman',
      event_code: record.name,
      original_time: record.time,
      ...(facts.callId === undefined ? {} : { correlation_uid: facts.callId }),
    },
    actor: actorOf(facts, record),
    api: apiOf(facts, record),
    src_endpoint: { hostname: host, ...(facts.host === undefined ? {} : { svc_name: facts.host }) },
    ...(facts.targets.length === 0 ? {} : { resources: facts.targets.map(resourceOf) }),
    unmapped: unmappedOf(record),
  };
}

function activityOf({ name }: AuditRecord, { tool = '', tier }: RecordFacts): Activity {
  if (!name.startsWith('tool.') || tier === undefined) return 'Other';
  if (tier === 'green') return 'Read';
  if (/^(?:create|clone|restore|backup)_/.test(tool)) return 'Create';
  return tool.startsWith('delete_') ? 'Delete' : 'Update';
}

/** `status_id`: 1 success, 2 failure; a call that waits for a person is neither. */
function statusOf({ status, code, message }: RecordFacts): JsonObject {
  if (status === undefined) return {};
  const [id, word] = status === 'ok' ? [1, 'Success'] : status === 'pending' ? [99, 'pending'] : [2, 'Failure'];
  return {
    status_id: id,
    status: word,
    ...(code === undefined ? {} : { status_code: code }),
    ...(id === 2 ? { status_detail: message } : {}),
  };
}

function actorOf({ agentId, host, model }: RecordFacts, { attributes: { agent } }: AuditRecord): JsonObject {
  const label = isJsonObject(agent) ? agent['label'] : undefined;
  const user = agentId === undefined ? {} : { user: { uid: agentId, name: typeof label === 'string' ? label : agentId } };
  return { app_name: model ?? host ?? 'banksman', ...user };
}

function apiOf({ tool, callId, requestId, status, code, message }: RecordFacts, record: AuditRecord): JsonObject {
  const asked = record.attributes['gen_ai.tool.call.arguments'];
  const failed = status === 'error' || status === 'denied';
  return {
    operation: tool ?? record.name,
    service: { name: 'banksman' },
    request: { uid: callId ?? requestId ?? record.hash, ...(asked === undefined ? {} : { data: asked }) },
    ...(status === undefined ? {} : { response: { message, ...(failed ? { error: code ?? status, error_message: message } : {}) } }),
  };
}

/** What names a target of its kind; the first that it has. */
const naming = ['vmid', 'node', 'path', 'service', 'storage', 'address', 'host', 'text', 'id'] as const;

function resourceOf(target: JsonObject): JsonObject {
  const { kind, cluster, name } = target;
  const id = naming.map((key) => target[key]).find((value) => typeof value === 'string' || typeof value === 'number') ?? '';
  return {
    type: typeof kind === 'string' ? kind : 'resource',
    uid: typeof cluster === 'string' && cluster !== '' ? `${cluster}/${id}` : `${id}`,
    ...(typeof name === 'string' ? { name } : {}),
    data: target,
  };
}

/** What has no place of its own in the class: nothing of the record is left out. */
function unmappedOf({ attributes, sequence, chain, previous }: AuditRecord): JsonObject {
  const { 'gen_ai.tool.call.arguments': _arguments, message: _message, target: _target, ...rest } = attributes;
  return { ...rest, record: { sequence, previous, ...(chain === undefined ? {} : { chain }) } };
}
