/**
 * Records and measures in OTLP's JSON form (OTLP specification 1.x, § JSON Protobuf Encoding): ids in hex, 64-bit integers as
 * decimal text, enums as numbers. Names follow OpenTelemetry's GenAI conventions where they exist, `banksman.` else. Pure.
 */
import { createHash } from 'node:crypto';
import type { AuditRecord } from '#kernel/audit-event';
import { isJsonObject, type JsonObject, type JsonValue } from '#kernel/json';
import { durationBounds, type Measures } from '#kernel/ports/sink';
import { factsOf, type RecordFacts, type Weight } from './record-facts.ts';

/** Who tells: OTLP's resource, as plain attributes. */
export type Resource = Readonly<Record<string, string>>;

const unixNano = (ms: number): string => `${BigInt(Math.round(ms * 1_000)) * 1_000n}`;

/** `ExportLogsServiceRequest`. */
export function logsRequest(records: readonly AuditRecord[], resource: Resource, now: number): JsonObject {
  return {
    resourceLogs: [
      {
        resource: resourceOf(resource),
        scopeLogs: [{ scope: scopeOf(resource), logRecords: records.map((record) => logOf(record, now)) }],
      },
    ],
  };
}

/** `ExportTraceServiceRequest`; undefined: no span has ended with these. */
export function tracesRequest(records: readonly AuditRecord[], asked: AskedAt, resource: Resource): JsonObject | undefined {
  const spans = records.flatMap((record) => [...callSpans(record), ...requestSpan(record, asked)]);
  if (spans.length === 0) return undefined;
  return { resourceSpans: [{ resource: resourceOf(resource), scopeSpans: [{ scope: scopeOf(resource), spans }] }] };
}

function resourceOf(resource: Resource): JsonObject {
  return { attributes: attributesOf(resource) };
}

function scopeOf(resource: Resource): JsonObject {
  return { name: 'banksman', version: resource['service.version'] ?? '' };
}

/** `SeverityNumber`. */
const severity: Readonly<Record<Weight, readonly [number, string]>> = {
  info: [9, 'INFO'],
  notice: [10, 'INFO2'],
  warning: [13, 'WARN'],
  error: [17, 'ERROR'],
};

function logOf(record: AuditRecord, now: number): JsonObject {
  const { weight, message, callId, requestId } = factsOf(record);
  const [severityNumber, severityText] = severity[weight];
  const trace = callId === undefined ? (requestId === undefined ? undefined : requestIds(requestId)) : callIds(callId);
  return {
    timeUnixNano: unixNano(Date.parse(record.time)),
    observedTimeUnixNano: unixNano(now),
    severityNumber,
    severityText,
    eventName: `banksman.${record.name}`,
    body: anyValue(message),
    attributes: attributesOf({ ...recordAttributes(record), ...identity(record) }),
    ...trace,
  };
}

/** What lets a receiver drop duplicates, and anybody find the record in the trail. */
function identity(record: AuditRecord): JsonObject {
  return {
    'log.record.uid': record.hash,
    'banksman.record.sequence': record.sequence,
    ...(record.chain === undefined ? {} : { 'banksman.record.chain': record.chain }),
  };
}

function recordAttributes({ attributes }: AuditRecord): JsonObject {
  const { agent, ...rest } = attributes;
  const who = isJsonObject(agent) ? agent : {};
  const own = Object.entries({ ...rest, ...Object.fromEntries(Object.entries(who).map(([key, value]) => [`agent.${key}`, value])) });
  const named = own.flatMap(([key, value]) => (key === 'stages' || value === undefined ? [] : [[conventional(key), value] as const]));
  return Object.fromEntries(named);
}

const renamed: Readonly<Record<string, string>> = { 'agent.id': 'gen_ai.agent.id', 'agent.model': 'gen_ai.request.model' };

function conventional(key: string): string {
  return renamed[key] ?? (/^(?:gen_ai|error)\./.test(key) ? key : `banksman.${key}`);
}

