import * as z from 'zod';
import { defineTool } from '#kernel/tool';

export const getSecurityStatus = defineTool({
  name: 'get_security_status',
  title: 'Get security status',
  description:
    'How calls are handled at the moment: the security level (relaxed, balanced or strict), how many requests wait for a person and how many approvals are unused, counted over all agents, the state of the command sandbox, and what limits your changes of clusters (scopes, budgets, freeze and maintenance windows). People set these; no tool does.',
  group: 'security',
  tier: 'green',
  impact: 'none',
  permission: 'data:read',
  input: z.strictObject({}),
  touches: () => [],
  headline: () => 'Get security status',
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
