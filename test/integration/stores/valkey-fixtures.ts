/** A Valkey store for one test, on a server that the whole file shares. */
import { onTestFinished } from 'vitest';
import { openValkeyStore, type ValkeyStore, type ValkeyStoreOptions } from '#stores/valkey/open-valkey-store';
import { sampleCredentials, type ValkeyServer } from './valkey-server.ts';

export async function openTestValkey(server: ValkeyServer, options: Partial<ValkeyStoreOptions> = {}): Promise<ValkeyStore> {
  const store = await openValkeyStore({
    url: server.url,
    credentials: sampleCredentials(),
    ...(server.url.startsWith('valkeys:') ? { caFile: server.caFile } : {}),
    ...options,
  });
  onTestFinished(() => store.close());
  return store;
}
