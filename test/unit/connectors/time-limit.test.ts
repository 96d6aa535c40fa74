import { describe, expect, it } from 'vitest';
import { cancelledFault, stopReason, TimeLimitReached, withTimeLimit } from '#connectors/time-limit';
import { Fault } from '#kernel/errors';
import { createFakeClock } from './fake-clock.ts';

const never = new AbortController().signal;

/** Work that ends only with its signal. */
function untilAborted(seen: (signal: AbortSignal) => void = () => undefined) {
  return (signal: AbortSignal) =>
    new Promise<never>((_resolve, reject) => {
      seen(signal);
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
}

describe('withTimeLimit', () => {
  it('gives the result and leaves no timer', async () => {
    const clock = createFakeClock();
    await expect(withTimeLimit(clock, 100, never, () => Promise.resolve('done'))).resolves.toBe('done');
    await clock.advance(0);
    expect(clock.sleeping).toBe(0);
  });

  it('passes what the work rejects with, and leaves no timer', async () => {
    const clock = createFakeClock();
    await expect(withTimeLimit(clock, 100, never, () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    await clock.advance(0);
    expect(clock.sleeping).toBe(0);
  });

  it('aborts the work at the limit, not before', async () => {
    const clock = createFakeClock();
    let limited: AbortSignal = never;
    const limitedWork = withTimeLimit(
      clock,
      100,
      never,
      untilAborted((signal) => {
        limited = signal;
      }),
    ).catch((thrown: unknown) => thrown);
    await clock.advance(99);
    expect(stopReason(limited)).toBeUndefined();
    await clock.advance(1);
    expect(stopReason(limited)).toBe('limit');
    await expect(limitedWork).resolves.toBeInstanceOf(TimeLimitReached);
  });

  it('aborts the work with the caller', async () => {
    const caller = new AbortController();
    let limited: AbortSignal = never;
    const work = withTimeLimit(
      createFakeClock(),
      100,
      caller.signal,
      untilAborted((signal) => {
        limited = signal;
      }),
    );
    caller.abort(new Error('no more'));
    await expect(work).rejects.toThrow('no more');
    expect(stopReason(limited)).toBe('caller');
  });

  it('nested, the inner limit is the caller’s business of the inner one only', async () => {
    const clock = createFakeClock();
    const outer = withTimeLimit(clock, 1_000, never, (signal) =>
      withTimeLimit(clock, 10, signal, untilAborted()).catch(() => stopReason(signal)),
    );
    await clock.advance(10);
    await expect(outer).resolves.toBeUndefined();
  });
});

describe('cancelledFault', () => {
  it('keeps a fault that is the reason', () => {
    const reason = new Fault('call_timeout', 'the call took too long');
    expect(cancelledFault(AbortSignal.abort(reason), 'x')).toBe(reason);
  });

  it('is `cancelled` for any other reason', () => {
    expect(cancelledFault(AbortSignal.abort('why'), 'stop of 100')).toMatchObject({
      code: 'cancelled',
      message: 'cancelled by the caller: stop of 100',
    });
  });
});
