import { setTimeout as sleep } from 'node:timers/promises';
import { Fault } from '#kernel/errors';

/** Tries again as long as the fault says that this may help. */
export async function onceBack<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (thrown) {
      if (!(thrown instanceof Fault && thrown.retryable)) throw thrown;
      await sleep(10);
    }
  }
}

/** Whether it leaves open that something was changed: any other fault of a store says that nothing was, and must be true. */
export function mayHaveChanged({ code, message }: Fault): boolean {
  return code === 'store_unconfirmed' || message.includes('whether it was made is not known');
}
