/** What receivers want to know of a record, read once: the trail's attributes are JSON of many shapes. */
import type { AuditRecord } from '#kernel/audit-event';
import { isJsonObject, type JsonObject, type JsonValue } from '#kernel/json';

export type Weight = 'info' | 'notice' | 'warning' | 'error';

export interface RecordFacts {
  readonly tool?: string;
  /** A UUID. */
  readonly callId?: string;
  readonly requestId?: string;
  readonly agentId?: string;
  readonly model?: string;
  readonly host?: string;
  readonly tier?: string;
  readonly status?: string;
  readonly code?: string;
  readonly message: string;
  /** In ms, without the time that a person took. */
  readonly durationMs?: number;
  readonly targets: readonly JsonObject[];
  readonly weight: Weight;
}

export function factsOf({ name, attributes }: AuditRecord): RecordFacts {
  const { agent, target, duration_ms: duration, status } = attributes;
  const who = isJsonObject(agent) ? agent : {};
  const tool = text(attributes['gen_ai.tool.name']);
  return {
    ...present({
      tool,
      callId: text(attributes['gen_ai.tool.call.id']),
      requestId: text(attributes['request_id']),
      agentId: text(who['id']) ?? text(attributes['gen_ai.agent.id']),
      model: text(who['model']),
      host: text(who['host']) ?? text(attributes['host']),
      tier: text(attributes['tier']),
      status: text(status),
      code: text(attributes['code']),
      durationMs: typeof duration === 'number' ? duration : undefined,
    }),
    message: text(attributes['message']) ?? [name, tool, text(attributes['request_id'])].filter((part) => part !== undefined).join(' '),
    targets: Array.isArray(target) ? target.filter(isJsonObject) : [],
    weight: weightOf(name, status),
  };
}

function weightOf(name: AuditRecord['name'], status: JsonValue | undefined): Weight {
  if (name === 'tool.denied') return 'warning';
  if (status === 'error') return 'error';
  return /^(?:approval|approver|policy|standing|plan)\./.test(name) ? 'notice' : 'info';
}

function text(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** The keys that have a value. */
function present<Values extends object>(values: Values): { [Key in keyof Values]?: Exclude<Values[Key], undefined> } {
  const entries = Object.entries(values).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [Key in keyof Values]?: Exclude<Values[Key], undefined> };
}

/** JSON in which every character is ASCII: no receiver has to be told how it is encoded. */
export function asciiJson(value: unknown): string {
  return JSON.stringify(value).replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
