/** What became of a consumed grant, from the trail: that it was consumed does not say that anything ran. */
import { type AttemptStanding, callOf } from '../attempt.ts';
import type { AuditRecord } from '../audit-event.ts';
import { isJsonObject, type JsonValue } from '../json.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { Clock } from '../ports/clock.ts';
import { clockTime, showPlainly } from '../text/text.ts';
import type { RequestRecord } from './request.ts';

/**
 * Of the call that used the approval. `not_done` and `unknown`: its process ended before it said so, and that is what was found out. `began`: no end
 * is written down yet. `nothing`: not even that it began.
 */
export interface RequestRun {
  readonly known: 'outcome' | 'not_done' | 'unknown' | 'began' | 'nothing';
  /** The call's id, where it began. */
  readonly call?: string;
  /** Of what is unknown: what to look at. */
  readonly next?: string;
  /** ISO 8601: when what is known was written down. */
  readonly at?: string;
  /** With an outcome. */
  readonly status?: string;
  readonly code?: string;
  readonly message?: string;
  /** Of a call that a person ran by hand: what it gave, redacted and cut short. */
  readonly result?: JsonValue;
  /** The cluster's task that the call left behind. `exitStatus`: it has ended since, and a record says so; absent: no record does. */
  readonly task?: { readonly upid: string; readonly exitStatus?: string; readonly at?: string };
  /** The person by whose hand it was started, where it was not the agent's own call. */
  readonly startedBy?: string;
  /** The agent has been told of it, in answer to the same call. */
  readonly told: boolean;
}

/** The code of the answer to a call that a person has run by hand meanwhile. */
export const alreadyRun = 'already_run';

/** @param records those that name the request, in their order (`AuditLog.ofRequest`) */
export function runOf(records: readonly AuditRecord[]): RequestRun {
  const after = records.slice(records.findIndex(({ name }) => name === 'approval.consumed') + 1);
  const told = after.some(({ attributes }) => attributes['code'] === alreadyRun);
  const start = after.find(({ name }) => name === 'tool.started');
  const isIts = (record: AuditRecord) => start === undefined || callOf(record) === callOf(start);
  // What the call itself said counts before what others found out about it.
  const end = after.find((record) => isEnd(record) && isIts(record)) ?? after.find((record) => isResolved(record) && isIts(record));
  if (end?.name === 'attempt.resolved' && start !== undefined && end.attributes['end'] !== 'done') return resolved(end, start, told);
  if (end) return { known: 'outcome', at: end.time, told, ...outcomeIn(end), ...startedBy(end), ...taskOf(end, after) };
  return start ? { known: 'began', at: start.time, told, ...callIn(start), ...startedBy(start) } : { known: 'nothing', told };
}

/** More than any call may take, in ms. */
const longestCallMs = 900_000;
const neverBegan = 'it never began, for nothing is done before the trail says that it begins; its process ended before that';

export interface LookedUpRun {
  readonly run: RequestRun;
  readonly stands?: AttemptStanding;
}

interface RunSources {
  readonly trail: Pick<AuditLog, 'ofRequest'>;
  /** How a call stands that began and has no end; absent: nobody looks. */
  attemptNow?(call: string): Promise<AttemptStanding | undefined>;
  readonly clock: Pick<Clock, 'now'>;
}

/** A call without an end may have lost its process just now: then somebody looks, and the trail may say more afterwards. */
export async function lookUpRun(record: RequestRecord, { trail, attemptNow, clock }: RunSources): Promise<LookedUpRun> {
  const read = async () => runOf(await trail.ofRequest(record.id, record.consumedAt ?? record.createdAt));
  const run = await read();
  const since = clock.now() - (record.consumedAt ?? clock.now());
  // Nothing runs before its intent is in the trail, and no call has longer than this.
  if (run.known === 'nothing' && since > longestCallMs) return { run: { ...run, known: 'not_done', message: neverBegan } };
  if (run.known !== 'began' || run.call === undefined) return { run };
  const stands = await attemptNow?.(run.call);
  return stands === 'running' ? { run, stands } : { run: await read(), ...(stands === undefined ? {} : { stands }) };
}

