import { describe, expect, it } from 'vitest';
import { createRateLimit, createSlots } from '#kernel/rate-limit';

describe('rate limit', () => {
  it('gives the burst at once, then so many a second, and says how long to wait', () => {
    let time = 0;
    const limit = createRateLimit(2, 3, () => time);
    expect([1, 2, 3].map(() => limit.take('a', 1))).toEqual([0, 0, 0]);
    expect(limit.take('a', 1)).toBe(1);
    time = 499;
    expect(limit.take('a', 1)).toBe(1);
    time = 1000;
    expect([limit.take('a', 2), limit.take('a', 1)]).toEqual([0, 1]);
  });

  it('a cost beyond what is left takes nothing', () => {
    const limit = createRateLimit(1, 3, () => 0);
    expect(limit.take('a', 4)).toBe(1);
    expect(limit.take('a', 3)).toBe(0);
  });

  it('never holds more than the burst, and keys do not share', () => {
    let time = 0;
    const limit = createRateLimit(1, 2, () => time);
    time = 1e9;
    expect([limit.take('a', 2), limit.take('a', 1), limit.take('b', 2)]).toEqual([0, 1, 0]);
  });

  it('a swept bucket is as good as a full one', () => {
    let time = 0;
    const limit = createRateLimit(1, 2, () => time);
    limit.take('a', 2);
    limit.sweep();
    expect(limit.take('a', 1)).toBe(1);
    time = 2000;
    limit.sweep();
    expect(limit.take('a', 2)).toBe(0);
  });
});

describe('slots', () => {
  it('are limited per key and in all', () => {
    const slots = createSlots(3, 2);
    expect([slots.take('a'), slots.take('a')].every((release) => release !== undefined)).toBe(true);
    expect(slots.take('a')).toBeUndefined();
    expect(slots.take('b')).toBeDefined();
    expect(slots.take('c')).toBeUndefined();
  });

  it('a release counts once', () => {
    const slots = createSlots(2, 2);
    const release = slots.take('a');
    slots.take('a');
    release?.();
    release?.();
    expect(slots.take('a')).toBeDefined();
    expect(slots.take('a')).toBeUndefined();
  });
});
