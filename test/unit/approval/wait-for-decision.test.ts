import { describe, expect, it } from 'vitest';
import { type WaitDeps, waitForDecision } from '#approval/wait-for-decision';
import { waitState } from '#kernel/approval/request';
import { Fault } from '#kernel/errors';
import {
  createApprover,
  createFakeClock,
  decisionBy,
  draftBy,
  grantFor,
  opened,
  openTestStore,
  storeApproval,
} from '../../integration/stores/store-fixtures.ts';

async function bench() {
  const clock = createFakeClock();
  const store = await openTestStore({ clock });
  let listening = 0;
  const deps: WaitDeps = {
    clock,
    requests: {
      get: (id) => store.requests.get(id),
      noteWait: (id, by, forMs) => store.requests.noteWait(id, by, forMs),
      onChange: (listener) => {
        listening += 1;
        const stop = store.requests.onChange(listener);
        return () => {
          listening -= 1;
          stop();
        };
      },
    },
  };
  const signal = new AbortController().signal;
  return { clock, store, deps, signal, listening: () => listening };
}

describe('waiting for a decision', () => {
  it('ends with the approval, and lets go of the store', async () => {
    const { store, deps, clock, signal, listening } = await bench();
    const record = await opened(store);
    const wait = waitForDecision(record.id, { timeoutMs: 120_000, signal }, deps);
    await clock.sleeping();
    expect(listening()).toBe(1);
    await storeApproval(store.requests, record.id, grantFor(record, createApprover(), clock.now()), decisionBy());
    expect(await wait).toMatchObject({ status: 'approved' });
    expect(listening()).toBe(0);
  });

  it('ends at once where it is decided already, and where there is nothing to wait for', async () => {
    const { store, deps, signal } = await bench();
    const record = await opened(store);
    await store.requests.deny(record.id, decisionBy());
    expect(await waitForDecision(record.id, { timeoutMs: 120_000, signal }, deps)).toMatchObject({ status: 'denied' });
    expect(await waitForDecision('req-00000000', { timeoutMs: 120_000, signal }, deps)).toBeUndefined();
  });

  it('is marked in the store before anybody is asked, until it ends without an answer', async () => {
    const { store, deps, clock, signal } = await bench();
    const { id } = await opened(store);
    const seen: unknown[] = [];
    const onWaiting = () => void seen.push(store.requests.waitOf(id));
    const wait = waitForDecision(id, { timeoutMs: 120_000, signal, onWaiting }, deps);
    await clock.sleeping();
    const mark = await seen[0];
    expect(mark).toMatchObject({ until: clock.now() + 120_000 });
    clock.advance(120_000);
    expect(await wait).toMatchObject({ status: 'pending' });
    expect(waitState(await store.requests.waitOf(id), clock.now())).toEqual({ waits: false, since: clock.now() });
    expect(seen).toHaveLength(1);
  });

  it('that is cancelled leaves no mark that says it waits', async () => {
    const { store, deps, clock } = await bench();
    const { id } = await opened(store);
    const cancel = new AbortController();
    const wait = waitForDecision(id, { timeoutMs: 120_000, signal: cancel.signal }, deps);
    await clock.sleeping();
    cancel.abort(new Error('gone'));
    await expect(wait).rejects.toThrow('gone');
    expect(waitState(await store.requests.waitOf(id), clock.now()).waits).toBe(false);
  });

  it('looks once with no time to wait', async () => {
    const { store, deps, signal } = await bench();
    const { id } = await opened(store);
    expect(await waitForDecision(id, { timeoutMs: 0, signal }, deps)).toMatchObject({ status: 'pending' });
  });

  it('returns the pending record when the time is up', async () => {
    const { store, deps, clock, signal, listening } = await bench();
    const { id } = await opened(store);
    const wait = waitForDecision(id, { timeoutMs: 120_000, signal }, deps);
    await clock.sleeping();
    clock.advance(120_000);
    expect(await wait).toMatchObject({ id, status: 'pending' });
    expect(listening()).toBe(0);
  });

  it('wakes when the request expires, though nothing was written', async () => {
    const { store, deps, clock, signal } = await bench();
    const { id } = await opened(store);
    const wait = waitForDecision(id, { timeoutMs: 7_200_000, signal }, deps);
    await clock.sleeping();
    clock.advance(3_600_000);
    expect(await wait).toMatchObject({ id, status: 'expired' });
  });

  it('goes on waiting through changes that are not the answer', async () => {
    const { store, deps, clock, signal } = await bench();
    const { id } = await opened(store);
    const wait = waitForDecision(id, { timeoutMs: 120_000, signal }, deps);
    for (let index = 0; index < 3; index += 1) {
      await clock.sleeping();
      await opened(store, draftBy('mcp:other', 100 + index));
    }
    await store.requests.deny(id, decisionBy());
    expect(await wait).toMatchObject({ status: 'denied' });
  });

  it('rejects with the reason of its signal, before and during the wait', async () => {
    const { store, deps, clock, listening } = await bench();
    const { id } = await opened(store);
    const reason = new Error('the caller gave up');
    await expect(waitForDecision(id, { timeoutMs: 1000, signal: AbortSignal.abort(reason) }, deps)).rejects.toBe(reason);
    const caller = new AbortController();
    const wait = waitForDecision(id, { timeoutMs: 120_000, signal: caller.signal }, deps);
    await clock.sleeping();
    caller.abort(reason);
    await expect(wait).rejects.toBe(reason);
    expect(listening()).toBe(0);
  });

  it('does not miss a decision that falls between two looks', async () => {
    const { store, deps, clock, signal } = await bench();
    const record = await opened(store);
    let first = true;
    const requests: WaitDeps['requests'] = {
      ...deps.requests,
      get: async (id) => {
        const seen = await store.requests.get(id);
        if (first) await store.requests.deny(id, decisionBy());
        first = false;
        return seen;
      },
    };
    // The clock stands still: only the remembered ring can end this.
    expect(await waitForDecision(record.id, { timeoutMs: 120_000, signal }, { requests, clock })).toMatchObject({ status: 'denied' });
  });

  it('looks again after a busy store, and gives up on a broken one', async () => {
    const { store, deps, clock, signal } = await bench();
    const { id } = await opened(store);
    const faults = [new Fault('store_busy', 'busy', { retryable: true }), new Fault('store_corrupt', 'broken')];
    const requests: WaitDeps['requests'] = {
      ...deps.requests,
      noteWait: async () => undefined,
      get: (key) => Promise.reject(faults.shift() ?? new Error(key)),
    };
    const wait = waitForDecision(id, { timeoutMs: 120_000, signal }, { requests, clock });
    await clock.sleeping();
    clock.advance(500);
    await expect(wait).rejects.toMatchObject({ code: 'store_corrupt' });
  });
});
