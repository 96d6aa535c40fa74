/** A copy of a store's file as it is at one moment, while others go on writing. */
import { existsSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { loadDriver, requireOurs } from './connect.ts';
import { storeFault } from './sqlite-faults.ts';

/** @throws {Fault} `store_…` for what could not be opened as a store */
export function requireStore(file: string): Promise<void> {
  return lookInto(file, () => undefined);
}

/**
 * Reads one snapshot and writes it whole, without what was deleted, into `target`, which is empty.
 * @throws {Fault} `store_…`
 */
export function copyDatabase(file: string, target: string): Promise<void> {
  return lookInto(file, (connection) => void connection.prepare('VACUUM INTO ?').run(target));
}

async function lookInto(file: string, work: (connection: DatabaseSync) => void): Promise<void> {
  const driver = await loadDriver();
  // SQLite's own words for it would not name the file.
  if (!existsSync(file)) throw storeFault(new Error('there is no such file'), file);
  let connection: DatabaseSync | undefined;
  try {
    connection = new driver.DatabaseSync(file, { readOnly: true, timeout: 5_000 });
    requireOurs(connection, file);
    work(connection);
  } catch (thrown) {
    throw storeFault(thrown, file);
  } finally {
    connection?.close();
  }
}
