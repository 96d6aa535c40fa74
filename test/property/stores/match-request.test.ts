/** What a search may skip unread is never what it would have found. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RequestRecord } from '#kernel/approval/request';
import type { JsonObject } from '#kernel/json';
import { matchRequest, mayMatch } from '#stores/request-search';
import { requestText } from '#stores/valkey/stored-request';
import { draftBy } from '../../integration/stores/request-fixtures.ts';

const words = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 20 }),
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.constantFrom(
    'stop_vm',
    'straße',
    'C:\\users\\x',
    'a"b',
    'a\nb',
    'é',
    'e\u0301',
    '\u0338x',
    '\ud800',
    'src/a.ts',
    'İ',
    'ŉ',
    '1e21',
    '0.1',
  ),
);

const records = fc
  .record({ title: words, label: words, path: words, number: fc.double({ noNaN: true }), id: fc.nat(0xffff_ffff) })
  .map(({ title, label, path, number, id }): RequestRecord => {
    const draft = draftBy('mcp:a');
    const targets: JsonObject[] = [{ kind: 'path', path, number }];
    return {
      ...draft,
      title,
      agent: { ...draft.agent, label },
      action: { ...draft.action, targets },
      id: `req-${id.toString(16).padStart(8, '0')}`,
      status: 'pending',
      createdAt: 1,
      expiresAt: 2,
    };
  });

/** Mostly a piece of what is there. */
const searches = fc.tuple(records, words, fc.nat(), fc.nat(), fc.nat(4)).map(([record, other, from, length, which]) => {
  const { label = '' } = record.agent;
  const texts = [record.title, label, String(record.action.targets[0]?.['path']), String(record.action.targets[0]?.['number']), record.id];
  const text = texts[which] ?? '';
  const start = from % (text.length + 1);
  const piece = text.slice(start, start + 1 + (length % 6));
  return { record, search: length % 5 === 0 ? other : length % 2 === 0 ? piece.toLowerCase() : piece.toUpperCase() };
});

describe('a search', () => {
  it('never skips the text of a record that fits it', () => {
    let fitting = 0;
    fc.assert(
      fc.property(searches, ({ record, search }) => {
        if (!matchRequest(search)(record)) return;
        fitting += 1;
        expect(mayMatch(search)(requestText({ record, place: 1 }))).toBe(true);
      }),
      { numRuns: 3000 },
    );
    // Otherwise the law would say nothing.
    expect(fitting).toBeGreaterThan(1000);
  });

  it('skips what holds nothing of the kind', () => {
    expect(
      mayMatch('no such thing')(
        requestText({ record: { ...draftBy('mcp:a'), id: 'req-00000001', status: 'pending', createdAt: 1, expiresAt: 2 }, place: 1 }),
      ),
    ).toBe(false);
  });
});
