/** Plans in people's hands: looking, pausing, going on, stopping, and striking steps before anybody approves. */
import { agentOf } from '#identity/agents';
import type { ControlResult, PlanControls } from '#kernel/app';
import { type RequestRecord, waitState } from '#kernel/approval/request';
import type { AuditRecord } from '#kernel/audit-event';
import type { Outcome } from '#kernel/outcome';
import { applyPlanTool, type Plan } from '#kernel/plans/plan';
import { type PlanControl, type PlanProgress, planIn, progressOf, startMs } from '#kernel/plans/plan-progress';
import type { Clock } from '#kernel/ports/clock';
import type { RequestStore } from '#kernel/ports/request-store';
import type { ModelTier } from '#kernel/tiers';
import type { PipelineDeps } from '#pipeline/deps';
import { runCall } from '#pipeline/run-call';
import { keptSnapshots } from './kept-snapshots.ts';
import { countingRecords, createPlanResumes, type ResumeDeps } from './resume-plan.ts';

export interface PlanStores extends ResumeDeps {
  readonly requests: Pick<RequestStore, 'get' | 'list' | 'waitOf' | 'noteWait' | 'cancel'>;
  readonly clock: Clock;
}

/** How one stands now; undefined: there is no such request. */
export async function planProgress(id: string, stores: PlanStores): Promise<PlanProgress | undefined> {
  const { requests, clock } = stores;
  const record = await requests.get(id);
  if (record === undefined) return undefined;
  const [records, wait] = await Promise.all([planRecords(record, stores), requests.waitOf(id).catch(() => undefined)]);
  return progressOf(record, records, wait, clock.now());
}

/** What the trail says of a plan, of resumes those alone that count. */
export async function planRecords(
  { id, createdAt }: Pick<RequestRecord, 'id' | 'createdAt'>,
  { audit, trustedKeys }: ResumeDeps,
): Promise<readonly AuditRecord[]> {
  const [records, pins] = await Promise.all([audit.ofRequest(id, createdAt), trustedKeys()]);
  return countingRecords(id, records, pins);
}

const mostListed = 50;

export function planControls(
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
      if (plan === undefined) return { ok: false, message: `there is no plan ${id}` };
      const why = whyNot(plan, control);
      if (why !== undefined) return { ok: false, message: `plan ${id} ${why}` };
      await stores.audit.append({ name: 'plan.control', attributes: { request_id: id, control, by } });
      return { ok: true, message: `plan ${id} ${done[control]}` };
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

const done: Readonly<Record<PlanControl, string>> = {
  pause: 'is paused before its next step; the one that is under way ends',
  stop: 'is stopped before its next step; the one that is under way ends',
};

function whyNot({ standing, message }: PlanProgress, control: PlanControl): ControlResult['message'] | undefined {
  if (standing !== 'running' && standing !== 'paused') return `does not run (${standing}: ${message})`;
  return control === 'pause' && standing === 'paused' ? 'is paused already' : undefined;
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
