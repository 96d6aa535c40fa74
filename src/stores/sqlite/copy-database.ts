/** A copy of a store's file as it is at one moment, while others go on writing. */
import { existsSync } from 'node:fs';
import { loadDriver, requireOurs } from './connect.ts';
import { storeFault } from './sqlite-faults.ts';

/** @throws {Fault} `store_…` for what could not be opened as a store */
export async function requireStore(file: string): Promise<void> {
  const { DatabaseSync } = await loadDriver();
  let connection: InstanceType<typeof DatabaseSync> | undefined;
  try {
    connection = new DatabaseSync(file, { readOnly: true, timeout: 5_000 });
    requireOurs(connection, file);
  } catch (thrown) {
    throw storeFault(thrown, file);
  } finally {
    connection?.close();
  }
}

/**
 * Reads one snapshot and writes it whole, without what was deleted, into `target`, which is empty.
 * @throws {Fault} `store_…`
 */
export async function copyDatabase(file: string, target: string): Promise<void> {
  const { DatabaseSync } = await loadDriver();
  // SQLite's own words for it would not name the file.
  if (!existsSync(file)) throw storeFault(new Error('there is no such file'), file);
  let connection: InstanceType<typeof DatabaseSync> | undefined;
  try {
    connection = new DatabaseSync(file, { readOnly: true, timeout: 5_000 });
    requireOurs(connection, file);
    connection.prepare('VACUUM INTO ?').run(target);
  } catch (thrown) {
    throw storeFault(thrown, file);
  } finally {
    connection?.close();
  }
}
