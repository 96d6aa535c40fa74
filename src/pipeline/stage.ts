/** The vocabulary of the stages: each is a plain function that hands on a fuller state, or refuses. */

import type { Decision } from '#kernel/decision';
import type { Fault } from '#kernel/errors';
import type { GuestCondition } from '#kernel/guest-condition';
import type { JsonObject } from '#kernel/json';
import type { OutcomeStatus } from '#kernel/outcome';
import type { Resource, Target } from '#kernel/resource';
import type { Message } from '#kernel/text/message';
import type { ActionTier } from '#kernel/tiers';
import type { Tool } from '#kernel/tool';
import type { Inventory } from '#policy/resolve-target';

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
  /** The cluster's rows that say so; undefined where the call names nothing in a cluster. */
  readonly inventory?: Inventory;
  /** What the person who is asked next is told besides: of guests that lost a protecting tag. */
  readonly notices?: readonly Message[];
}

/** After classify: run or ask. */
export interface Classified extends Resolved {
  readonly decision: Decision;
  /** What a person is asked for, where the tool says it: the guests as they are. */
  readonly before?: readonly GuestCondition[];
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
const otherWrites =
  'write it as the message says, or use another command that only shows; what changes a node is not run over ssh: tell the user';

/** Refusals of the wrong tool for a thing, or of how it was written: by code, or by the rule that decided. */
const otherWay: Readonly<Record<string, string>> = {
  NOT_A_REGULAR_FILE: 'name a regular file; for a directory use `list_directory`',
  NOT_A_DIRECTORY: 'name a directory; for a file use `read_file`',
  FILE_TOO_LARGE: 'look at a part of it with `run_command`',
  USE_BANKSMAN_RUN: 'run it so: what it changes there can be undone',
  PATH_UNREADABLE: 'look with `list_directory` at what is there, and name another path',
  'workspace.hidden-character': "write the command without it (an escape such as `$'\\u200b'` means the same) and call again",
};

/** Over ssh the message names what to write instead; only a person's own rule has no other way. */
function nextOf({ code, rules: [rule = ''] }: Decision): string {
  if (rule === 'default-deny' || rule.startsWith('ssh.')) return otherWrites;
  return otherWay[rule] ?? otherWay[code] ?? leaveIt;
}

export function refuseBy(decision: Decision, next = nextOf(decision)): { readonly ok: false; readonly refusal: Refusal } {
  return refuse({ status: 'denied', code: decision.code, message: decision.reason, rules: decision.rules, next });
}

export function refuseByFault(fault: Fault): { readonly ok: false; readonly refusal: Refusal } {
  const next = fault.next ?? (fault.retryable ? 'try again later' : undefined);
  return refuse({ status: 'error', code: fault.code, message: fault.message, ...(next === undefined ? {} : { next }) });
}
