/** The thread of a replay (`dist/replay-worker.cjs`): it opens the store for itself and asks its starter what clusters say. */
import { parentPort, workerData } from 'node:worker_threads';
import { faultData, faultFrom, toFault } from '#kernel/errors';
import { openExistingStore } from '../store/open-store.ts';
import { type FromReplay, type ReplayTask, runReplay, type ToReplay } from './policy-view.ts';

const post = (message: FromReplay): void => parentPort?.postMessage(message);

/** Answers to what was asked of clusters, by number. */
const waiting = new Map<number, PromiseWithResolvers<unknown>>();
let asked = 0;

parentPort?.on('message', (answer: ToReplay) => {
  const waiter = waiting.get(answer.id);
  waiting.delete(answer.id);
  if ('fault' in answer) waiter?.reject(faultFrom(answer.fault));
  else waiter?.resolve(answer.value);
});

const known = new Map<string, Promise<unknown>>();

function read(cluster: string, method: string, values: readonly unknown[]): Promise<unknown> {
  const key = JSON.stringify([cluster, method, values]);
  const found = known.get(key);
  if (found !== undefined) return found;
  asked += 1;
  const waiter = Promise.withResolvers<unknown>();
  waiting.set(asked, waiter);
  post({ kind: 'read', id: asked, cluster, method, values });
  known.set(key, waiter.promise);
  return waiter.promise;
}

async function work(task: ReplayTask): Promise<void> {
  const store = await openExistingStore({ config: task.before.config, stateDir: task.stateDir });
  try {
    const { signal } = new AbortController();
    const onProgress = (progress: { readonly records: number; readonly of?: number }) => post({ kind: 'progress', ...progress });
    post({ kind: 'done', report: await runReplay(task, { audit: store.audit, reads: read, signal, onProgress }) });
  } finally {
    await store.close();
  }
}

// Sound: the starter hands over nothing else.
work(workerData as ReplayTask).catch((thrown: unknown) => post({ kind: 'failed', fault: faultData(toFault(thrown)) }));
