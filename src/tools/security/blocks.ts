/** What was blocked, and under which rules: the log, the level, and saying that a block is in the way. */
import * as z from 'zod';
import type { RequestStatus } from '#kernel/approval/request';
import { blockReasons } from '#kernel/approval/security';
import { pagingArguments, text } from '#kernel/arguments';
import type { AuditRecord } from '#kernel/audit-event';
import { Fault } from '#kernel/errors';
import { isJsonObject, type JsonObject, type JsonValue } from '#kernel/json';
import { say } from '#kernel/text/message';
import { defineTool, type ReportAnswer, type ToolResult } from '#kernel/tool';
import { defaultLimit } from '../support/paging.ts';
import { invalidRequestId, isRequestId, requestIdArgument } from '../support/request-view.ts';

export const reportBlock = defineTool({
  name: 'report_block',
  title: 'Report a block',
  description:
    'Tell a person that something blocked you (a destination, a download, a file), under a request id that you choose: `req-` and 8 hex digits. Returns whether a person has to approve and the command with which they do. It allows no tool call: a tool that needs approval opens a request by itself. Whether it has been settled, check_request_status says; do not report it again under another id.',
  group: 'security',
  tier: 'green',
  impact: 'none',
  permission: 'data:read',
  input: z.strictObject({
    request_id: requestIdArgument,
    reason: z.enum(blockReasons).meta({ description: 'Why it was blocked.' }),
    destination: text('A host, `host:port` or URL, for example `api.example.com`. Only host and port are kept.'),
    pattern: text('What the detector matched, for people only; no answer repeats it.').pipe(z.string().max(2_000)).optional(),
  }),
  concealed: ['pattern'],
  touches: () => [],
  headline: ({ reason, destination }) => say`Report a block (${reason}): ${destination}`,
  run: async ({ request_id: requestId, reason, destination, pattern }, context) => {
    // Checked before the store is touched (CWE-20).
    if (!isRequestId(requestId)) return { ok: false, code: 'invalid_request_id', ...invalidRequestId(requestId) };
    const block = { requestId, reason, destination, ...(pattern === undefined ? {} : { pattern }) };
    return resultOf(requestId, await context.security.report(block));
  },
});

function resultOf(id: string, answer: ReportAnswer): ToolResult {
  switch (answer.kind) {
    case 'opened':
      return opened(id, answer.record.status, answer.destination);
    case 'allowed':
      return settled(id, `${answer.destination} needs no approval (${answer.rule}), so nobody was asked`);
    case 'blocked':
      return {
        ok: false,
        code: 'destination_blocked',
        message: `a person’s rule blocks ${answer.destination} (${answer.rule}), so nobody was asked`,
        result: { request_id: id, requires_approval: false, approval_command: null },
        next: 'do not try it another way; tell the user',
      };
    case 'refused':
      return refused(id, answer.why);
  }
}

function opened(id: string, status: RequestStatus, destination: string): ToolResult {
  const waits = status === 'pending';
  const message = waits
    ? `the block of ${destination} is reported; a person decides request ${id}`
    : `the block of ${destination} was reported before; request ${id} is ${status}`;
  return {
    ok: true,
    message,
    result: { message, request_id: id, requires_approval: waits, approval_command: waits ? `banksman approvals approve ${id}` : null },
    next: waits
      ? `tell the user; call check_request_status with request_id ${id} later, not in a loop`
      : 'it allows no tool call; tell the user',
  };
}

function settled(id: string, message: string): ToolResult {
  return { ok: true, message, result: { message, request_id: id, requires_approval: false, approval_command: null } };
}

const refusals: Readonly<Record<Extract<ReportAnswer, { kind: 'refused' }>['why'], readonly [message: string, next: string]>> = {
  invalid_destination: ['`destination` is no host, `host:port` or URL', 'name the host that was blocked'],
  id_taken: ['this request id is in use for something else', 'report it under another id'],
  too_many: ['too many requests of this agent are waiting for a person already', 'wait until some are decided; do not report more'],
  not_opened: ['the report could not be opened', 'tell the user'],
};

