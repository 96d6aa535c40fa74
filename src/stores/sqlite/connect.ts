/** Opens the file, makes it what we expect, or says why that is not possible. Never repairs, replaces or deletes anything. */

import { createHash, randomBytes } from 'node:crypto';
import { chmodSync, closeSync, lstatSync, openSync, readSync, realpathSync, type Stats, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeFolder } from '#files/make-folder';
import { Fault } from '#kernel/errors';
import { say } from '#kernel/text/message';
import { applicationId, migrations } from './schema.ts';
import { corruptFault, isBusy, isValueFault, lockedFault, storeFault } from './sqlite-faults.ts';

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
    () =>
      connection.exec(
        'PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 4000;',
      ),
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
    throw new Fault('node_too_old', say`this Node (${process.version}) has no \`node:sqlite\``, { cause, next: 'use Node 24 or newer' });
  }
}

/** A file that belongs to somebody else is not written to. */
export function requireOurs(connection: DatabaseSync, file: string): void {
  const mark = pragma(connection, 'application_id');
  const tables = Number(connection.prepare('SELECT count(*) AS n FROM sqlite_schema').get()?.n);
  if (mark !== applicationId && (mark !== 0 || tables > 0)) throw corruptFault(file, 'it is a database of another program');
  const version = pragma(connection, 'user_version');
  if (version > migrations.length) throw newerFault(file, version, 'update Banksman here, or choose another folder with `--state`');
  if (statSync(file).size > fullCheckBytes) return;
  const damage = findDamage(connection);
  if (damage !== undefined) throw corruptFault(file, damage);
}

/** Of a file that a newer version has made, or has made over while this process used it. */
export function newerFault(file: string, version: number, next: string): Fault {
  return new Fault(
    'store_too_new',
    say`the store \`${file}\` is of a newer Banksman (version ${version}, this one knows ${migrations.length})`,
    {
      next,
    },
  );
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
    say`the store \`${file}\` lies where SQLite cannot share it between processes (journal mode \`${String(mode)}\`)`,
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

// Waits for a lock without blocking the event loop for longer than SQLite's own short busy timeout.

interface BusyRetryOptions {
  readonly file: string;
  /** How long to go on, in ms. */
  readonly deadlineMs: number;
  /** What to say when time is up. */
  readonly onTimeout: (file: string) => Fault;
  /** Called before every try; throws where going on makes no sense (closed meanwhile). */
  readonly check?: () => void;
}

/**
 * Runs a synchronous step until it is not refused as busy. A step must leave nothing behind when it throws.
 * @throws {Fault} `onTimeout`'s after the deadline; the step's own failure, translated, at once
 */
export async function retryWhileBusy<T>(step: () => T, options: BusyRetryOptions): Promise<T> {
  const deadline = performance.now() + options.deadlineMs;
  for (;;) {
    try {
      options.check?.();
      return step();
    } catch (thrown) {
      if (!isBusy(thrown)) throw storeFault(thrown, options.file);
      if (performance.now() >= deadline) throw options.onTimeout(options.file);
    }
    // Jitter, so that several processes do not meet again and again.
    await sleep(1 + Math.random() * 12);
  }
}

// The file itself: made private before SQLite sees it, and recognized later.

/** https://sqlite.org/fileformat.html#the_database_header */
const magic = 'SQLite format 3\0';

/**
 * Makes the folder (0700) and an empty file (0600) where they are missing, and takes others' rights off an existing file. SQLite gives
 * its `-wal` and `-shm` files the same mode. On Windows modes mean nothing; there the user's profile folder protects the file.
 * @throws the file system's own error; {Fault} `store_unavailable`, `store_corrupt`
 */
function prepareFile(file: string): void {
  makeFolder(dirname(file));
  // Opening follows links, so a link is looked at first: one that another user made could point anywhere.
  const found = lstatSync(file, { throwIfNoEntry: false });
  if (found) requireDatabase(file, found);
  // Opening for writing finds a read-only file or file system here, with a clear error.
  closeSync(openSync(file, 'a', 0o600));
  if (process.platform !== 'win32' && found && (found.mode & 0o077) !== 0) chmodSync(file, 0o600);
}

/** Which file this path is now; undefined where there is none. */
export function fileIdentity(file: string): string | undefined {
  const found = statSync(file, { bigint: true, throwIfNoEntry: false });
  return found && `${found.dev}:${found.ino}`;
}

/**
 * A name for this file in this place: its device, number, time of birth and path, which no copy has (birth cannot be set). Under several names
 * (hard links) it is another one each time, so that nothing given under one of them counts.
 * LIMIT: contents that are written back into the same file, or an image of the whole disk, are not told apart.
 */
export function placeOf(file: string): string {
  const { dev, ino, birthtimeNs, nlink } = statSync(file, { bigint: true });
  const odd = nlink === 1n ? '' : randomBytes(16).toString('hex');
  return createHash('sha256')
    .update([dev, ino, birthtimeNs, realpathSync(file), odd].join('\0'))
    .digest('base64url');
}

function requireDatabase(file: string, found: Stats): void {
  if (!found.isFile()) {
    throw new Fault('store_unavailable', say`the store \`${file}\` is not a plain file`, {
      next: 'move away what stands there, or choose another folder with `--state`',
    });
  }
  // SQLite takes a file that is shorter than a page for an empty one and writes over it.
  if (found.size > 0 && headOf(file) !== magic) throw corruptFault(file, 'it does not start like a database');
}

function headOf(file: string): string {
  const descriptor = openSync(file, 'r');
  try {
    const head = Buffer.alloc(magic.length);
    return head.toString('latin1', 0, readSync(descriptor, head));
  } finally {
    closeSync(descriptor);
  }
}
