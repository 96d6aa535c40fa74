/** record: the audit trail and the one line a person reads. */
import { randomUUID } from 'node:crypto';
import { type Agent, sourceOf } from '#kernel/agent';
import { markData } from '#kernel/attempt';
import type { AuditDraft, AuditEventName, AuditRecord } from '#kernel/audit-event';
import { isJsonObject, type JsonObject, type JsonValue } from '#kernel/json';
import type { Outcome } from '#kernel/outcome';
import { applyPlanTool } from '#kernel/plans/plan';
import { formatDuration, showPlainly } from '#kernel/text/text';
import { impactOf, type Tool } from '#kernel/tool';
import { fitBudget } from '#redaction/fit-budget';
import { type RedactionOptions, redactJson } from '#redaction/redact';
import { recordedTarget } from './action.ts';
import type { IncomingCall, PipelineDeps } from './deps.ts';
import type { Resolved } from './stage.ts';

type RedactionParts = Pick<PipelineDeps, 'knownSecrets'>;
/** A record needs no settings: what decided is in the trail. */
type RecordDeps = Omit<PipelineDeps, 'settings'>;

/** Longest arguments kept in a record, as JSON text. */
const maxArgumentText = 4_096;
/** Most of a result that is kept for an agent that was away, as JSON text. */
const keptResultText = 8_000;
/** Deepest arguments kept as they are. */
const maxArgumentDepth = 16;

/** What is known of a call so far; grows as the stages pass. */
export interface CallTrail {
  readonly id: string;
  readonly startedAt: number;
  /** A person's time to decide, in ms: not the call's own. */
  waitedMs: number;
  /** Since when a person is being waited for; what of that is not over yet does not count either. */
  waitingSince?: number | undefined;
  state?: Partial<Resolved> & { readonly requestId?: string };
  rules?: readonly string[];
  /** When the call is over at the latest, ms since the epoch; from the moment it may have an effect. */
  endsBy?: number;
  /** Its intent is in the trail. */
  begun?: true;
  /** When each stage was over, in ms since the start; only where somebody is told of it. */
  readonly stages?: Record<string, number>;
  /** The version that decided; absent where the call ended before anything did. */
  policyVersion?: string;
}

export function startTrail({ timesStages }: Pick<PipelineDeps, 'timesStages'> = {}): CallTrail {
  return { id: randomUUID(), startedAt: performance.now(), waitedMs: 0, ...(timesStages === true ? { stages: {} } : {}) };
}

/** The stage is over. */
export function markStage({ stages, startedAt }: CallTrail, stage: string): void {
  if (stages !== undefined) stages[stage] = Math.round((performance.now() - startedAt) * 1_000) / 1_000;
}

/** Call it when the wait for a person begins, and what it returns when that is over. */
export function startWaiting(trail: CallTrail): () => void {
  trail.waitingSince = performance.now();
  return () => {
    trail.waitedMs = waitedMs(trail, performance.now());
    trail.waitingSince = undefined;
  };
}

function waitedMs({ waitedMs: over, waitingSince }: CallTrail, now: number): number {
  return waitingSince === undefined ? over : over + now - waitingSince;
}

export function redactionOf(deps: RedactionParts): RedactionOptions {
  return { knownSecrets: deps.knownSecrets(), maxStringLength: 64_000 };
}

/** The intent, durable before the effect. @throws {Fault} `audit_unavailable`: then nothing may run. */
export async function recordIntent(call: IncomingCall, trail: CallTrail, deps: RecordDeps): Promise<AuditRecord> {
  deps.ownCalls?.begins(trail.id);
  try {
    return await deps.audit.append({ name: 'tool.started', attributes: { ...attributesOf(call, trail, deps), ...whoRuns(trail, deps) } });
  } catch (thrown) {
    deps.ownCalls?.notBegun(trail.id);
    throw thrown;
  }
}

/** For whoever finds it without an outcome: which process to look for, and until when. Of a workspace tool also where. */
function whoRuns({ endsBy, state }: CallTrail, { process: mark, workspacePlace }: RecordDeps): JsonObject {
  const isWorkspaces = state?.tool?.group === 'workspace';
  return {
    ...(mark === undefined ? {} : { process: markData(mark) }),
    ...(endsBy === undefined ? {} : { ends_by: new Date(endsBy).toISOString() }),
    ...(isWorkspaces && workspacePlace !== undefined ? { workspace: workspacePlace } : {}),
  };
}

/** The outcome, as the trail holds it. */
export function outcomeDraft(call: IncomingCall, trail: CallTrail, deps: RecordDeps, outcome: Outcome): AuditDraft {
  const name: AuditEventName = outcome.status === 'denied' ? 'tool.denied' : 'tool.finished';
  return {
    name,
    attributes: {
      ...attributesOf(call, trail, deps),
      status: outcome.status,
      code: outcome.code,
      message: outcome.message,
      ...(outcome.request_id === undefined ? {} : { request_id: outcome.request_id }),
      ...(outcome.effect === undefined ? {} : { effect: outcome.effect }),
      ...(outcome.status === 'error' ? { 'error.type': outcome.code } : {}),
      duration_ms: durationOf(trail),
      ...(trail.stages === undefined ? {} : { stages: { ...trail.stages } }),
      ...keptResult(call, outcome),
    },
  };
}

/** @throws {Fault} when it cannot be written. */
export async function recordOutcome(draft: AuditDraft, trail: CallTrail, deps: RecordDeps, outcome: Outcome): Promise<void> {
  if (isOnlyRead(trail, outcome)) await deps.noteRead(draft);
  else await deps.audit.append(draft);
}

