import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRequestQueue, queueLimits, type RequestQueue } from '#connectors/proxmox/request-queue';
import { inTurn, type Transport } from '#connectors/proxmox/transport';
import { faultMessage } from '#kernel/errors';
import type { Asker } from '#kernel/ports/cluster';
import { inWords } from '#kernel/text/message';
import { readBundle } from '../../../../scripts/l10n/translations.ts';
import { createFakeClock } from '../fake-clock.ts';

const idle = new AbortController().signal;
const reader: Asker = { id: 'a', first: false };
const person: Asker = { id: '', first: true };
const settle = () => new Promise((resolve) => setImmediate(resolve));

/** A queue whose requests end when told, and which of them were sent, in their order. */
function scene(waitMs = 15_000) {
  const clock = createFakeClock();
  const queue = createRequestQueue({ cluster: 'lab', clock, waitMs });
  const sent: string[] = [];
  const open: { readonly name: string; end(fault?: Error): void }[] = [];
  function ask(name: string, asker: Asker = reader, signal: AbortSignal = idle): Promise<string> {
    const answer = queue.run(asker, signal, () => {
      sent.push(name);
      const { promise, resolve, reject } = Promise.withResolvers<string>();
      open.push({ name, end: (fault) => (fault === undefined ? resolve(name) : reject(fault)) });
      return promise;
    });
    answer.catch(() => undefined);
    return answer;
  }
  /** Ends the oldest under way, so many times; what comes next is sent before the one after it ends. */
  async function end(count = 1, fault?: Error): Promise<void> {
    for (let index = 0; index < count; index++) {
      open.shift()?.end(fault);
      await settle();
    }
  }
  const call = (id: string, first = false) => ({ asker: { id, first, until: new AbortController().signal } });
  return { clock, queue, sent, open, ask, end, call };
}

/** All the places of reads, taken. */
async function fill({ ask }: ReturnType<typeof scene>, count: number = queueLimits.others): Promise<void> {
  for (let index = 0; index < count; index++) void ask(`filler ${index}`, { id: 'filler', first: false });
  await settle();
}

const names = (prefix: string, count: number) => Array.from({ length: count }, (_, index) => `${prefix}${index}`);

describe('requests to one cluster', () => {
  it('are sent in their order, so many at once and the rest as these end', async () => {
    const { ask, end, sent, open } = scene();
    const asked = names('r', 20).map((name) => ask(name));
    await settle();
    expect(sent).toEqual(names('r', queueLimits.others));
    await end();
    expect([sent.length, open.length]).toEqual([queueLimits.others + 1, queueLimits.others]);
    await end(19);
    expect(sent).toEqual(names('r', 20));
    await expect(Promise.all(asked)).resolves.toEqual(names('r', 20));
  });

  it('keep places for what goes first, however many others are under way', async () => {
    const world = scene();
    await fill(world, 20);
    for (const name of names('change', 4)) void world.ask(name, person);
    await settle();
    expect(world.open).toHaveLength(queueLimits.atOnce);
    expect(world.sent.slice(queueLimits.others)).toEqual(names('change', queueLimits.atOnce - queueLimits.others));
  });

  it('let what goes first pass those that wait, and leave these a turn among many', async () => {
    const world = scene();
    await fill(world);
    for (const name of names('kept', 2)) void world.ask(name, person);
    for (const name of names('read', 4)) void world.ask(name);
    for (const name of names('change', 8)) void world.ask(name, person);
    await settle();
    const before = world.sent.length;
    await world.end(12);
    const order = world.sent.slice(before);
    expect(order[0]).toBe('change0');
    // Two kept places went to such as go first already, so the row is full after one more.
    expect(order.indexOf('read0')).toBeLessThanOrEqual(queueLimits.firstInARow);
    expect(order.filter((name) => name.startsWith('change'))).toEqual(names('change', 8));
  });

  it('are taken in turn by their agents: a flood of one costs the others one request each', async () => {
    const world = scene();
    await fill(world);
    for (const name of names('flood', 100)) void world.ask(name, { id: 'loud', first: false });
    for (const name of names('b', 2)) void world.ask(name, { id: 'b', first: false });
    void world.ask('c0', { id: 'c', first: false });
    await world.end(6);
    expect(world.sent.slice(queueLimits.others)).toEqual(['flood0', 'b0', 'c0', 'flood1', 'b1', 'flood2']);
  });

  it('go on with a call that has begun before another one begins', async () => {
    const world = scene();
    await fill(world);
    const [one, other] = [world.call('a'), world.call('b')];
    for (const name of names('one', 3)) void world.ask(name, one.asker);
    for (const name of names('other', 3)) void world.ask(name, other.asker);
    await world.end();
    void world.ask('one3', one.asker);
    await world.end(6);
    expect(world.sent.slice(queueLimits.others)).toEqual([...names('one', 4), ...names('other', 3)]);
  });

  it('begin with a new call now and then, however much one that has begun still asks', async () => {
    const world = scene();
    await fill(world);
    const long = world.call('a').asker;
    for (const name of names('long', 100)) void world.ask(name, long);
    void world.ask('new', world.call('b').asker);
    await world.end(queueLimits.goOnInARow + 3);
    expect(world.sent).toContain('new');
  });
});

