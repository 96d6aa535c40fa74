/** Opens the file, makes it what we expect, or says why that is not possible. Never repairs, replaces or deletes anything. */
import { statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { Fault } from '#kernel/errors';
import { type BusyRetryOptions, retryWhileBusy } from './busy-retry.ts';
import { applicationId, migrations } from './schema.ts';
import { corruptFault, isBusy, isValueFault, lockedFault, storeFault } from './sqlite-faults.ts';
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

export async function loadDriver(): Promise<typeof import('node:sqlite')> {
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
  const damage = findDamage(connection);
  if (damage !== undefined) throw corruptFault(file, damage);
}

/**
 * What is wrong with the file as a database, by table; undefined where it is whole. One record that is none any more is no such damage: who
 * reads it is told, and the others stay usable.
 */
export function findDamage(connection: DatabaseSync): string | undefined {
  connection.exec('PRAGMA ignore_check_constraints = ON');
  try {
    const whole = quickCheck(connection, '1');
    if (whole === undefined) return undefined;
    const tables = connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
    const found = tables
      .map(({ name }) => ({ name, flaw: quickCheck(connection, `"${String(name)}"`) }))
      .filter(({ flaw }) => flaw !== undefined);
    if (found.length === 0) return whole === aValue ? undefined : whole;
    return found.map(({ name, flaw }) => `table \`${String(name)}\`: ${flaw}`).join('; ');
  } finally {
    connection.exec('PRAGMA ignore_check_constraints = OFF');
  }
}

/** What the check of the whole file says where one value stopped it. */
const aValue = 'a value that cannot be read';

/** SQLite's word on the first flaw. A page that is none at all makes it throw instead of answering. */
function quickCheck(connection: DatabaseSync, part: string): string | undefined {
  try {
    const verdict = connection.prepare(`PRAGMA quick_check(${part})`).get()?.['quick_check'];
    return verdict === 'ok' ? undefined : String(verdict).replace(/^\*\*\* in database main \*\*\*\n/, '');
  } catch (thrown) {
    if (isBusy(thrown)) throw thrown;
    // A record that is no JSON any more stops the check at a column that is made from it: the pages themselves are looked at then.
    if (isValueFault(thrown)) return part.startsWith('"') ? countRows(connection, part) : aValue;
    return thrown instanceof Error ? thrown.message : String(thrown);
  }
}

/** Reads every leaf of the table. */
function countRows(connection: DatabaseSync, table: string): string | undefined {
  try {
    connection.prepare(`SELECT count(*) FROM ${table} NOT INDEXED`).get();
    return undefined;
  } catch (thrown) {
    return thrown instanceof Error ? thrown.message : String(thrown);
  }
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
