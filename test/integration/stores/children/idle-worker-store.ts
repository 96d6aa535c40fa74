/** idle-worker-store FILE: opens the store in a worker, listens, and does nothing more. It must end by itself. */
import { openStoreInWorker } from '#app/store-client';
import { say } from './told.ts';

const [file = ''] = process.argv.slice(2);
const store = await openStoreInWorker({ worker: new URL('../../../../src/app/store-worker.ts', import.meta.url), file });
store.requests.onChange(() => undefined);
await store.requests.countPending();
say('opened');
