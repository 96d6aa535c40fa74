import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RequestRecord } from '#kernel/approval/request';
import { firstLiveScore, historyScore, lives, pendingScore, placeOfHistory, placeOfPending, secondsLeft } from '#stores/valkey/keys';
import { parseStored, requestText } from '#stores/valkey/stored-request';
import { createApprover, decisionBy, draftOf, grantFor } from '../../../integration/stores/request-fixtures.ts';

const id = 'req-0000abcd';
const now = 1_800_000_000_000;
const place = now * 1000 + 7;
const pending: RequestRecord = { ...draftOf(), id, status: 'pending', createdAt: now, expiresAt: now + 3_600_000 };

describe('a stored request', () => {
  it('comes back as it was', () => {
    expect(parseStored(requestText({ record: pending, place }), id, ['pending'])).toEqual({ record: pending, place });
    const consumed: RequestRecord = { ...pending, status: 'consumed', decision: decisionBy(), consumedAt: now + 1, consumedBy: 'pid 1' };
    expect(parseStored(requestText({ record: consumed, place }), id, ['consumed'])).toEqual({ record: consumed, place });
  });

  it('that is approved keeps every grant whole', async () => {
    const grant = await grantFor(pending, createApprover(), now);
    const record: RequestRecord = { ...pending, status: 'approved', decision: decisionBy(), grants: [grant, grant] };
    expect(parseStored(requestText({ record, place }), id, ['approved'])).toEqual({ record, place });
  });

  it('that has ended says by whom and why at the top', () => {
    const denied: RequestRecord = { ...pending, status: 'denied', decision: { ...decisionBy('user:bob'), message: 'not now' } };
    expect(JSON.parse(requestText({ record: denied, place }))).toMatchObject({ status: 'denied', by: 'user:bob', message: 'not now' });
    const consumed: RequestRecord = {
      ...pending,
      status: 'consumed',
      decision: decisionBy('user:bob'),
      consumedAt: now,
      consumedBy: 'pid 1',
    };
    expect(JSON.parse(requestText({ record: consumed, place }))).toMatchObject({ status: 'consumed', by: 'pid 1' });
  });

  const stored = JSON.parse(requestText({ record: pending, place })) as Record<string, unknown>;
  it.each<[string, string]>([
    ['no JSON', '{'],
    ['another thing', '[]'],
    ['nothing', '{}'],
    ['another request', JSON.stringify({ ...stored, id: 'req-00000000' })],
    ['a status that its key cannot have', JSON.stringify({ ...stored, status: 'approved' })],
    ['a status that is none', JSON.stringify({ ...stored, status: 'granted' })],
    ['a time that is none', JSON.stringify({ ...stored, expiresAt: 'soon' })],
    ['a place before time began', JSON.stringify({ ...stored, place: -1 })],
    ['a draft that none of us wrote', JSON.stringify({ ...stored, request: { ...(stored.request as object), risk: 'none' } })],
    ['a draft with more in it', JSON.stringify({ ...stored, request: { ...(stored.request as object), confirmed: true } })],
    ['no draft', JSON.stringify({ ...stored, request: undefined })],
  ])('is refused when it is %s', (_, text) => {
    expect(() => parseStored(text, id, ['pending'])).toThrow(
      expect.objectContaining({ code: 'store_corrupt', message: expect.stringContaining(id) }),
    );
  });

  it('with a grant that is none, or an older version’s, is one without a grant', () => {
    for (const grant of [
      { payload: { version: 1 }, keyId: 'x', signature: 'y' },
      { grants: [{ payload: { version: 1 } }] },
      { grants: 7 },
    ]) {
      const text = JSON.stringify({ ...stored, status: 'approved', ...grant });
      expect(parseStored(text, id, ['approved']).record).not.toHaveProperty('grants');
    }
  });
});

describe('scores', () => {
  const times = fc.integer({ min: 1_600_000_000_000, max: 4_000_000_000_000 });
  it('keep every place exactly, through the text that the server gives back', () => {
    fc.assert(
      fc.property(times, fc.integer({ min: 0, max: 999 }), (ms, fraction) => {
        const at = ms * 1000 + fraction;
        expect(placeOfPending(Number(String(pendingScore(at))))).toBe(at);
        expect(placeOfHistory(Number(String(historyScore(at))))).toBe(at);
      }),
    );
  });

  it('count a request as live until its very ms, whatever its fraction', () => {
    fc.assert(
      fc.property(times, fc.integer({ min: 0, max: 999 }), (ms, fraction) => {
        const score = pendingScore(ms * 1000 + fraction);
        expect(score >= firstLiveScore(ms + 3_600_000 - 1)).toBe(true);
        expect(score >= firstLiveScore(ms + 3_600_000)).toBe(false);
      }),
    );
  });

  it('give lifetimes from a second up to that of their kind', () => {
    fc.assert(
      fc.property(
        fc.double({ noNaN: true, min: -1e15, max: 1e15 }),
        fc.constantFrom(...(Object.keys(lives) as (keyof typeof lives)[])),
        (left, kind) => {
          const seconds = secondsLeft(now + left, now, kind);
          expect(Number.isInteger(seconds) && seconds >= 1 && seconds <= lives[kind]).toBe(true);
        },
      ),
    );
    expect(lives).toEqual({ request: 3600, grant: 300, outcome: 86_400 });
    expect([secondsLeft(now + 1, now, 'grant'), secondsLeft(now + 1001, now, 'grant'), secondsLeft(now + 300_000, now, 'grant')]).toEqual([
      1, 2, 300,
    ]);
  });
});
