/** What has to be done now and then, by whoever may. Nothing depends on it being in time. */
import type { ChangeChannel } from './change-channel.ts';
import { expireDue, expiryBatch } from './expire-requests.ts';
import { lives } from './request-index.ts';
import type { ServerClock } from './server-clock.ts';
import type { StoreContext } from './store-context.ts';

/** At most this many batches of lapsed requests in one go. */
const maxBatches = 20;

/** Each part on its own: what goes wrong waits for the next time, and whoever needs the store is told then. */
export async function keepHouse(context: StoreContext, clock: Pick<ServerClock, 'synchronize'>, channel: ChangeChannel): Promise<void> {
  const parts = [
    () => channel.check(),
    () => clock.synchronize(),
    () => expireAll(context),
    () => trimLog(context),
    () => tidyIndexes(context),
  ];
  for (const part of parts) await part().catch(() => undefined);
}

async function expireAll(context: StoreContext): Promise<void> {
  for (let batch = 0; batch < maxBatches; batch += 1) {
    if ((await expireDue(context)) < expiryBatch) return;
  }
}

/** The trail in the shared store lasts a day; whoever must keep it longer exports it. */
async function trimLog({ connections, keys, now }: StoreContext): Promise<void> {
  if (!connections.has('log-trimmer')) return;
  const end = now() - lives.outcome * 1000;
  await connections.as('log-trimmer', (client) => client.zremrangebyscore(keys.log, '-inf', `(${end}`));
}

/** Only an administrator's user may remove; a process that has not needed to be one so far does not become one for this. */
async function tidyIndexes({ connections, keys, now }: StoreContext): Promise<void> {
  if (!connections.isOpen('admin')) return;
  await connections.as('admin', (client) =>
    client.multi().zremrangebyscore(keys.pending, '-inf', 0).zremrangebyscore(keys.history, '-inf', now()).exec(),
  );
}
