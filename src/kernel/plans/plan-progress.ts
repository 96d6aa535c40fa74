/** How far a plan is, from its request and the trail alone: any process can tell, and a killed one leaves nothing to mend. */

import { type RequestRecord, type RequestWait, waitState } from '../approval/request.ts';
import { endInWords } from '../approval/request-end.ts';
import type { AuditRecord } from '../audit-event.ts';
import { isJsonObject, type JsonObject, textOf } from '../json.ts';
import { english } from '../text/message.ts';
import { applyPlanTool, type Plan, undoSnapshotPattern } from './plan.ts';

/** `failed`: it was sent, and did not come true. `refused`: it was not sent. `unknown`: it began, and nothing says how it ended. */
export type StepState = 'not_done' | 'running' | 'done' | 'failed' | 'refused' | 'unknown';

export interface StepProgress {
  /** From 1. */
  readonly number: number;
  readonly title: string;
  readonly state: StepState;
  readonly message?: string;
  /** The cluster's task, where the trail names one. */
  readonly upid?: string;
}

/** `waiting` for a person, `approved` and not begun, `over`: it never began, `stopped` before its end, `paused` by a person. */
export type PlanStanding = 'waiting' | 'approved' | 'over' | 'running' | 'paused' | 'stopped' | 'done';

export interface PlanProgress {
  readonly id: string;
  readonly title: string;
  readonly standing: PlanStanding;
  /** One sentence without its end: why it stands so. */
  readonly message: string;
  readonly steps: readonly StepProgress[];
  /** The plan that a person made of it by striking steps. */
  readonly replacedBy?: string;
  readonly undoes?: string;
  /** Snapshots that it took as ways back; each may be deleted by now. */
  readonly snapshots?: readonly { readonly vmid: number; readonly name: string }[];
}

export const planControls = ['pause', 'stop'] as const;
/** What anybody of the account may ask of a plan that runs: it makes it stricter. Going on is signed (`PlanControls.resume`). */
export type PlanControl = (typeof planControls)[number];

export function isPlanControl(word: string): word is PlanControl {
  return planControls.some((control) => control === word);
}

/** A process that has just consumed the grant has a moment to say that it is there, in ms. */
export const startMs = 15_000;

/** @param records those that name the plan's request, without resumes that nobody signed; @param wait the newest mark of the process that runs it */
export function progressOf(
  record: RequestRecord,
  records: readonly AuditRecord[],
  wait: RequestWait | undefined,
  now: number,
): PlanProgress {
  const plan = planIn(record);
  const alive = waitState(wait, now).waits || (wait === undefined && now - (record.consumedAt ?? 0) < startMs);
  const ended = records.findLast(({ name }) => name === 'plan.ended');
  const steps = (plan?.steps ?? []).map(({ title }, index) =>
    stepProgress(index + 1, title, { records, alive: alive && ended === undefined }),
  );
  const replaced = records.findLast(({ name }) => name === 'plan.struck')?.attributes['replaced_by'];
  const replacedBy = textOf(replaced);
  return {
    ...{ id: record.id, title: record.title, steps },
    ...standingOf(record, { records, ended, alive }),
    ...(replacedBy === undefined ? {} : { replacedBy }),
    ...(plan?.undoes === undefined ? {} : { undoes: plan.undoes }),
    ...snapshotsOf(plan, steps),
  };
}

function snapshotsOf(plan: Plan | undefined, steps: readonly StepProgress[]): Pick<PlanProgress, 'snapshots'> {
  const snapshots = (plan?.steps ?? []).flatMap(({ tool, input }, index) => {
    const { vmid, name } = input;
    const isTaken = tool === 'create_snapshot' && steps[index]?.state === 'done';
    return isTaken && typeof vmid === 'number' && typeof name === 'string' && undoSnapshotPattern.test(name) ? [{ vmid, name }] : [];
  });
  return snapshots.length === 0 ? {} : { snapshots };
}

/** The plan that a request is; undefined: it is another one. Sound: only the pipeline makes such requests, and their digest is checked. */
export function planIn({ action }: Pick<RequestRecord, 'action'>): Plan | undefined {
  return action.tool === applyPlanTool ? (action.arguments as unknown as Plan) : undefined;
}

interface Seen {
  readonly records: readonly AuditRecord[];
  readonly ended: AuditRecord | undefined;
  readonly alive: boolean;
}

