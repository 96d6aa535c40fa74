/** A call as its records tell it, as far as it can be decided again; else why it cannot. */
import { type Agent, type AgentHost, agentHosts } from '#kernel/agent';
import { argumentsFlaw } from '#kernel/attempt';
import type { AuditRecord } from '#kernel/audit-event';
import type { Effect } from '#kernel/decision';
import { isJsonObject, type JsonObject, type JsonValue, textOf } from '#kernel/json';
import { showPlainly } from '#kernel/text/text';
import { modelTiers } from '#kernel/tiers';
import type { Tool } from '#kernel/tool';

export interface RecordedCall {
  readonly tool: Tool;
  readonly input: JsonValue;
  readonly agent: Agent;
  /** When it was decided, ms since the epoch: to the second where only its end was written down. */
  readonly at: number;
  readonly record: number;
  readonly targets: readonly JsonObject[];
  readonly sandbox: string;
  /** How it ended, or `started`: then it went ahead. */
  readonly status: string;
  readonly code: string;
  readonly rules: readonly string[];
  readonly message: string;
  readonly requestId?: string;
  readonly isStep: boolean;
  /** A change of a cluster that began: what budgets count. */
  readonly counts: boolean;
}

export type ReadCall =
  | { readonly kind: 'call'; readonly call: RecordedCall }
  | { readonly kind: 'unfit'; readonly why: string; readonly at: number }
  /** No call's record, or its second one. */
  | { readonly kind: 'none' };

const none: ReadCall = { kind: 'none' };

/** So many calls may be under way; of older ones the end counts as a call of its own. */
const mostOpen = 50_000;

/** A call is read from its first record: what begins has one before its effect and one at its end. Records come in their order. */
export function createCallReader(tools: ReadonlyMap<string, Tool>): (record: AuditRecord) => ReadCall {
  const open = new Set<string>();
  return (record) => {
    const { name, attributes } = record;
    if (name !== 'tool.started' && name !== 'tool.finished' && name !== 'tool.denied') return none;
    const id = textOf(attributes['gen_ai.tool.call.id']);
    if (name === 'tool.started' && id !== undefined) {
      if (open.size >= mostOpen) open.clear();
      open.add(id);
    } else if (id !== undefined && open.delete(id)) return none;
    return readCall(record, tools);
  };
}

function readCall(record: AuditRecord, tools: ReadonlyMap<string, Tool>): ReadCall {
  const { attributes } = record;
  const at = decidedAt(record);
  const unfit = (why: string): ReadCall => ({ kind: 'unfit', why, at });
  const name = textOf(attributes['gen_ai.tool.name']);
  const agent = agentIn(attributes['agent']);
  if (name === undefined || agent === undefined || Number.isNaN(at))
    return unfit('the record is of another form (an older or a newer version wrote it)');
  const tool = tools.get(name);
  if (tool === undefined) return unfit(`there is no tool \`${showPlainly(name, 60)}\` in this version`);
  if (tool.internal === true) return unfit('it applied what a person had approved as a whole (held changes, a plan), which is not kept');
  const input = attributes['gen_ai.tool.call.arguments'];
  // What the record keeps is decided on, and nothing is put in the place of what it does not.
  const flaw = argumentsFlaw(record);
  if (flaw !== undefined) return unfit(flaw);
  return { kind: 'call', call: { tool, input: input ?? null, agent, at, record: record.sequence, ...facts(record) } };
}

function facts({ name, attributes }: AuditRecord): Omit<RecordedCall, 'tool' | 'input' | 'agent' | 'at' | 'record'> {
  const { target, rules, cluster, impact } = attributes;
  const word = (key: string): string => textOf(attributes[key]) ?? '';
  const requestId = textOf(attributes['request_id']);
  const isStart = name === 'tool.started';
  return {
    targets: Array.isArray(target) ? target.filter(isJsonObject) : [],
    rules: Array.isArray(rules) ? rules.filter((rule) => typeof rule === 'string') : [],
    ...{ sandbox: word('sandbox'), status: isStart ? 'started' : word('status'), code: word('code'), message: word('message') },
    isStep: typeof attributes['plan_step'] === 'number',
    counts: isStart && typeof cluster === 'string' && impact !== 'none',
    ...(requestId === undefined ? {} : { requestId }),
  };
}

/** What was done before its effect has its own time; else the call took as long as it says, without the time of people. */
function decidedAt({ name, time, attributes }: AuditRecord): number {
  const took = attributes['duration_ms'];
  return Date.parse(time) - (name !== 'tool.started' && typeof took === 'number' ? took : 0);
}

function agentIn(value: JsonValue | undefined): Agent | undefined {
  if (!isJsonObject(value)) return undefined;
  const id = textOf(value['id']);
  const host = agentHosts.find((one): one is AgentHost => one === value['host']);
  const modelTier = modelTiers.find((one) => one === value['model_tier']);
  return id === undefined || host === undefined || modelTier === undefined ? undefined : { id, host, modelTier };
}

/** What the policy said then, as far as the record tells; undefined: the call ended for another reason. */
export function recordedEffect({ status, code, requestId, rules }: RecordedCall): Effect | undefined {
  if (requestId !== undefined || status === 'pending') return 'ask';
  if (status === 'started' || status === 'ok') return 'allow';
  return status === 'denied' && rules.length > 0 && code !== 'agents_paused' && code !== 'over_budget' ? 'deny' : undefined;
}
