/** The store that the configuration names. */
import { join } from 'node:path';
import { seal } from '#audit/seal';
import type { PersonaLedger } from '#kernel/ports/persona-ledger';
import type { Store } from '#kernel/ports/store';
import { openSqliteStore } from '#stores/sqlite/open-sqlite-store';
import type { Config } from './config.ts';
import { expandPath } from './paths.ts';
import { openStoreInWorker } from './store-client.ts';

export interface StoreOptions {
  readonly config: Config;
  readonly stateDir: string;
  /** Path of the bundled worker; absent: on this thread. */
  readonly storeWorker?: string;
}

/** File of the embedded store in the state directory. */
export const storeFileName = 'banksman.db';

/** Credentials of the shared store's roles, where its URL names no other file. */
const credentialsFileName = 'credentials.json';

/** @throws {Fault} `store_…` with the place and the remedy */
export async function openStore(options: StoreOptions): Promise<Store> {
  if (!options.config.store.startsWith('sqlite:')) return openShared(options);
  const named = options.config.store.slice('sqlite:'.length);
  const file = named === '' ? join(options.stateDir, storeFileName) : expandPath(named, options.stateDir);
  return options.storeWorker === undefined ? openSqliteStore({ file, seal }) : openStoreInWorker({ worker: options.storeWorker, file });
}

/** Counts what is on this machine's disk: the store's own ledger, or beside a shared one a local file. */
export async function openLedger(
  store: Store,
  { stateDir }: StoreOptions,
): Promise<{ readonly ledger: PersonaLedger; close(): Promise<void> }> {
  if (store.personas !== undefined) return { ledger: store.personas, close: async () => undefined };
  const local = await openSqliteStore({ file: join(stateDir, storeFileName), seal });
  return { ledger: local.personas, close: () => local.close() };
}

/** Files in the URL count from the state directory, and may begin with `~`. */
async function openShared({ config, stateDir }: StoreOptions): Promise<Store> {
  const [{ openValkeyStore }, { parseStoreUrl }] = await Promise.all([
    import('#stores/valkey/open-valkey-store'),
    import('#stores/valkey/store-url'),
  ]);
  const { credentialsFile = credentialsFileName, caFile } = parseStoreUrl(config.store);
  return openValkeyStore({
    url: config.store,
    credentials: expandPath(credentialsFile, stateDir),
    ...(caFile === undefined ? {} : { caFile: expandPath(caFile, stateDir) }),
  });
}
