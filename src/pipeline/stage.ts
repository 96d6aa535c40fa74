/** The vocabulary of the stages: each is a plain function that hands on a fuller state, or refuses. */
import type { Decision } from '#kernel/decision';
import type { Fault } from '#kernel/errors';
import type { JsonObject } from '#kernel/json';
import type { OutcomeStatus } from '#kernel/outcome';
import type { Resource, Target } from '#kernel/resource';
import type { ActionTier } from '#kernel/tiers';
import type { Tool } from '#kernel/tool';

/** Why a call does not go on. `rules` only where the policy decided. `ok`: what it would do has been done already. */
export interface Refusal {
  readonly status: OutcomeStatus;
  readonly code: string;
  readonly message: string;
  readonly next?: string;
  readonly requestId?: string;
  readonly rules?: readonly string[];
}

export type Step<T> = { readonly ok: true; readonly state: T } | { readonly ok: false; readonly refusal: Refusal };

/** After validate: what the schema let through, `reason` (the agent's claim) apart, and the resources it touches. */
export interface Validated {
  readonly tool: Tool;
  readonly input: JsonObject;
  readonly claim?: string;
  readonly resources: readonly Resource[];
}

/** After protect: what the resources are. */
export interface Resolved extends Validated {
  readonly tier: ActionTier;
  /** undefined for tools that touch no cluster. */
  readonly cluster?: string;
  readonly targets: readonly Target[];
}

/** After classify: run or ask. */
export interface Classified extends Resolved {
  readonly decision: Decision;
}

/** After approve. */
export interface Approved extends Classified {
  readonly requestId?: string;
}

export function goOn<T>(state: T): Step<T> {
  return { ok: true, state };
}

export function refuse(refusal: Refusal): { readonly ok: false; readonly refusal: Refusal } {
  return { ok: false, refusal };
}

const leaveIt = 'do not try again or another way; tell the user';

/** Refusals of the wrong tool for a thing, not of the thing. */
const betterTool: Readonly<Record<string, string>> = {
  NOT_A_REGULAR_FILE: 'name a regular file; for a directory use `list_directory`',
  NOT_A_DIRECTORY: 'name a directory; for a file use `read_file`',
};

/** A mistake in writing, not something that may not be. */
const unreadable = 'correct the command (a quote or bracket may be left open) and call again';

export function refuseBy(
  decision: Decision,
  next = decision.rules.includes('workspace.syntax') ? unreadable : (betterTool[decision.code] ?? leaveIt),
): { readonly ok: false; readonly refusal: Refusal } {
  return refuse({
    status: 'denied',
    code: decision.code,
    message: decision.reason,
    rules: decision.rules,
    next,
  });
}

export function refuseByFault(fault: Fault): { readonly ok: false; readonly refusal: Refusal } {
  const next = fault.next ?? (fault.retryable ? 'try again later' : undefined);
  return refuse({ status: 'error', code: fault.code, message: fault.message, ...(next === undefined ? {} : { next }) });
}
