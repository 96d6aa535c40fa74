/** One connection to the store's file: how it is opened, read and written. */

import { closeSync, fdatasync, openSync } from 'node:fs';
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { Fault } from '#kernel/errors';
import { say } from '#kernel/text/message';
import { connect, type DatabaseOptions, fileIdentity, newerFault, placeOf, retryWhileBusy } from './connect.ts';
import { migrations } from './schema.ts';
import { busyFault, storeFault } from './sqlite-faults.ts';

const syncData = promisify(fdatasync);

export type Row = Readonly<Record<string, unknown>>;

/** SQL inside one transaction. Statements are prepared once and kept. */
export interface Transaction {
  get(sql: string, ...values: SQLInputValue[]): Row | undefined;
  all(sql: string, ...values: SQLInputValue[]): readonly Row[];
  /** Returns the number of changed rows. */
  run(sql: string, ...values: SQLInputValue[]): number;
  /** The same for what nobody has to be told of. */
  note(sql: string, ...values: SQLInputValue[]): void;
}

export interface Database {
  readonly file: string;
  /** `work` sees one snapshot. It is synchronous and may be run again. */
  read<T>(work: (tx: Transaction) => T): Promise<T>;
  /**
   * Durable when it resolves, undone when it rejects. `work` is synchronous and may be run again.
   * @throws {Fault} `store_busy`, `store_full`, `store_read_only`, `store_corrupt`, `store_unavailable`, `store_closed`
   */
  write<T>(work: (tx: Transaction) => T): Promise<T>;
  /** The same, waiting for the disk beside this thread, which goes on meanwhile: what was committed outlives this process at once. */
  writeAside<T>(work: (tx: Transaction) => T): Promise<T>;
  /** Names this file where it lies. @throws {Fault} `store_unavailable` where it was replaced */
  identity(): Promise<string>;
  /** A number that changes when another connection committed (https://sqlite.org/pragma.html#pragma_data_version). */
  dataVersion(): number;
  /** Calls back after every own commit that changed something. */
  onCommit(listener: () => void): void;
  close(): void;
}

export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const connection = await connect(options);
  const { file } = options;
  const identity = fileIdentity(file);
  const session = createSession(connection, (version) => {
    if (version !== migrations.length)
      throw newerFault(file, version, 'an update has changed it while this process used it: start this one again, updated as well');
  });
  let afterCommit = (): void => {};
  let open = true;

  const requireSameFile = (): void => {
    if (!open) throw new Fault('store_closed', say`the store \`${file}\` has been closed`, { audience: 'bug' });
    // A removed file goes on working for SQLite: what is written to it would be gone, and what is read is no longer what others see.
    if (fileIdentity(file) !== identity) {
      throw new Fault('store_unavailable', say`the store \`${file}\` was removed or replaced while it was in use`, {
        next: 'find out who did that, put the file back, and start again',
      });
    }
  };
  const retry = { file, deadlineMs: options.busyDeadlineMs, onTimeout: busyFault };
  const write = async <T>(work: (tx: Transaction) => T, transact = session.transact): Promise<T> => {
    const { value, changed } = await retryWhileBusy(() => transact('BEGIN IMMEDIATE', work), { ...retry, check: requireSameFile });
    if (changed) afterCommit();
    return value;
  };
  const log = writeAheadLog(file);
  return {
    file,
    read: (work) => retryWhileBusy(() => session.transact('BEGIN', work).value, { ...retry, check: requireSameFile }),
    write,
    writeAside: async (work) => {
      const value = await write(work, session.transactUnsynced);
      await log.sync();
      return value;
    },
    identity: async () => {
      requireSameFile();
      return placeOf(file);
    },
    dataVersion: () => Number(session.tx.get('PRAGMA data_version')?.data_version),
    onCommit: (listener) => {
      afterCommit = listener;
    },
    close: () => {
      if (open) connection.close();
      open = false;
      log.close();
    },
  };
}

type Transact = <T>(begin: 'BEGIN' | 'BEGIN IMMEDIATE', work: (tx: Transaction) => T) => { readonly value: T; readonly changed: boolean };

interface Session {
  readonly tx: Transaction;
  readonly transact: Transact;
  /** Its commit does not wait for the disk (https://sqlite.org/pragma.html#pragma_synchronous). */
  readonly transactUnsynced: Transact;
}

/** @param requireVersion throws where a transaction meets another version of the schema than this process knows */
function createSession(connection: DatabaseSync, requireVersion: (version: number) => void): Session {
  const statements = new Map<string, StatementSync>();
  let changed = false;
  const statement = (sql: string): StatementSync => {
    const known = statements.get(sql) ?? connection.prepare(sql);
    statements.set(sql, known);
    return known;
  };
  const tx: Transaction = {
    get: (sql, ...values) => statement(sql).get(...values),
    all: (sql, ...values) => statement(sql).all(...values),
    note: (sql, ...values) => void statement(sql).run(...values),
    run: (sql, ...values) => {
      changed = true;
      return Number(statement(sql).run(...values).changes);
    },
  };
  const transact: Transact = (begin, work) => {
    changed = false;
    statement(begin).run();
    try {
      requireVersion(Number(tx.get('PRAGMA user_version')?.user_version));
      const value = work(tx);
      statement('COMMIT').run();
      return { value, changed };
    } catch (thrown) {
      rollBack(connection);
      throw thrown;
    }
  };
  return {
    tx,
    transact,
    transactUnsynced: (begin, work) => {
      connection.exec('PRAGMA synchronous = NORMAL');
      try {
        return transact(begin, work);
      } finally {
        connection.exec('PRAGMA synchronous = FULL');
      }
    },
  };
}

/**
 * The file that commits go to first (https://sqlite.org/wal.html). It stays the same one while a connection is open; one of its own is opened
 * for it, which is no danger to SQLite's locks: those are on its other two files.
 */
function writeAheadLog(file: string): { sync(): Promise<void>; close(): void } {
  let descriptor: number | undefined;
  return {
    sync: async () => {
      descriptor ??= openSync(`${file}-wal`, 'r+');
      await syncData(descriptor).catch((thrown: unknown) => {
        throw storeFault(thrown, file);
      });
    },
    close: () => {
      if (descriptor !== undefined) closeSync(descriptor);
      descriptor = undefined;
    },
  };
}

/** After some errors (disk full) SQLite has rolled back by itself and says so with another error, which tells nothing new. */
function rollBack(connection: DatabaseSync): void {
  try {
    connection.exec('ROLLBACK');
  } catch {
    // The first error is the one to report.
  }
}
