/** Plans as an App has them: rehearsed, run in the background, told from the trail, and in people's hands while they run. */
import { isIntact } from '#approval/card';
import type { PlanControls } from '#kernel/app';
import type { RequestRecord } from '#kernel/approval/request';
import { reasonOf } from '#kernel/errors';
import type { Plan } from '#kernel/plans/plan';
import { controlIn } from '#kernel/plans/plan-progress';
import type { Log } from '#kernel/ports/log';
import type { ModelTier } from '#kernel/tiers';
import type { PipelineDeps, PlanParts, PlanStart } from '#pipeline/deps';
import { runStep } from '#pipeline/run-call';
import { createHandOver, type HandOver } from './hand-over.ts';
import { type PlanStores, planControls, planProgress, planRecords } from './plan-control.ts';
import { rehearse } from './rehearse.ts';
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
