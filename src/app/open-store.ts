/** The store that the configuration names. */
import { join } from 'node:path';
import { seal } from '#audit/seal';
import { Fault } from '#kernel/errors';
import type { Store } from '#kernel/ports/store';
import { openSqliteStore } from '#stores/sqlite/open-sqlite-store';
import type { Config } from './config.ts';
import { openStoreInWorker } from './store-client.ts';

export interface StoreOptions {
  readonly config: Config;
  readonly stateDir: string;
  /** Path of the bundled worker; absent: on this thread. */
  readonly storeWorker?: string;
}

/** File of the embedded store in the state directory. */
export const storeFileName = 'banksman.db';

/** @throws {Fault} `store_…` with the file and the remedy */
export async function openStore(options: StoreOptions): Promise<Store> {
  if (!options.config.store.startsWith('sqlite:')) {
    throw new Fault('store_not_supported', `\`store\`: \`${options.config.store}\` is not supported by this version`, {
      next: 'use `sqlite:` (Valkey comes with issue 4)',
    });
  }
  const named = options.config.store.slice('sqlite:'.length);
  const file = named === '' ? join(options.stateDir, storeFileName) : join(options.stateDir, named);
  return options.storeWorker === undefined ? openSqliteStore({ file, seal }) : openStoreInWorker({ worker: options.storeWorker, file });
}
