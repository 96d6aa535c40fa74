/**
 * Plans as an App has them: rehearsed, run in the background, told from the trail, and in people's hands: looking, pausing, going on,
 * stopping, and striking steps before anybody approves.
 */
import { isIntact } from '#approval/card';
import { agentOf } from '#identity/agents';
import type { PlanControls } from '#kernel/app';
import { type RequestRecord, waitState } from '#kernel/approval/request';
import type { AuditRecord } from '#kernel/audit-event';
import { reasonOf } from '#kernel/errors';
import type { Outcome } from '#kernel/outcome';
import { applyPlanTool, type Plan } from '#kernel/plans/plan';
import { controlIn, type PlanControl, type PlanProgress, planIn, progressOf, startMs } from '#kernel/plans/plan-progress';
import type { Clock } from '#kernel/ports/clock';
import type { Log } from '#kernel/ports/log';
import type { RequestStore } from '#kernel/ports/request-store';
import { asListed, type Message, say, told } from '#kernel/text/message';
import type { ModelTier } from '#kernel/tiers';
import type { PipelineDeps, PlanParts, PlanStart } from '#pipeline/deps';
import { runCall, runStep } from '#pipeline/run-call';
import { createHandOver, type HandOver } from './hand-over.ts';
import { keptSnapshots } from './kept-snapshots.ts';
import { rehearse } from './rehearse.ts';
import { countingRecords, createPlanResumes, type ResumeDeps } from './resume-plan.ts';
import { type Halt, type RunDeps, runPlan } from './run-plan.ts';

export interface PlansDeps extends PlanStores {
  readonly log: Log;
  /** Of an asker whose request does not say its model's. */
  readonly defaultTier: ModelTier;
  /** This process, for its mark. */
  readonly consumer: string;
  pipeline(): PipelineDeps;
  /** Whether enough people still stand behind a consumed approval, as it was when it was consumed. */
  stands(record: RequestRecord): Promise<boolean>;
}

export interface Plans extends PlanParts {
  readonly ofPeople: PlanControls;
  close(): Promise<void>;
}

export type PlanHandOver = HandOver<PlansDeps>;

export interface PlanHome {
  /** The process lasts longer than one call; else closing waits for what runs. */
  readonly stays: boolean;
  /** Where another App follows this one: plans go on there. Absent: they end with it. */
  readonly handOver?: PlanHandOver;
}

/** Its process says this often that it is there, and counts as gone when it has said nothing for so long. In ms. */
const beat = { everyMs: 6_000, goodForMs: 20_000 } as const;
const pausedLookMs = 1_000;

export function createPlans(deps: PlansDeps, { stays, handOver }: PlanHome): Plans {
  const home = handOver ?? createHandOver<PlansDeps>();
  const leave = home.enter(deps);
  let leaving = false;

  async function halt(id: string, wait: boolean): Promise<Halt | undefined> {
    for (;;) {
      home.signal.throwIfAborted();
      const found = await home.use((now) => haltOf(id, now));
      if (found?.code !== 'plan_paused') return found;
      if (leaving) return { code: 'plan_interrupted', message: 'the process that ran it was closed while it was paused' };
      if (!wait) return undefined;
      await deps.clock.sleep(pausedLookMs, home.signal);
    }
  }

  return {
    rehearse: (steps, of) => rehearse(steps, of, deps.pipeline()),
    progress: (id) => planProgress(id, deps),
    ofPeople: planControls(deps, deps),
    start: (begun) =>
      home.add(
        run(begun, { home, deps, halt: (wait) => halt(begun.requestId, wait) }).catch((thrown: unknown) =>
          deps.log.error(`plan ${begun.requestId}: ${reasonOf(thrown)}`),
        ),
      ),
    async close() {
      if (handOver === undefined) {
        leaving = true;
        await home.end(stays ? new Error('the process is closing') : undefined);
      }
      await leave();
    },
  };
}

interface Running extends Pick<RunDeps, 'halt'> {
  readonly home: HandOver<PlansDeps>;
  /** Of the App that it began on. */
  readonly deps: PlansDeps;
}

