/** The trail as calls: what somebody asked for, and what came of it. Pure. */

import { type AgentHost, agentHosts } from '#kernel/agent';
import type { App, CallRequest, Explanation } from '#kernel/app';
import { argumentsFlaw, callOf, targetWords } from '#kernel/attempt';
import type { AuditRecord } from '#kernel/audit-event';
import { Fault } from '#kernel/errors';
import { isJsonObject, type JsonObject, textOf } from '#kernel/json';
import { agentsIn } from '#kernel/of-user';
import { say } from '#kernel/text/message';
import { actionTiers, modelTiers } from '#kernel/tiers';
import { saidWords } from '../fault-words.ts';

export const callEnds = ['ok', 'error', 'denied', 'pending', 'running', 'unknown'] as const;
export type CallEnd = (typeof callEnds)[number];

export interface ActivityCall {
  /** The call's own id. */
  readonly id: string;
  /** Its newest record's number: what a proof is of. */
  readonly sequence: number;
  /** ms since the epoch: when its first record was written. */
  readonly at: number;
  readonly tool: string;
  /** `green`, `yellow`, `red`, `black`; '' where the trail does not say. */
  readonly tier: string;
  readonly agent: string;
  readonly targets: readonly string[];
  readonly end: CallEnd;
  readonly code: string;
  readonly message: string;
  readonly durationMs?: number;
  readonly requestId?: string;
  readonly arguments: JsonObject;
  /** They, and what they meant, are all there as they were given. */
  readonly isWhole: boolean;
  readonly agentFacts: JsonObject;
  readonly rules: readonly string[];
}

const nameKey = 'gen_ai.tool.name';

/** Newest first. Calls whose beginning has left the part that was read are there by what is left of them. */
export function callsIn(records: readonly AuditRecord[]): readonly ActivityCall[] {
  const calls = new Map<string, ActivityCall>();
  for (const record of records) {
    const id = callOf(record);
    if (id === undefined || !(record.name.startsWith('tool.') || record.name === 'attempt.resolved')) continue;
    const before = calls.get(id);
    calls.set(id, { ...(before ?? first(id, record)), ...later(record), sequence: record.sequence });
  }
  return [...calls.values()].sort((a, b) => b.at - a.at || b.sequence - a.sequence);
}

function first(id: string, { time, attributes, sequence }: AuditRecord): ActivityCall {
  const { agent, rules } = attributes;
  const named = attributes['gen_ai.tool.call.arguments'];
  const given = isJsonObject(named) ? named : {};
  const targets = targetWords(attributes['target']);
  return {
    isWhole: argumentsFlaw({ attributes }) === undefined,
    ...{ id, sequence, at: Date.parse(time), end: 'running', code: '', message: '' },
    tool: textOf(attributes[nameKey]) ?? '',
    tier: textOf(attributes['tier']) ?? '',
    agent: agentsIn(attributes)[0] ?? '',
    // Refused before anybody looked what it meant: then as it was written.
    targets: targets.length > 0 ? targets : targetWords([given]),
    arguments: given,
    agentFacts: isJsonObject(agent) ? agent : {},
    rules: Array.isArray(rules) ? rules.filter((rule) => typeof rule === 'string') : [],
  };
}

/** What a record of an end adds to what the beginning said. */
function later({ name, attributes }: AuditRecord): Partial<ActivityCall> {
  if (name === 'tool.started') return {};
  const requestId = textOf(attributes['request_id']);
  const duration = attributes['duration_ms'];
  return {
    end: endOf(name, attributes),
    code: textOf(attributes['code']) ?? '',
    message: textOf(attributes['message']) ?? '',
    ...(typeof duration === 'number' ? { durationMs: duration } : {}),
    ...(requestId === undefined ? {} : { requestId }),
  };
}

function endOf(name: AuditRecord['name'], { status, end }: JsonObject): CallEnd {
  if (name === 'tool.denied') return 'denied';
  if (name === 'attempt.resolved') return end === 'unknown' ? 'unknown' : end === 'done' ? 'ok' : 'error';
  return callEnds.find((one) => one === status) ?? 'unknown';
}

/** What the policy says of the same call now. Rejects where that cannot be read. @throws {Fault} `not_kept` where the record has another call */
export async function explainAgain(
  app: Pick<App, 'explain' | 'config'>,
  { tool, arguments: input, agentFacts, isWhole }: ActivityCall,
  restriction: Pick<CallRequest, 'restrict'>,
): Promise<Explanation> {
  if (!isWhole) throw new Fault('not_kept', say`the trail does not hold all that this call was given`);
  const host = agentHosts.find((one): one is AgentHost => one === agentFacts['host']) ?? 'chat';
  const tier = modelTiers.find((one) => one === agentFacts['model_tier']) ?? app.config.defaultModelTier;
  const agent = { id: textOf(agentFacts['id']) ?? 'unknown', host, modelTier: tier };
  return app.explain({ tool, input, agent, ...restriction });
}

export const ranges = { hour: 3_600_000, day: 86_400_000, week: 7 * 86_400_000, all: Number.POSITIVE_INFINITY } as const;
export type Range = keyof typeof ranges;

/** '' lets all through. */
export interface CallFilter {
  readonly range: Range;
  readonly agent: string;
  readonly tool: string;
  readonly end: string;
  /** Part of a target, a message or a request's id. */
  readonly search: string;
}

export const allCalls: CallFilter = { range: 'day', agent: '', tool: '', end: '', search: '' };

export function filtered(calls: readonly ActivityCall[], filter: CallFilter, now: number): readonly ActivityCall[] {
  const { range, agent, tool, end } = filter;
  const search = filter.search.trim().toLowerCase();
  return calls.filter(
    (call) =>
      call.at >= now - ranges[range] &&
      (agent === '' || call.agent === agent) &&
      (tool === '' || call.tool === tool) &&
      (end === '' || call.end === end) &&
      (search === '' || searched(call).some((text) => text.toLowerCase().includes(search))),
  );
}

/** What the page shows of a call is found in the words that it shows it in, too. */
function searched({ targets, message, requestId = '' }: ActivityCall): readonly string[] {
  return [targets.join(' '), message, saidWords(message), requestId];
}

export interface Bucket {
  readonly from: number;
  /** By the words that were counted by. */
  readonly counts: Readonly<Record<string, number>>;
}

const buckets = 40;

/** How many calls by what `word` says of them, in equal spans from the oldest shown to now. */
export function counted(
  calls: readonly ActivityCall[],
  range: Range,
  now: number,
  word: (call: ActivityCall) => string,
): readonly Bucket[] {
  const oldest = calls.at(-1)?.at ?? now;
  const from = range === 'all' ? Math.min(oldest, now - 1) : now - ranges[range];
  const span = (now - from) / buckets;
  const counts = Array.from({ length: buckets }, (): Record<string, number> => ({}));
  for (const call of calls) {
    const own = counts[Math.min(buckets - 1, Math.max(0, Math.floor((call.at - from) / span)))];
    if (own !== undefined) own[word(call)] = (own[word(call)] ?? 0) + 1;
  }
  return counts.map((own, index) => ({ from: from + index * span, counts: own }));
}

export const tierWords: readonly string[] = actionTiers;