describe('who gives up', () => {
  it('leaves the queue, sends nothing, and leaves nothing behind', async () => {
    const world = scene();
    await fill(world);
    const caller = new AbortController();
    const given = world.ask('given up', reader, caller.signal);
    const after = world.ask('after');
    caller.abort();
    await expect(given).rejects.toMatchObject({ code: 'cancelled' });
    await world.end(queueLimits.others + 1);
    await expect(after).resolves.toBe('after');
    expect(world.sent).not.toContain('given up');
    expect(world.clock.sleeping).toBe(0);
  });

  it('before the turn or in the moment of it sends nothing', async () => {
    const world = scene();
    await expect(world.ask('late', reader, AbortSignal.abort())).rejects.toMatchObject({ code: 'cancelled' });
    await fill(world);
    const caller = new AbortController();
    const given = world.ask('given up', reader, caller.signal);
    world.open.shift()?.end();
    // The turn comes some microtasks later: at one of them it gives up.
    await Promise.resolve();
    caller.abort();
    await expect(given).rejects.toMatchObject({ code: 'cancelled' });
    expect(world.sent).not.toContain('given up');
    void world.ask('next');
    await settle();
    expect(world.open).toHaveLength(queueLimits.others);
  });

  it('has a call whose answer was given: nothing of it is sent any more, neither waiting nor later', async () => {
    const { queue } = scene();
    const answered = new AbortController();
    const paths: string[] = [];
    const hang = Promise.withResolvers<never>();
    const get: Transport['get'] = (path) => {
      paths.push(path);
      return hang.promise;
    };
    const transport = inTurn({ get, change: get, getFrom: get } as unknown as Transport, queue, { ...reader, until: answered.signal });
    const reads = names('/', 20).map((path) => transport.get(path, '', idle));
    const ends = Promise.allSettled(reads.slice(queueLimits.others));
    await settle();
    answered.abort();
    expect(new Set((await ends).map(({ status }) => status))).toEqual(new Set(['rejected']));
    await expect(transport.get('/later', '', idle)).rejects.toMatchObject({ code: 'cancelled' });
    await expect(transport.change({ method: 'POST', path: '/later', authorization: '' }, idle)).rejects.toMatchObject({
      code: 'cancelled',
    });
    expect(paths).toEqual(names('/', queueLimits.others));
  });
});

