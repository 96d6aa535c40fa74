import * as z from 'zod';
import type { RequestStatus } from '#kernel/approval/request';
import { blockReasons } from '#kernel/approval/security';
import { text } from '#kernel/arguments';
import { say } from '#kernel/text/message';
import { defineTool, type ReportAnswer, type ToolResult } from '#kernel/tool';
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
