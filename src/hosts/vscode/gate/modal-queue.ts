/** One dialog at a time. */

export interface ModalQueue {
  /** Runs `task` after all earlier ones. A second task under the same key joins the first instead of asking twice. */
  run<T>(key: string, task: () => Promise<T>): Promise<T>;
}

export function createModalQueue(): ModalQueue {
  const waiting = new Map<string, Promise<unknown>>();
  let last: Promise<unknown> = Promise.resolve();
  return {
    run<T>(key: string, task: () => Promise<T>): Promise<T> {
      const joined = waiting.get(key);
      // One key always carries one kind of task, so the first one's promise has the type that the second caller expects.
      if (joined) return joined as Promise<T>;
      const mine = last.then(task, task).finally(() => waiting.delete(key));
      waiting.set(key, mine);
      last = mine.catch(() => undefined);
      return mine;
    },
  };
}