async function run({ requestId: id, plan, before, policyVersion, call }: PlanStart, { home, deps, halt }: Running): Promise<void> {
  const { clock, log } = deps;
  const { agent, restrict } = call;
  const asker = { agent, ...(restrict === undefined ? {} : { restrict }) };
  const mark = startMark(id, home, deps);
  try {
    await mark.first;
    await runPlan(
      { id, plan, before, policyVersion, asker },
      {
        ...{ clock, log, halt, signal: home.signal },
        append: (draft) => home.use(({ audit }) => audit.append(draft)),
        ask: (work) => home.use((now) => work(pipelineOf(now, plan).access.api)),
        call: (step) => home.use((now) => runStep(step, now.pipeline())),
      },
    );
  } finally {
    await mark.end();
  }
}

function pipelineOf(deps: PlansDeps, { cluster }: Plan) {
  const configured = deps.pipeline().clusters.get(cluster);
  if (configured === undefined) throw new Error(`no cluster is named ${cluster}`);
  return configured;
}

/** What people did meanwhile: in the trail, so that any process can do it. */
async function haltOf(id: string, deps: PlansDeps): Promise<Halt | undefined> {
  const record = await deps.requests.get(id);
  if (record === undefined || record.status !== 'consumed' || !isIntact(record))
    return { code: 'plan_gone', message: 'its request is not in the store any more as it was approved' };
  const asked = controlIn(await planRecords(record, deps));
  if (asked === 'stop') return { code: 'plan_stopped', message: 'a person stopped it' };
  if (!(await deps.stands(record)))
    return { code: 'approval_gone', message: 'the approval does not count any more: a key behind it was revoked, or the rules changed' };
  return asked === 'pause' ? { code: 'plan_paused', message: 'a person paused it' } : undefined;
}

function startMark(
  id: string,
  home: HandOver<PlansDeps>,
  { consumer, log }: PlansDeps,
): { readonly first: Promise<void>; end(): Promise<void> } {
  const by = `plan ${id} in ${consumer}`;
  const note = (forMs: number) =>
    home
      .use(({ requests }) => requests.noteWait(id, by, forMs))
      .catch((thrown: unknown) => log.warn(`plan ${id}: its mark could not be set: ${reasonOf(thrown)}`));
  const timer = setInterval(() => void note(beat.goodForMs), beat.everyMs);
  timer.unref();
  return {
    first: note(beat.goodForMs),
    end: () => {
      clearInterval(timer);
      return note(0);
    },
  };
}

interface PlanStores extends ResumeDeps {
  readonly requests: Pick<RequestStore, 'get' | 'list' | 'waitOf' | 'noteWait' | 'cancel'>;
  readonly clock: Clock;
}

/** How one stands now; undefined: there is no such request. */
async function planProgress(id: string, stores: PlanStores): Promise<PlanProgress | undefined> {
  const { requests, clock } = stores;
  const record = await requests.get(id);
  if (record === undefined) return undefined;
  const [records, wait] = await Promise.all([planRecords(record, stores), requests.waitOf(id).catch(() => undefined)]);
  return progressOf(record, records, wait, clock.now());
}

/** What the trail says of a plan, of resumes those alone that count. */
async function planRecords(
  { id, createdAt }: Pick<RequestRecord, 'id' | 'createdAt'>,
  { audit, trustedKeys }: ResumeDeps,
): Promise<readonly AuditRecord[]> {
  const [records, pins] = await Promise.all([audit.ofRequest(id, createdAt), trustedKeys()]);
  return countingRecords(id, records, pins);
}

const mostListed = 50;

