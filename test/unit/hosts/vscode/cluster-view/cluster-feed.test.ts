import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { AppSession } from '#hosts/vscode/app-session';
import { ClusterFeed } from '#hosts/vscode/cluster-view/cluster-feed';
import type { App } from '#kernel/app';
import type { AttemptView } from '#kernel/attempt';
import { Fault } from '#kernel/errors';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

async function feedOn() {
  const world = {
    looks: 0,
    protections: 0,
    running: [] as AttemptView[],
    fault: undefined as Fault | undefined,
    hold: undefined as Promise<void> | undefined,
  };
  const live = {
    clusters: ['demo'],
    overview: async () => {
      world.looks += 1;
      await world.hold;
      if (world.fault) throw world.fault;
      return { resources: [{ type: 'node', node: 'pve' }], tasks: [] };
    },
    protectedNames: async () => {
      world.protections += 1;
      return { guests: new Map(), nodes: new Map() };
    },
  };
  const app = { live, attempts: { list: async () => world.running }, close: async () => {} } as unknown as App;
  const session = new AppSession(
    () => Promise.resolve(app),
    () => {},
  );
  const feed = new ClusterFeed(session);
  onTestFinished(() => feed.dispose());
  session.reload();
  await vi.advanceTimersByTimeAsync(0);
  return { feed, session, world };
}

const tick = (seconds: number) => vi.advanceTimersByTimeAsync(seconds * 1_000);

describe('the feed of the clusters', () => {
  it('asks nothing while nobody looks, at once when somebody does, and then every ten seconds', async () => {
    const { feed, world } = await feedOn();
    await tick(60);
    expect([world.looks, feed.clusters]).toEqual([0, [{ name: 'demo' }]]);
    feed.watch('view', true);
    await tick(1);
    expect(world.looks).toBe(1);
    await tick(30);
    expect(world.looks).toBe(4);
    // What is protected is asked again only after minutes.
    expect(world.protections).toBe(1);
    feed.watch('page', true);
    feed.watch('view', false);
    await tick(10);
    expect(world.looks).toBe(5);
    feed.watch('page', false);
    await tick(600);
    expect(world.looks).toBe(5);
  });

  it('never asks twice at once, however slow the cluster is', async () => {
    const { feed, world } = await feedOn();
    const { promise, resolve } = Promise.withResolvers<void>();
    world.hold = promise;
    feed.watch('view', true);
    await tick(60);
    feed.again();
    expect(world.looks).toBe(1);
    resolve();
    await tick(2);
    expect(world.looks).toBe(2);
  });

  it('keeps what it saw of a cluster that does not answer, since when, and asks less often', async () => {
    const { feed, world } = await feedOn();
    feed.watch('view', true);
    await tick(1);
    world.fault = new Fault('pve_unreachable', 'no answer', { next: 'look at the node' });
    await tick(10);
    const [state] = feed.clusters;
    expect(state).toMatchObject({ overview: { tasks: [] }, failed: { message: 'no answer', next: 'look at the node' } });
    const { looks } = world;
    await tick(25);
    expect(world.looks).toBe(looks);
    expect(feed.clusters[0]?.failed?.since).toBe(state?.failed?.since);
    world.fault = undefined;
    await tick(40);
    expect(feed.clusters[0]).not.toHaveProperty('failed');
  });

  it('looks again soon after an agent’s call begins or ends', async () => {
    const { feed, world } = await feedOn();
    feed.watch('view', true);
    await tick(1);
    world.running = [{ call: 'c', standing: 'running', tool: 'stop_vm', agent: 'a', targets: ['100 on demo'], begunAt: '' }];
    await tick(2);
    expect(feed.running).toHaveLength(1);
    await tick(2);
    expect(world.looks).toBe(2);
  });
});
