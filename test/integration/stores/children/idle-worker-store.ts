/** idle-worker-store FILE WORKER: opens the store in that worker, listens, and does nothing more. It must end by itself. */
import { openStoreInWorker } from '#app/store/open-store';
import { say } from './told.ts';

const [file = '', worker = ''] = process.argv.slice(2);
const store = await openStoreInWorker({ worker: new URL(worker), file });
store.requests.onChange(() => undefined);
await store.requests.countPending();
say('opened');