/** Nested values become JSON text: not every store of spans takes maps. */
function attributesOf(values: JsonObject): JsonObject[] {
  return Object.entries(values).flatMap(([key, value]) => (value === undefined || value === null ? [] : [{ key, value: anyValue(value) }]));
}

function anyValue(value: JsonValue): JsonObject {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  if (typeof value === 'number') return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return { arrayValue: { values: value.map(anyValue) } };
  return { stringValue: JSON.stringify(value) };
}

// Spans. Their ids are derived from the call's and the request's: told twice, a span is the same span; and each record of a call leads to it.

interface SpanIds {
  readonly traceId: string;
  readonly spanId: string;
}

function callIds(callId: string): SpanIds {
  const hex = callId.replaceAll('-', '').toLowerCase();
  return { traceId: /^[0-9a-f]{32}$/.test(hex) ? hex : digest(`call ${callId}`, 32), spanId: digest(`call ${callId}`, 16) };
}

function requestIds(requestId: string): SpanIds {
  return { traceId: digest(`request ${requestId}`, 32), spanId: digest(`request ${requestId}`, 16) };
}

function digest(text: string, digits: number): string {
  return createHash('sha256').update(text).digest('hex').slice(0, digits);
}

/** `SpanKind.SPAN_KIND_INTERNAL`, and `Status.StatusCode`. */
const internal = 1;
const statusCodes = { ok: 1, error: 2 } as const;

/** `execute_tool {tool}`, and below it one span for each stage whose time the record holds. */
function callSpans(record: AuditRecord): readonly JsonObject[] {
  const facts = factsOf(record);
  const { tool, callId, durationMs = 0 } = facts;
  if ((record.name !== 'tool.finished' && record.name !== 'tool.denied') || tool === undefined || callId === undefined) return [];
  const ids = callIds(callId);
  const end = Date.parse(record.time);
  const stages = stagesOf(record);
  // What the stages took holds the person's time, which the duration leaves out.
  const start = end - Math.max(durationMs, stages.at(-1)?.[1] ?? 0);
  const span: JsonObject = {
    ...ids,
    name: `execute_tool ${tool}`,
    kind: internal,
    startTimeUnixNano: unixNano(start),
    endTimeUnixNano: unixNano(end),
    ...endOf(record, facts),
  };
  const below = stages.map(([stage, until], index) =>
    stageSpan({ ids, callId, stage }, start + (stages[index - 1]?.[1] ?? 0), start + until),
  );
  return [span, ...below];
}

function endOf(record: AuditRecord, { status, code, message, requestId }: RecordFacts): JsonObject {
  const failed = status === 'error' || status === 'denied';
  return {
    attributes: attributesOf({ ...recordAttributes(record), ...(failed && code !== undefined ? { 'error.type': code } : {}) }),
    status: failed ? { code: statusCodes.error, message } : { code: status === 'ok' ? statusCodes.ok : 0 },
    ...(requestId === undefined
      ? {}
      : { links: [{ ...requestIds(requestId), attributes: attributesOf({ 'banksman.request_id': requestId }) }] }),
  };
}

function stageSpan(
  { ids, callId, stage }: { readonly ids: SpanIds; readonly callId: string; readonly stage: string },
  start: number,
  end: number,
): JsonObject {
  return {
    traceId: ids.traceId,
    spanId: digest(`call ${callId} ${stage}`, 16),
    parentSpanId: ids.spanId,
    name: stage,
    kind: internal,
    startTimeUnixNano: unixNano(start),
    endTimeUnixNano: unixNano(end),
    attributes: attributesOf({ 'banksman.stage': stage }),
  };
}

/** Each stage and when it was over, in ms since the call began, in their order. */
function stagesOf({ attributes: { stages } }: AuditRecord): readonly (readonly [stage: string, until: number])[] {
  if (!isJsonObject(stages)) return [];
  const entries = Object.entries(stages).flatMap(([stage, until]) => (typeof until === 'number' ? [[stage, until] as const] : []));
  return entries.toSorted(([, a], [, b]) => a - b);
}

/** When a request was made, in ms since the epoch; undefined: no record says so any more. */
export type AskedAt = (requestId: string) => number | undefined;

