/** Files that cannot be used: each is told with the file and the remedy, and left exactly as it was. */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { verifyTrail } from '#audit/verify-trail';
import { startChild } from './child-process.ts';
import { draftBy, opened, openTestStore, temporaryFolder } from './store-fixtures.ts';

const newFile = (): string => join(temporaryFolder(), 'state', 'banksman.db');

/** A closed store with something in it. */
async function usedFile(records = 3): Promise<string> {
  const file = newFile();
  const store = await openTestStore({ file });
  for (let index = 0; index < records; index += 1)
    await store.audit.append({ name: 'tool.started', attributes: { index, text: 'x'.repeat(3000) } });
  await store.close();
  return file;
}

async function expectFault(file: string, code: string, next: RegExp): Promise<void> {
  const content = (): string => (existsSync(file) && statSync(file).isFile() ? readFileSync(file, 'latin1') : 'no file');
  const before = content();
  const attempt = openTestStore({ file, busyDeadlineMs: 200 });
  await expect(attempt).rejects.toMatchObject({
    name: 'Fault',
    code,
    message: expect.stringContaining(file),
    next: expect.stringMatching(next),
  });
  // A comparison of our own: a failed `toBe` would print both files.
  expect(content() === before).toBe(true);
}

describe('a file that is no store', () => {
  it.each([
    ['text', 'this is a diary, not a database. '.repeat(100)],
    ['one byte', 'x'],
    ['zeros', Buffer.alloc(8192)],
    ['noise', Buffer.from(Array.from({ length: 9000 }, (_, index) => (index * 7919) % 251))],
  ])('but %s is refused as corrupt', async (_, content) => {
    const file = newFile();
    mkdirSync(dirname(file));
    writeFileSync(file, content, { mode: 0o600 });
    await expectFault(file, 'store_corrupt', /keep a copy/);
  });

  it('but a database of another program is refused and not touched', async () => {
    const file = newFile();
    mkdirSync(dirname(file));
    const other = new DatabaseSync(file);
    other.exec('CREATE TABLE diary (entry TEXT); INSERT INTO diary VALUES (1)');
    other.close();
    chmodSync(file, 0o600);
    await expectFault(file, 'store_corrupt', /keep a copy/);
  });

  it('because a page of it was overwritten is refused as corrupt', async () => {
    const file = await usedFile();
    const bytes = readFileSync(file);
    bytes.fill(0xa5, 4096, 12_288);
    writeFileSync(file, bytes);
    await expectFault(file, 'store_corrupt', /keep a copy/);
  });

  it('because its end is missing is refused as corrupt', async () => {
    const file = await usedFile(20);
    truncateSync(file, Math.floor(statSync(file).size / 2 / 4096) * 4096);
    await expectFault(file, 'store_corrupt', /keep a copy/);
  });

  it('because a newer version made it is refused by its version', async () => {
    const file = await usedFile();
    const raw = new DatabaseSync(file);
    raw.exec('PRAGMA user_version = 99');
    raw.close();
    await expectFault(file, 'store_too_new', /update Banksman/);
  });

  it('but a folder, or a link, is refused', async () => {
    const file = newFile();
    mkdirSync(file, { recursive: true });
    await expectFault(file, 'store_unavailable', /--state/);
    const link = newFile();
    mkdirSync(dirname(link));
    symlinkSync(await usedFile(), link);
    await expectFault(link, 'store_unavailable', /--state/);
  });

  it('because a file stands where its folder should be is refused', async () => {
    const file = newFile();
    writeFileSync(dirname(file), 'in the way');
    await expect(openTestStore({ file })).rejects.toMatchObject({ code: 'store_unavailable', message: expect.stringContaining(file) });
  });

  it('but empty becomes one', async () => {
    const file = newFile();
    mkdirSync(dirname(file));
    writeFileSync(file, '', { mode: 0o644 });
    const store = await openTestStore({ file });
    expect(await store.requests.countPending()).toBe(0);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });
});

