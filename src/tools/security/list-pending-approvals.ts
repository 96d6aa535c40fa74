import * as z from 'zod';
import { pagingArguments } from '#kernel/arguments';
import type { JsonObject } from '#kernel/json';
import { defineTool } from '#kernel/tool';
import { defaultLimit } from '../support/paging.ts';
import { viewOf } from '../support/request-view.ts';

export const listPendingApprovals = defineTool({
  name: 'list_pending_approvals',
  title: 'List pending approvals',
  description:
    'The requests that wait for a person, newest first, of all agents: id, tool, when they expire, and whether they are yours. Of another agent’s request you see the title only where it names a guest, node or service. Use it before you ask for the same thing again; only people can answer.',
  group: 'security',
  tier: 'green',
  impact: 'none',
  permission: 'data:read',
  timeoutMs: 60_000,
  input: z.strictObject(pagingArguments),
  touches: () => [],
  headline: () => 'List pending approvals',
  run: async ({ limit = defaultLimit, cursor, filter }, context) => {
    const search = filter === undefined || filter === '' ? {} : { search: filter };
    const [page, total] = await Promise.all([
      context.requests.list({ statuses: ['pending'], limit, ...(cursor === undefined ? {} : { cursor }), ...search }),
      context.requests.countPending(),
    ]);
    const views = page.records.map((record) => viewOf(record, context.agent.id));
    // SECURITY: the store searches what this agent is not shown, too; a hit there must not tell.
    const pending = search.search === undefined ? views : views.filter((view) => holds(view, search.search));
    return {
      ok: true,
      message: `${pending.length} of ${total} pending request${total === 1 ? '' : 's'}${page.cursor === undefined ? '' : ' (pass `cursor` for more)'}`,
      result: { pending, total, ...(page.cursor === undefined ? {} : { cursor: page.cursor }) },
    };
  },
});

function holds(view: JsonObject, text: string): boolean {
  const values = Object.values(view).filter((value) => typeof value === 'string');
  return values.some((value) => value.toLowerCase().includes(text.toLowerCase()));
}