describe('a cluster that does not keep up', () => {
  it('is said when the turn does not come in time; the request is not sent later', async () => {
    const world = scene(1_000);
    await fill(world);
    const waiting = world.ask('waiting');
    await settle();
    await world.clock.advance(1_000);
    await expect(waiting).rejects.toMatchObject({
      code: 'cluster_busy',
      retryable: true,
      audience: 'user',
      message: expect.stringContaining('nothing was sent') as string,
      next: expect.stringMatching(/^wait \d+ s, then call again/) as string,
    });
    await world.end(queueLimits.others);
    expect(world.sent).not.toContain('waiting');
    expect(world.clock.sleeping).toBe(0);
  });

  it('is said at once where the turn could not come in time', async () => {
    const world = scene(1_000);
    for (let index = 0; index < queueLimits.remembered; index++) {
      void world.ask('slow');
      await settle();
      await world.clock.advance(900);
      await world.end();
    }
    await fill(world, queueLimits.others + 7);
    // To another agent the turn comes sooner.
    void world.ask('another agent', { id: 'b', first: false });
    await settle();
    const { sleeping } = world.clock;
    expect(sleeping).toBe(8);
    await expect(world.ask('too late', { id: 'filler', first: false })).rejects.toMatchObject({ code: 'cluster_busy' });
    expect(world.clock.sleeping).toBe(sleeping);
  });

  it('is told in the reader’s language, all of it', async () => {
    const world = scene();
    await fill(world);
    for (const name of names('flood', queueLimits.waiting)) void world.ask(name);
    const fault: unknown = await world.ask('more').catch((thrown: unknown) => thrown);
    const german = inWords(faultMessage(fault), { tag: 'de', texts: readBundle() });
    expect(german).toMatch(/kommt mit den Anfragen nicht nach: \d+ Anfragen warten, .*; es wurde nichts gesendet$/);
  });

  it('has a queue that ends: the agent with most waiting gives way, and nobody to one with as many', async () => {
    const world = scene();
    await fill(world);
    const flood = names('flood', queueLimits.waiting).map((name) => world.ask(name, { id: 'loud', first: false }));
    await expect(world.ask('more', { id: 'loud', first: false })).rejects.toMatchObject({ code: 'cluster_busy' });
    const modest = world.ask('modest', { id: 'quiet', first: false });
    await expect(flood.at(-1)).rejects.toMatchObject({ code: 'cluster_busy' });
    await world.end(queueLimits.others + 2);
    await expect(modest).resolves.toBe('modest');
    expect(world.sent).not.toContain(`flood${queueLimits.waiting - 1}`);
  });
});

describe('places', () => {
  const step = fc.record({
    id: fc.constantFrom('a', 'b', 'c'),
    first: fc.boolean(),
    call: fc.integer({ min: 0, max: 3 }),
    does: fc.constantFrom('ask', 'ask', 'ask', 'answer', 'fail', 'give up', 'time'),
  });

  it('come back whatever happens to a request: never more are taken than there are, and in the end none', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 120 }), async (steps) => {
        const world = scene(1_000);
        const calls = names('call', 4).map(() => new AbortController());
        const asked: { readonly end: Promise<string>; readonly caller: AbortController }[] = [];
        for (const { id, first, call, does } of steps) {
          if (does === 'ask') {
            const caller = new AbortController();
            const { signal: until } = calls[call] ?? caller;
            asked.push({ caller, end: world.ask(`r${asked.length}`, { id, first, until }, caller.signal) });
          }
          if (does === 'answer') await world.end();
          if (does === 'fail') await world.end(1, new Error('reset'));
          if (does === 'give up') asked[call * 7]?.caller.abort();
          if (does === 'time') await world.clock.advance(150);
          expect(world.open.length).toBeLessThanOrEqual(queueLimits.atOnce);
        }
        await settle();
        while (world.open.length > 0) await world.end();
        await Promise.allSettled(asked.map(({ end }) => end));
        expect(new Set(world.sent).size).toBe(world.sent.length);
        expect(world.clock.sleeping).toBe(0);
        await expectFree(world.queue);
      }),
      { numRuns: 60 },
    );
  });
});

/** As many at once as there are places. */
async function expectFree(queue: RequestQueue): Promise<void> {
  const gate = Promise.withResolvers<void>();
  let under = 0;
  const all = names('', queueLimits.atOnce).map(() =>
    queue.run(person, idle, () => {
      under += 1;
      return gate.promise;
    }),
  );
  await settle();
  expect(under).toBe(queueLimits.atOnce);
  gate.resolve();
  await Promise.all(all);
}
