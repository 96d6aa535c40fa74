/** Opens the file, makes it what we expect, or says why that is not possible. Never repairs, replaces or deletes anything. */
import { statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { Fault } from '#kernel/errors';
import { type BusyRetryOptions, retryWhileBusy } from './busy-retry.ts';
import { applicationId, migrations } from './schema.ts';
import { corruptFault, lockedFault, storeFault } from './sqlite-faults.ts';
import { prepareFile } from './store-file.ts';

export interface DatabaseOptions {
  readonly file: string;
  /** How long an operation waits for other processes, in ms. */
  readonly busyDeadlineMs: number;
}

/** What SQLite itself may block the thread for; the rest is waited for asynchronously. */
const busyTimeoutMs = 20;
/** Up to this size the whole file is checked at every start (about 10 ms); beyond it, damage shows when it is met. */
const fullCheckBytes = 8 * 1024 * 1024;

/**
 * @throws {Fault} `node_too_old`, `store_locked`, `store_corrupt`, `store_read_only`, `store_full`, `store_too_new`, `store_unavailable`
 */
export async function connect(options: DatabaseOptions): Promise<DatabaseSync> {
  const { DatabaseSync } = await loadDriver();
  const { file } = options;
  let connection: DatabaseSync | undefined;
  try {
    prepareFile(file);
    const retry = { file, deadlineMs: options.busyDeadlineMs, onTimeout: lockedFault };
    const opened = new DatabaseSync(file, {
      timeout: busyTimeoutMs,
      enableForeignKeyConstraints: true,
      enableDoubleQuotedStringLiterals: false,
    });
    connection = opened;
    await setUp(opened, retry);
    return opened;
  } catch (thrown) {
    connection?.close();
    throw storeFault(thrown, file);
  }
}

async function setUp(connection: DatabaseSync, retry: BusyRetryOptions): Promise<void> {
  // Even `PRAGMA synchronous` reads the file first, so it may find it locked.
  await retryWhileBusy(
    () => connection.exec('PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA synchronous = FULL;'),
    retry,
  );
  await retryWhileBusy(() => requireOurs(connection, retry.file), retry);
  // Switching a fresh file to WAL does not wait for other processes that do the same: hence the retry, also for the switch itself.
  await retryWhileBusy(() => switchToWal(connection, retry.file), retry);
  await retryWhileBusy(() => migrate(connection, retry.file), retry);
}

async function loadDriver(): Promise<typeof import('node:sqlite')> {
  try {
    return await import('node:sqlite');
  } catch (cause) {
    throw new Fault('node_too_old', `this Node (${process.version}) has no \`node:sqlite\``, { cause, next: 'use Node 24 or newer' });
  }
}

/** A file that belongs to somebody else is not written to. */
function requireOurs(connection: DatabaseSync, file: string): void {
  const mark = pragma(connection, 'application_id');
  const tables = Number(connection.prepare('SELECT count(*) AS n FROM sqlite_schema').get()?.n);
  if (mark !== applicationId && (mark !== 0 || tables > 0)) throw corruptFault(file, 'it is a database of another program');
  const version = pragma(connection, 'user_version');
  if (version > migrations.length) {
    throw new Fault(
      'store_too_new',
      `the store \`${file}\` was made by a newer Banksman (version ${version}, this one knows ${migrations.length})`,
      {
        next: 'update Banksman here, or choose another folder with `--state`',
      },
    );
  }
  if (statSync(file).size > fullCheckBytes) return;
  const verdict = connection.prepare('PRAGMA quick_check(1)').get()?.quick_check;
  if (verdict !== 'ok') throw corruptFault(file, String(verdict));
}

function switchToWal(connection: DatabaseSync, file: string): void {
  const mode = connection.prepare('PRAGMA journal_mode = WAL').get()?.journal_mode;
  if (mode === 'wal') return;
  throw new Fault(
    'store_unavailable',
    `the store \`${file}\` lies where SQLite cannot share it between processes (journal mode \`${String(mode)}\`)`,
    {
      next: 'choose a folder on a local disk with `--state`',
    },
  );
}

function migrate(connection: DatabaseSync, file: string): void {
  if (pragma(connection, 'user_version') === migrations.length) return;
  connection.exec('BEGIN IMMEDIATE');
  try {
    // Read again: another process may have been faster.
    requireOurs(connection, file);
    for (const step of migrations.slice(pragma(connection, 'user_version'))) connection.exec(step);
    connection.exec(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${migrations.length}; COMMIT`);
  } catch (thrown) {
    if (connection.isTransaction) connection.exec('ROLLBACK');
    throw thrown;
  }
}

function pragma(connection: DatabaseSync, name: 'application_id' | 'user_version'): number {
  return Number(connection.prepare(`PRAGMA ${name}`).get()?.[name]);
}
