/** One operation on a guest from the request to what is seen of it afterwards: an end of the task alone proves nothing. */
import { Fault } from '#kernel/errors';
import type { GuestCondition } from '#kernel/guest-condition';
import { type JsonObject, wordOf } from '#kernel/json';
import { followTaskWords, notSent } from '#kernel/known-effect';
import type { GuestOperation, GuestRef } from '#kernel/ports/cluster';
import type { GuestTarget } from '#kernel/resource';
import type { ToolContext, ToolResult } from '#kernel/tool';
import { followLongTask, type LostTask, type TaskEnd } from './follow-task.ts';

export interface Operation {
  /** As in the question: `Migrate VM 100 (web) from pve to Home`. */
  readonly headline: string;
  readonly at: GuestRef;
  readonly operation: GuestOperation;
  /** What the result says in any case. */
  readonly result: JsonObject;
  /** Looks whether it came true; asked again for a while where it did not. */
  look(context: ToolContext): Promise<Seen>;
}

export interface Seen {
  readonly reached: boolean;
  /** `it has the snapshot now`, `it is on Home`. */
  readonly words: string;
  readonly result?: JsonObject;
}

/** How long to wait for what an ended task should have done, in ms; the HA manager takes as long as it takes. */
const settleMs = 10_000;
const pollMs = 1_000;
/** Left of the call for the answer, in ms. */
const spareMs = 2_000;

export async function runOperation(op: Operation, context: ToolContext): Promise<ToolResult> {
  const { api } = context.cluster();
  context.progress(`${op.headline}: asking the cluster`);
  context.noteEffect({ state: 'sent', what: `it may have been started: ${op.headline}` });
  const answer = await api.operate(op.at, op.operation, context.signal);
  if (answer.said !== undefined) return saidResult(op, answer.said);
  if (answer.upid === undefined) return seenResult(op, await settled(op, false, context));
  const end = await followLongTask(api, answer.upid, context);
  if ('left' in end) return leftResult(op, answer.upid);
  if ('lost' in end) return lostResult(op, end);
  if (!end.succeeded) return failedResult(op, end);
  const byHa = answer.upid.split(':')[5]?.startsWith('ha') === true;
  return seenResult(op, await settled(op, byHa, context), end);
}

async function settled(op: Operation, byHa: boolean, context: ToolContext): Promise<Seen> {
  const until = byHa ? Number.POSITIVE_INFINITY : context.clock.now() + settleMs;
  for (;;) {
    const seen = await op.look(context);
    context.signal.throwIfAborted();
    if (seen.reached || context.clock.now() >= until || context.leftMs() < spareMs + pollMs) return seen;
    context.progress(`${op.headline}: ${seen.words}`);
    await context.clock.sleep(pollMs, context.signal);
  }
}

/** The API answered with a word in the place of a task: a backup on a node that has not the guest is `OK` and saves nothing. */
function saidResult(op: Operation, said: string): ToolResult {
  return {
    ok: false,
    code: 'nothing_done',
    message: `${op.headline}: the cluster answered \`${said}\` and began no task, so nothing was done`,
    result: op.result,
    next: 'the guest may have moved meanwhile: look with get_guest, then call again',
    effect: notSent,
  };
}

function leftResult(op: Operation, upid: string): ToolResult {
  return {
    ok: true,
    message: `${op.headline}: still running as task ${upid}`,
    result: { ...op.result, task: { upid, running: true } },
    next: `follow it with get_task and \`upid\` \`${upid}\`; do not repeat the call before it has ended`,
  };
}

function lostResult(op: Operation, { upid, lost }: LostTask): ToolResult {
  return {
    ok: false,
    code: 'task_end_unknown',
    message: `${op.headline}: the cluster took it on as task ${upid}; how it ended is not known: ${lost.message}`,
    result: { ...op.result, task: { upid } },
    next: [lost.next, followTaskWords(upid)].filter((part) => part !== undefined).join('; then: '),
  };
}

function failedResult(op: Operation, end: TaskEnd): ToolResult {
  return {
    ok: false,
    code: 'task_failed',
    message: `${op.headline} failed: ${end.exitStatus}`,
    result: { ...op.result, task: taskOf(end) },
    next: 'read the task log in the result; repeating the call asks a person again',
  };
}

function seenResult(op: Operation, seen: Seen, end?: TaskEnd): ToolResult {
  const result = { ...op.result, ...seen.result, ...(end === undefined ? {} : { task: taskOf(end) }) };
  const status = end === undefined ? '' : ` (task exit status ${end.exitStatus})`;
  if (seen.reached) return { ok: true, message: `${op.headline}: done${status}; ${seen.words}`, result };
  return {
    ok: false,
    code: 'state_not_reached',
    message: `${op.headline}: ended${status}, but that is not seen: ${seen.words}`,
    result,
    next: 'look again in a minute with get_guest; do not repeat the call before',
  };
}

function taskOf({ upid, exitStatus, log }: TaskEnd): JsonObject {
  return { upid, exitstatus: exitStatus, log: [...log] };
}

/** For the result: which guest it was. */
export function guestResult({ vmid, node, guestType, name }: GuestTarget): JsonObject {
  return { vmid, node, type: guestType, ...(name === undefined ? {} : { name }) };
}

/** PVE's own of the configuration that was approved, or of the one there is where nobody was asked. @throws {Fault} `pve_bad_answer` where there is none: a change by somebody else would not be noticed */
export async function approvedDigest({ before, cluster, signal }: ToolContext, guest: GuestTarget): Promise<string> {
  const approved = conditionIn(before, guest.vmid);
  const digest = approved === undefined ? wordOf((await cluster().api.guestConfig(guest, signal))['digest']) : (approved.digest ?? '');
  if (digest !== '') return digest;
  throw new Fault('pve_bad_answer', 'the configuration has no digest, so a change by somebody else would not be noticed', {
    effect: notSent,
  });
}

/** Of the guest with this number, as the call was approved for it. */
export function conditionIn(before: readonly GuestCondition[] | undefined, vmid: number): GuestCondition | undefined {
  return before?.find((guest) => guest.vmid === vmid);
}
