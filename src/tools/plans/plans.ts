/** The tools for plans: proposed, approved, run, looked at, undone. */
import * as z from 'zod';
import { clusterArgument, reasonArgument, text } from '#kernel/arguments';
import { changedSince, unreadSince } from '#kernel/guest-condition';
import type { JsonObject } from '#kernel/json';
import {
  applyPlanTool,
  endOf,
  foretold,
  foretoldWords,
  mostSteps,
  type Plan,
  type PlanStep,
  type ProposedStep,
  type Rehearsal,
} from '#kernel/plans/plan';
import { type PlanProgress, planIn, undoOf } from '#kernel/plans/plan-progress';
import type { Resource } from '#kernel/resource';
import { english, plural, say } from '#kernel/text/message';
import { showPlainly } from '#kernel/text/text';
import { type Impact, impacts } from '#kernel/tiers';
import { defineTool, type Obstacle, type ToolContext, type ToolResult } from '#kernel/tool';
import { conditionsNow } from '../support/condition.ts';
import { invalidRequestId, isRequestId, requestIdArgument } from '../support/request-view.ts';

/** Longest pause before a step, in s. */
const longestWait = 600;

export const proposePlan = defineTool({
  name: 'propose_plan',
  title: 'Propose a plan',
  description:
    'Several changes to Proxmox VE guests as one plan, which a person approves once and can take back. Its steps start, stop, shut down, snapshot, back up, migrate, clone, resize, configure, delete. The steps are rehearsed on a copy of the cluster first; one that would be refused or fail there refuses the plan, with its number. They run in their order, each after the task of the one before has ended, and stop at the first that fails or whose guest is not as foretold. Use it for two or more changes that belong together. It opens a request and changes nothing: then check_plan, and once it is approved run_plan.',
  group: 'cluster',
  tier: 'green',
  impact: 'none',
  // Each step is held to what its own tool needs.
  permission: 'data:read',
  input: z.strictObject({
    steps: z
      .array(
        z.strictObject({
          tool: text('Tool that changes a guest, for example `shutdown_vm`.'),
          arguments: z.record(z.string(), z.unknown()).meta({ description: 'Its arguments, as for a call of its own.' }),
          wait_seconds: z.number().int().min(1).max(longestWait).optional().meta({ description: 'Pause before it.' }),
          snapshot_first: z.boolean().optional().meta({ description: 'Snapshot its guest first, as a way back.' }),
        }),
      )
      .min(1)
      .max(mostSteps)
      .meta({ description: `In their order, ${mostSteps} at most.` }),
    cluster: clusterArgument,
    reason: reasonArgument,
  }),
  touches: () => [],
  headline: ({ steps }) => say`Propose a plan of ${steps.length} steps`,
  run: async ({ steps }, { plans }) => resultOf(await plans.rehearse(steps as readonly ProposedStep[])),
});

/** A rehearsal as an answer: the question that a person is asked next, or the step that will not go. */
function resultOf(rehearsal: Rehearsal): ToolResult {
  if (!rehearsal.ok) {
    const { step, refusal, status } = rehearsal;
    const denied = status === 'denied' ? { denied: true as const } : {};
    return {
      ok: false,
      ...denied,
      ...refusal,
      message: `${step === undefined ? '' : `step ${step}: `}${refusal.message}; no plan was proposed`,
    };
  }
  const { plan } = rehearsal;
  const { steps, unknown } = plan;
  return {
    ok: true,
    message: `${steps.length} step${steps.length === 1 ? ' was' : 's were'} rehearsed on a copy of the cluster, and went well there`,
    result: {
      steps: steps.map(({ title, undo }, index) => ({ number: index + 1, title, ...wayBack(undo) })),
      end: endOf(steps).map((guest) => english(foretoldWords(guest))),
      ...(unknown.length === 0 ? {} : { not_foretold: unknown }),
    },
    asks: { tool: applyPlanTool, input: plan as unknown as JsonObject, as: 'plan' },
  };
}

function wayBack(undo: Plan['steps'][number]['undo']): JsonObject {
  return 'none' in undo ? { no_way_back: undo.none } : { undo: undo.tool };
}

