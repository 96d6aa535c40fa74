import * as z from 'zod';
import { pagingArguments } from '#kernel/arguments';
import type { JsonObject } from '#kernel/json';
import { say } from '#kernel/text/message';
import { defineTool, type ToolContext } from '#kernel/tool';
import { defaultLimit } from '../support/paging.ts';
import { viewOf } from '../support/request-view.ts';

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
