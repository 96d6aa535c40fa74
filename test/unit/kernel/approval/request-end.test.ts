import { describe, expect, it } from 'vitest';
import type { RequestDecision, RequestWait } from '#kernel/approval/request';
import { waitStaleMs, waitState } from '#kernel/approval/request';
import { endInWords, expiryInWords } from '#kernel/approval/request-end';
import { english } from '#kernel/text/message';

const now = new Date(2026, 10, 22, 14, 2, 10).getTime();
const decision: RequestDecision = { by: 'user:alice', via: 'cli', at: now - 400_000 };
const reported = { reason: 'url_blocked', destination: 'a.b' } as const;

describe('the end of a request', () => {
  it.each([
    [{ status: 'expired' }, 'expired (nobody decided)'],
    [{ status: 'expired', decision }, 'approved by alice, not used in time'],
    [{ status: 'expired', decision, reported }, 'settled by alice'],
    [{ status: 'consumed', decision }, 'approved by alice and used'],
    [{ status: 'denied', decision }, 'denied by alice'],
    [{ status: 'cancelled' }, 'cancelled'],
  ] as const)('%j is %s', (record, words) => {
    expect(english(endInWords(record))).toBe(words);
  });

  it('without an answer is never somebody’s, and an unused approval says whose it was and since when', () => {
    expect(english(expiryInWords({ status: 'expired' }, now))).toBe('nobody decided within its hour, so nothing ran');
    expect(english(expiryInWords({ status: 'expired', decision }, now))).toBe(
      'user:alice approved it at 13:55:30, but no call used that within its five minutes, so nothing ran',
    );
  });
});

describe('a wait for an answer', () => {
  const wait: RequestWait = { by: 'a', until: now + 60_000, seenAt: now };

  it('lasts until it gives up, and a process that says nothing more counts as gone from its last word on', () => {
    expect(waitState(undefined, now)).toEqual({ waits: false });
    expect(waitState(wait, now + 10_000)).toEqual({ waits: true, until: now + 60_000 });
    expect(waitState({ ...wait, seenAt: now + 55_000 }, now + 60_000)).toEqual({ waits: false, since: now + 60_000 });
    expect(waitState(wait, now + waitStaleMs + 1)).toEqual({ waits: false, since: now });
    expect(waitState({ ...wait, until: now - 5_000 }, now)).toEqual({ waits: false, since: now - 5_000 });
  });
});