/** Made by a rehearsal, digested and signed: nobody else writes one. */
const object = z.record(z.string(), z.json());
const guests = z.array(z.looseObject({ vmid: z.number().int(), exists: z.boolean() })).max(10);
const settings = z.strictObject({ vmid: z.number().int(), values: z.record(z.string(), z.string()) });

const planSchema = z.strictObject({
  cluster: z.string(),
  steps: z
    .array(
      z.strictObject({
        ...{ tool: z.string(), input: object, wait_seconds: z.number().int().optional(), title: z.string() },
        ...{ impact: z.enum(impacts), targets: z.array(object), before: guests, after: guests },
        sets: z.array(settings).max(10).optional(),
        undo: z.union([
          z.strictObject({ tool: z.string(), input: object, loses: z.string().optional() }),
          z.strictObject({ none: z.string() }),
        ]),
      }),
    )
    .min(1)
    .max(mostSteps),
  ...{ touches: z.array(object), blast: z.array(z.string()), unknown: z.array(z.string()), undoes: z.string().optional() },
  reason: reasonArgument,
});
type Input = z.output<typeof planSchema>;

export const applyPlan = defineTool({
  name: 'apply_plan' satisfies typeof applyPlanTool,
  title: 'Run a plan',
  description: 'Runs the steps of a plan in their order, once a person has approved it.',
  group: 'cluster',
  tier: 'red',
  impact: 'disruptive',
  permission: 'cluster:operate',
  internal: true,
  input: planSchema,
  impactOf: (_targets, { steps }) => worst(steps),
  touches: ({ touches }) => touches as unknown as readonly Resource[],
  headline: ({ steps, cluster, undoes }) => {
    const { length } = steps;
    const size = plural(length, say`1 step on cluster ${cluster}`, say`${length} steps on cluster ${cluster}`);
    return undoes === undefined ? say`Run a plan of ${size}` : say`Undo plan ${undoes}: ${size}`;
  },
  precondition: async (input, { cluster, signal }) => conditionsNow(cluster().api, vmidsIn(input), signal),
  precheck: (input, context) => drifted(input, context),
  run: async ({ steps }, context) => {
    const id = context.requestId ?? '';
    context.plans.start();
    return {
      ok: true,
      message: `plan ${id} has begun: ${steps.length} step${steps.length === 1 ? '' : 's'}, one after the other`,
      result: { plan_id: id, standing: 'running' },
      next: `follow it with check_plan, plan_id ${id} and wait_seconds; do not make its calls yourself`,
    };
  },
});

function worst(steps: Input['steps']): Impact {
  return impacts[Math.max(...steps.map(({ impact }) => impacts.indexOf(impact)))] ?? 'irreversible';
}

function vmidsIn({ steps }: Pick<Input, 'steps'>): readonly number[] {
  return [...new Set(steps.flatMap(({ before }) => before.map(({ vmid }) => vmid)))].sort((a, b) => a - b);
}

/** The guests are not as the rehearsal found them: what it foretold is worth nothing then. */
async function drifted(input: Input, { cluster, signal }: Pick<ToolContext, 'cluster' | 'signal'>): Promise<Obstacle | undefined> {
  const now = foretold(await conditionsNow(cluster().api, vmidsIn(input), signal));
  const { steps } = input as unknown as Plan;
  const first = new Map(steps.flatMap(({ before }) => before.map((guest) => [guest.vmid, guest] as const)).toReversed());
  const was = [...first.values()];
  const what = changedSince(was, now);
  // What could not be read is no drift: the grant itself is held to it, and stays good for another try.
  return what === undefined || unreadSince(was, now) !== undefined
    ? undefined
    : {
        code: 'plan_drift',
        message: `the cluster is not as the plan was rehearsed on (${what})`,
        next: 'look at it, then propose a plan anew',
      };
}

