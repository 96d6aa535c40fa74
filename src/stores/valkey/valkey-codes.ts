/** One-time codes in the shared store. The administrator's user alone may write them; a key is gone with `GETDEL`, so one process gets it. */
import * as z from 'zod';
import { requestIdPattern, requestLifeMs } from '#kernel/approval/request';
import type { CodeStore, StoredCode } from '#kernel/ports/code-store';
import type { StoreContext } from './store-context.ts';

const valueSchema = z.strictObject({
  salt: z.string().min(1),
  hash: z.string().min(1),
  wrong: z.number().int().min(0),
  /** ms since the epoch, by the server's clock. */
  expiresAt: z.number(),
});

export function createValkeyCodes({ connections, keys, now, replication }: StoreContext): CodeStore {
  const textOf = ({ salt, hash, wrong }: StoredCode, leftMs: number): string =>
    JSON.stringify({ salt, hash, wrong, expiresAt: Math.round(now() + leftMs) });
  return {
    // The key outlives the code for a while, so that who comes late is told why.
    put: async (requestId, code, lifeMs) => {
      const value = textOf({ ...code, wrong: 0 }, lifeMs);
      await connections.as('admin', (client) => client.set(keys.code(requestId), value, 'PX', requestLifeMs));
    },
    // SECURITY: a code that a fail-over brings back could be tried again, so its taking is confirmed.
    take: async (requestId) => {
      if (!requestIdPattern.test(requestId)) return undefined;
      const text = await connections.as('admin', async (client) => {
        await replication.require(client);
        const taken = await client.getdel(keys.code(requestId));
        if (taken !== null) await replication.confirm(client);
        return taken;
      });
      const value = valueIn(text);
      if (value === undefined) return undefined;
      const { expiresAt, ...code } = value;
      return { code, leftMs: expiresAt - now() };
    },
    putBack: async (requestId, code, leftMs) => {
      const value = textOf(code, leftMs);
      await connections.as('admin', (client) => client.set(keys.code(requestId), value, 'PX', requestLifeMs, 'NX'));
    },
  };
}

/** undefined: there is none, or something else wrote there. */
function valueIn(text: string | null): z.output<typeof valueSchema> | undefined {
  try {
    return valueSchema.safeParse(JSON.parse(text ?? '')).data;
  } catch {
    return undefined;
  }
}
