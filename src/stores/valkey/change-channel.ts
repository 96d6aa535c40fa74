/** Tells when any process has changed a request: a wake-up over pub/sub, and another after every time nothing could be heard. */
import type { Keys } from './keys.ts';
import type { RoleLink } from './role-link.ts';

export interface ChangeChannel {
  onChange(listener: () => void): () => void;
  /** After an own change; listeners elsewhere hear of it through the server. */
  ring(): void;
  /** Finds out whether the server still talks to us; a connection that is dead is replaced. */
  check(): Promise<void>;
  close(): void;
}

export interface ChannelOptions {
  /** A connection of its own; undefined: no role of this process may listen, so only own changes ring. */
  readonly link: RoleLink | undefined;
  readonly keys: Keys;
  /** Marks own messages, which have rung already. */
  readonly self: string;
}

/** Pauses between attempts to listen again, in ms. The longest bounds how stale a tree can be after a restart of the server. */
const retry = { first: 50, longest: 800 };

/** Resolves once it listens. @throws {Fault} when it cannot, the first time; later it tries until it is closed */
export async function openChangeChannel(options: ChannelOptions): Promise<ChangeChannel> {
  const listeners = new Set<() => void>();
  let timer: NodeJS.Timeout | undefined;
  let closed = false;
  const ring = (): void => {
    for (const listener of [...listeners]) listener();
  };
  const listen = async (link: RoleLink): Promise<void> => {
    const client = await link.client();
    client.on('message', (_channel, message) => {
      if (message !== options.self) ring();
    });
    client.once('close', () => again(link, retry.first));
    await client.subscribe(options.keys.channel);
  };
  const again = (link: RoleLink, pause: number): void => {
    if (closed) return;
    timer = setTimeout(
      () => {
        // What happened while nobody listened is unknown: ring.
        listen(link).then(ring, () => again(link, Math.min(retry.longest, pause * 2)));
      },
      pause * (0.5 + Math.random() / 2),
    ).unref();
  };
  if (options.link) await listen(options.link);
  return {
    onChange: (listener) => {
      // A wrapper, so that the same function may listen twice and leave once.
      const own = (): void => listener();
      listeners.add(own);
      return () => void listeners.delete(own);
    },
    ring,
    check: async () => {
      // A connection that is given up has a `close` event, which makes it listen again.
      await options.link?.check();
    },
    close: () => {
      closed = true;
      clearTimeout(timer);
      listeners.clear();
      options.link?.close();
    },
  };
}