describe('the file', () => {
  it('and its companions are for their owner alone, the folder, too', async () => {
    const file = newFile();
    const store = await openTestStore({ file });
    await opened(store);
    expect(statSync(dirname(file)).mode & 0o777).toBe(0o700);
    for (const name of [file, `${file}-wal`, `${file}-shm`]) expect(statSync(name).mode & 0o777, name).toBe(0o600);
  });

  it('keeps the write-ahead log that a crash left, and recovers from it', async () => {
    const file = newFile();
    const store = await openTestStore({ file });
    const record = await opened(store);
    const copy = join(dirname(file), 'copy.db');
    // What a crash leaves: the files as they are while the store is open.
    copyFileSync(file, copy);
    copyFileSync(`${file}-wal`, `${copy}-wal`);
    expect(await (await openTestStore({ file: copy })).requests.get(record.id)).toEqual(record);
  });

  it('that disappears while it is in use is noticed before anything more is written', async () => {
    const file = newFile();
    const store = await openTestStore({ file });
    renameSync(file, `${file}.moved`);
    await expect(opened(store)).rejects.toMatchObject({
      code: 'store_unavailable',
      message: expect.stringContaining('removed or replaced'),
    });
    await expect(store.audit.append({ name: 'tool.started', attributes: {} })).rejects.toMatchObject({ code: 'audit_unavailable' });
    copyFileSync(`${file}.moved`, file);
    await expect(opened(store)).rejects.toMatchObject({ code: 'store_unavailable' });
    rmSync(file);
    renameSync(`${file}.moved`, file);
    await opened(store);
    expect(await verifyTrail(store.audit)).toMatchObject({ ok: true, records: 1 });
  });

  it('that is damaged while it is in use is told as corrupt when the damage is met', async () => {
    // More than fits into SQLite's page cache (2 MB), so that reading has to go to the file.
    const file = await usedFile(1500);
    const store = await openTestStore({ file });
    const bytes = readFileSync(file);
    bytes.fill(0xa5, 8192);
    writeFileSync(file, bytes);
    const read = store.audit.read(0, 2000).then((records) => records.length);
    await expect(read).rejects.toMatchObject({ code: 'store_corrupt', message: expect.stringContaining(file) });
  });

  it('takes up where another version of the same schema left it', async () => {
    const file = await usedFile();
    const store = await openTestStore({ file });
    await opened(store, draftBy('mcp:later'));
    expect(await verifyTrail(store.audit)).toMatchObject({ ok: true, records: 4 });
  });
});

// A mount namespace of one's own is the one way to a read-only or full disk that also binds root; containers often forbid it.
const namespace = process.getuid?.() === 0 ? ['unshare', '-m'] : ['unshare', '-Urm'];
const canMount = spawnSync(namespace[0] ?? '', [...namespace.slice(1), 'sh', '-c', 'mount -t tmpfs none /mnt']).status === 0;

/** Starts a child behind these mount commands; `$0` in them is the folder. */
function mounted(folder: string, commands: string, child: string, values: readonly string[]) {
  return startChild(child, values, [...namespace, 'sh', '-c', `${commands} && exec "$@"`, folder]);
}

describe.skipIf(!canMount)('a disk', () => {
  it('that is read-only is told as such, for a store that is there and for one that is not', async () => {
    const file = await usedFile();
    const folder = dirname(file);
    const readOnly = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0"';
    for (const name of ['banksman.db', 'other.db', 'new/banksman.db']) {
      const fault = JSON.parse(await mounted(folder, readOnly, 'try-open', [join(folder, name)]).line());
      expect(fault).toMatchObject({ code: 'store_read_only', next: expect.stringContaining('--state') });
      expect(fault.message).toContain(join(folder, name));
    }
    expect(await (await openTestStore({ file })).audit.head()).toMatchObject({ sequence: 3 });
  });

  it('that is full from the start is told as full', async () => {
    const folder = temporaryFolder();
    const full = 'mount -t tmpfs -o size=64k none "$0" && (head -c 200000 /dev/zero > "$0/ballast" || true)';
    const fault = JSON.parse(await mounted(folder, full, 'try-open', [join(folder, 'banksman.db')]).line());
    expect(fault).toMatchObject({ code: 'store_full', retryable: true, next: expect.stringContaining('free some disk space') });
  });

  it('that fills up refuses, loses nothing that was acknowledged, and goes on once there is room', async () => {
    const folder = temporaryFolder();
    const child = mounted(folder, 'mount -t tmpfs -o size=1m none "$0"', 'fill-disk', [folder]);
    expect(JSON.parse(await child.line())).toMatchObject({
      code: 'audit_unavailable',
      retryable: true,
      message: expect.stringContaining('disk is full'),
    });
    expect(JSON.parse(await child.line())).toMatchObject({ code: 'store_full', retryable: true });
    expect(JSON.parse(await child.line())).toEqual({ ok: true, lost: 0, pending: 'pending' });
    expect(JSON.parse(await child.line())).toEqual({ ok: true, added: 1 });
  });
});
