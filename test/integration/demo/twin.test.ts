/** The twin: built from what a cluster's API returns, it answers as that cluster does, and what is done to it is done nowhere else. */
import { describe, expect, it } from 'vitest';
import { openTwin, type Twin } from '#demo/twin';
import type { LiveGuest, LiveReads } from '#kernel/ports/live-reads';
import { clock, demo, post, type Row, rows, send } from './fresh-demo.ts';

async function objectAt(path: string): Promise<Row> {
  return (await rows(path)) as unknown as Row;
}

async function guestRead(row: Row): Promise<LiveGuest> {
  const base = `/nodes/${row['node']}/${row['type']}/${row['vmid']}`;
  const snapshots = await rows(`${base}/snapshot`);
  const names = snapshots.map(({ name }) => String(name)).filter((name) => name !== 'current');
  const configs = await Promise.all(names.map(async (name) => [name, await objectAt(`${base}/snapshot/${name}/config`)] as const));
  return {
    ...{ vmid: Number(row['vmid']), config: await objectAt(`${base}/config?current=1`), pending: await rows(`${base}/pending`) },
    ...{ snapshots, snapshotConfigs: Object.fromEntries(configs) },
  };
}

/** Everything through the API, as a real cluster would be read. */
async function readAll(): Promise<LiveReads> {
  const resources = await rows('/cluster/resources');
  const guests = resources.filter(({ type }) => type === 'qemu' || type === 'lxc');
  const contents = ['Home', 'pve', 'agent1'].map(async (node) =>
    (await rows(`/nodes/${node}/storage/local/content`)).map((row) => ({ ...row, node })),
  );
  return {
    ...{ status: await rows('/cluster/status'), resources, guests: await Promise.all(guests.map(guestRead)) },
    ...{ storages: await rows('/storage'), volumes: (await Promise.all(contents)).flat(), pools: await rows('/pools?poolid=prod') },
    ...{
      ha: await rows('/cluster/ha/status/current'),
      haRules: await rows('/cluster/ha/rules'),
      options: await objectAt('/cluster/options'),
    },
    ...{ backupJobs: await rows('/cluster/backup'), permissions: (await objectAt('/access/permissions')) as LiveReads['permissions'] },
  };
}

const twinNow = async (): Promise<Twin> => openTwin(await readAll(), clock.now());

/** What a reader would compare: figures that change by themselves are left out. */
function facts(row: Row): Row {
  const { cpu: _, mem: __, memhost: ___, uptime: _4, netin: _5, netout: _6, diskread: _7, diskwrite: _8, disk: _9, ...rest } = row;
  return rest;
}

const byId = (list: readonly Row[]) => Object.fromEntries(list.map((row) => [String(row['id']), facts(row)]));

describe('a twin', () => {
  it('answers the reads that it was built from', async () => {
    await send('PUT', '/nodes/pve/qemu/100/config', { cores: '4' });
    await post('/nodes/pve/qemu/104/snapshot', { snapname: 'never' });
    await post('/nodes/agent1/qemu/105/snapshot', { snapname: 'before' });
    clock.advance(10_000);
    const twin = await twinNow();
    const paths = [
      '/nodes/pve/qemu/100/config',
      '/nodes/pve/qemu/100/pending',
      '/nodes/agent1/qemu/105/config',
      '/nodes/pve/lxc/201/config',
    ];
    for (const path of paths) expect(sorted(twin.ask('GET', path).data)).toEqual(sorted(await rows(path)));
    expect(byId(twin.ask('GET', '/cluster/resources', { type: 'vm' }).data as Row[])).toEqual(
      byId(await rows('/cluster/resources?type=vm')),
    );
    expect(sorted(twin.ask('GET', '/nodes/agent1/qemu/105/snapshot').data)).toEqual(sorted(await rows('/nodes/agent1/qemu/105/snapshot')));
  });

  it('reaches the state that the cluster then reaches, hours in no time', async () => {
    const twin = await twinNow();
    const steps = [
      ['POST', '/nodes/agent1/qemu/105/snapshot', { snapname: 'before' }],
      ['PUT', '/nodes/agent1/qemu/105/config', { cores: '2', tags: 'b a' }],
      ['POST', '/nodes/agent1/vzdump', { vmid: '105', storage: 'nas', mode: 'stop' }],
      ['POST', '/nodes/agent1/qemu/105/snapshot/before/rollback', {}],
      ['POST', '/nodes/agent1/qemu/105/clone', { newid: '400', full: '1' }],
    ] as const;
    for (const [verb, path, form] of steps) {
      const expected = twin.ask(verb, path, form);
      expect(twin.settle()).toBe(true);
      const answered = await send(verb, path, form);
      clock.advance(60_000);
      demo.cluster.tasks.advance();
      expect([path, expected.status]).toEqual([path, answered.status]);
    }
    const config = '/nodes/agent1/qemu/105/config';
    expect(withoutFresh(twin.ask('GET', config).data as Row)).toEqual(withoutFresh(await objectAt(config)));
    const made = '/nodes/agent1/qemu/400/config';
    expect(withoutFresh(twin.ask('GET', made).data as Row)).toEqual(withoutFresh(await objectAt(made)));
  });

  it('has no more rights than its reader, and touches nothing but itself', async () => {
    const reads = await readAll();
    const twin = openTwin({ ...reads, permissions: { '/vms/100': { 'VM.Audit': 1 } } }, clock.now());
    expect(twin.ask('DELETE', '/nodes/Home/qemu/101')).toMatchObject({
      status: 403,
      data: 'Permission check failed (/vms/101, VM.Allocate)',
    });
    const free = openTwin(reads, clock.now());
    expect(free.ask('DELETE', '/nodes/Home/qemu/101').status).toBe(200);
    expect(free.settle()).toBe(true);
    expect(free.ask('GET', '/nodes/Home/qemu/101/config').status).toBe(500);
    expect((await objectAt('/nodes/Home/qemu/101/config'))['name']).toBe('nas-vm');
  });

  it('tells by digest that somebody else was faster', async () => {
    const twin = await twinNow();
    const { digest } = await objectAt('/nodes/pve/qemu/100/config');
    const change = { description: 'x', digest };
    expect(twin.ask('PUT', '/nodes/pve/qemu/100/config', change).status).toBe(200);
    expect(twin.ask('PUT', '/nodes/pve/qemu/100/config', change)).toMatchObject({
      status: 500,
      data: 'checksum mismatch (file change by other user?)',
    });
  });
});

function sorted(value: unknown): unknown {
  const key = (row: Row) => String(row['key'] ?? row['name'] ?? row['id']);
  return Array.isArray(value) ? [...(value as Row[])].sort((one, other) => (key(one) < key(other) ? -1 : 1)) : value;
}

/** Without what is made anew each time. */
function withoutFresh(config: Row): Row {
  const { digest: _, smbios1: __, vmgenid: ___, net0: _4, ...rest } = config;
  return rest;
}