export const runPlan = defineTool({
  name: 'run_plan',
  title: 'Run an approved plan',
  description:
    'Begin a plan within five minutes of its approval, once. It then runs in the background, and the answer comes at once. Each step runs only on a guest that is as it was approved or foretold; the plan stops at the first that is not, or that fails. Follow it with check_plan. It asks for nothing new: what no person approved does not run.',
  group: 'cluster',
  tier: 'yellow',
  impact: 'irreversible',
  permission: 'cluster:operate',
  onGrant: true,
  input: z.strictObject({ plan_id: requestIdArgument, reason: reasonArgument }),
  touches: () => [],
  headline: ({ plan_id: id }) => say`Run plan ${id}`,
  run: async ({ plan_id: id }, context) => {
    const found = await findPlan(id, context);
    if ('ok' in found) return found;
    const next = planAdvice(found);
    const told = { message: planWords(found), result: planData(found), ...(next === undefined ? {} : { next }) };
    if (found.replacedBy !== undefined || found.standing === 'over') return { ok: false, code: 'plan_over', ...told };
    if (found.standing !== 'waiting' && found.standing !== 'approved') return { ok: true, ...told };
    const record = await context.requests.get(id);
    const input = (record?.action.arguments ?? {}) as JsonObject & Partial<Plan>;
    return {
      ok: true,
      message: `plan ${id} was asked to begin`,
      result: {},
      asks: { tool: applyPlanTool, input, onGrantOf: id, as: 'plan' },
    };
  },
});

const longestLook = 50;
const lookMs = 1_000;

export const checkPlan = defineTool({
  name: 'check_plan',
  title: 'Check a plan',
  description:
    'How a plan and each of its steps stand. The plan: waiting for a person, approved, running, paused, stopped, done; a step: done, running, failed, refused, not done, or not known. With wait_seconds it waits until something changes. It changes nothing.',
  group: 'cluster',
  tier: 'green',
  impact: 'none',
  permission: 'data:read',
  input: z.strictObject({
    plan_id: requestIdArgument,
    wait_seconds: z.number().int().min(0).max(longestLook).default(0).meta({ description: 'Wait so long for news.' }),
  }),
  touches: () => [],
  headline: ({ plan_id: id }) => say`Check plan ${id}`,
  limitMs: ({ wait_seconds: waits }) => waits * 1_000 + 30_000,
  run: async ({ plan_id: id, wait_seconds: waits }, context) => {
    const found = await findPlan(id, context);
    if ('ok' in found) return found;
    const plan = await waitForNews(found, waits * 1_000, context);
    const next = planAdvice(plan);
    return { ok: true, message: planWords(plan), result: planData(plan), ...(next === undefined ? {} : { next }) };
  },
});

async function waitForNews(first: PlanProgress, limitMs: number, { plans, clock, signal }: ToolContext): Promise<PlanProgress> {
  const before = JSON.stringify(first);
  const until = clock.now() + limitMs;
  let plan = first;
  while (['waiting', 'approved', 'running', 'paused'].includes(plan.standing) && JSON.stringify(plan) === before && clock.now() < until) {
    await clock.sleep(Math.min(lookMs, Math.max(1, until - clock.now())), signal);
    plan = (await plans.progress(first.id)) ?? plan;
  }
  return plan;
}

export const undoPlan = defineTool({
  name: 'undo_plan',
  title: 'Propose how to undo a plan',
  description:
    'Propose a plan that takes back the steps of an earlier plan that are done, in reverse order: started guests are shut down, configuration goes back, guests migrate back, what was made is deleted. It is rehearsed and a person approves it like any plan; the answer says what has no way back. It changes nothing itself.',
  group: 'cluster',
  tier: 'green',
  impact: 'none',
  // Each step is held to what its own tool needs.
  permission: 'data:read',
  rare: true,
  input: z.strictObject({ plan_id: requestIdArgument, reason: reasonArgument }),
  touches: () => [],
  headline: ({ plan_id: id }) => say`Propose how to undo plan ${id}`,
  run: async ({ plan_id: id }, context) => {
    const found = await findPlan(id, context);
    if ('ok' in found) return found;
    const record = await context.requests.get(id);
    const plan = record && planIn(record);
    if (plan === undefined || found.standing === 'running' || found.standing === 'paused')
      return { ok: false, code: 'plan_running', message: planWords(found), next: 'wait until it has ended, or ask the user to stop it' };
    const ways = undoOf(found, plan);
    const steps = ways.flatMap(({ step }) => stepsBack(step));
    const kept = ways.flatMap(({ number, step: { title, undo } }) => ('none' in undo ? [{ number, title, no_way_back: undo.none }] : []));
    if (steps.length === 0)
      return {
        ok: false,
        code: 'nothing_to_undo',
        message: `nothing of plan ${id} can be taken back`,
        result: { kept },
        next: 'tell the user',
      };
    const result = resultOf(await context.plans.rehearse(steps, { undoes: id, cluster: plan.cluster }));
    if (!result.ok || kept.length === 0) return result;
    const others = kept.map(({ number, no_way_back: why }) => `step ${number} stays (${why})`).join('; ');
    return { ...result, message: `${result.message}; ${others}`, result: { ...(result.result as object), kept } };
  },
});

