/** Which call waits for the answer to a request: a key that the waiting process renews. */
import * as z from 'zod';
import { type RequestWait, requestIdPattern } from '#kernel/request';
import { keyReaders } from './find-requests.ts';
import { lives } from './request-index.ts';
import type { StoreContext } from './store-context.ts';

const time = z.number().int().nonnegative();
const schema = z.object({ by: z.string(), until: time, seenAt: time });

interface WaitNote {
  readonly id: string;
  readonly by: string;
  readonly forMs: number;
}

/** Only the agent's user may write there; a process without it opens no requests, so it does not wait for any either. */
export async function noteWait(context: StoreContext, note: WaitNote): Promise<void> {
  const { connections, keys } = context;
  if (!requestIdPattern.test(note.id) || !connections.has('agent')) return;
  const before = await waitOf(context, note.id);
  const isMine = before?.by === note.by;
  const ends = note.forMs <= 0;
  // A wait that ends leaves another one's mark alone.
  if (ends && !isMine) return;
  const mark = markOf(note, before, context.now());
  await connections.as('agent', (client) => client.set(keys.wait(note.id), JSON.stringify(mark), 'EX', lives.request));
  // Renewing tells nobody anything new.
  if (isMine && !ends) return;
  await connections.as('agent', (client) => client.publish(keys.channel, context.self));
  context.ring();
}

function markOf({ by, forMs }: WaitNote, before: RequestWait | undefined, now: number): RequestWait {
  return { by, until: forMs > 0 ? now + forMs : Math.min(before?.until ?? now, now), seenAt: now };
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
