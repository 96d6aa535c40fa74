import { describe, expect, it } from 'vitest';
import { orAbort } from '#connectors/ssh/channel-room';

const never = new AbortController().signal;

describe('orAbort', () => {
  it('passes on what the shared promise ends with', async () => {
    await expect(orAbort(Promise.resolve(1), never)).resolves.toBe(1);
    await expect(orAbort(Promise.reject(new Error('broken')), never)).rejects.toThrow('broken');
  });

  it('ends with the signal', async () => {
    const caller = new AbortController();
    const waiting = orAbort(new Promise(() => undefined), caller.signal);
    caller.abort(new Error('gone'));
    await expect(waiting).rejects.toThrow('gone');
  });

  it('leaves no failure unheard, before or after', async () => {
    const unheard: unknown[] = [];
    const note = (reason: unknown) => unheard.push(reason);
    process.on('unhandledRejection', note);
    const shared = Promise.withResolvers<never>();
    const caller = new AbortController();
    const waiting = orAbort(shared.promise, caller.signal).catch(() => 'left');
    caller.abort();
    await waiting;
    await expect(orAbort(shared.promise, caller.signal)).rejects.toBeDefined();
    shared.reject(new Error('late'));
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', note);
    expect(unheard).toEqual([]);
  });
});
