/** record: the audit trail and the one line a person reads. */
import { randomUUID } from 'node:crypto';
import { type Agent, sourceOf } from '#kernel/agent';
import type { AuditEventName } from '#kernel/audit-event';
import { isJsonObject, type JsonObject, type JsonValue } from '#kernel/json';
import type { Outcome } from '#kernel/outcome';
import { formatDuration, showPlainly } from '#kernel/text';
import { type RedactionOptions, redactObject, redactText } from '#redaction/redact';
import { lastingTarget } from './action.ts';
import type { IncomingCall, PipelineDeps } from './deps.ts';
import type { Resolved } from './stage.ts';

/** Longest arguments kept in a record, as JSON text. */
const maxArgumentText = 4_096;

/** What is known of a call so far; grows as the stages pass. */
export interface CallTrail {
  readonly id: string;
  readonly startedAt: number;
  state?: Partial<Resolved> & { readonly requestId?: string };
  rules?: readonly string[];
}

export function startTrail(): CallTrail {
  return { id: randomUUID(), startedAt: performance.now() };
}

export function redactionOf(deps: PipelineDeps): RedactionOptions {
  return { knownSecrets: deps.knownSecrets(), maxStringLength: 64_000 };
}

/** The intent, durable before the effect. @throws {Fault} `audit_unavailable`: then nothing may run. */
export async function recordIntent(call: IncomingCall, trail: CallTrail, deps: PipelineDeps): Promise<void> {
  await deps.audit.append({ name: 'tool.started', attributes: attributesOf(call, trail, deps) });
}

/** The outcome. @throws {Fault} when it cannot be written. */
export async function recordOutcome(call: IncomingCall, trail: CallTrail, deps: PipelineDeps, outcome: Outcome): Promise<void> {
  const name: AuditEventName = outcome.status === 'denied' ? 'tool.denied' : 'tool.finished';
  await deps.audit.append({
    name,
    attributes: {
      ...attributesOf(call, trail, deps),
      status: outcome.status,
      code: outcome.code,
      message: outcome.message,
      ...(outcome.request_id === undefined ? {} : { request_id: outcome.request_id }),
      ...(outcome.status === 'error' ? { 'error.type': outcome.code } : {}),
      duration_ms: durationOf(trail),
    },
  });
}

const words: Readonly<Record<Outcome['status'], string>> = { ok: 'OK', error: 'FAILED', denied: 'DENIED', pending: 'PENDING' };

/** `OK: stop_vm (red) [2.5s]`, with the reason behind it where it is not OK; slow calls get a warning of their own. */
export function logOutcome(call: IncomingCall, trail: CallTrail, deps: PipelineDeps, outcome: Outcome): void {
  const ms = durationOf(trail);
  const tier = trail.state?.tier ?? trail.state?.tool?.tier ?? 'unknown';
  const line = `${words[outcome.status]}: ${showPlainly(call.tool, 100)} (${tier}) [${formatDuration(ms)}]`;
  if (outcome.status === 'ok') deps.log.info(line);
  else deps.log.warn(`${line} ${outcome.code}: ${showPlainly(outcome.message, 500)}`);
  if (ms > deps.limits.slowMs) deps.log.warn(`slow: ${showPlainly(call.tool, 100)} took ${formatDuration(ms)}`);
}

function durationOf(trail: CallTrail): number {
  return Math.round(performance.now() - trail.startedAt);
}

/** OpenTelemetry GenAI names where there are any. */
function attributesOf(call: IncomingCall, trail: CallTrail, deps: PipelineDeps): JsonObject {
  const { agent } = call;
  const { state } = trail;
  return {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': showPlainly(call.tool, 100),
    'gen_ai.tool.call.id': trail.id,
    'gen_ai.tool.call.arguments': boundedArguments(state?.input ?? call.input, deps),
    source: sourceOf(agent.host),
    agent: describeAgent(agent),
    tier: state?.tier ?? state?.tool?.tier,
    target: state?.targets?.map(lastingTarget),
    rules: trail.rules,
    request_id: state?.requestId,
    policy_version: deps.settings.version,
    sandbox: deps.sandboxState,
  };
}

function describeAgent(agent: Agent): JsonObject {
  const label = agent.label === undefined ? {} : { label: showPlainly(agent.label, 100) };
  return { id: agent.id, host: agent.host, model_tier: agent.modelTier, model: agent.model, ...label };
}

function boundedArguments(input: unknown, deps: PipelineDeps): JsonValue {
  const options = redactionOf(deps);
  if (!isJsonObject(input)) return redactText(showPlainly(String(input), 200), options);
  const plain = redactObject(jsonSafe(input), options);
  const text = JSON.stringify(plain);
  return text.length <= maxArgumentText
    ? plain
    : { truncated: text.slice(0, maxArgumentText).toWellFormed(), bytes: Buffer.byteLength(text) };
}

/** Refused input may hold anything (a cycle, a bigint, a lone surrogate); a record holds only what JSON can. */
function jsonSafe(input: JsonObject): JsonObject {
  try {
    const copy: unknown = JSON.parse(JSON.stringify(input, (_key, value: unknown) => plainScalar(value)));
    return isJsonObject(copy) ? copy : {};
  } catch {
    return { unreadable: 'the arguments cannot be written as JSON' };
  }
}

function plainScalar(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed();
  return typeof value === 'bigint' ? String(value) : value;
}