/** A rollback leaves a guest stopped that ran before. */
function stepsBack({ undo, before, targets }: PlanStep): readonly ProposedStep[] {
  if ('none' in undo) return [];
  const back = { tool: undo.tool, arguments: undo.input };
  const [guest] = before;
  if (undo.tool !== 'rollback_snapshot' || guest?.status !== 'running') return [back];
  return [back, { tool: targets[0]?.['guestType'] === 'lxc' ? 'start_container' : 'start_vm', arguments: { vmid: guest.vmid } }];
}

// How a plan stands, as an agent is told.

/** The plan, or why there is no answer about it. */
async function findPlan(id: string, { plans }: Pick<ToolContext, 'plans'>): Promise<PlanProgress | Extract<ToolResult, { ok: false }>> {
  if (!isRequestId(id)) return { ok: false, code: 'invalid_plan_id', ...invalidRequestId(id) };
  const found = await plans.progress(id);
  if (found !== undefined && found.steps.length > 0) return found;
  return { ok: false, code: 'no_such_plan', message: `there is no plan \`${id}\``, next: 'use the `plan_id` of propose_plan' };
}

function planData({ id, standing, message, steps, replacedBy, undoes, snapshots }: PlanProgress): JsonObject {
  return {
    ...{ plan_id: id, standing, message },
    steps: steps.map(({ number, title, state, message: said, upid }) => ({
      ...{ number, title: showPlainly(title, 200), state },
      ...(said === undefined ? {} : { message: showPlainly(said, 300) }),
      ...(upid === undefined ? {} : { upid }),
    })),
    ...(replacedBy === undefined ? {} : { replaced_by: replacedBy }),
    ...(undoes === undefined ? {} : { undoes }),
    ...(snapshots === undefined ? {} : { undo_snapshots: snapshots.map(({ vmid, name }) => ({ vmid, name })) }),
  };
}

/** `plan req-1a2b3c4d is stopped: 2 of 5 steps done, 1 failed; why`. */
function planWords({ id, standing, message, steps }: PlanProgress): string {
  const count = (state: string) => steps.filter((step) => step.state === state).length;
  const others = (['running', 'failed', 'refused', 'unknown'] as const).flatMap((state) =>
    count(state) === 0 ? [] : [`${count(state)} ${state}`],
  );
  const told = [`${count('done')} of ${steps.length} steps done`, ...others].join(', ');
  return `plan ${id} is ${standing}: ${told}; ${showPlainly(message, 500)}`;
}

/** What to do next, by how it stands. */
function planAdvice({ id, standing, replacedBy, steps }: PlanProgress): string | undefined {
  if (replacedBy !== undefined) return `a person made plan ${replacedBy} of it: use that one`;
  const follow = `check_plan with plan_id ${id} and wait_seconds follows it; do not make its calls yourself`;
  const told: Partial<Record<PlanProgress['standing'], string>> = {
    waiting: `tell the user; check_plan with plan_id ${id} and wait_seconds waits for the answer`,
    approved: `begin it with run_plan and plan_id ${id}`,
    running: follow,
    paused: follow,
    over: 'ask the user before proposing it again',
  };
  return told[standing] ?? adviceAfter({ id, standing, steps });
}

function adviceAfter({ id, standing, steps }: Pick<PlanProgress, 'id' | 'standing' | 'steps'>): string | undefined {
  const unsure = steps.some(({ state }) => state === 'unknown' || state === 'failed');
  const look = unsure ? 'look with get_guest at the guest of the step that failed or is not known; ' : '';
  if (!steps.some(({ state }) => state === 'done')) return standing === 'done' ? undefined : `${look}nothing of it is done`;
  return standing === 'done'
    ? `undo_plan with plan_id ${id} proposes how to take it back`
    : `${look}undo_plan with plan_id ${id} proposes how to take back what is done; or propose what is left as a new plan`;
}
