/** Which call waits for the answer to a request: a key that the waiting process renews. */
import * as z from 'zod';
import { type RequestWait, requestIdPattern } from '#kernel/request';
import { keyReaders } from './find-requests.ts';
import { lives } from './request-index.ts';
import type { StoreContext } from './store-context.ts';

const time = z.number().int().nonnegative();
const schema = z.object({ by: z.string(), until: time, seenAt: time });

/** Only the agent's user may write there; a process without it opens no requests, so it does not wait for any either. */
export async function noteWait(context: StoreContext, { id, by, forMs }: { id: string; by: string; forMs: number }): Promise<void> {
  const { connections, keys } = context;
  if (!requestIdPattern.test(id) || !connections.has('agent')) return;
  const before = await waitOf(context, id);
  // A wait that ends leaves another one's mark alone.
  if (forMs <= 0 && before?.by !== by) return;
  const seenAt = context.now();
  const mark: RequestWait = { by, until: forMs <= 0 ? Math.min(before?.until ?? seenAt, seenAt) : seenAt + forMs, seenAt };
  await connections.as('agent', (client) => client.set(keys.wait(id), JSON.stringify(mark), 'EX', lives.request));
  // Renewing tells nobody anything new.
  if (forMs > 0 && before?.by === by) return;
  await connections.as('agent', (client) => client.publish(keys.channel, context.self));
  context.ring();
}

export async function waitOf({ connections, keys }: StoreContext, id: string): Promise<RequestWait | undefined> {
  if (!requestIdPattern.test(id)) return undefined;
  const text = await connections.asAny(keyReaders, (client) => client.get(keys.wait(id)));
  try {
    return schema.safeParse(JSON.parse(text ?? 'null')).data;
  } catch {
    // Not ours: nobody is known to wait.
    return undefined;
  }
}
