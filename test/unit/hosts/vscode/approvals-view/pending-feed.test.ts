import { describe, expect, it, onTestFinished } from 'vitest';
import { createApprovals } from '#approval/approvals';
import { systemClock } from '#execution/deadline';
import { AppSession } from '#hosts/vscode/app-session';
import { PendingFeed } from '#hosts/vscode/approvals-view/pending-feed';
import type { App } from '#kernel/app';
import { Fault } from '#kernel/errors';
import { draftBy, opened, openTestStore } from '../../../../integration/stores/store-fixtures.ts';

async function feedOn(options: { readonly clusters?: unknown[] } = {}) {
  const store = await openTestStore();
  const approvals = createApprovals({
    requests: store.requests,
    audit: store.audit,
    clock: systemClock,
    via: 'editor',
    trustedKeys: async () => [],
  });
  const live = { clusters: options.clusters ?? [] };
  let fault: Fault | undefined;
  const build = () => (fault ? Promise.reject(fault) : Promise.resolve({ approvals, live, close: async () => {} } as unknown as App));
  const session = new AppSession(build, () => {});
  const errors: unknown[] = [];
  const feed = new PendingFeed(session, (error) => errors.push(error));
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
  const fail = (next: Fault) => {
    fault = next;
    session.reload();
  };
  return { store, session, feed, until, approvals, errors, fail };
}

describe('the feed', () => {
  it('follows what happens in the store', async () => {
    const { store, session, feed, until, approvals } = await feedOn();
    session.reload();
    await opened(store, draftBy('mcp:a', 100));
    const second = await opened(store, draftBy('mcp:a', 101));
    await until(() => feed.pending === 2);
    await approvals.deny(second.id, 'user:alice');
    await until(() => feed.pending === 1);
    expect(feed.problems).toEqual([]);
  });

  it('is empty, and says why, when the settings are wrong', async () => {
    const { store, session, feed, until, fail } = await feedOn();
    session.reload();
    await opened(store, draftBy('mcp:a', 100));
    await until(() => feed.pending === 1);
    fail(new Fault('bad_config', 'settings `banksman.*`: `securityLevel`: wrong'));
    await until(() => feed.stateName === 'bad_config' && feed.pending === 0);
    expect(feed.problems.map((row) => row.label)).toEqual(['securityLevel']);
    expect(feed.headline).toContain('One setting');
  });

  it.each([
    [[], 'unconfigured'],
    [['lab'], 'ready'],
  ])('with clusters %j is %s', async (clusters, state) => {
    const { session, feed, until } = await feedOn({ clusters });
    expect(feed.stateName).toBe('starting');
    session.reload();
    await until(() => feed.stateName === state);
    expect(feed.headline).toBeUndefined();
  });

  it('says failed for a store that cannot be opened', async () => {
    const { feed, until, fail } = await feedOn();
    fail(new Fault('store_locked', 'locked'));
    await until(() => feed.stateName === 'failed');
    expect(feed.headline).toBe('Banksman could not start, so no tool runs.');
  });

  it('reports a store that breaks later', async () => {
    const { store, session, feed, until, errors } = await feedOn();
    session.reload();
    await until(() => feed.stateName === 'unconfigured');
    await store.close();
    session.reload();
    await expect.poll(() => errors.length).toBeGreaterThan(0);
  });
});
