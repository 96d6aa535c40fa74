import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import { systemClock } from '#execution/deadline';

it('sleeps, and leaves no listener behind', async () => {
  const caller = new AbortController();
  await systemClock.sleep(5, caller.signal);
  expect(getEventListeners(caller.signal, 'abort')).toEqual([]);
});

it('wakes with the reason of whoever aborts, and leaves no listener behind', async () => {
  const caller = new AbortController();
  const reason = new Error('enough');
  const sleeping = systemClock.sleep(3_600_000, caller.signal);
  expect(getEventListeners(caller.signal, 'abort')).toHaveLength(1);
  caller.abort(reason);
  await expect(sleeping).rejects.toBe(reason);
  expect(getEventListeners(caller.signal, 'abort')).toEqual([]);
});

it('does not fall asleep for whoever has gone', async () => {
  const reason = new Error('gone');
  await expect(systemClock.sleep(3_600_000, AbortSignal.abort(reason))).rejects.toBe(reason);
});
