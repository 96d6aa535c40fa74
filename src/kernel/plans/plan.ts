/** A plan: several changes that a person reads once, approves once, and that run in their order (docs/plans.md). */
import type { GuestCondition, Inverse } from '../guest-condition.ts';
import type { JsonObject } from '../json.ts';
import { joined, type Message, plural, say } from '../text/message.ts';
import type { ActionTier } from '../tiers.ts';

/** The internal tool whose arguments a plan is: its request is the plan. */
export const applyPlanTool = 'apply_plan';

export const mostSteps = 50;

/** One step as an agent proposes it. */
export interface ProposedStep {
  readonly tool: string;
  readonly arguments: JsonObject;
  /** After the step before it has ended, so much longer. */
  readonly wait_seconds?: number;
  /** A snapshot of its guest first, as a step of its own: where the step itself has no way back, that is one. */
  readonly snapshot_first?: boolean;
}

/** A snapshot that a plan takes as a way back. */
export const undoSnapshotPattern = /^bm-[0-9a-f]{6}-\d{1,2}$/;

/** What can be foretold of a guest: not the digest, which only the cluster makes. */
export type Foretold = Omit<GuestCondition, 'digest' | 'config'>;

/** One step as it was rehearsed; part of what is signed. */
export interface PlanStep {
  readonly tool: string;
  /** As the tool's schema gave it. */
  readonly input: JsonObject;
  readonly wait_seconds?: number;
  /** The question that a call of its own would ask. */
  readonly title: string;
  readonly impact: string;
  /** What it touches, as an action's digest holds it. */
  readonly targets: readonly JsonObject[];
  /** Its guests right before and after it, as the rehearsal had them. */
  readonly before: readonly Foretold[];
  readonly after: readonly Foretold[];
  readonly undo: Inverse;
}

/** The arguments of `apply_plan`. */
export interface Plan {
  readonly cluster: string;
  readonly steps: readonly PlanStep[];
  /** Resources that are there before the first step: each is resolved and tested again before anything runs. */
  readonly touches: readonly JsonObject[];
  /** What it would take down with it, one line a fact; none: nothing was found. */
  readonly blast: readonly string[];
  /** What could not be foretold, one line each. */
  readonly unknown: readonly string[];
  /** The plan that it takes back. */
  readonly undoes?: string;
}

/** As a call of its own would be refused. */
export interface StepRefusal {
  readonly code: string;
  readonly message: string;
  readonly next?: string;
  /** Of the step, where the policy refused it. */
  readonly tier?: ActionTier;
}

/** What came of a rehearsal. `step` counts from 1. */
export type Rehearsal =
  | { readonly ok: true; readonly plan: Plan }
  | { readonly ok: false; readonly step?: number; readonly status: 'denied' | 'error'; readonly refusal: StepRefusal };

/** A plan holds what is bound to the state of guests: whatever says what it depends on. */
export function isPlannable(tool: { readonly precondition?: unknown; readonly internal?: unknown }): boolean {
  return tool.precondition !== undefined && tool.internal === undefined;
}

export function foretold(conditions: readonly GuestCondition[]): readonly Foretold[] {
  return conditions.map(({ digest: _digest, config: _config, ...known }) => known);
}

/** The guests of a plan as they are to be when it has ended: the last word on each. */
export function endOf(steps: readonly Pick<PlanStep, 'after'>[]): readonly Foretold[] {
  return [...new Map(steps.flatMap(({ after }) => after.map((guest) => [guest.vmid, guest] as const))).values()];
}

/** `guest 100: running on pve, snapshots a, b`. */
export function foretoldWords({ vmid, exists, node, status, lock, snapshots = [] }: Foretold): Message {
  if (!exists) return say`guest ${vmid}: not there`;
  const state = say`guest ${vmid}: ${status ?? say`state not known`} on ${node ?? '?'}`;
  const withLock = lock === undefined ? state : say`${state}, locked (${lock})`;
  if (snapshots.length === 0) return withLock;
  return plural(snapshots.length, say`${withLock}, snapshot ${joined(snapshots)}`, say`${withLock}, snapshots ${joined(snapshots)}`);
}