function isEnd({ name, attributes }: AuditRecord): boolean {
  return (
    name === 'tool.finished' && attributes['code'] !== alreadyRun && (attributes['status'] === 'ok' || attributes['status'] === 'error')
  );
}

function isResolved({ name }: AuditRecord): boolean {
  return name === 'attempt.resolved';
}

function resolved(record: AuditRecord, start: AuditRecord, told: boolean): RequestRun {
  const next = textOf(record.attributes['next']);
  const known = record.attributes['end'] === 'not_done' ? 'not_done' : 'unknown';
  return { known, at: record.time, told, ...callIn(start), ...startedBy(start), ...outcomeIn(record), ...(next === '' ? {} : { next }) };
}

function callIn(record: AuditRecord): Pick<RequestRun, 'call'> {
  const call = callOf(record);
  return call === undefined ? {} : { call };
}

function outcomeIn({ attributes }: AuditRecord): Pick<RequestRun, 'status' | 'code' | 'message' | 'result'> {
  const { result } = attributes;
  return {
    status: textOf(attributes['status']),
    code: textOf(attributes['code']),
    message: textOf(attributes['message']),
    ...(result === undefined ? {} : { result }),
  };
}

/** What outlived its call: of a task that the call itself saw end, its message tells. */
function taskOf({ attributes }: AuditRecord, records: readonly AuditRecord[]): Pick<RequestRun, 'task'> {
  const { effect } = attributes;
  const upid = isJsonObject(effect) && effect['last_seen'] !== 'ended' ? effect['upid'] : undefined;
  if (typeof upid !== 'string') return {};
  const ended = records.find((record) => record.name === 'task.ended' && record.attributes['upid'] === upid);
  return { task: { upid, ...(ended === undefined ? {} : { exitStatus: textOf(ended.attributes['exit_status']), at: ended.time }) } };
}

function startedBy({ attributes }: AuditRecord): Pick<RequestRun, 'startedBy'> {
  const by = attributes['started_by'];
  return typeof by === 'string' ? { startedBy: by } : {};
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/**
 * A sentence without its end, for the agent whose call it was and for people.
 * @param standing of a call that began, as somebody looked just now; undefined: nobody did
 */
export function runInWords(
  run: RequestRun,
  { consumedAt }: Pick<RequestRecord, 'consumedAt'>,
  now: number,
  standing?: AttemptStanding,
): string {
  const by = run.startedBy === undefined ? 'the approval was used' : `${showPlainly(run.startedBy, 100)} ran it by hand`;
  const used = `${by}${consumedAt === undefined ? '' : ` at ${clockTime(consumedAt, now)}`}`;
  if (run.known === 'outcome') {
    return `${used}, and the call ended with ${run.status === 'ok' ? 'ok' : `${run.status} (${run.code})`}: ${run.message}${taskInWords(run, now)}`;
  }
  if (run.known === 'not_done') return `${used}, and the call was not done: ${run.message}`;
  if (run.known === 'unknown') return `${used}, and the outcome is unknown: ${run.message}`;
  if (run.known === 'nothing') return `${used}; nothing says that the call began: the outcome is unknown`;
  return `${used}${begunInWords(standing)}`;
}

function begunInWords(standing: AttemptStanding | undefined): string {
  if (standing === 'running') return ', and the call is running: it has not ended yet';
  if (standing === 'looking') return '; the call runs no more, and what came of it is being looked up: so far the outcome is unknown';
  return '; the call began, and no end of it is written down: the outcome is unknown';
}

function taskInWords({ task }: RequestRun, now: number): string {
  if (task === undefined) return '';
  if (task.exitStatus === undefined) return '; no record says how its task ended';
  return `; its task was seen to have ended at ${clockTime(Date.parse(task.at ?? ''), now)} (${showPlainly(task.exitStatus, 300)})`;
}
