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

/** What a step sets of a guest's configuration, by key; empty: it takes the key away. A description is in the step's own arguments. */
export interface Settings {
  readonly vmid: number;
  readonly values: Readonly<Record<string, string>>;
}

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
  /** Absent: nothing. */
  readonly sets?: readonly Settings[];
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

/** What is other in a guest's configuration than it was. */
export function settingsBetween(before: readonly GuestCondition[], after: readonly GuestCondition[]): readonly Settings[] {
  return after.flatMap(({ vmid, config: now }) => {
    if (now === undefined) return [];
    const was = before.find((guest) => guest.vmid === vmid)?.config ?? {};
    const keys = [...new Set([...Object.keys(was), ...Object.keys(now)])].filter((key) => key !== 'description' && was[key] !== now[key]);
    return keys.length === 0 ? [] : [{ vmid, values: Object.fromEntries(keys.map((key) => [key, now[key] ?? ''])) }];
  });
}

/** A guest as it is to be when a plan has ended, with what the plan has set by then. */
export type End = Foretold & Pick<Settings, 'values'>;

/** The guests of a plan: the last word on each. */
export function endOf(steps: readonly Pick<PlanStep, 'after' | 'sets'>[]): readonly End[] {
  const sets = steps.flatMap((step) => step.sets ?? []);
  const valuesOf = (vmid: number) => Object.assign({}, ...sets.filter((one) => one.vmid === vmid).map(({ values }) => values));
  const last = new Map(steps.flatMap(({ after }) => after.map((guest) => [guest.vmid, guest] as const)));
  return [...last.values()].map((guest) => ({ ...guest, values: valuesOf(guest.vmid) as Settings['values'] }));
}

/** `guest 100: running on pve, memory set to 4096, snapshots a, b`. What is set of a guest that runs may count from its next start. */
export function foretoldWords({ vmid, exists, node, status, lock, values, snapshots = [] }: End): Message {
  if (!exists) return say`guest ${vmid}: not there`;
  const state = say`guest ${vmid}: ${status ?? say`state not known`} on ${node ?? '?'}`;
  const withLock = lock === undefined ? state : say`${state}, locked (${lock})`;
  const set = Object.entries(values).map(([key, value]) => (value === '' ? say`${key} not set` : say`${key} set to ${value}`));
  const withSettings = set.length === 0 ? withLock : say`${withLock}, ${joined(set)}`;
  if (snapshots.length === 0) return withSettings;
  return plural(
    snapshots.length,
    say`${withSettings}, snapshot ${joined(snapshots)}`,
    say`${withSettings}, snapshots ${joined(snapshots)}`,
  );
}