const ends: ReadonlySet<string> = new Set(['approval.approved', 'approval.denied', 'approval.expired', 'approval.cancelled']);

/** From the question to its end: a trace of its own, to which the call is linked, since the call that spends a grant may be another one. */
function requestSpan(record: AuditRecord, asked: AskedAt): readonly JsonObject[] {
  const { requestId, tool } = factsOf(record);
  if (!ends.has(record.name) || requestId === undefined) return [];
  // A grant that was not used in time expires, too: the person had answered by then.
  if (record.name === 'approval.expired' && record.attributes['was'] === 'approved') return [];
  const end = Date.parse(record.time);
  return [
    {
      ...requestIds(requestId),
      name: tool === undefined ? 'approval' : `approval ${tool}`,
      kind: internal,
      startTimeUnixNano: unixNano(Math.min(asked(requestId) ?? end, end)),
      endTimeUnixNano: unixNano(end),
      attributes: attributesOf({ ...recordAttributes(record), 'banksman.answer': record.name.slice('approval.'.length) }),
      status: { code: 0 },
    },
  ];
}

// Metrics.

/** `AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE`. */
const cumulative = 2;

/** `ExportMetricsServiceRequest`. */
export function metricsRequest(measures: Measures, resource: Resource, now: number): JsonObject {
  const end = { timeUnixNano: unixNano(now) };
  const span = { startTimeUnixNano: unixNano(measures.since), ...end };
  const perSink = (value: (sink: Measures['sinks'][number]) => number, times: JsonObject) =>
    measures.sinks.map((sink) => ({
      ...times,
      asInt: String(Math.round(value(sink))),
      attributes: attributesOf({ 'banksman.sink': sink.name }),
    }));
  const pending = measures.pending === undefined ? [] : [{ ...end, asInt: String(measures.pending) }];
  const metrics: readonly JsonObject[] = [
    sumOf('banksman.calls', '{call}', callPoints(measures, span)),
    {
      name: 'banksman.call.duration',
      unit: 's',
      histogram: { aggregationTemporality: cumulative, dataPoints: durationPoints(measures, span) },
    },
    gaugeOf('banksman.requests.pending', '{request}', pending),
    sumOf(
      'banksman.sink.records.told',
      '{record}',
      perSink(({ told }) => told, span),
    ),
    sumOf(
      'banksman.sink.records.lost',
      '{record}',
      perSink(({ lost, refused }) => lost + refused, span),
    ),
    gaugeOf(
      'banksman.sink.behind',
      's',
      perSink(({ behind }) => behind, end),
    ),
  ];
  return {
    resourceMetrics: [{ resource: resourceOf(resource), scopeMetrics: [{ scope: scopeOf(resource), metrics: metrics.filter(hasPoints) }] }],
  };
}

function sumOf(name: string, unit: string, dataPoints: readonly JsonObject[]): JsonObject {
  return { name, unit, sum: { aggregationTemporality: cumulative, isMonotonic: true, dataPoints } };
}

function gaugeOf(name: string, unit: string, dataPoints: readonly JsonObject[]): JsonObject {
  return { name, unit, gauge: { dataPoints } };
}

function callPoints({ calls }: Measures, times: JsonObject): readonly JsonObject[] {
  return calls.map(({ tool, tier, outcome, count }) => ({
    ...times,
    asInt: String(count),
    attributes: attributesOf({ 'gen_ai.tool.name': tool, 'banksman.tier': tier, 'banksman.outcome': outcome }),
  }));
}

function durationPoints({ durations }: Measures, times: JsonObject): readonly JsonObject[] {
  return durations.map(({ tool, counts, sum }) => ({
    ...times,
    count: String(counts.reduce((all, one) => all + one, 0)),
    sum,
    bucketCounts: counts.map(String),
    explicitBounds: [...durationBounds],
    attributes: attributesOf({ 'gen_ai.tool.name': tool }),
  }));
}

function hasPoints({ sum, histogram, gauge }: JsonObject): boolean {
  return [sum, histogram, gauge].some((data) => isJsonObject(data) && Array.isArray(data['dataPoints']) && data['dataPoints'].length > 0);
}