/** What a person ran by hand is handed to them; its agent asks for it later (`check_request_status`). Redacted already. */
function keptResult({ byHand }: IncomingCall, { result }: Outcome): JsonObject {
  return byHand === undefined || result === undefined ? {} : { result: fitBudget(result, keptResultText).value };
}

/** Green reads may be committed in groups (docs/design.md#the-promises). One that consumed a person's grant has changed something: the grant is gone. */
function isOnlyRead({ state }: CallTrail, outcome: Outcome): boolean {
  return state?.tier === 'green' && outcome.status === 'ok' && state.requestId === undefined;
}

/** A task that goes on is followed by whoever can: its end is written down later, bound to this call. */
export function leaveTask(call: IncomingCall, trail: CallTrail, deps: RecordDeps, { effect }: Outcome): void {
  const { state = {} } = trail;
  const cluster = deps.clusters.get(state.cluster ?? '');
  const { upid, last_seen: lastSeen } = effect ?? {};
  if (cluster === undefined || typeof upid !== 'string' || lastSeen === 'ended') return;
  deps.followTask?.({
    api: cluster.access.api,
    upid,
    attributes: {
      'gen_ai.tool.name': showPlainly(call.tool, 100),
      'gen_ai.tool.call.id': trail.id,
      agent: describeAgent(call.agent),
      ...(state.requestId === undefined ? {} : { request_id: state.requestId }),
    },
  });
}

const words: Readonly<Record<Outcome['status'], string>> = { ok: 'OK', error: 'FAILED', denied: 'DENIED', pending: 'PENDING' };

/** `OK: stop_vm (red) [2.5s]`, with the reason behind it where it is not OK; slow calls get a warning of their own. */
export function logOutcome(call: IncomingCall, trail: CallTrail, deps: RecordDeps, outcome: Outcome): void {
  const ms = durationOf(trail);
  const tier = trail.state?.tier ?? trail.state?.tool?.tier ?? 'unknown';
  const line = `${words[outcome.status]}: ${showPlainly(call.tool, 100)} (${tier}) [${formatDuration(ms)}]`;
  if (outcome.status === 'ok') deps.log.info(line);
  else deps.log.warn(`${line} ${outcome.code}: ${showPlainly(outcome.message, 500)}`);
  if (ms > deps.limits.slowMs) deps.log.warn(`slow: ${showPlainly(call.tool, 100)} took ${formatDuration(ms)}`);
}

function durationOf(trail: CallTrail): number {
  const now = performance.now();
  return Math.round(now - trail.startedAt - waitedMs(trail, now));
}

/** OpenTelemetry GenAI names where there are any. */
function attributesOf(call: IncomingCall, trail: CallTrail, deps: RecordDeps): JsonObject {
  const { agent } = call;
  const { state } = trail;
  return {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': showPlainly(call.tool, 100),
    'gen_ai.tool.call.id': trail.id,
    'gen_ai.tool.call.arguments': boundedArguments(recordedInput(call, trail, deps.tools), deps),
    source: sourceOf(agent.host),
    agent: describeAgent(agent),
    tier: state?.tier ?? state?.tool?.tier,
    // A refused command stands here in its own words, secrets included.
    target: state?.targets === undefined ? undefined : redactJson(state.targets.map(recordedTarget), redactionOf(deps)),
    ...countedAs(state),
    rules: trail.rules,
    request_id: state?.requestId,
    started_by: call.byHand?.by,
    plan_step: call.step?.number,
    policy_version: trail.policyVersion,
    sandbox: deps.sandboxState(),
  };
}

/** What budgets go by: changes of clusters. Of a plan its steps count, and not their frame. */
function countedAs({ cluster, tool, targets = [], input = {} }: NonNullable<CallTrail['state']> = {}): JsonObject {
  const isFrame = tool?.name === applyPlanTool;
  return tool === undefined || cluster === undefined || isFrame ? {} : { cluster, impact: impactOf(tool, targets, input) };
}

function describeAgent(agent: Agent): JsonObject {
  const label = agent.label === undefined ? {} : { label: showPlainly(agent.label, 100) };
  const model = agent.model === undefined ? {} : { model: showPlainly(agent.model, 100) };
  const lowered = agent.classifiedTier === undefined ? {} : { classified_tier: agent.classifiedTier };
  return { id: showPlainly(agent.id, 200), host: agent.host, model_tier: agent.modelTier, ...lowered, ...model, ...label };
}

/** Refused input of a tool that conceals something may hold it anywhere: then only the names of its keys are kept. */
function recordedInput(call: IncomingCall, { state }: CallTrail, tools: readonly Tool[]): unknown {
  const tool = tools.find((entry) => entry.name === call.tool);
  if (tool?.concealed === undefined) return state?.input ?? call.input;
  if (state?.input !== undefined) return withoutConcealed(tool, state.input);
  const keys = isJsonObject(call.input) ? Object.keys(call.input) : [];
  return { refused: keys.filter((key) => Object.hasOwn(tool.input.shape, key)) };
}

/** The arguments without the values that the tool conceals. */
export function withoutConcealed(tool: Tool, input: JsonObject): JsonObject {
  const concealed = tool.concealed ?? [];
  return Object.fromEntries(Object.entries(input).map(([key, value]) => [key, concealed.includes(key) ? '[concealed]' : value]));
}

/** Refused input may hold anything (a cycle, a bigint, a thousand levels); a record holds only what JSON and the store can. */
function boundedArguments(input: unknown, deps: RedactionParts): JsonValue {
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
