/**
 * An approved plan, step by step. The right to run a step lives in the memory of the process that consumed the plan's grant, and nowhere else: a
 * process that dies takes it along, and nothing in a store can make another one.
 */
import type { AuditDraft } from '#kernel/audit-event';
import { Fault, reasonOf, toFault } from '#kernel/errors';
import { changedSince, type GuestCondition, unreadSince } from '#kernel/guest-condition';
import { canonicalJson, isJsonObject, type JsonObject, textOf } from '#kernel/json';
import type { Outcome } from '#kernel/outcome';
import { foretold, type Plan, type PlanStep } from '#kernel/plans/plan';
import type { StepState } from '#kernel/plans/plan-progress';
import type { Clock } from '#kernel/ports/clock';
import type { ClusterPort } from '#kernel/ports/cluster';
import type { Log } from '#kernel/ports/log';
import type { IncomingCall, StepGrant } from '#pipeline/deps';
import { stepUnread } from '#pipeline/plan-step';
import { conditionsNow } from '#tools/support/condition';
import { lookAt } from '#tools/support/follow-task';

export interface PlanRun {
  /** The plan's request. */
  readonly id: string;
  readonly plan: Plan;
  /** The guests as they were approved, digests included. */
  readonly before: readonly GuestCondition[];
  readonly policyVersion: string;
  readonly asker: Pick<IncomingCall, 'agent' | 'restrict'>;
}

/** Why a plan does not go on. */
export interface Halt {
  readonly code: string;
  readonly message: string;
}

export interface RunDeps {
  append(draft: AuditDraft): Promise<unknown>;
  readonly clock: Clock;
  readonly log: Log;
  /** Looks at the cluster. */
  ask<T>(work: (api: ClusterPort) => Promise<T>): Promise<T>;
  /** The step's call, through the whole pipeline. Never rejects. */
  call(step: IncomingCall & { readonly step: StepGrant }): Promise<Outcome>;
  /** undefined: it may go on. @param wait while a person has it paused; else a pause comes too late for this step */
  halt(wait: boolean): Promise<Halt | undefined>;
  readonly signal: AbortSignal;
}

interface Verdict extends Halt {
  readonly state: StepState;
  readonly upid?: string;
  /** The step is done, and the plan ends there all the same. */
  readonly ends?: true;
}

/** Runs it to its end, or to the first step that does not go. Never rejects. */
export async function runPlan(run: PlanRun, deps: RunDeps): Promise<void> {
  let end: Halt & { readonly state: 'done' | 'stopped' };
  try {
    end = await stepByStep(run, deps);
  } catch (thrown) {
    const { code, message } = toFault(deps.signal.aborted ? interrupted : thrown);
    end = { state: 'stopped', code, message };
  }
  const words = `plan ${run.id} ${end.state}: ${end.message}`;
  if (end.state === 'done') deps.log.info(words);
  else deps.log.warn(words);
  try {
    await deps.append({ name: 'plan.ended', attributes: { request_id: run.id, ...end } });
  } catch (thrown) {
    deps.log.error(`the end of plan ${run.id} is not in the trail: ${reasonOf(thrown)}`);
  }
}

const interrupted = new Fault('plan_interrupted', 'the process that ran it was closed');

async function stepByStep(run: PlanRun, deps: RunDeps): Promise<Halt & { readonly state: 'done' | 'stopped' }> {
  const digests = new Map(run.before.flatMap(({ vmid, digest }) => (digest === undefined ? [] : [[vmid, digest] as const])));
  const consumed = new Set<number>();
  for (const [index, step] of run.plan.steps.entries()) {
    const number = index + 1;
    const halt = (await waitBefore(step, deps)) ?? (await deps.halt(true));
    if (halt !== undefined) return { state: 'stopped', ...halt };
    const verdict = await runStep({ run, step, number, digests, consumed }, deps);
    if ('halted' in verdict) return { state: 'stopped', ...verdict.halted };
    const { ends, ...told } = verdict;
    await deps.append({ name: 'plan.step', attributes: { request_id: run.id, plan_step: number, ...told } });
    if (verdict.state !== 'done' || ends === true)
      return { state: 'stopped', code: verdict.code, message: `at step ${number}: ${verdict.message}` };
  }
  return { state: 'done', code: 'ok', message: 'every step is done, and the guests are as foretold' };
}

/** In ms. */
const haltLookMs = 1_000;

/** Whoever stops a plan that waits stops it at once. What cannot be read is read again, at the latest before the step. */
async function waitBefore({ wait_seconds: seconds = 0 }: PlanStep, { clock, signal, halt }: RunDeps): Promise<Halt | undefined> {
  const until = clock.now() + seconds * 1_000;
  for (;;) {
    const left = until - clock.now();
    if (left <= 0) return undefined;
    await clock.sleep(Math.min(left, haltLookMs), signal);
    const found = await halt(false).catch(() => undefined);
    if (found !== undefined) return found;
  }
}

interface Current {
  readonly run: PlanRun;
  readonly step: PlanStep;
  readonly number: number;
  /** Of the guests that the plan has not touched yet, and of the others as its steps left them. */
  readonly digests: Map<number, string>;
  readonly consumed: Set<number>;
}

