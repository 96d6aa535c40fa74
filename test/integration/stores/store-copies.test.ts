/** A backup of a store in use, and putting one back: whole, verified, never over something silently. */
import { existsSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { backUpStore, restoreStore } from '#app/store/store-copies';
import { createTrailMemory } from '#app/store/trail-memory';
import { verifyTrail } from '#audit/verify-trail';
import type { Store } from '#kernel/ports/store';
import { approved, createApprover, opened, openTestStore, temporaryFolder } from './store-fixtures.ts';

const alice = createApprover();

async function bench() {
  const folder = temporaryFolder();
  const file = join(folder, 'state', 'banksman.db');
  const store = await openTestStore({ file });
  return { folder, file, store, backup: join(folder, 'backup.db') };
}

async function write(store: Store, count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) await store.audit.append({ name: 'tool.finished', attributes: { index } });
}

describe('a backup', () => {
  it('made while others write is one moment of the store, whole, and for this user only', async () => {
    const { file, store, backup } = await bench();
    const { id } = await opened(store);
    const over = new AbortController();
    const writing = (async () => {
      while (!over.signal.aborted) await write(store, 5);
    })();
    const copied = await backUpStore(file, backup);
    over.abort();
    await writing;
    expect(statSync(backup).mode & 0o777).toBe(0o600);
    expect(existsSync(`${backup}-wal`)).toBe(false);
    const there = await openTestStore({ file: backup });
    expect(await there.audit.head()).toEqual(copied.head);
    expect(await verifyTrail(there.audit)).toMatchObject({ ok: true, records: copied.records });
    expect(await there.requests.get(id)).toMatchObject({ status: 'pending' });
  });

  it('is never written over a file that is there, and one that fails leaves nothing', async () => {
    const { folder, file, backup } = await bench();
    writeFileSync(backup, 'mine');
    await expect(backUpStore(file, backup)).rejects.toMatchObject({ code: 'file_exists' });
    expect(readFileSync(backup, 'utf8')).toBe('mine');
    await expect(backUpStore(join(folder, 'no-store.db'), join(folder, 'other.db'))).rejects.toMatchObject({
      message: expect.stringContaining('no-store.db'),
    });
    await expect(backUpStore(file, join(folder, 'not-there', 'other.db'))).rejects.toMatchObject({ code: 'cannot_write' });
    expect(existsSync(join(folder, 'other.db'))).toBe(false);
  });

  it('of a store whose trail does not fit is refused', async () => {
    const { file, store, backup } = await bench();
    await write(store, 5);
    await store.audit.append({ name: 'tool.finished', attributes: { text: 'the-one-that-is-hurt' } });
    await store.close();
    const bytes = readFileSync(file);
    const at = bytes.lastIndexOf('the-one-that-is-hurt');
    bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
    writeFileSync(file, bytes);
    await expect(backUpStore(file, backup)).rejects.toMatchObject({ code: 'bad_backup' });
    expect(existsSync(backup)).toBe(false);
  });
});

