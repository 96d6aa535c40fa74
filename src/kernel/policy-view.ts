/** What people see of the policy: who may do what, and what other settings would have done with the calls of the trail. */
import type { Agent } from './agent.ts';
import type { AutoApproveAction } from './approval/security.ts';
import type { Decision } from './decision.ts';
import type { JsonObject } from './json.ts';
import type { ActionTier, Impact, Permission, SecurityLevel, ToolGroup } from './tiers.ts';

/** One tool for one caller at one level, whatever its arguments are. */
export interface PolicyCell {
  readonly level: SecurityLevel;
  readonly decision: Decision;
  /** The stage that decided. */
  readonly stage: string;
}

export interface PolicyRow {
  readonly tool: string;
  readonly title: string;
  readonly group: ToolGroup;
  /** As configured. */
  readonly tier: ActionTier;
  readonly impact: Impact;
  readonly permission: Permission;
  /** One for each level. */
  readonly cells: readonly PolicyCell[];
  /** One for each scope: what it says to the agents that it names. */
  readonly scopes: readonly Decision[];
}

export interface PolicyScope {
  readonly name: string;
  /** As configured: ids with `*` and `?`, `host:…`, `user:…`. */
  readonly agents: readonly string[];
  /** It names the agent that was asked about. */
  readonly isOwn: boolean;
}

export interface PolicyMatrix {
  readonly agent: Pick<Agent, 'id' | 'host' | 'modelTier'>;
  /** The level that counts now. */
  readonly level: SecurityLevel;
  /** In the order of each row's. */
  readonly scopes: readonly PolicyScope[];
  readonly rows: readonly PolicyRow[];
  /** What holds these calls besides, by their targets: scopes of this agent, windows, a pause. In words. */
  readonly limits: readonly string[];
}

/** `error`: the call is wrong in itself, whatever the settings. */
export interface ReplayedDecision extends Omit<Decision, 'effect'> {
  readonly effect: Decision['effect'] | 'error';
}

/** Calls of one tool that would be decided otherwise, and for the same reason. */
export interface ReplayedChange {
  readonly tool: string;
  readonly direction: 'looser' | 'tighter' | 'other';
  readonly before: ReplayedDecision;
  readonly after: ReplayedDecision;
  readonly calls: number;
  /** Of those: judged by the clusters, or this machine's view of the workspace, as they are now. */
  readonly byNow: number;
  /** The most frequent ones. */
  readonly agents: readonly { readonly id: string; readonly calls: number }[];
  /** ISO 8601. */
  readonly first: string;
  readonly last: string;
  /** The first few. */
  readonly examples: readonly { readonly record: number; readonly words: string }[];
}

/** A rule that would have answered what people were asked, as narrow as covers it. */
export interface RuleSuggestion {
  readonly pattern: string;
  readonly action: AutoApproveAction;
  /** Questions that people approved and that it would have saved. */
  readonly questions: number;
  readonly approvedBy: readonly { readonly by: string; readonly questions: number }[];
  /** ISO 8601. */
  readonly first: string;
  readonly last: string;
  readonly covers: readonly string[];
  /** Other recorded calls that it would let run without a question. */
  readonly alsoLets: readonly { readonly words: string; readonly calls: number; readonly denied: number }[];
  readonly alsoLetsCalls: number;
  /** Kinds of red, protected or refused calls of this tool that it was tried on: it lets none of them through, or is not suggested. */
  readonly triedOn: number;
}

export interface ReplayReport {
  /** Records that were read and fit. */
  readonly records: number;
  /** Whether the trail fits to its end; else nothing from the first record that does not is used. */
  readonly trail: { readonly ok: boolean; readonly message: string };
  /** Keys of the settings that differ. */
  readonly differs: readonly string[];
  /** What the edited settings make looser: less than what a person agreed to last counts only once one agrees. */
  readonly loosens: readonly string[];
  readonly calls: number;
  readonly judged: number;
  readonly same: number;
  readonly changed: number;
  readonly looser: number;
  readonly tighter: number;
  /** Of the judged: with the help of what is so now, and was perhaps not then. */
  readonly byNow: number;
  /** Of those of which the record says what was decided: as many are decided so by the present settings, too. */
  readonly agreement: { readonly known: number; readonly same: number };
  /** Calls that cannot be replayed, by why. */
  readonly notJudged: readonly { readonly why: string; readonly calls: number }[];
  readonly changes: readonly ReplayedChange[];
  /** Changes that are counted and not listed. */
  readonly moreChanges: number;
  readonly questions: { readonly asked: number; readonly approved: number; readonly denied: number; readonly red: number };
  readonly suggestions: readonly RuleSuggestion[];
  /** What no replay says. */
  readonly notes: readonly string[];
  /** Of the first and last call, ISO 8601. */
  readonly first?: string;
  readonly last?: string;
  readonly ms: number;
}

export interface ReplayProgress {
  readonly records: number;
  /** As many as there were at the beginning; absent where nobody knows. */
  readonly of?: number;
}

export interface ReplayOptions {
  /** ms since the epoch: only calls from then on. */
  readonly since?: number;
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: ReplayProgress) => void;
}

export interface PolicyView {
  /** Of calls by somebody like this. Reads no cluster. */
  matrix(agent: Pick<Agent, 'id' | 'host' | 'modelTier'>): Promise<PolicyMatrix>;
  /** What decides, as it counts now, for a person who edits it. @throws {Fault} `not_here` where a service holds it */
  settings(): Promise<JsonObject>;
  /**
   * What `edited` would do with the recorded calls; nothing is written.
   * @param edited the deciding keys of a configuration; those that are not there have their defaults, but the level and `autoApprove`, which stay
   * @throws {Fault} `bad_config` that names each field, `cancelled`, `not_here`
   */
  replay(edited: unknown, options: ReplayOptions): Promise<ReplayReport>;
}