function planControls(
  stores: PlanStores,
  { pipeline, defaultTier }: { readonly pipeline: () => PipelineDeps; readonly defaultTier: ModelTier },
): PlanControls {
  const get = async (id: string) => {
    const found = await planProgress(id, stores);
    return found === undefined || found.steps.length === 0 ? undefined : found;
  };
  return {
    get,
    list: async () => {
      const { records } = await stores.requests.list({ search: applyPlanTool, limit: mostListed });
      const plans = records.filter(({ action }) => action.tool === applyPlanTool);
      return (await Promise.all(plans.map(({ id }) => get(id)))).filter((plan) => plan !== undefined);
    },
    underWay: async () => {
      const { records } = await stores.requests.list({ statuses: ['consumed'], search: applyPlanTool, limit: mostListed });
      const alive = await Promise.all(records.map((record) => mayRun(record, stores)));
      const plans = await Promise.all(records.filter((_, index) => alive[index]).map(({ id }) => get(id)));
      return plans.filter((plan) => plan?.standing === 'running' || plan?.standing === 'paused') as readonly PlanProgress[];
    },
    resume: createPlanResumes(stores).resume,
    control: async (id, control, by) => {
      const plan = await get(id);
      if (plan === undefined) return { ok: false, ...told(say`there is no plan ${id}`) };
      const why = whyNot(plan, control);
      if (why !== undefined) return { ok: false, ...told(why) };
      await stores.audit.append({ name: 'plan.control', attributes: { request_id: id, control, by } });
      return { ok: true, ...told(doneWords[control](id)) };
    },
    snapshots: () => {
      const { clusters, limits } = pipeline();
      return keptSnapshots({ requests: stores.requests, clusters, signal: AbortSignal.timeout(limits.callMs) });
    },
    without: async (id, steps, by) => {
      const record = await stores.requests.get(id);
      const plan = record && planIn(record);
      if (record === undefined || plan === undefined) return refused('no_such_plan', `there is no plan ${id}`);
      if (record.status !== 'pending') return refused('not_pending', `plan ${id} waits for no answer, so nothing can be struck from it`);
      const left = plan.steps.filter((_, index) => !steps.includes(index + 1));
      const isWrong = steps.length === 0 || left.length === 0 || left.length !== plan.steps.length - new Set(steps).size;
      if (isWrong) return refused('bad_steps', `name some of the steps 1 to ${plan.steps.length}, and not all of them`);
      return strike({ record, plan: { ...plan, steps: left }, by, steps }, stores, { deps: pipeline(), defaultTier });
    },
  };
}

/** Its process says that it is there, or has only just begun: of most plans that ended the trail need not be read. */
async function mayRun({ id, action, consumedAt = 0 }: RequestRecord, { requests, clock }: PlanStores): Promise<boolean> {
  if (action.tool !== applyPlanTool) return false;
  const wait = await requests.waitOf(id);
  return wait === undefined ? clock.now() - consumedAt < startMs : waitState(wait, clock.now()).waits;
}

const doneWords: Readonly<Record<PlanControl, (id: string) => Message>> = {
  pause: (id) => say`plan ${id} is paused before its next step; the one that is under way ends`,
  stop: (id) => say`plan ${id} is stopped before its next step; the one that is under way ends`,
};

function whyNot({ id, standing, message }: PlanProgress, control: PlanControl): Message | undefined {
  if (standing !== 'running' && standing !== 'paused') return say`plan ${id} does not run (${asListed(standing)}: ${asListed(message)})`;
  return control === 'pause' && standing === 'paused' ? say`plan ${id} is paused already` : undefined;
}

function refused(code: string, message: string): Outcome {
  return { status: 'error', code, message };
}

interface Strike {
  readonly record: RequestRecord;
  readonly plan: Plan;
  readonly steps: readonly number[];
  readonly by: string;
}

/** What is left is rehearsed anew, in its asker's name, and is a question of its own: what a person signs is what they read. */
async function strike(
  { record, plan, by, steps }: Strike,
  { requests, audit }: PlanStores,
  { deps, defaultTier }: { readonly deps: PipelineDeps; readonly defaultTier: ModelTier },
): Promise<Outcome> {
  const proposed = plan.steps.map(({ tool, input, wait_seconds: waits }) => ({
    ...{ tool, arguments: input },
    ...(waits === undefined ? {} : { wait_seconds: waits }),
  }));
  const input = { steps: proposed, cluster: plan.cluster, ...(record.claim === undefined ? {} : { reason: record.claim }) };
  const signal = AbortSignal.timeout(deps.limits.callMs * 2);
  const outcome = await runCall({ tool: 'propose_plan', input, agent: agentOf(record, defaultTier), signal, waitMs: 0 }, deps);
  if (outcome.status !== 'pending' || outcome.request_id === undefined) return outcome;
  const struck = { request_id: record.id, replaced_by: outcome.request_id, without: [...steps], by };
  await audit.append({ name: 'plan.struck', attributes: struck });
  await requests.cancel(record.id, by);
  return {
    ...outcome,
    message: `plan ${outcome.request_id} is what is left of ${record.id}; it was rehearsed anew and waits for an answer`,
  };
}
