/** Patience with a server that has no room for one more channel at this moment: its `MaxSessions` may be below ours. */
import { Fault } from '#kernel/errors';
import type { Clock } from '#kernel/ports/clock';

export interface ChannelRoom {
  /**
   * Opens a channel, again after a while when that was refused for lack of room: as long as other commands hold channels that will
   * become free or get theirs meanwhile, and otherwise a few times, because sshd frees a place a little after it says that a session is over.
   * Rejects with the signal's reason when it aborts between two tries.
   */
  open<Channel>(signal: AbortSignal, open: () => Promise<Channel>): Promise<Channel>;
}

/** In ms; the last one repeats. */
const waits = [50, 150, 400, 1_000];

/** @param running how many commands have a place on the connection, those that are opening their channel included */
export function createChannelRoom(clock: Clock, running: () => number): ChannelRoom {
  let opening = 0;
  let opened = 0;

  async function tryUntilOpen<Channel>(signal: AbortSignal, open: () => Promise<Channel>): Promise<Channel> {
    let [tries, seen] = [0, opened];
    for (;;) {
      try {
        return await open();
      } catch (thrown) {
        const othersHoldRoom = running() > opening;
        // Where others get in, there is room from time to time: only tries in a row of nobody's success count.
        if (opened !== seen) [tries, seen] = [0, opened];
        if (!isNoRoom(thrown) || (tries >= waits.length && !othersHoldRoom)) throw thrown;
        await clock.sleep(waits[tries++] ?? 1_000, signal);
      }
    }
  }

  return {
    async open(signal, open) {
      opening++;
      try {
        const channel = await tryUntilOpen(signal, open);
        opened++;
        return channel;
      } finally {
        opening--;
      }
    },
  };
}

function isNoRoom(thrown: unknown): boolean {
  return thrown instanceof Fault && thrown.code === 'ssh_channel_failed' && thrown.retryable;
}

/** What is shared goes on; only this caller's waiting for it ends, with the signal's reason, when that aborts. */
export async function orAbort<Result>(shared: Promise<Result>, signal: AbortSignal): Promise<Result> {
  // Its failure is somebody else's, whether or not we still wait.
  shared.catch(() => undefined);
  signal.throwIfAborted();
  const { promise, reject } = Promise.withResolvers<never>();
  const leave = () => reject(signal.reason);
  signal.addEventListener('abort', leave, { once: true });
  try {
    return await Promise.race([shared, promise]);
  } finally {
    signal.removeEventListener('abort', leave);
  }
}
