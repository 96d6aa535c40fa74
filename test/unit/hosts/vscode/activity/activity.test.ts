import { describe, expect, it } from 'vitest';
import { activityMarkup } from '#hosts/vscode/activity/activity-page';
import { allCalls, callsIn, counted, explainAgain, filtered } from '#hosts/vscode/activity/calls';
import type { AuditEventName, AuditRecord } from '#kernel/audit-event';
import type { JsonObject } from '#kernel/json';

const now = Date.parse('2026-03-01T12:00:00Z');
let sequence = 0;

function record(name: AuditEventName, call: string, attributes: JsonObject = {}, minutesAgo = 1): AuditRecord {
  sequence += 1;
  return {
    ...{ version: 1, sequence, name, previous: '', hash: '', time: new Date(now - minutesAgo * 60_000).toISOString() },
    attributes: {
      ...{
        'gen_ai.tool.name': 'stop_vm',
        'gen_ai.tool.call.id': call,
        tier: 'red',
        agent: { id: 'mcp:ci', host: 'mcp', model_tier: 'basic' },
      },
      target: [{ kind: 'guest', cluster: 'demo', vmid: 100 }],
      ...attributes,
    },
  };
}

const trail = [
  record('tool.started', 'a', {}, 90),
  record('tool.finished', 'a', { status: 'ok', message: 'stopped', duration_ms: 1200, request_id: 'req-00000001' }, 89),
  record('tool.denied', 'b', { status: 'denied', code: 'protected', message: '<img src=x> is protected' }, 30),
  record('tool.started', 'c', { 'gen_ai.tool.name': 'get_vms', tier: 'green', agent: { id: 'chat:1' }, target: undefined }, 2),
  record('attempt.resolved', 'd', { end: 'unknown' }, 1),
  record('approval.requested', 'e'),
];

describe('calls of the trail', () => {
  const calls = callsIn(trail);

  it.each([
    [{ 'gen_ai.tool.call.arguments': { truncated: '{"command":"', bytes: 9_000 } }],
    [{ 'gen_ai.tool.call.arguments': { command: 'curl -H [redacted:token]' } }],
    [{ target: [], cut: { target: { bytes: 90_000, sha256: '' } } }],
  ])('of which the trail holds a part are not explained by that part: %j', async (attributes) => {
    const [call] = callsIn([record('tool.denied', 'cut', attributes)]);
    const app = { explain: () => Promise.reject(new Error('asked')), config: { defaultModelTier: 'basic' } } as never;
    await expect(explainAgain(app, call!, {})).rejects.toMatchObject({ code: 'not_kept' });
  });

  it('are one a call, newest first, with what came of each', () => {
    expect(calls.map(({ id, end, tool, targets }) => [id, end, tool, targets])).toEqual([
      ['d', 'unknown', 'stop_vm', ['100 on demo']],
      ['c', 'running', 'get_vms', []],
      ['b', 'denied', 'stop_vm', ['100 on demo']],
      ['a', 'ok', 'stop_vm', ['100 on demo']],
    ]);
    expect(calls.at(-1)).toMatchObject({
      at: now - 90 * 60_000,
      durationMs: 1200,
      requestId: 'req-00000001',
      agent: 'mcp:ci',
      sequence: 2,
    });
  });

  it.each([
    [{ range: 'hour' }, 'dcb'],
    [{ agent: 'chat:1' }, 'c'],
    [{ tool: 'stop_vm', end: 'denied' }, 'b'],
    [{ search: 'REQ-00000001' }, 'a'],
    [{ search: '100 on' }, 'dba'],
  ] as const)('that fit %j are %s', (filter, ids) => {
    expect(
      filtered(calls, { ...allCalls, ...filter }, now)
        .map(({ id }) => id)
        .join(''),
    ).toBe(ids);
  });

  it('are counted each once, over equal spans', () => {
    const buckets = counted(filtered(calls, { ...allCalls, range: 'hour' }, now), 'hour', now, ({ end }) => end);
    expect(buckets).toHaveLength(40);
    expect(buckets[20]?.counts).toEqual({ denied: 1 });
    expect(buckets.map(({ counts }) => Object.values(counts).reduce((a, b) => a + b, 0)).reduce((a, b) => a + b, 0)).toBe(3);
    expect(counted([], 'all', now, ({ tier }) => tier)).toHaveLength(40);
  });
});

describe('the page', () => {
  const facts = { calls: callsIn(trail), hasMore: true, filter: allCalls, open: { id: 'b', extra: '<b>proof</b>' }, now };

  it('escapes what the trail holds, and unfolds one call with what can be done', () => {
    const { calls, charts, filters } = activityMarkup(facts);
    expect(calls).not.toMatch(/<img|<b>proof/);
    expect(calls).toContain('&lt;img src=x&gt; is protected');
    expect([...calls.matchAll(/data-say="(explain|proof|request|undo)"/g)].map(([, say]) => say)).toEqual(['explain', 'proof']);
    expect(charts).toContain('aria-label="By outcome: 1 done, 1 refused, 1 running, 1 outcome unknown"');
    expect(filters).toContain('<option value="day" selected>');
  });

  it('says where nothing fits and where the trail cannot be read', () => {
    expect(activityMarkup({ ...facts, filter: { ...allCalls, tool: 'none' } }).calls).toContain('None that fits.');
    expect(activityMarkup({ ...facts, calls: { failed: 'store <gone>' } }).charts).toContain('store &lt;gone&gt;');
  });
});
