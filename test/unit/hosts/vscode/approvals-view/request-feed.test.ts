import { describe, expect, it, onTestFinished } from 'vitest';
import { parseConfig } from '#app/config/config';
import { createApprovals } from '#approval/approvals';
import { systemClock } from '#execution/deadline';
import { AppSession } from '#hosts/vscode/app-session';
import { filterInWords, noFilter, pageRows, RequestFeed } from '#hosts/vscode/approvals-view/request-feed';
import type { App } from '#kernel/app';
import type { RequestStatus } from '#kernel/approval/request';
import { draftBy, draftOf, opened, openTestStore } from '../../../../integration/stores/store-fixtures.ts';

async function feedOf(statuses: readonly RequestStatus[] = ['pending']) {
  const store = await openTestStore();
  const approvals = createApprovals({
    requests: store.requests,
    audit: store.audit,
    clock: systemClock,
    via: 'editor',
    trustedKeys: async () => [],
  });
  const config = parseConfig({}, 'test');
  const session = new AppSession(
    () => Promise.resolve({ approvals, config, close: async () => {} } as unknown as App),
    () => {},
  );
  const errors: unknown[] = [];
  const feed = new RequestFeed({ session, statuses, onError: (error) => errors.push(error) });
  onTestFinished(() => feed.dispose());
  const until = (what: () => boolean) =>
    new Promise<void>((done) => {
      const check = () => {
        if (!what()) return;
        stop();
        done();
      };
      const stop = feed.onChange(check);
      check();
    });
  const numbers = () => feed.records.map((record) => record.action.arguments['vmid']);
  return { store, session, feed, until, approvals, errors, numbers };
}

describe('the feed of a list', () => {
  it('is newest first, and only of its own statuses', async () => {
    const { store, session, feed, until, approvals, numbers } = await feedOf();
    session.reload();
    await opened(store, draftBy('mcp:a', 100));
    const second = await opened(store, draftBy('mcp:a', 101));
    await until(() => feed.records.length === 2);
    expect(numbers()).toEqual([101, 100]);
    await approvals.deny(second.id, 'user:alice', 'use 102 instead');
    await until(() => feed.records.length === 1);
    expect(numbers()).toEqual([100]);
  });

  it('of what is over has the words of whoever decided', async () => {
    const { store, session, feed, until, approvals } = await feedOf(['denied', 'expired']);
    session.reload();
    const { id } = await opened(store, draftBy('mcp:a', 100));
    await approvals.deny(id, 'user:alice', 'use 102 instead');
    await until(() => feed.records.length === 1);
    expect(feed.records[0]?.decision).toMatchObject({ by: 'user:alice', via: 'editor', message: 'use 102 instead' });
  });

  it('has a page at a time, in order and without gaps', async () => {
    const { store, session, feed, until, numbers } = await feedOf();
    const count = 2 * pageRows + 7;
    for (let vmid = 1; vmid <= count; vmid += 1) await opened(store, draftBy(`mcp:a${vmid % 70}`, vmid));
    session.reload();
    await until(() => feed.records.length === pageRows);
    expect(feed.hasMore).toBe(true);
    feed.loadMore();
    await until(() => feed.records.length === 2 * pageRows);
    expect(feed.hasMore).toBe(true);
    feed.loadMore();
    await until(() => feed.records.length === count);
    expect(feed.hasMore).toBe(false);
    expect(numbers()).toEqual(Array.from({ length: count }, (_, index) => count - index));
  });

  it('finds what passes a filter on later pages, too', async () => {
    const { store, session, feed, until, numbers } = await feedOf();
    await opened(store, draftOf({ agent: { id: 'chat:1', host: 'chat' }, action: { ...draftBy('chat:1', 7).action } }));
    for (let vmid = 100; vmid < 100 + pageRows + 5; vmid += 1) await opened(store, draftBy(`mcp:a${vmid % 70}`, vmid));
    session.reload();
    await until(() => feed.records.length === pageRows);
    feed.filter = { ...noFilter, hosts: ['chat'] };
    await until(() => feed.records.length === 1);
    expect(numbers()).toEqual([7]);
    expect(feed.hasMore).toBe(false);
    feed.filter = noFilter;
    await until(() => feed.records.length === pageRows);
  });

  it('leaves the search to the store', async () => {
    const { store, session, feed, until, numbers } = await feedOf();
    for (const vmid of [100, 101, 102]) await opened(store, draftBy('mcp:a', vmid));
    const byOther = await opened(store, draftBy('mcp:other', 103));
    session.reload();
    await until(() => feed.records.length === 4);
    feed.filter = { ...noFilter, search: 'MCP:OTHER' };
    await until(() => feed.records.length === 1);
    expect(numbers()).toEqual([103]);
    feed.filter = { ...noFilter, search: byOther.id.slice(0, 9) };
    await until(() => feed.records.some((record) => record.id === byOther.id) && feed.records.length < 4);
  });

  it('a filter narrows its statuses and never widens them', async () => {
    const { store, session, feed, until, approvals } = await feedOf(['denied', 'cancelled']);
    const [first, second] = [await opened(store, draftBy('mcp:a', 100)), await opened(store, draftBy('mcp:a', 101))];
    await opened(store, draftBy('mcp:a', 102));
    await approvals.deny(first.id, 'user:alice');
    await approvals.cancel(second.id, 'mcp:a');
    session.reload();
    await until(() => feed.records.length === 2);
    feed.filter = { ...noFilter, statuses: ['cancelled', 'pending'] };
    await until(() => feed.records.length === 1);
    expect(feed.records[0]?.status).toBe('cancelled');
  });
});

it('a filter in words', () => {
  expect(filterInWords(noFilter)).toBeUndefined();
  expect(filterInWords({ search: 'a\u202eb', statuses: ['denied'], hosts: ['mcp', 'cli'], severe: true, reported: true })).toBe(
    '“a\\u{202e}b” · denied · MCP, CLI · severe · reported blocks',
  );
});
