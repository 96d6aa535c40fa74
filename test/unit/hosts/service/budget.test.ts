import { describe, expect, it, vi } from 'vitest';
import { type Turn, UserBudget, userLimits } from '#hosts/service/budget';

const never = new AbortController().signal;
const short = { bytes: 1, isLong: false };
const take = (budget: UserBudget, count: number, signal = never) => Array.from({ length: count }, () => budget.turn(short, signal));
const started = async (turns: readonly Promise<Turn>[]) => {
  let count = 0;
  for (const turn of turns)
    void turn.then(
      () => {
        count += 1;
      },
      () => undefined,
    );
  await new Promise((resolve) => setImmediate(resolve));
  return count;
};

describe('one user’s calls', () => {
  it('run so many at once, the others in their order as places become free', async () => {
    const budget = new UserBudget();
    const turns = take(budget, userLimits.running + 3);
    expect(await started(turns)).toBe(userLimits.running);
    (await turns[0])?.end();
    expect(await started(turns)).toBe(userLimits.running + 1);
    // Ending twice frees one place.
    (await turns[0])?.end();
    expect(await started(turns)).toBe(userLimits.running + 1);
  });

  it('give their place back while a person thinks, up to a number', async () => {
    const budget = new UserBudget();
    for (let index = 0; index < userLimits.waiting; index += 1) (await budget.turn(short, never)).waits();
    const more = take(budget, userLimits.running + 1);
    for (const turn of more.slice(0, -1)) (await turn).waits();
    expect(await started(more)).toBe(userLimits.running);
  });

  it('are refused where too many, or too many bytes, wait for their turn', async () => {
    const budget = new UserBudget();
    const all = take(budget, userLimits.running + userLimits.queued);
    await expect(budget.turn(short, never)).rejects.toMatchObject({ code: 'user_busy', retryable: true });
    const other = new UserBudget();
    const running = take(other, userLimits.running);
    const large = other.turn({ ...short, bytes: userLimits.queuedBytes }, never);
    await expect(other.turn(short, never)).rejects.toMatchObject({ code: 'user_busy' });
    expect([await started(all), await started([...running, large])]).toEqual([userLimits.running, userLimits.running]);
  });

  it('that look through everything run one at a time, and the others pass them', async () => {
    const budget = new UserBudget();
    const long = { bytes: 1, isLong: true };
    const [first, second] = [budget.turn(long, never), budget.turn(long, never)];
    expect(await started([first, second])).toBe(1);
    const others = take(budget, userLimits.running - 1);
    expect(await started(others)).toBe(userLimits.running - 1);
    (await first).end();
    await second;
    expect(await started([second])).toBe(1);
  });

  it('of that kind take half of the time at most, where they come without end', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      let now = 0;
      const budget = new UserBudget(() => now);
      const [first, second, third] = [0, 1, 2].map(() => budget.turn({ bytes: 1, isLong: true }, never));
      const run = async (turn: Promise<Turn> | undefined, ms: number) => {
        const taken = await turn;
        now += ms;
        taken?.end();
      };
      await run(first, 1_000);
      // Half of what the second took has come back meanwhile; the rest is waited for.
      await run(second, 3_000);
      const last = third === undefined ? [] : [third];
      await vi.advanceTimersByTimeAsync(1_999);
      expect(await started(last)).toBe(0);
      await vi.advanceTimersByTimeAsync(1);
      expect(await started(last)).toBe(1);
    } finally {
      vi.useRealTimers();
    }
  });

  it('are refused where they write down more than a disk for all can hold, until time has passed', () => {
    let now = 0;
    const budget = new UserBudget(() => now);
    for (let count = 0; count < userLimits.writes; count += 1) budget.write(0);
    expect(() => budget.write(0)).toThrow(/written down more than 10 records a second/);
    now += 1_000;
    expect(() => budget.write(20 * 1_024)).toThrow(/written down more/);
    for (let count = 0; count < userLimits.writesPerSecond; count += 1) budget.write(0);
    expect(() => budget.write(0)).toThrow(/written down more/);
  });

  it('leave the queue when they are cancelled', async () => {
    const budget = new UserBudget();
    const turns = take(budget, userLimits.running);
    const caller = new AbortController();
    const queued = budget.turn({ ...short, bytes: userLimits.queuedBytes }, caller.signal);
    caller.abort(new Error('gone'));
    await expect(queued).rejects.toThrow('gone');
    const next = budget.turn({ ...short, bytes: userLimits.queuedBytes }, never);
    (await turns[0])?.end();
    expect(await started([next])).toBe(1);
  });
});

const quiet = { pause: () => undefined, resume: () => undefined, unread: () => 0 };

describe('one user’s connections', () => {
  it('are paused together by too many messages, and go on', () => {
    vi.useFakeTimers();
    try {
      let now = 0;
      const budget = new UserBudget(() => now);
      const sources = [1, 2].map(() => ({ ...quiet, pause: vi.fn<() => void>(), resume: vi.fn<() => void>() }));
      for (const source of sources) budget.join(source);
      for (let index = 0; index <= userLimits.burst; index += 1) budget.note({ messages: 1 });
      for (const source of sources) expect([source.pause.mock.calls.length, source.resume.mock.calls.length]).toEqual([1, 0]);
      now += 20;
      vi.advanceTimersByTime(20);
      for (const source of sources) expect(source.resume).toHaveBeenCalledTimes(1);
    } finally {
      vi.useRealTimers();
    }
  });

  it('are so many at most, and one that left makes room', () => {
    const budget = new UserBudget();
    const source = () => ({ ...quiet });
    const leave = Array.from({ length: userLimits.connections }, () => budget.join(source()));
    expect(() => budget.join(source())).toThrow(/connections to the service already/);
    leave[0]?.();
    expect(() => budget.join(source())).not.toThrow();
  });

  it('are paused by a few large messages as by many small ones', () => {
    const [budget, pause] = [new UserBudget(() => 0), vi.fn<() => void>()];
    budget.join({ ...quiet, pause });
    budget.note({ messages: 1, bytes: 2 * 2 ** 20 });
    expect(pause).not.toHaveBeenCalled();
    budget.note({ messages: 1, bytes: 2 * 2 ** 20 });
    expect(pause).toHaveBeenCalledTimes(1);
  });

  it('are deaf where together they have left too much unread', () => {
    const budget = new UserBudget();
    const each = userLimits.unreadBytes / 2;
    for (const unread of [each, each]) budget.join({ ...quiet, unread: () => unread });
    expect(budget.isDeaf()).toBe(false);
    budget.join({ ...quiet, unread: () => 1 });
    expect(budget.isDeaf()).toBe(true);
  });
});
