/** record: the audit trail and the one line a person reads. */
import { randomUUID } from 'node:crypto';
import { type Agent, sourceOf } from '#kernel/agent';
import type { AuditEventName } from '#kernel/audit-event';
import type { JsonObject, JsonValue } from '#kernel/json';
import type { Outcome } from '#kernel/outcome';
import { formatDuration, showPlainly } from '#kernel/text';
import { type RedactionOptions, redactJson } from '#redaction/redact';
import { lastingTarget } from './action.ts';
import type { IncomingCall, PipelineDeps } from './deps.ts';
import type { Resolved } from './stage.ts';

/** Longest arguments kept in a record, as JSON text. */
const maxArgumentText = 4_096;
/** Deepest arguments kept as they are. */
const maxArgumentDepth = 16;

/** What is known of a call so far; grows as the stages pass. */
export interface CallTrail {
  readonly id: string;
  readonly startedAt: number;
  /** A person's time to decide, in ms: not the call's own. */
  waitedMs: number;
  state?: Partial<Resolved> & { readonly requestId?: string };
  rules?: readonly string[];
}

export function startTrail(): CallTrail {
  return { id: randomUUID(), startedAt: performance.now(), waitedMs: 0 };
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
  return Math.round(performance.now() - trail.startedAt - trail.waitedMs);
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
    // A refused command stands here in its own words, secrets included.
    target: state?.targets === undefined ? undefined : redactJson(state.targets.map(lastingTarget), redactionOf(deps)),
    rules: trail.rules,
    request_id: state?.requestId,
    policy_version: deps.settings.version,
    sandbox: deps.sandboxState(),
  };
}

function describeAgent(agent: Agent): JsonObject {
  const label = agent.label === undefined ? {} : { label: showPlainly(agent.label, 100) };
  const model = agent.model === undefined ? {} : { model: showPlainly(agent.model, 100) };
  return { id: showPlainly(agent.id, 200), host: agent.host, model_tier: agent.modelTier, ...model, ...label };
}

/** Refused input may hold anything (a cycle, a bigint, a thousand levels); a record holds only what JSON and the store can. */
function boundedArguments(input: unknown, deps: PipelineDeps): JsonValue {
  try {
    const plain = redactJson(jsonSafe(input), redactionOf(deps));
    const text = JSON.stringify(plain);
    if (text.length <= maxArgumentText && !nestsDeeper(plain, maxArgumentDepth)) return plain;
    return { truncated: text.slice(0, maxArgumentText).toWellFormed(), bytes: Buffer.byteLength(text) };
  } catch {
    return { unreadable: 'the arguments cannot be written as JSON' };
  }
}

function jsonSafe(input: unknown): JsonValue {
  return JSON.parse(JSON.stringify(input ?? null, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value)));
}

function nestsDeeper(value: JsonValue | undefined, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((item) => nestsDeeper(item, levels - 1));
}
