/** What only this engine has: housekeeping, its file, the Node it needs. */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { migrations } from '#stores/sqlite/schema';
import { isBusy, storeFault } from '#stores/sqlite/sqlite-faults';
import { createFakeClock, opened, openTestStore, requestTransitions, temporaryFolder } from '../../integration/stores/store-fixtures.ts';

describe('housekeeping', () => {
  it('writes down what has lapsed though nobody asks, and tells those who listen', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    const clock = createFakeClock();
    const store = await openTestStore({ clock });
    const { id } = await opened(store);
    vi.advanceTimersByTime(30_000);
    clock.advance(3_600_000);
    const rang = new Promise<void>((resolve) => void store.requests.onChange(resolve));
    vi.advanceTimersByTime(30_000);
    await rang;
    expect((await store.audit.read(0, 10)).map((record) => [record.name, record.attributes.request_id])).toEqual([
      ['approval.requested', id],
      ['approval.expired', id],
    ]);
  });

  it('drops what is old', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    const clock = createFakeClock();
    const store = await openTestStore({ clock });
    await store.audit.append({ name: 'tool.started', attributes: {} });
    clock.advance(100 * 86_400_000);
    const rang = new Promise<void>((resolve) => void store.requests.onChange(resolve));
    vi.advanceTimersByTime(30_000);
    await rang;
    expect((await store.audit.read(0, 10)).map((record) => [record.sequence, record.name])).toEqual([[2, 'audit.checkpoint']]);
  });

  it('ends with the store', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    const store = await openTestStore();
    store.requests.onChange(() => undefined);
    expect(vi.getTimerCount()).toBe(2);
    await store.close();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('only polls while somebody listens', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    const store = await openTestStore();
    expect(vi.getTimerCount()).toBe(1);
    const [first, second] = [store.requests.onChange(() => undefined), store.requests.onChange(() => undefined)];
    first();
    expect(vi.getTimerCount()).toBe(2);
    second();
    expect(vi.getTimerCount()).toBe(1);
  });
});

describe('the schema', () => {
  it('lets through exactly the edges that both stores share', () => {
    const inTrigger = [...(migrations[0] ?? '').matchAll(/'([a-z]+)>([a-z]+)'/g)].map(([, from, to]) => `${from}>${to}`);
    const declared = Object.entries(requestTransitions).flatMap(([from, targets]) => targets.map((to) => `${from}>${to}`));
    expect(inTrigger.sort()).toEqual(declared.sort());
  });

  it('is durable, strict and in write-ahead mode as opened', async () => {
    const file = join(temporaryFolder(), 'banksman.db');
    const store = await openTestStore({ file });
    await opened(store);
    const raw = new DatabaseSync(file);
    onTestFinished(() => raw.close());
    expect(raw.prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' });
    expect(
      raw
        .prepare("SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND strict = 0 AND name NOT LIKE 'sqlite_%'")
        .all(),
    ).toEqual([]);
    expect(raw.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' });
  });
});

describe('a failure of SQLite', () => {
  const sqliteError = (errcode: number) => Object.assign(new Error(`code ${errcode}`), { code: 'ERR_SQLITE_ERROR', errcode });

  it.each([
    [5, 'store_busy'],
    [261, 'store_busy'],
    [517, 'store_busy'],
    [6, 'store_busy'],
    [15, 'store_busy'],
    [8, 'store_read_only'],
    [1032, 'store_read_only'],
    [11, 'store_corrupt'],
    [267, 'store_corrupt'],
    [26, 'store_corrupt'],
    [13, 'store_full'],
    [1811, 'store_refused'],
    [10, 'store_unavailable'],
    [1, 'store_unavailable'],
  ])('with result code %i is told as %s, with the file', (errcode, code) => {
    const fault = storeFault(sqliteError(errcode), '/state/banksman.db');
    expect(fault).toMatchObject({ code, message: expect.stringContaining('/state/banksman.db') });
    expect(isBusy(sqliteError(errcode))).toBe(code === 'store_busy');
  });

  it.each([
    ['EROFS', 'store_read_only'],
    ['EACCES', 'store_read_only'],
    ['ENOSPC', 'store_full'],
    ['EIO', 'store_unavailable'],
  ])('of the file system with %s is told as %s', (code, expected) => {
    expect(storeFault(Object.assign(new Error(code), { code }), '/f')).toMatchObject({ code: expected });
  });

  it('that is none is still a fault', () => {
    expect(storeFault('what?', '/f')).toMatchObject({ code: 'store_unavailable' });
    expect(storeFault(null, '/f')).toMatchObject({ code: 'store_unavailable' });
    expect(isBusy('what?')).toBe(false);
  });
});

describe('a Node without `node:sqlite`', () => {
  it('is told which one is needed', async () => {
    vi.doMock('node:sqlite', () => {
      throw Object.assign(new Error('No such built-in module: node:sqlite'), { code: 'ERR_UNKNOWN_BUILTIN_MODULE' });
    });
    onTestFinished(() => vi.doUnmock('node:sqlite'));
    vi.resetModules();
    const { connect } = await import('#stores/sqlite/connect');
    await expect(connect({ file: join(temporaryFolder(), 'x.db'), busyDeadlineMs: 10 })).rejects.toMatchObject({
      code: 'node_too_old',
      next: expect.stringContaining('Node 24'),
    });
  });
});