function refused(id: string, why: keyof typeof refusals): ToolResult {
  const [message, next] = refusals[why];
  return { ok: false, code: why === 'too_many' ? 'too_many_pending' : why, message, result: { request_id: id }, next };
}

export const getSecurityLog = defineTool({
  name: 'get_security_log',
  title: 'Get security log',
  description:
    'What has been asked, decided, refused and run, newest first. Each with time, event, tool, how it ended, and whether it was yours. Arguments, messages and other agents’ names are not in it; people read those with `banksman audit`.',
  group: 'security',
  tier: 'green',
  impact: 'none',
  permission: 'data:read',
  input: z.strictObject({ limit: pagingArguments.limit, cursor: pagingArguments.cursor }),
  touches: () => [],
  headline: () => say`Get security log`,
  run: async ({ limit = defaultLimit, cursor }, context) => {
    const total = (await context.trail.head())?.sequence ?? 0;
    const end = cursor === undefined ? total : placeOf(cursor, total);
    const start = Math.max(0, end - limit);
    const records = start === end ? [] : await context.trail.read(start, end - start);
    const entries = records.toReversed().map((record) => entryOf(record, context.agent.id));
    return {
      ok: true,
      message: `${entries.length} of ${total} entries${start === 0 ? '' : ' (pass `cursor` for more)'}`,
      result: { entries, total_count: total, ...(start === 0 ? {} : { cursor: String(start) }) },
    };
  },
});

/** The cursor is the place in the trail before which the next page ends; new records do not move it. */
function placeOf(cursor: string, total: number): number {
  const place = /^[1-9]\d{0,14}$/.test(cursor) ? Number(cursor) : Number.NaN;
  if (place <= total) return place;
  throw new Fault('invalid_input', '`cursor`: not one that this list gave; leave it out to start again', { audience: 'user' });
}

/** Attributes that say nothing but what kind of thing happened and how it ended. */
const shownOfAll = { tool: 'gen_ai.tool.name', tier: 'tier', status: 'status', code: 'code' } as const;

/** SECURITY: picked one by one. A record also holds arguments, targets, messages and who asked. */
function entryOf({ sequence, time, name, attributes }: AuditRecord, agentId: string): JsonObject {
  const mine = agentOf(attributes) === agentId;
  const picked = Object.entries(shownOfAll).map(([key, attribute]) => [key, plain(attributes[attribute])] as const);
  return {
    sequence,
    time,
    event: name,
    mine,
    ...Object.fromEntries(picked.filter(([, value]) => value !== undefined)),
    ...(plain(attributes['request_id']) === undefined ? {} : { request_id: plain(attributes['request_id']) }),
  };
}

/** A call's record holds the agent as an object, a request's as its id. */
function agentOf(attributes: JsonObject): JsonValue | undefined {
  return isJsonObject(attributes['agent']) ? attributes['agent']['id'] : attributes['gen_ai.agent.id'];
}

/** Names and codes only: a call to a tool that does not exist is recorded with whatever its caller named. */
function plain(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' && /^[a-z0-9_.-]{1,64}$/i.test(value) ? value : undefined;
}

export const getSecurityStatus = defineTool({
  name: 'get_security_status',
  title: 'Get security status',
  description:
    'How calls are handled now: security level, requests that wait, the command sandbox, what limits your changes of clusters. The level is relaxed, balanced or strict; unused approvals are counted, too, over all agents; limits are scopes, budgets, freeze and maintenance windows. People set these; no tool does.',
  group: 'security',
  tier: 'green',
  impact: 'none',
  permission: 'data:read',
  input: z.strictObject({}),
  touches: () => [],
  headline: () => say`Get security status`,
  run: async (_input, context) => {
    const [pending, approved] = await Promise.all([context.requests.countPending(), context.requests.countApproved()]);
    const { level } = context.security;
    return {
      ok: true,
      message: `security level ${level}, ${pending} pending`,
      result: {
        status: 'active',
        pending_approvals: pending,
        recent_approvals: approved,
        security_level: level,
        sandbox: await context.security.sandbox(),
        limits: [...(await context.security.limits())],
      },
    };
  },
});
