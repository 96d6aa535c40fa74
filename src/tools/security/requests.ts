/** Requests: those that wait, and what became of one. */
import * as z from 'zod';
import { lapsesAt, type RequestRecord } from '#kernel/approval/request';
import { expiryInWords, isSettledReport } from '#kernel/approval/request-end';
import { lookUpRun, type RequestRun, runInWords } from '#kernel/approval/request-run';
import { pagingArguments } from '#kernel/arguments';
import type { AttemptStanding } from '#kernel/attempt';
import { applyHeldTool } from '#kernel/effects';
import type { JsonObject } from '#kernel/json';
import { followTaskWords } from '#kernel/known-effect';
import { english, say } from '#kernel/text/message';
import { clockTime, formatDuration, showPlainly } from '#kernel/text/text';
import { defineTool, type ToolContext } from '#kernel/tool';
import { defaultLimit } from '../support/paging.ts';
import { invalidRequestId, isRequestId, requestIdArgument, viewOf } from '../support/request-view.ts';

export const listPendingApprovals = defineTool({
  name: 'list_pending_approvals',
  title: 'List pending approvals',
  description:
    'Requests of all agents that wait for a person, newest first: id, tool, expiry, and whether they are yours. Of another agent’s request you see the title only where it names a guest, node or service. Use it before you ask for the same thing again; only people can answer.',
  group: 'security',
  tier: 'green',
  impact: 'none',
  permission: 'data:read',
  input: z.strictObject(pagingArguments),
  touches: () => [],
  headline: () => say`List pending approvals`,
  run: async ({ limit = defaultLimit, cursor, filter }, context) => {
    const [page, total] = await Promise.all([pageOf({ limit, cursor, fits: holding(filter) }, context), context.requests.countPending()]);
    const { views: pending, next } = page;
    return {
      ok: true,
      message: `${pending.length} of ${total} pending request${total === 1 ? '' : 's'}${next === undefined ? '' : ' (pass `cursor` for more)'}`,
      result: { pending, total, ...(next === undefined ? {} : { cursor: next }) },
    };
  },
});

interface WantedPage {
  readonly limit: number;
  readonly cursor: string | undefined;
  readonly fits: (view: JsonObject) => boolean;
}

/** A filter that hardly anything fits must not read a whole store: then there is a cursor, and whoever asks goes on. */
const mostPages = 50;

/**
 * SECURITY: the filter is tried on what this agent is shown, never given to the store, which searches all of a request: neither a hit nor
 * whether there are more may tell of the rest.
 */
async function pageOf({ limit, cursor, fits }: WantedPage, { requests, agent, signal }: ToolContext) {
  const views: JsonObject[] = [];
  let next = cursor;
  for (let pages = 0; pages < mostPages && views.length < limit; pages += 1) {
    signal.throwIfAborted();
    const from = next === undefined ? {} : { cursor: next };
    const page = await requests.list({ statuses: ['pending'], limit: limit - views.length, ...from });
    views.push(...page.records.map((record) => viewOf(record, agent.id)).filter(fits));
    next = page.cursor;
    if (next === undefined) break;
  }
  return { views, next };
}

/** undefined and empty: all. */
function holding(filter: string | undefined): (view: JsonObject) => boolean {
  const wanted = (filter ?? '').toLowerCase();
  if (wanted === '') return () => true;
  return (view) => Object.values(view).some((value) => typeof value === 'string' && value.toLowerCase().includes(wanted));
}

/** Below the minute after which clients give up on a call. */
const longestWait = 50;
const lookMs = 500;

export const checkRequestStatus = defineTool({
  name: 'check_request_status',
  title: 'Check request status',
  description:
    'Whether a person has decided a pending request, and what came of it; with wait_seconds it waits for the decision. It is pending, approved, denied, expired, cancelled, revoked or consumed (used, with the outcome where it is known, and its result where a person ran it for you). Once approved, repeat the same call with the same arguments within five minutes; it runs once.',
  group: 'security',
  tier: 'green',
  impact: 'none',
  permission: 'data:read',
  input: z.strictObject({
    request_id: requestIdArgument,
    wait_seconds: z.number().int().min(0).max(longestWait).default(0).meta({ description: 'Wait so long for the decision.' }),
  }),
  limitMs: ({ wait_seconds: waits }) => waits * 1_000 + 30_000,
  // What a call gave that a person ran by hand: the keys that any tool of the catalog names.
  outsideText: ['stdout', 'stderr', 'content', 'text', 'log', 'notes', 'description', 'Description', 'comment'],
  touches: () => [],
  headline: (input) => say`Check request ${showPlainly(input.request_id, 40)}`,
  run: async ({ request_id: id, wait_seconds: waits }, context) => {
    // Checked before the store is touched (CWE-20).
    if (!isRequestId(id)) return { ok: true, ...invalidRequestId(id) };
    const record = await decidedWithin(waits * 1_000, id, context);
    if (record === undefined) {
      const message = 'no such request; it may have been removed';
      return { ok: true, message, result: { request_id: id, status: 'not_found', message } };
    }
    const mine = record.agent.id === context.agent.id;
    const view = viewOf(record, context.agent.id);
    if (!mine) {
      const message = `request ${record.id} is ${record.status}`;
      return {
        ok: true,
        message,
        result: { message, ...view },
        next: 'this is another agent’s request; its answer is worth nothing to you',
      };
    }
    const stands = await standing(record, context);
    return { ok: true, message: stands.message, result: { message: stands.message, ...view, ...stands.more }, next: stands.next };
  },
});

