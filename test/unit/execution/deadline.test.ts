import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Deadline, startDeadline, systemClock } from '#execution/deadline';
import { Fault } from '#kernel/errors';

const idle = () => new AbortController().signal;

describe('a deadline', () => {
  const open: Deadline[] = [];
  const start = (limitMs: number, caller: AbortSignal = idle()) => {
    const deadline = startDeadline(limitMs, caller);
    open.push(deadline);
    return deadline;
  };

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  });
  afterEach(() => {
    for (const deadline of open.splice(0)) deadline.end();
    vi.useRealTimers();
  });

  it('aborts when its time is used up, and says so in a fault worth a retry', () => {
    const { signal } = start(60_000);
    vi.advanceTimersByTime(59_999);
    expect(signal.aborted).toBe(false);
    vi.advanceTimersByTime(1);
    expect(signal.aborted).toBe(true);
    expect(signal.reason).toBeInstanceOf(Fault);
    expect(signal.reason).toMatchObject({ code: 'timeout', message: 'took longer than 1m 0s', retryable: true });
  });

  it('does not count the time a person takes', () => {
    const deadline = start(60_000);
    vi.advanceTimersByTime(50_000);
    deadline.pause();
    deadline.pause();
    vi.advanceTimersByTime(3_600_000);
    expect(deadline.signal.aborted).toBe(false);
    deadline.resume();
    deadline.resume();
    vi.advanceTimersByTime(9_999);
    expect(deadline.signal.aborted).toBe(false);
    vi.advanceTimersByTime(1);
    expect(deadline.signal.aborted).toBe(true);
  });

  it('gives no time back by pausing again and again', () => {
    const deadline = start(1_000);
    for (let turn = 0; turn < 9; turn += 1) {
      vi.advanceTimersByTime(100);
      deadline.pause();
      deadline.resume();
    }
    vi.advanceTimersByTime(99);
    expect(deadline.signal.aborted).toBe(false);
    vi.advanceTimersByTime(1);
    expect(deadline.signal.aborted).toBe(true);
  });

  it('passes on the caller’s cancel, also while paused', () => {
    const caller = new AbortController();
    const deadline = start(60_000, caller.signal);
    deadline.pause();
    caller.abort('whatever');
    expect(deadline.signal.reason).toMatchObject({ code: 'cancelled', audience: 'user' });
  });

  it('is over at once for a caller who gave up before', () => {
    expect(start(60_000, AbortSignal.abort()).signal.reason).toMatchObject({ code: 'cancelled' });
  });

  it('leaves neither a timer nor a listener behind', () => {
    const caller = new AbortController();
    const deadline = start(60_000, caller.signal);
    expect(vi.getTimerCount()).toBe(1);
    deadline.end();
    expect(vi.getTimerCount()).toBe(0);
    caller.abort();
    expect(deadline.signal.aborted).toBe(false);
  });
});

describe('work within a deadline', () => {
  it('that is done in time gives its result', async () => {
    const { within, end } = startDeadline(60_000, idle());
    await expect(within(Promise.resolve(5))).resolves.toBe(5);
    await expect(within(Promise.reject(new Fault('x', 'y')))).rejects.toMatchObject({ code: 'x' });
    end();
  });

  it('that ignores the signal does not keep the caller waiting, and its late failure hurts nobody', async () => {
    const caller = new AbortController();
    const { within, end } = startDeadline(60_000, caller.signal);
    const { promise, reject } = Promise.withResolvers<number>();
    const waited = within(promise);
    caller.abort();
    await expect(waited).rejects.toMatchObject({ code: 'cancelled' });
    reject(new Error('late'));
    await expect(within(new Promise(() => undefined))).rejects.toMatchObject({ code: 'cancelled' });
    end();
  });

  it('that is still waited for when time is up ends with the same reason as the signal', async () => {
    const deadline = startDeadline(1, idle());
    const said = await deadline.within(new Promise(() => undefined)).catch((thrown: unknown) => thrown);
    expect(said).toBe(deadline.signal.reason);
    expect(said).toMatchObject({ code: 'timeout' });
    deadline.end();
  });
});

describe('the system clock', () => {
  it('tells the time and waits', async () => {
    const before = Date.now();
    await systemClock.sleep(1, idle());
    expect(systemClock.now()).toBeGreaterThanOrEqual(before);
  });

  it('wakes with the reason of the abort', async () => {
    const stop = new AbortController();
    const sleeping = systemClock.sleep(3_600_000, stop.signal);
    stop.abort(new Fault('cancelled', 'x'));
    await expect(sleeping).rejects.toMatchObject({ code: 'cancelled' });
    await expect(systemClock.sleep(3_600_000, AbortSignal.abort('no'))).rejects.toBe('no');
  });
});
