/** Whether a node can be reached over ssh, asked before a person is. */
import { toFault } from '#kernel/errors';
import type { Obstacle } from '#kernel/tool';

/** What `look` finds on the node; that it cannot look is an obstacle itself, with what to do about it. */
export async function overSsh(signal: AbortSignal, look: () => Promise<Obstacle | undefined>): Promise<Obstacle | undefined> {
  try {
    return await look();
  } catch (thrown) {
    signal.throwIfAborted();
    const { code, message, next } = toFault(thrown);
    return { code, message, ...(next === undefined ? {} : { next }) };
  }
}