/** `halted`: it was not begun, and the plan ends before it. */
async function runStep(current: Current, deps: RunDeps): Promise<Verdict | { readonly halted: Halt }> {
  const { run, step, number, digests, consumed } = current;
  const grant: StepGrant = {
    ...{ plan: run.id, number, input: step.input, targets: step.targets, before: step.before, digests, policyVersion: run.policyVersion },
    consume: async () => {
      const halt = await deps.halt(false);
      if (halt !== undefined) return halt;
      if (consumed.has(number)) return { code: 'step_used', message: 'it has run already' };
      consumed.add(number);
      return undefined;
    },
  };
  const { signal, clock } = deps;
  const call = () => deps.call({ tool: step.tool, input: step.input, ...run.asker, signal, waitMs: 0, step: grant });
  const until = clock.now() + unread.inAllMs;
  let outcome = await call();
  while (outcome.code === stepUnread && clock.now() < until) {
    deps.log.warn(`${outcome.message}; the plan waits until it can`);
    const halted = await untilRead(step, until, deps);
    if (halted !== undefined) return { halted };
    outcome = await call();
  }
  const verdict = await verdictOf(outcome, deps);
  return verdict.state === 'done' ? checkAfter(current, verdict, deps) : verdict;
}

/** How often guests that could not be read are looked at, and how long at most: longer than a node takes to start. */
const unread = { everyMs: 1_000, inAllMs: 10 * 60_000 };

/** Looks by itself: each call would be one more record. @returns why the plan ends meanwhile */
async function untilRead({ before }: PlanStep, until: number, { ask, clock, signal, halt }: RunDeps): Promise<Halt | undefined> {
  const vmids = before.map(({ vmid }) => vmid);
  while (clock.now() < until) {
    await clock.sleep(unread.everyMs, signal);
    const halted = await halt(true);
    if (halted !== undefined) return halted;
    const now = await ask((api) => conditionsNow(api, vmids, signal)).catch(() => undefined);
    if (now !== undefined && unreadSince(before as readonly object[] as readonly JsonObject[], foretold(now)) === undefined)
      return undefined;
  }
  return undefined;
}

/** What the call's outcome says; a task that goes on is followed to its end. */
async function verdictOf(outcome: Outcome, deps: RunDeps): Promise<Verdict> {
  const { status, code, message, effect = {} } = outcome;
  const { upid, running } = taskIn(outcome);
  const known = { code, message, ...(upid === undefined ? {} : { upid }) };
  if (upid !== undefined && running) return endOfTask(upid, known, deps);
  if (status === 'ok') return { ...known, state: 'done' };
  if (status !== 'error' || effect['state'] === 'not_sent') return { ...known, state: 'refused' };
  return { ...known, state: effect['state'] === 'sent' ? 'unknown' : 'failed' };
}

/** A task that the call left, and whether it goes on as far as is known. */
function taskIn({ effect = {}, result }: Outcome): { readonly upid: string | undefined; readonly running: boolean } {
  const upid = textOf(effect['upid']);
  if (upid !== undefined) return { upid, running: effect['last_seen'] !== 'ended' };
  const task = isJsonObject(result) && isJsonObject(result['task']) ? result['task'] : {};
  return { upid: textOf(task['upid']), running: task['running'] === true };
}

/** In ms: how often a task is asked about, and how long at most. */
const waits = { first: 1_000, longest: 10_000, inAll: 24 * 3_600_000 };

async function endOfTask(upid: string, known: Halt, { ask, clock, signal }: RunDeps): Promise<Verdict> {
  const until = clock.now() + waits.inAll;
  try {
    for (let wait = waits.first; clock.now() < until; wait = Math.min(wait * 1.5, waits.longest)) {
      await clock.sleep(wait, signal);
      const seen = await ask((api) => lookAt(api, upid, signal));
      if ('code' in seen || seen.running) continue;
      const exit = seen.exitStatus ?? 'no exit status';
      if (exit === 'OK' || exit.startsWith('WARNINGS:')) return { ...known, state: 'done', upid, message: `its task has ended: ${exit}` };
      return { code: 'task_failed', state: 'failed', upid, message: `its task failed: ${exit}` };
    }
  } catch (thrown) {
    if (!signal.aborted) throw thrown;
  }
  return { ...known, state: 'unknown', upid, message: `its task was still running when it was last seen: ${upid}` };
}

const looks = 3;
const lookMs = 2_000;

/** The next step builds on this: what is not as foretold ends the plan, though the step itself is done. */
async function checkAfter({ step, digests }: Current, verdict: Verdict, { ask, clock, signal }: RunDeps): Promise<Verdict> {
  const vmids = step.after.map(({ vmid }) => vmid);
  let what = 'it could not be looked at';
  for (let look = 1; look <= looks; look += 1) {
    if (look > 1) await clock.sleep(lookMs, signal);
    const now = await ask((api) => conditionsNow(api, vmids, signal)).catch(() => undefined);
    signal.throwIfAborted();
    if (now === undefined) continue;
    for (const { vmid, digest } of now) {
      if (digest === undefined) digests.delete(vmid);
      else digests.set(vmid, digest);
    }
    const bare = foretold(now);
    if (same(bare, step.after)) return verdict;
    what = changedSince(step.after, bare) ?? 'its guests';
  }
  return { ...verdict, ends: true, code: 'not_as_foretold', message: `done, but the cluster is not as the rehearsal foretold (${what})` };
}

function same(one: readonly object[], other: readonly object[]): boolean {
  return canonicalJson(one as readonly JsonObject[]) === canonicalJson(other as readonly JsonObject[]);
}
