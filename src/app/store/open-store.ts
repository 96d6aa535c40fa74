/** The store that the configuration names. */
import { join } from 'node:path';
import { seal } from '#audit/seal';
import type { PersonaLedger } from '#kernel/ports/persona-ledger';
import type { Store } from '#kernel/ports/store';
import { openSqliteStore } from '#stores/sqlite/open-sqlite-store';
import type { Config } from '../config/config.ts';
import { expandPath } from '../config/paths.ts';
import { engineOf } from './engines.ts';
import { openStoreInWorker } from './store-client.ts';

export interface StoreOptions {
  readonly config: Config;
  readonly stateDir: string;
  /** Path of the bundled worker; absent: on this thread. */
  readonly storeWorker?: string;
}

/** File of the embedded store in the state directory. */
export const storeFileName = 'banksman.db';

/** @throws {Fault} `store_…` with the place and the remedy */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { store: url } = options.config;
  if (!url.startsWith('sqlite:')) return engineOf(url).open(url, (file) => expandPath(file, options.stateDir));
  const file = embeddedFile(options);
  return options.storeWorker === undefined ? openSqliteStore({ file, seal }) : openStoreInWorker({ worker: options.storeWorker, file });
}

/** Where the embedded store is. */
export function embeddedFile({ config, stateDir }: StoreOptions): string {
  const named = config.store.slice('sqlite:'.length);
  return named === '' ? join(stateDir, storeFileName) : expandPath(named, stateDir);
}

/** Every file of the store's on this machine, absolute where the state directory is. */
export function storeFilesOf(options: StoreOptions): readonly string[] {
  const { config, stateDir } = options;
  const local = withSidecars(join(stateDir, storeFileName));
  if (config.store.startsWith('sqlite:')) return [...local, ...withSidecars(embeddedFile(options))];
  const named = engineOf(config.store).files(config.store);
  return [...local, ...named.map((file) => expandPath(file, stateDir))];
}

/** https://sqlite.org/tempfiles.html */
function withSidecars(file: string): readonly string[] {
  return ['', '-wal', '-shm', '-journal'].map((end) => `${file}${end}`);
}

/**
 * Counts what is on this machine's disk: the store's own ledger, or beside a shared one a local file. Where that cannot be made (a home that
 * cannot be written), only what needs it fails.
 */
export async function openLedger(
  store: Store,
  { stateDir }: StoreOptions,
): Promise<{ readonly ledger: PersonaLedger; close(): Promise<void> }> {
  if (store.personas !== undefined) return { ledger: store.personas, close: async () => undefined };
  try {
    const local = await openSqliteStore({ file: join(stateDir, storeFileName), seal });
    return { ledger: local.personas, close: () => local.close() };
  } catch (thrown) {
    return { ledger: failingLedger(thrown), close: async () => undefined };
  }
}

function failingLedger(thrown: unknown): PersonaLedger {
  const fail = async (): Promise<never> => Promise.reject(thrown);
  return { open: fail, find: fail, reserve: fail, settle: fail, recount: fail, list: fail, takeUnused: fail };
}
