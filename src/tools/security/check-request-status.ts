import * as z from 'zod';
import type { RequestRecord } from '#kernel/request';
import { showPlainly } from '#kernel/text';
import { defineTool } from '#kernel/tool';
import { invalidRequestId, isRequestId, requestIdArgument } from '../support/request-id.ts';
import { viewOf } from '../support/request-view.ts';

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
  input: z.strictObject({ request_id: requestIdArgument }),
  touches: () => [],
  headline: (input) => `Check request ${showPlainly(input.request_id, 40)}`,
  run: async ({ request_id: id }, context) => {
    // Checked before the store is touched (CWE-20).
    if (!isRequestId(id)) return { ok: true, ...invalidRequestId(id) };
    const record = await context.requests.get(id);
    if (record === undefined) {
      const message = 'no such request; it may have been removed';
      return { ok: true, message, result: { request_id: id, status: 'not_found', message } };
    }
    const mine = record.agent.id === context.agent.id;
    const message = `request ${record.id} is ${record.status}`;
    return { ok: true, message, result: { message, ...viewOf(record, context.agent.id) }, next: nextStep(record, mine) };
  },
});

const nextSteps: Readonly<Record<RequestRecord['status'], string>> = {
  pending: 'wait for the person; check again later, do not repeat the call in a loop',
  approved: 'repeat the same call with the same arguments now; it runs once',
  denied: 'a person refused this; do not try again or another way, ask the user',
  expired: 'nobody decided in time; ask the user before calling again',
  cancelled: 'the call was given up; ask the user before calling again',
  revoked: 'a person took the approval back; do not try again, ask the user',
  consumed: 'the approval has been used; the call has run, do not repeat it',
};

function nextStep(record: RequestRecord, mine: boolean): string {
  if (!mine) return 'this is another agent’s request; its answer is worth nothing to you';
  if (record.reported !== undefined && record.status === 'approved') return 'a person settled this report; it allows no tool call';
  return nextSteps[record.status];
}
