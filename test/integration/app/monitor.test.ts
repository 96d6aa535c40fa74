/** What changes in a cluster without a call is in the trail, once, whoever looked. */
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest';
import { connectClusters } from '#app/clusters/connect-clusters';
import { createClusterMonitor } from '#app/clusters/monitor';
import { parseConfig } from '#app/config/config';
import type { AuditDraft } from '#kernel/audit-event';
import type { AuditLog } from '#kernel/ports/audit-log';
import { openTestStore } from '../stores/store-fixtures.ts';
import { openTestValkey } from '../stores/valkey-fixtures.ts';
import { startValkey } from '../stores/valkey-server.ts';
import { startWorld, type World } from './support.ts';

let world: World;
beforeEach(async () => {
  world = await startWorld({ pins: 'each' });
});
afterEach(async () => {
  await world.close();
});

const silent = () => undefined;
const log = { debug: silent, info: silent, warn: silent, error: silent };

async function bench() {
  const store = await openTestStore();
  const clusters = connectClusters({ config: parseConfig(world.demo.config, 'test'), baseDir: '/', stateDir: world.stateDir, log });
  const monitor = (audit: Pick<AuditLog, 'append' | 'head' | 'read'> = store.audit) =>
    createClusterMonitor({ clusters: clusters.clients, audit, log, stateDir: world.stateDir });
  /** What one reads has been read by all the others before it goes on. */
  const slow = {
    ...store.audit,
    head: async () => {
      const head = await store.audit.head();
      await sleep(500);
      return head;
    },
  };
  const told = async () =>
    (await store.audit.read(0, 100)).map(
      ({ name, attributes }) => `${name} ${String(attributes['source'])} ${String(attributes['message'])}`,
    );
  return { monitor, told, clusters, slow };
}

it('tells of guests, storages and nodes, and nothing of the first look', async () => {
  const { monitor, told, clusters } = await bench();
  const [first, second] = [monitor(), monitor()];
  await first.look();
  await second.look();
  expect(await told()).toEqual([]);
  const { guests, storages } = world.demo.cluster.state;
  Object.assign(guests.get(100) ?? {}, { running: false });
  const nas = storages.get('nas');
  if (nas !== undefined) storages.set('nas', { ...nas, usedBytes: nas.totalBytes * 0.95 });
  await first.look();
  const events = [
    'cluster.changed monitor demo: guest 100: running → stopped',
    'cluster.changed monitor demo: storage nas: has room → nearly full',
  ];
  expect(await told()).toEqual(events);
  // Another process sees the same, and does not repeat it; a look without a change tells nothing.
  await second.look();
  await first.look();
  expect(await told()).toEqual(events);
  // Little room again is no news.
  if (nas !== undefined) storages.set('nas', { ...nas, usedBytes: nas.totalBytes * 0.87 });
  await first.look();
  expect(await told()).toEqual(events);
  await first.close();
  await second.close();
  await clusters.close();
});

it('tells a change once when several processes look at the very same moment', async () => {
  const { monitor, told, clusters, slow } = await bench();
  const several = Array.from({ length: 4 }, () => monitor(slow));
  await Promise.all(several.map((one) => one.look()));
  Object.assign(world.demo.cluster.state.guests.get(100) ?? {}, { running: false });
  await Promise.all(several.map((one) => one.look()));
  expect(await told()).toEqual(['cluster.changed monitor demo: guest 100: running → stopped']);
  await Promise.all(several.map((one) => one.close()));
  await clusters.close();
});

it('tells a change once when several machines on one store look at the very same moment', async () => {
  const server = await startValkey();
  onTestFinished(() => server.close());
  const { clusters } = await bench();
  const machine = async (name: string) => {
    const { audit, claim } = await openTestValkey(server);
    // Nobody writes before all have read.
    const slow = { ...audit, append: (draft: AuditDraft) => sleep(500).then(() => audit.append(draft)) };
    const stateDir = path.join(world.stateDir, name);
    return createClusterMonitor({ clusters: clusters.clients, audit: slow, log, stateDir, ...(claim === undefined ? {} : { claim }) });
  };
  const several = await Promise.all(['a', 'b', 'c'].map(machine));
  await Promise.all(several.map((one) => one.look()));
  const told: string[] = [];
  for (const running of [false, true, false]) {
    Object.assign(world.demo.cluster.state.guests.get(100) ?? {}, { running });
    await Promise.all(several.map((one) => one.look()));
    told.push(`demo: guest 100: ${running ? 'stopped → running' : 'running → stopped'}`);
  }
  const { audit } = await openTestValkey(server);
  expect((await audit.read(0, 100)).map(({ attributes }) => attributes['message'])).toEqual(told);
  await Promise.all(several.map((one) => one.close()));
  await clusters.close();
});

it('tells that a node went, that nothing answers any more, and that it does again', async () => {
  const { monitor, told, clusters } = await bench();
  const one = monitor();
  await one.look();
  await world.demo.faults.nodeDown('Home');
  await one.look();
  expect(await told()).toContain('cluster.changed monitor demo: node Home: online → offline');
  for (const node of ['pve', 'agent1']) await world.demo.faults.nodeDown(node);
  await one.look();
  expect((await told()).at(-1)).toBe('cluster.changed monitor demo: the API: answers → does not answer');
  for (const node of ['Home', 'pve', 'agent1']) await world.demo.faults.nodeUp(node);
  await one.look();
  expect(await told()).toContain('cluster.changed monitor demo: the API: does not answer → answers');
  await one.close();
  await clusters.close();
});