describe('restoring', () => {
  it('puts the copy in the store’s place, sets that aside, and says so in the trail', async () => {
    const { file, store, backup } = await bench();
    await write(store, 3);
    const { head } = await backUpStore(file, backup);
    await write(store, 4);
    const before = await store.audit.head();
    const restored = await restoreStore(backup, file, 'user:alice');
    expect(restored).toMatchObject({ before, head: { sequence: 4 } });
    // Whoever worked with the old one is refused, and told why.
    await expect(store.audit.append({ name: 'tool.started', attributes: {} })).rejects.toMatchObject({
      message: expect.stringContaining('removed or replaced'),
    });
    const now = await openTestStore({ file });
    expect((await now.audit.read(3, 10)).map(({ name, attributes }) => [name, attributes])).toEqual([
      ['store.changed', { change: 'restored', by: 'user:alice', to: head, before }],
    ]);
    expect(await verifyTrail(now.audit)).toMatchObject({ ok: true, records: 4 });
    // Who holds a later point sees it.
    expect(await verifyTrail(now.audit, before ? [before] : [])).toMatchObject({ ok: false });
    const aside = await openTestStore({ file: restored.setAside ?? '' });
    expect(await aside.audit.head()).toEqual(before);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('of what is no whole store is refused, and the store stays', async () => {
    const { folder, file, store, backup } = await bench();
    await write(store, 30);
    await backUpStore(file, backup);
    truncateSync(backup, statSync(backup).size - 4096);
    const text = join(folder, 'text.db');
    writeFileSync(text, 'no store');
    for (const bad of [backup, text, join(folder, 'not-there.db')])
      await expect(restoreStore(bad, file, 'user:alice')).rejects.toMatchObject({ code: 'bad_backup' });
    await write(store, 1);
    expect(await store.audit.head()).toMatchObject({ sequence: 31 });
  });

  it('works where the store is gone, or past reading', async () => {
    const { folder, file, store, backup } = await bench();
    await write(store, 3);
    await backUpStore(file, backup);
    await store.close();
    expect(await restoreStore(backup, join(folder, 'new', 'banksman.db'), 'user:alice')).toMatchObject({ setAside: undefined });
    writeFileSync(file, 'ruined');
    const restored = await restoreStore(backup, file, 'user:alice');
    expect(restored.before).toBeUndefined();
    expect(readFileSync(restored.setAside ?? '', 'utf8')).toBe('ruined');
  });

  it('gives no approval a second use', async () => {
    const { file, store, backup } = await bench();
    const granted = await approved(store, alice, Date.now());
    const identity = await store.requests.identity();
    await backUpStore(file, backup);
    expect(await store.requests.consume(granted.id, granted.digest, 'x')).toMatchObject({ ok: true });
    await store.close();
    await restoreStore(backup, file, 'user:alice');
    const again = await openTestStore({ file });
    // A grant belongs to one store, and this is another one.
    expect(await again.requests.identity()).not.toBe(identity);
  });
});

describe('a store that is not the one that was here', () => {
  it('says so in the log and in its own trail, once, until a person accepts it', async () => {
    const { folder, file, store } = await bench();
    const places = { configFile: join(folder, 'config', 'config.json'), stateDir: join(folder, 'state') };
    await write(store, 3);
    await createTrailMemory(places, store).keep();
    const before = await store.audit.head();
    await store.close();
    for (const end of ['', '-wal', '-shm']) if (existsSync(`${file}${end}`)) truncateSync(`${file}${end}`);
    const said: string[] = [];
    const log = { error: (text: string) => void said.push(text), warn: () => undefined, info: () => undefined, debug: () => undefined };
    for (let start = 0; start < 2; start += 1) {
      const anew = await openTestStore({ file });
      const memory = createTrailMemory(places, anew);
      await memory.tellLoss(log);
      await memory.keep();
      await write(anew, 1);
      expect(await memory.finding()).toMatchObject({ state: 'failed', remedy: expect.stringContaining('banksman store accept') });
      expect(await memory.alarm()).toMatchObject({ state: 'failed' });
      await anew.close();
    }
    expect(said).toHaveLength(2);
    expect(said[0]).toMatch(/not the trail that was here.*record 3/);
    const now = await openTestStore({ file });
    const told = (await now.audit.read(0, 10)).filter(({ name }) => name === 'store.changed');
    expect(told.map(({ sequence, attributes }) => [sequence, attributes])).toMatchObject([
      [1, { change: 'began_anew', before: { sequence: 3, hash: before?.hash } }],
    ]);
    const memory = createTrailMemory(places, now);
    expect(await memory.accept('user:alice')).toBe(true);
    expect(await memory.finding()).toBeUndefined();
    expect(await memory.accept('user:alice')).toBe(false);
    expect((await now.audit.read(0, 10)).at(-1)).toMatchObject({ attributes: { change: 'trail_accepted', by: 'user:alice' } });
  });

  it('is missed where only the configuration’s memory is left, or only the state directory’s', async () => {
    const { folder, file, store } = await bench();
    const configFile = join(folder, 'config', 'config.json');
    await write(store, 3);
    await createTrailMemory({ configFile, stateDir: join(folder, 'state') }, store).keep();
    await store.close();
    const other = await openTestStore({ file: join(folder, 'other.db') });
    const there = { audit: other.audit, location: file };
    for (const places of [
      { configFile, stateDir: join(folder, 'gone') },
      { configFile: join(folder, 'gone', 'config.json'), stateDir: join(folder, 'state') },
    ])
      expect(await createTrailMemory(places, there).finding()).toMatchObject({ state: 'failed' });
  });
});
