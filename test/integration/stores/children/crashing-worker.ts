/** The real store worker, but a denial with the message `crash` ends the thread before anything is answered. */
import { parentPort } from 'node:worker_threads';

parentPort?.on('message', (message: { readonly values?: readonly unknown[] }) => {
  if (JSON.stringify(message.values ?? []).includes('"crash"')) process.exit(3);
});
await import('../../../../src/app/store/store-worker.ts');
