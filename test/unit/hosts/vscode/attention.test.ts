import { describe, expect, it } from 'vitest';
import { type Attention, newsInWords, toTell } from '#hosts/vscode/attention';
import type { RequestRecord } from '#kernel/approval/request';
import { draftOf } from '../../../integration/stores/request-fixtures.ts';

const now = 1_800_000_000_000;
const record = (id: string, changes: Partial<RequestRecord> = {}): RequestRecord => ({
  ...draftOf(),
  ...{ id, status: 'pending', createdAt: now, expiresAt: now + 3_600_000 },
  ...changes,
});
const news = [
  record('req-00000001'),
  record('req-00000002', { tier: 'yellow' }),
  record('req-00000003', { agent: { id: 'chat:1', host: 'chat' } }),
  record('req-00000004', { reported: { reason: 'url_blocked', destination: 'evil.example' } }),
];

describe('who is told', () => {
  it.each<[Attention, boolean, readonly string[]]>([
    [{}, true, ['1', '2', '4']],
    [{ notify: 'all' }, false, ['1', '2', '4']],
    [{ notify: 'red' }, true, ['1']],
    [{ notify: 'never' }, false, []],
    [{ notifyWhen: 'unfocused' }, true, []],
    [{ notifyWhen: 'unfocused' }, false, ['1', '2', '4']],
    // What nobody knows silences nothing.
    [{ notify: 'sometimes', notifyWhen: 7 }, true, ['1', '2', '4']],
  ])('by %j, focused %s: %j', (attention, isFocused, ids) => {
    expect(toTell(news, attention, isFocused).map(({ id }) => id.slice(-1))).toEqual(ids);
  });
});

describe('the words', () => {
  it.each([
    [[record('req-00000001')], 'Banksman: MCP “Laptop” asks: Stop VM 100 (web100) on pve'],
    [[record('req-00000001'), record('req-00000002')], 'Banksman: 2 new requests of MCP “Laptop” wait for you.'],
    [
      [record('req-00000001'), record('req-00000003', { agent: { id: 'cli:x', host: 'cli' } })],
      'Banksman: 2 new requests of 2 agents wait for you.',
    ],
    [[news[3] as RequestRecord], 'Banksman: MCP “Laptop” reports a block: evil.example'],
  ])('are one line: %#', (records, words) => expect(newsInWords(records)).toBe(words));

  it('hold nothing that reorders or breaks the line', () => {
    const nasty = '\u202ex\ny';
    const words = newsInWords([record('req-00000001', { title: nasty, agent: { id: 'mcp:x', host: 'mcp', label: nasty } })]);
    expect(words).not.toMatch(/[\u202e\n]/);
  });
});
