/** What the pages and views say of the cluster, against the embedded demo cluster. */
import { readFile } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { clusterLooks } from '#app/clusters/connect-clusters';
import { liveFacts } from '#app/clusters/live-facts';
import { createProxmoxClient, type ProxmoxClient } from '#connectors/proxmox/create-proxmox-client';
import { type DemoCluster, startDemoCluster } from '#demo/index';
import { systemClock } from '#execution/deadline';
import type { JsonObject } from '#kernel/json';
import type { LiveFact } from '#kernel/live';
import { english, inWords, type Message } from '#kernel/text/message';
import { readBundle } from '../../../../scripts/l10n/translations.ts';
import { memoryLog } from '../../connectors/pve-server.ts';

let demo: DemoCluster;
let client: ProxmoxClient;

beforeAll(async () => {
  demo = await startDemoCluster({ taskDurationMs: 50 });
  const [config] = demo.config.clusters;
  client = createProxmoxClient({
    name: 'demo',
    endpoints: config.endpoints,
    tokenId: config.tokenId,
    token: async () => readFile(config.tokenFile, 'utf8'),
    tls: { kind: 'pin', fingerprint: config.tls.fingerprint },
    timeoutMs: 15_000,
    clock: systemClock,
    log: memoryLog(),
  });
});
afterEach(() => demo.faults.clear());
afterAll(async () => {
  await client?.close();
  await demo?.close();
});

const web = { kind: 'guest', cluster: 'demo', vmid: 100, node: 'pve', guestType: 'qemu', name: 'web' };

async function readFacts(...targets: readonly JsonObject[]): Promise<readonly LiveFact[]> {
  return liveFacts({ targets }, new Map([['demo', client]]), { signal: AbortSignal.timeout(15_000), now: Date.now() });
}

async function factsOf(target: JsonObject, words: (message: Message) => string = english): Promise<Record<string, string>> {
  const facts = await readFacts(target);
  return Object.fromEntries(facts.map(({ label, value }: LiveFact) => [words(label), words(value)]));
}

describe('live facts', () => {
  it('of a guest say its state, what runs there, HA, snapshots, last backup and what else is on its node', async () => {
    const facts = await factsOf(web);
    expect(facts['Now']).toMatch(/^running, up for /);
    expect(facts['What runs there']).toBe('Linux · prod, web');
    expect(facts['HA']).toBe('not managed');
    expect(facts['Snapshots']).toBe('none to go back to');
    expect(facts['Last backup']).toMatch(/^\d+ \w+ ago \(\d+ in all\)$/);
    expect(facts['Also on pve']).toContain('201');
    expect(facts['Also on pve']).not.toContain('100');
  });

  it('are told in the language of who reads them', async () => {
    const facts = await factsOf(web, (message) => inWords(message, { tag: 'de', texts: readBundle() }));
    expect(facts['Jetzt']).toMatch(/^running, läuft seit \d+ /);
    expect(facts['Snapshots']).toBe('keine, auf die man zurücksetzen könnte');
    expect(facts['Letztes Backup']).toMatch(/^vor \d+ \w+ \(insgesamt \d+\)$/);
  });

  it('of a service say who else runs on its node', async () => {
    const facts = await factsOf({ kind: 'service', cluster: 'demo', node: 'pve', service: 'nginx.service' });
    expect(facts['Node pve']).toMatch(/^online; \d of 3 nodes are online$/);
    expect(facts['Runs there']).toContain('100 web');
  });

  const proxy = { kind: 'guest', cluster: 'demo', vmid: 201, node: 'pve', guestType: 'lxc', name: 'proxy' };

  it('of several guests say which one each is of, once for each guest; of one guest nobody has to ask', async () => {
    const facts = await readFacts({ kind: 'storage', storage: 'local' }, web, proxy, { ...web, access: 'read' });
    const now = facts.filter(({ label }) => english(label) === 'Now');
    expect(now.map(({ about }) => about && english(about))).toEqual(['VM 100 (web) on pve', 'container 201 (proxy) on pve']);
    expect(facts.filter(({ about }) => about === undefined)).toEqual([]);
    expect((await readFacts(web)).filter(({ about }) => about !== undefined)).toEqual([]);
  });

  it('of more than five guests say how many were not asked about', async () => {
    const guests = Array.from({ length: 7 }, (_, index) => ({ ...web, vmid: 90_000 + index }));
    const facts = await readFacts(...guests);
    expect(facts.filter(({ label }) => english(label) === 'Now')).toHaveLength(5);
    const { label, value, about } = facts.at(-1) ?? {};
    expect([label, value, about].map((words) => words && english(words))).toEqual(['2 more', 'not asked about', undefined]);
  });

  it('say what cannot be read instead of guessing', async () => {
    const facts = await factsOf({ ...web, vmid: 99_999 });
    expect(facts['Now']).toBe('cannot be read');
    expect(facts['Snapshots']).toBe('cannot be read with this token');
    expect(facts['HA']).toBe('not known');
  });

  it.each([
    ['another cluster', { ...web, cluster: 'other' }],
    ['a path', { kind: 'path', path: 'a' }],
    ['a guest of no kind', { ...web, guestType: { a: 1 } }],
  ])('of %s are none', async (_what, target) => {
    expect(await factsOf(target)).toEqual({});
  });
});

describe('a look at the whole cluster, and at one guest', () => {
  const guest = { vmid: 100, node: 'pve', guestType: 'qemu' } as const;
  const secret = 'c0ffee00-1111-4222-8333-444455556666';
  const signal = () => AbortSignal.timeout(15_000);
  const asked: string[] = [];
  const counted = (): ProxmoxClient => {
    const get = (target: ProxmoxClient, name: string | symbol) => {
      if (typeof name === 'string') asked.push(name);
      return Reflect.get(target, name) as unknown;
    };
    return new Proxy(client, { get });
  };
  const looks = clusterLooks(counted, new Set([secret]));

  it('takes two requests, however many guests there are', async () => {
    asked.length = 0;
    const { resources, tasks } = await looks.overview('demo', signal());
    expect(asked).toEqual(['resources', 'recentTasks']);
    expect(resources.filter(({ type }) => type === 'node')).toHaveLength(3);
    expect(tasks?.length).toBeGreaterThan(0);
  });

  it('leaves out tasks that cannot be read, and fails where the cluster does not answer', async () => {
    demo.faults.api({ path: '/cluster/tasks', effect: { kind: 'status', status: 403, reason: 'Permission check failed' } });
    const { resources, tasks } = await looks.overview('demo', signal());
    expect([resources.length > 5, tasks]).toEqual([true, undefined]);
  });

  it('takes secrets out of what a guest holds, and says part by part what cannot be read', async () => {
    const description = `token ${secret}, password: hunter2-hunter2`;
    await client.operate(guest, { kind: 'configure', set: { description }, remove: [] }, signal());
    const sheet = await looks.guest('demo', guest, signal());
    expect(JSON.stringify(sheet)).not.toMatch(/c0ffee00|hunter2-hunter2/);
    expect(sheet).toMatchObject({ config: { description: expect.stringContaining('[redacted:') }, status: { status: 'running' } });
    const gone = await looks.guest('demo', { ...guest, vmid: 99_999 }, signal());
    expect([gone.status, gone.config]).toEqual([{ failed: expect.any(String) }, { failed: expect.any(String) }]);
  });
});
