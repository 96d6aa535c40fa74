import * as z from 'zod';
import { pagingArguments } from '#kernel/arguments';
import type { AuditRecord } from '#kernel/audit-event';
import { Fault } from '#kernel/errors';
import { isJsonObject, type JsonObject, type JsonValue } from '#kernel/json';
import { say } from '#kernel/text/message';
import { defineTool } from '#kernel/tool';
import { defaultLimit } from '../support/paging.ts';

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