function standingOf(record: RequestRecord, { records, ended, alive }: Seen): Pick<PlanProgress, 'standing' | 'message'> {
  if (record.status === 'pending') return { standing: 'waiting', message: 'a person has not decided yet' };
  if (record.status === 'approved') return { standing: 'approved', message: 'it is approved and has not begun' };
  if (record.status !== 'consumed') return { standing: 'over', message: `it never began: ${english(endInWords(record))}` };
  if (ended !== undefined) {
    const isDone = ended.attributes['state'] === 'done';
    return { standing: isDone ? 'done' : 'stopped', message: textOf(ended.attributes['message']) ?? '' };
  }
  if (!alive) return { standing: 'stopped', message: 'the process that ran it ended before the plan did; no step runs any more' };
  const asked = controlIn(records);
  if (asked === 'pause') return { standing: 'paused', message: 'a person paused it; the step that was under way ends' };
  return { standing: 'running', message: asked === 'stop' ? 'a person stops it; the step that is under way ends' : 'it runs' };
}

/** What counts of what people asked for. SECURITY: resumes that nobody signed must not be among `records`. */
export function controlIn(records: readonly AuditRecord[]): PlanControl | undefined {
  if (records.some((record) => isControl(record, 'stop'))) return 'stop';
  return pausesIn(records).stands ? 'pause' : undefined;
}

/** Counted, not ordered: each resume says how many pauses there were when it was signed, so that an earlier one lifts no later pause. */
export function pausesIn(records: readonly AuditRecord[]): { readonly count: number; readonly stands: boolean } {
  const count = records.filter((record) => isControl(record, 'pause')).length;
  return { count, stands: count > Math.max(0, ...records.filter(isResume).map(liftedBy)) };
}

export function isResume(record: AuditRecord): boolean {
  return isControl(record, 'resume');
}

function liftedBy({ attributes: { signed } }: AuditRecord): number {
  const payload = isJsonObject(signed) && isJsonObject(signed['payload']) ? signed['payload'] : {};
  return typeof payload['pauses'] === 'number' ? payload['pauses'] : 0;
}

function isControl({ name, attributes }: AuditRecord, control: string): boolean {
  return name === 'plan.control' && attributes['control'] === control;
}

function stepProgress(number: number, title: string, { records, alive }: Omit<Seen, 'ended'>): StepProgress {
  // SECURITY: what a user's own process reported to the service is about its own tools; steps are never among them.
  const own = records.filter(({ attributes }) => attributes['plan_step'] === number && attributes['reported_by'] === undefined);
  // Not tried yet; or refused, and tried again or about to be told.
  if (own.every(({ name }) => name === 'tool.denied')) return { number, title, state: 'not_done', ...saidIn(lastOutcome(own)) };
  const verdict = own.find(({ name }) => name === 'plan.step')?.attributes;
  const found = own.find(({ name }) => name === 'attempt.resolved')?.attributes;
  const told = verdict?.['state'] as StepState | undefined;
  const state = told ?? (alive ? 'running' : stateFound(found));
  return { number, title, state, ...saidIn(verdict ?? found ?? lastOutcome(own)) };
}

function lastOutcome(records: readonly AuditRecord[]): JsonObject {
  return records.findLast(({ name }) => name === 'tool.finished' || name === 'tool.denied')?.attributes ?? {};
}

/** What was found out about a step whose process ended before it could say so. */
function stateFound({ end, status }: JsonObject = {}): StepState {
  if (end === 'not_done') return 'not_done';
  if (end === 'done') return status === 'ok' ? 'done' : 'failed';
  return 'unknown';
}

function saidIn(attributes: JsonObject): Pick<StepProgress, 'upid' | 'message'> {
  const upid = upidIn(attributes);
  const message = textOf(attributes['message']);
  return { ...(upid === undefined ? {} : { upid }), ...(message === undefined ? {} : { message }) };
}

function upidIn(attributes: JsonObject): string | undefined {
  const effect = attributes['effect'];
  return textOf(attributes['upid']) ?? (isJsonObject(effect) ? textOf(effect['upid']) : undefined);
}

/** Steps that are done, newest first: what undoing goes through. */
export function undoOf(
  { steps }: Pick<PlanProgress, 'steps'>,
  plan: Plan,
): readonly { readonly number: number; readonly step: Plan['steps'][number] }[] {
  const done = steps.filter(({ state }) => state === 'done').toReversed();
  return done.flatMap(({ number }) => {
    const step = plan.steps[number - 1];
    return step === undefined ? [] : [{ number, step }];
  });
}
