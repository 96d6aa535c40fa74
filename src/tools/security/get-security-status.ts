import * as z from 'zod';
import { say } from '#kernel/text/message';
import { defineTool } from '#kernel/tool';

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
