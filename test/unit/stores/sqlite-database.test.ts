import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Database, openDatabase, type Transaction } from '#stores/sqlite/database';

const folder = mkdtempSync(path.join(tmpdir(), 'banksman-database-'));
let database: Database;

/** https://sqlite.org/pragma.html#pragma_synchronous: 1 does not wait for the disk at a commit, 2 does. */
const syncsAtCommit = (tx: Transaction) => Number(tx.get('PRAGMA synchronous')?.synchronous) === 2;

describe('a transaction', () => {
  beforeAll(async () => {
    database = await openDatabase({ file: path.join(folder, 'store.sqlite'), busyDeadlineMs: 5_000 });
    await database.write((tx) => tx.run('CREATE TABLE noted (word TEXT)'));
  });
  afterAll(() => {
    database.close();
    rmSync(folder, { recursive: true });
  });

  it('waits for the disk as it commits', async () => {
    expect(await database.write(syncsAtCommit)).toBe(true);
  });

  it('that waits beside the thread leaves the next one as it was, also where it fails', async () => {
    expect(await database.writeAside(syncsAtCommit)).toBe(false);
    expect(await database.write(syncsAtCommit)).toBe(true);
    const failing = database.writeAside(() => {
      throw new RangeError('no');
    });
    await expect(failing).rejects.toThrow('no');
    expect(await database.write(syncsAtCommit)).toBe(true);
  });

  it('that waits beside the thread is seen by another connection once it resolved', async () => {
    await database.writeAside((tx) => tx.run("INSERT INTO noted VALUES ('aside')"));
    const other = await openDatabase({ file: database.file, busyDeadlineMs: 5_000 });
    expect(await other.read((tx) => tx.all('SELECT word FROM noted'))).toMatchObject([{ word: 'aside' }]);
    other.close();
  });
});
