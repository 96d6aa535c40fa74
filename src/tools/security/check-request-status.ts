import * as z from 'zod';
import { type RequestRecord, requestIdPattern } from '#kernel/request';
import { sanitizeText } from '#kernel/text';
import { defineTool, type ToolResult } from '#kernel/tool';

export const checkRequestStatus = defineTool({
  name: 'check_request_status',
  title: 'Check request status',
  description:
    'Whether a person has decided a pending request (id `req-` and 8 hex digits, from an earlier answer): pending, approved, denied, expired, cancelled, revoked or consumed. Once approved, repeat the same call with the same arguments within five minutes; it runs once.',
  group: 'security',
  tier: 'green',
  impact: 'none',
  permission: 'data:read',
  timeoutMs: 60_000,
  input: z.strictObject({
    request_id: z.string().transform(sanitizeText).meta({ description: 'For example `req-1a2b3c4d`.', pattern: '^req-[a-f0-9]{8}$' }),
  }),
  touches: () => [],
  headline: (input) => `Check request ${input.request_id}`,
  run: async (input, context) => {
    // Checked before the store is touched (seed 003, CWE-20).
    if (!requestIdPattern.test(input.request_id))
      return notFound(input.request_id, 'invalid', 'not a request id; one looks like `req-1a2b3c4d`');
    const record = await context.requests.get(input.request_id);
    if (record === undefined) return notFound(input.request_id, 'not_found', 'no such request; it may have been removed');
    return { ok: true, message: `request ${record.id} is ${record.status}`, result: statusOf(record), next: nextStep(record) };
  },
});

function notFound(id: string, status: 'invalid' | 'not_found', message: string): ToolResult {
  return { ok: true, message, result: { request_id: id.slice(0, 40), status } };
}

function statusOf(record: RequestRecord) {
  return {
    request_id: record.id,
    status: record.status,
    tool: record.action.tool,
    title: record.title,
    created_at: new Date(record.createdAt).toISOString(),
    expires_at: new Date(record.grant?.payload.expiresAt ?? record.expiresAt).toISOString(),
    ...(record.decision?.message === undefined ? {} : { message: record.decision.message }),
  };
}

const nextSteps: Readonly<Record<RequestRecord['status'], string>> = {
  pending: 'wait for the person; check again later, do not repeat the call in a loop',
  approved: 'repeat the same call with the same arguments now; it runs once',
  denied: 'a person refused this; do not try again or another way, ask the user',
  expired: 'nobody decided in time; ask the user before calling again',
  cancelled: 'the call was given up; ask the user before calling again',
  revoked: 'a person took the approval back; do not try again, ask the user',
  consumed: 'the approval has been used; the call has run, do not repeat it',
};

function nextStep(record: RequestRecord): string {
  return nextSteps[record.status];
}
