import { beforeEach, describe, expect, it } from 'vitest';
import { type ChannelRoom, createChannelRoom } from '#connectors/ssh/channel-room';
import { Fault } from '#kernel/errors';
import { createFakeClock, type FakeClock } from '../fake-clock.ts';

const never = new AbortController().signal;
const noRoom = () => new Fault('ssh_channel_failed', 'open failed', { retryable: true });

describe('createChannelRoom', () => {
  let clock: FakeClock;
  let running: number;
  let room: ChannelRoom;
  beforeEach(() => {
    clock = createFakeClock();
    running = 1;
    room = createChannelRoom(clock, () => running);
  });

  /** Refused `times` times, then granted. */
  function opener(times: number) {
    let tries = 0;
    return {
      open: () => (tries++ < times ? Promise.reject(noRoom()) : Promise.resolve('ran')),
      get tries() {
        return tries;
      },
    };
  }

  /** Lets `seconds` pass in small steps. */
  async function pass(seconds: number): Promise<void> {
    for (let step = 0; step < seconds * 20; step++) await clock.advance(50);
  }

  it('tries again after a while, not at once', async () => {
    const one = opener(1);
    const ran = room.open(never, one.open);
    await clock.advance(0);
    await clock.advance(49);
    expect(one.tries).toBe(1);
    await clock.advance(1);
    await expect(ran).resolves.toBe('ran');
  });

  it('gives up after a few tries when nobody else holds a channel', async () => {
    const one = opener(100);
    const ran = expect(room.open(never, one.open)).rejects.toMatchObject({ code: 'ssh_channel_failed' });
    await pass(3);
    await ran;
    expect(one.tries).toBe(5);
  });

  it('goes on while others hold channels', async () => {
    running = 3;
    const one = opener(30);
    const ran = room.open(never, one.open);
    await pass(40);
    await expect(ran).resolves.toBe('ran');
  });

  it('does not take others that starve, too, for a reason to wait', async () => {
    running = 2;
    const both = [opener(100), opener(100)].map((one) =>
      expect(room.open(never, one.open)).rejects.toMatchObject({ code: 'ssh_channel_failed' }),
    );
    await pass(4);
    await Promise.all(both);
  });

  it('does not give up while others get in, however short they stay', async () => {
    const one = opener(12);
    const ran = room.open(never, one.open);
    for (let turn = 0; turn < 12; turn++) {
      await pass(1);
      await room.open(never, () => Promise.resolve('in and out'));
    }
    await pass(6);
    await expect(ran).resolves.toBe('ran');
  });

  it.each([new Fault('ssh_channel_failed', 'prohibited'), new Fault('ssh_timeout', 'x', { retryable: true }), new Error('x')])(
    'passes on %s',
    async (thrown) => {
      let tries = 0;
      const open = () => {
        tries++;
        return Promise.reject(thrown);
      };
      await expect(room.open(never, open)).rejects.toBe(thrown);
      expect(tries).toBe(1);
    },
  );

  it('ends with the caller', async () => {
    const caller = new AbortController();
    const ran = room.open(caller.signal, opener(100).open);
    await clock.advance(0);
    caller.abort(new Error('gone'));
    await expect(ran).rejects.toThrow('gone');
    expect(clock.sleeping).toBe(0);
  });
});