/** As it is once a person has decided, or after so long. */
async function decidedWithin(limitMs: number, id: string, { requests, clock, signal }: ToolContext): Promise<RequestRecord | undefined> {
  const until = clock.now() + limitMs;
  let record = await requests.get(id);
  while (record?.status === 'pending' && clock.now() < until) {
    await clock.sleep(Math.min(lookMs, Math.max(1, until - clock.now())), signal);
    record = await requests.get(id);
  }
  return record;
}

interface Standing {
  readonly message: string;
  readonly next: string;
  readonly more?: JsonObject;
}

const nextSteps: Readonly<Record<RequestRecord['status'], string>> = {
  pending: 'wait for the person: check again with wait_seconds 50, and tell the user meanwhile; do not repeat the call in a loop',
  approved: 'repeat the same call with the same arguments now; it runs once',
  denied: 'a person refused this; do not try again or another way, ask the user',
  expired: 'ask the user before calling again',
  cancelled: 'the call was given up; ask the user before calling again',
  revoked: 'a person took the approval back; do not try again, ask the user',
  consumed: 'the approval is used up: do not repeat the call',
};

/** Of held changes nothing is left to call. */
const heldNext: Readonly<Partial<Record<RequestRecord['status'], string>>> = {
  pending: 'wait for the person: check again with wait_seconds 50; do not run the command again for it',
  approved: 'it is applied by itself within five minutes where the workspace is open; check again in a moment',
  denied: 'the held changes are dropped; ask the user before making them in any way',
  expired: 'the held changes are dropped; ask the user before running the command again',
  cancelled: 'the held changes are dropped; ask the user before running the command again',
  consumed: 'go on from there; only where it says that nothing was applied, run the command again',
};

function nextOf({ action, status }: RequestRecord): string {
  return (action.tool === applyHeldTool ? heldNext[status] : undefined) ?? nextSteps[status];
}

async function standing(record: RequestRecord, context: ToolContext): Promise<Standing> {
  const plain = { message: `request ${record.id} is ${record.status}`, next: nextOf(record) };
  const now = context.clock.now();
  if (isSettledReport(record)) return { ...plain, next: 'a person settled this report; it allows no tool call' };
  if (record.status === 'expired') return { ...plain, message: `${plain.message}: ${english(expiryInWords(record, now))}` };
  if (record.status === 'approved') return { ...plain, message: `${plain.message}${approvalInWords(record, now)}` };
  return record.status === 'consumed' ? consumed(record, context, plain) : plain;
}

function approvalInWords(record: RequestRecord, now: number): string {
  const { decision } = record;
  const by = decision === undefined ? '' : ` by ${showPlainly(decision.by, 100)}`;
  const expiresAt = lapsesAt(record);
  return `${by}, until ${clockTime(expiresAt, now)} (${formatDuration(expiresAt - now)} left); it has not been used`;
}

function taskData({ upid, exitStatus, at }: NonNullable<RequestRun['task']>): JsonObject {
  return { upid, exit_status: exitStatus ?? null, ...(at === undefined ? {} : { seen_at: at }) };
}

/** That a grant was consumed is one thing, what came of it another: the process may have been killed in between. */
async function consumed(record: RequestRecord, context: ToolContext, plain: Standing): Promise<Standing> {
  const { run, stands } = await lookUpRun(record, context);
  const message = `${plain.message}: ${runInWords(run, record, context.clock.now(), stands)}`;
  if (run.known !== 'outcome') return { message, ...unfinished(run, stands) };
  const { task } = run;
  const next = task === undefined || task.exitStatus !== undefined ? plain.next : `${plain.next}; ${followTaskWords(task.upid)}`;
  return { message, next, more: { outcome: outcomeData(run) } };
}

function unfinished(run: RequestRun, stands: AttemptStanding | undefined): Pick<Standing, 'next' | 'more'> {
  if (run.known === 'not_done')
    return {
      next: 'nothing was done and the approval is used up: the same call again is a new one, and a person is asked anew',
      more: { outcome: 'not_done' },
    };
  if (run.known === 'began' && stands === 'running')
    return { next: 'wait, and check again; do not repeat the call', more: { outcome: 'running' } };
  const next = run.next ?? 'look at what it would have changed, and tell the user';
  return { next: `do not repeat the call: ${next}`, more: { outcome: 'unknown' } };
}

function outcomeData({ status = '', code = '', message = '', at = '', startedBy, result, task }: RequestRun): JsonObject {
  const byHand = startedBy === undefined ? {} : { started_by: startedBy, ...(result === undefined ? {} : { result }) };
  return { status, code, message, at, ...byHand, ...(task === undefined ? {} : { task: taskData(task) }) };
}
