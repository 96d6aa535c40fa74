import { describe, expect, it } from 'vitest';
import { createCallTracker } from '../../../../src/hosts/mcp/call-tracker.ts';

const untilAborted = (signal: AbortSignal) =>
  new Promise<string>((resolve) => {
    if (signal.aborted) resolve(String(signal.reason));
    signal.addEventListener('abort', () => resolve(String(signal.reason)), { once: true });
  });

describe('call tracker', () => {
  it('passes the caller’s cancel on to its call alone', async () => {
    const calls = createCallTracker();
    const [one, two] = [new AbortController(), new AbortController()];
    const first = calls.track(one.signal, untilAborted);
    const second = calls.track(two.signal, untilAborted);
    one.abort('enough');
    expect(await first).toBe('enough');
    expect(calls.size).toBe(1);
    two.abort('too');
    expect(await second).toBe('too');
    expect(calls.size).toBe(0);
  });

  it('ends every call, waits for each, and ends those that come later', async () => {
    const calls = createCallTracker();
    const never = new AbortController().signal;
    const release = Promise.withResolvers<void>();
    const slow = calls.track(never, async (signal) => {
      await untilAborted(signal);
      await release.promise;
      return 'slow';
    });
    let ended = false;
    const all = calls.cancelAll().then(() => {
      ended = true;
    });
    const late = await calls.track(never, untilAborted);
    expect(late).toContain('stopping');
    expect(ended).toBe(false);
    release.resolve();
    expect(await slow).toBe('slow');
    await all;
    expect(calls.size).toBe(0);
  });

  it('forgets a call that failed', async () => {
    const calls = createCallTracker();
    await expect(calls.track(new AbortController().signal, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(calls.size).toBe(0);
    await calls.cancelAll();
  });
});
