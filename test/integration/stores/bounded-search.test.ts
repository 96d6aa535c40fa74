/** A search through more than one page may look at: it gives up in time, says so, and whoever goes on misses nothing. */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { RequestRecord } from '#kernel/approval/request';
import type { RequestPage, RequestQuery } from '#kernel/ports/request-store';
import type { Store } from '#kernel/ports/store';
import { mostLookedAt } from '#stores/request-search';
import { fillSqlite, fillValkey } from './fill-requests.ts';
import { decisionBy, openTestStore, temporaryFolder } from './store-fixtures.ts';
import { openTestValkey } from './valkey-fixtures.ts';
import { samplePasswords, startValkey } from './valkey-server.ts';

const count = 2 * mostLookedAt + 600;

async function valkey(): Promise<Store> {
  const server = await startValkey();
  onTestFinished(() => server.close());
  await fillValkey(server.as(samplePasswords.agent), count);
  return openTestValkey(server);
}

async function sqlite(): Promise<Store> {
  const file = join(temporaryFolder(), 'state.db');
  const store = await openTestStore({ file });
  const database = new DatabaseSync(file);
  fillSqlite(database, count);
  database.close();
  return store;
}

async function pagesOf({ requests }: Store, query: RequestQuery): Promise<readonly RequestPage[]> {
  const pages: RequestPage[] = [];
  do {
    const cursor = pages.at(-1)?.cursor;
    pages.push(await requests.list({ ...query, ...(cursor === undefined ? {} : { cursor }) }));
  } while (pages.at(-1)?.cursor !== undefined);
  return pages;
}

const vmids = (pages: readonly RequestPage[]) =>
  pages.flatMap(({ records }) => records).map(({ action }: RequestRecord) => Number(action.arguments.vmid));

describe.each([
  ['Valkey', valkey],
  ['SQLite', sqlite],
])('a search in %s', (_name, open) => {
  it('gives up after so many, goes on with the cursor, and finds each once, newest first', { timeout: 300_000 }, async () => {
    const store = await open();
    // The oldest of all: two pages in which nothing fits come first.
    const rare = await pagesOf(store, { statuses: ['pending'], limit: 50, search: 'stop vm 100 (' });
    expect(rare.map(({ records }) => records.length)).toEqual([0, 0, 1]);
    expect(vmids(rare)).toEqual([100]);
    const none = await pagesOf(store, { statuses: ['pending'], limit: 50, search: 'no such thing' });
    expect(none.map(({ records }) => records.length)).toEqual([0, 0, 0]);
    // A page of them in each part of the list, and more.
    const some = Array.from({ length: count }, (_, index) => 100 + count - 1 - index).filter((vmid) => String(vmid).endsWith('77'));
    expect(vmids(await pagesOf(store, { statuses: ['pending'], limit: 7, search: '77 (web' }))).toEqual(some);
  });

  it('in several states holds the order where one of them gave up', { timeout: 300_000 }, async () => {
    const store = await open();
    const newest = `req-${(count - 1).toString(16).padStart(8, '0')}`;
    for (const id of ['req-00000000', 'req-00000001', newest]) await store.requests.deny(id, decisionBy());
    const pages = await pagesOf(store, { limit: 2, search: 'vm 10' });
    const wanted = Array.from({ length: count }, (_, index) => 100 + count - 1 - index).filter((vmid) => String(vmid).startsWith('10'));
    expect(vmids(pages)).toEqual(wanted);
    expect(vmids(pages)).toContain(100);
  });
});
