/**
 * Standing: who keeps failing is trusted with less, for as long as this process runs. Repeated errors lower an agent's effective model tier,
 * steady success restores it, never above the tier of its model.
 */
import type { Agent } from '#kernel/agent';
import type { OutcomeStatus } from '#kernel/outcome';
import { type ModelTier, modelTiers } from '#kernel/tiers';

/** How many errors, less the successes since, lower the tier (docs/design.md#who-may-do-what). At the lowest there is nothing to lower. */
export const errorTolerance: Readonly<Record<ModelTier, number>> = { basic: 1, intermediate: 3, advanced: 5 };

/** Calls in a row that succeed until one step is given back. */
export const successesToRestore = 10;

/** Agents remembered at most. Only those that failed lately are. */
const capacity = 1_000;

export interface StandingChange {
  readonly agentId: string;
  readonly from: ModelTier;
  readonly to: ModelTier;
  /** The tier of its model: what it can get back to. */
  readonly classified: ModelTier;
  /** A sentence for people and models. */
  readonly reason: string;
}

export interface LoweredAgent {
  readonly agentId: string;
  readonly steps: number;
}

export interface Standing {
  /** The agent with the tier that counts now; `classifiedTier` says what it was where that differs. */
  effective(agent: Agent): Agent;
  /** Takes a call's end into account. What changed by it, if anything. */
  note(agent: Agent, outcome: { readonly status: OutcomeStatus; readonly code: string }): StandingChange | undefined;
  /** Who is lowered at the moment, for `doctor`. */
  lowered(): readonly LoweredAgent[];
}

interface Memory {
  /** Steps below the classified tier. */
  steps: number;
  errors: number;
  successes: number;
}

export function createStanding(): Standing {
  const memories = new Map<string, Memory>();
  return {
    effective: (agent) => effectiveAgent(agent, memories.get(agent.id)?.steps ?? 0),
    note: (agent, outcome) => {
      const weight = weightOf(agent, outcome);
      const memory = memories.get(agent.id) ?? { steps: 0, errors: 0, successes: 0 };
      // Who has done nothing wrong is not remembered.
      if (weight === 'none' || (weight === 'success' && !memories.has(agent.id))) return undefined;
      const before = memory.steps;
      count(memory, weight, effectiveAgent(agent, before).modelTier);
      keep(memories, agent.id, memory);
      return changeOf(agent, before, memory.steps);
    },
    lowered: () => [...memories].flatMap(([agentId, { steps }]) => (steps === 0 ? [] : [{ agentId, steps }])),
  };
}

function effectiveAgent(agent: Agent, steps: number): Agent {
  const classified = agent.classifiedTier ?? agent.modelTier;
  const tier = lower(classified, steps);
  return tier === classified ? agent : { ...agent, modelTier: tier, classifiedTier: classified };
}

function lower(tier: ModelTier, steps: number): ModelTier {
  return modelTiers[Math.max(0, modelTiers.indexOf(tier) - steps)] ?? 'basic';
}

function count(memory: Memory, weight: 'error' | 'success', tier: ModelTier): void {
  if (weight === 'success') {
    memory.errors = Math.max(0, memory.errors - 1);
    memory.successes += 1;
    if (memory.steps > 0 && memory.successes >= successesToRestore)
      Object.assign(memory, { steps: memory.steps - 1, errors: 0, successes: 0 });
    return;
  }
  memory.errors += 1;
  memory.successes = 0;
  if (tier !== 'basic' && memory.errors >= errorTolerance[tier]) Object.assign(memory, { steps: memory.steps + 1, errors: 0 });
}

/** The newest at the end; the oldest goes, one that is not lowered before one that is. */
function keep(memories: Map<string, Memory>, id: string, memory: Memory): void {
  memories.delete(id);
  if (memory.steps > 0 || memory.errors > 0) memories.set(id, memory);
  if (memories.size <= capacity) return;
  const oldest = [...memories].find(([, entry]) => entry.steps === 0)?.[0] ?? memories.keys().next().value;
  if (oldest !== undefined) memories.delete(oldest);
}

/** Not the model's doing: what the cluster, the network, the store, the sandbox or a person brought about, and a program's own exit code. */
const blameless =
  /^(?:command_failed|command_timeout|network_needed$|not_applied$|disk_full$|effects_|held_|workspace_not_seen$|task_failed|service_|no_|pve_|cluster_busy$|ssh_|store_|audit_|sandbox_|wake_|tls_|clock_|timeout$|cancelled$|closing$|busy$|internal_error$|outcome_unknown$|program_not_started$|not_found$|request_not_opened$|WORKSPACE_MISSING$|SEARCH_(?:FAILED|TIMEOUT)$|PERMISSION_DENIED$|DISK_FULL$|TOO_MANY_OPEN_FILES$|FILE_FAILED$|PATH_CHANGED$|QUOTA_EXCEEDED$)/;

/** Refusals (by a person, by the policy) and questions say nothing about how well an agent uses its tools; neither do people themselves. */
function weightOf(agent: Agent, { status, code }: { readonly status: OutcomeStatus; readonly code: string }): 'error' | 'success' | 'none' {
  if (agent.host === 'palette') return 'none';
  if (status === 'ok') return 'success';
  return status === 'error' && !blameless.test(code) ? 'error' : 'none';
}

function changeOf(agent: Agent, before: number, after: number): StandingChange | undefined {
  const classified = agent.classifiedTier ?? agent.modelTier;
  const [from, to] = [lower(classified, before), lower(classified, after)];
  if (from === to) return undefined;
  const reason =
    after > before
      ? `after ${errorTolerance[from]} failed calls this agent's model tier is ${to} instead of ${from}; ${successesToRestore} calls in a row that succeed give it back`
      : `after ${successesToRestore} calls in a row that succeeded this agent's model tier is ${to} again`;
  return { agentId: agent.id, from, to, classified, reason };
}
