/** What real operations do to a client that trusts the first answer: accepted and not done, late refusals, things that stay or go unasked. */
import { describe, expect, it } from 'vitest';
import { ask, clock, demo, line, post, type Row, rows, send, taskOf } from './fresh-demo.ts';

const build = '/nodes/agent1/qemu/105';

async function objectAt(path: string): Promise<Row> {
  return (await rows(path)) as unknown as Row;
}

async function finished(upid: string, ms = 900_000): Promise<unknown> {
  clock.advance(ms);
  return (await taskOf(upid))['exitstatus'];
}

async function logOf(upid: string): Promise<string[]> {
  return (await rows(`/nodes/${upid.split(':')[1]}/tasks/${encodeURIComponent(upid)}/log?limit=0`)).map((row) => String(row['t']));
}

const backups = async (node: string) => (await rows(`/nodes/${node}/storage/local/content?content=backup`)).length;

describe('backups', () => {
  it('of a guest on another node are answered OK, and nothing is saved', async () => {
    const before = [await backups('Home'), await backups('agent1')];
    expect(await post('/nodes/Home/vzdump', { vmid: '105', storage: 'local' })).toBe('OK');
    clock.advance(900_000);
    expect([await backups('Home'), await backups('agent1')]).toEqual(before);
  });

  it('in stop mode hold the node’s one lock for ten minutes where the guest does not obey', async () => {
    demo.faults.guestIgnoresShutdown(100);
    const first = await post('/nodes/pve/vzdump', { vmid: '100', storage: 'local', mode: 'stop' });
    const second = await post('/nodes/pve/vzdump', { vmid: '201', storage: 'local' });
    clock.advance(599_000);
    expect([(await taskOf(first))['status'], (await taskOf(second))['status']]).toEqual(['running', 'running']);
    expect(await logOf(second)).toEqual(['INFO: trying to get global lock - waiting...']);
    expect(line(await send('PUT', '/nodes/pve/qemu/100/config', { description: 'x' }))).toBe('500 VM is locked (backup)');
    expect([await finished(first), await finished(second)]).toEqual(['job errors', 'OK']);
    expect((await objectAt('/nodes/pve/qemu/100/config'))['lock']).toBeUndefined();
  });

  it('that are stopped while they wait end without a word', async () => {
    demo.faults.guestIgnoresShutdown(100);
    await post('/nodes/pve/vzdump', { vmid: '100', storage: 'local', mode: 'stop' });
    const second = await post('/nodes/pve/vzdump', { vmid: '201', storage: 'local' });
    clock.advance(2000);
    await send('DELETE', `/nodes/pve/tasks/${encodeURIComponent(second)}`);
    expect(await finished(second)).toBe('unexpected status');
    expect((await logOf(second)).at(-1)).toBe("ERROR: can't acquire lock '/var/run/vzdump.lock' - interrupted by signal");
  });
});

describe('snapshots', () => {
  it('gone back to take tags, cores and sizes with them; description, later snapshots and unused disks stay', async () => {
    await send('PUT', `${build}/config`, { tags: 'ci;keep', cores: '2' });
    await post(`${build}/snapshot`, { snapname: 'one' });
    clock.advance(10_000);
    await send('PUT', `${build}/config`, { tags: 'other', cores: '4', description: 'later' });
    await send('PUT', `${build}/resize`, { disk: 'scsi0', size: '+4G' });
    clock.advance(10_000);
    await post(`${build}/snapshot`, { snapname: 'two' });
    clock.advance(10_000);
    expect(await finished(await post(`${build}/snapshot/one/rollback`))).toBe('OK');
    const config = await objectAt(`${build}/config`);
    expect(config).toMatchObject({ tags: 'ci;keep', cores: 2, description: 'later', parent: 'one' });
    expect(config['scsi0']).toContain('size=32G');
    expect(
      (await rows(`${build}/snapshot`)).map(({ name }) => name).toSorted((one, other) => (String(one) < String(other) ? -1 : 1)),
    ).toEqual(['current', 'one', 'two']);
  });

  it.each([
    ['a name that is taken', 'one', "snapshot name 'one' already used"],
    ['of a guest that is locked', 'x1', 'VM is locked (migrate)'],
  ])('%s: refused late, after 200', async (what, name, reason) => {
    await post(`${build}/snapshot`, { snapname: 'one' });
    clock.advance(10_000);
    demo.cluster.tasks.advance();
    if (what.includes('locked')) demo.cluster.state.guests.get(105)?.config.set('lock', 'migrate');
    expect(await finished(await post(`${build}/snapshot`, { snapname: name }))).toBe(reason);
  });

  it('of a running guest stop it when they are gone back to, unless they hold RAM', async () => {
    for (const [name, vmstate] of Object.entries({ cold: '0', warm: '1' })) {
      await post('/nodes/pve/qemu/100/status/start');
      clock.advance(20_000);
      await post('/nodes/pve/qemu/100/snapshot', { snapname: name, vmstate });
      clock.advance(20_000);
      await post(`/nodes/pve/qemu/100/snapshot/${name}/rollback`);
      clock.advance(20_000);
      expect((await objectAt('/nodes/pve/qemu/100/status/current'))['status']).toBe(vmstate === '1' ? 'running' : 'stopped');
    }
  });
});

describe('resizes, clones, moves', () => {
  it.each([
    [{ disk: 'scsi0', size: '1G' }, 'shrinking disks is not supported'],
    [{ disk: 'scsi7', size: '+1G' }, "disk 'scsi7' does not exist"],
    [{ disk: 'scsi0', size: '+1G', digest: '0'.repeat(40) }, 'checksum mismatch (file change by other user?)'],
  ])('a resize is refused late: %j', async (form, reason) => {
    const { body } = await send('PUT', `${build}/resize`, form);
    expect(await finished((body as { readonly data: string }).data)).toBe(reason);
  });

  it('a clone onto a node that is off succeeds; a move fails after 21 seconds, though it was allowed', async () => {
    demo.cluster.state.guests.get(105)?.config.delete('scsi0');
    await demo.faults.nodeDown('pve', 'No route to host');
    const clone = await post(`${build}/clone`, { newid: '400', target: 'pve' });
    expect(await finished(clone)).toBe('OK');
    expect(demo.cluster.state.guests.get(400)?.node).toBe('pve');
    expect((await objectAt(`${build}/migrate`))['allowed_nodes']).toContain('pve');
    const move = await post(`${build}/migrate`, { target: 'pve' });
    expect(await finished(move, 20_000)).toBeUndefined();
    expect(await finished(move, 2000)).toBe('migration aborted');
  });
});

describe('configuration', () => {
  it('of a running guest is answered 200 though it is only pending', async () => {
    expect(line(await send('PUT', '/nodes/pve/qemu/100/config', { memory: '4096', name: 'web2' }))).toBe('200 OK');
    const pending = await rows('/nodes/pve/qemu/100/pending');
    expect(pending.find(({ key }) => key === 'memory')).toMatchObject({ value: '2048', pending: '4096' });
    expect(pending.find(({ key }) => key === 'name')).toEqual({ key: 'name', value: 'web2' });
  });

  it.each([
    ['once a VM is off', '/nodes/pve/qemu/100', ['stop'], { memory: '4096' }],
    ['once a VM is shut down', '/nodes/pve/qemu/100', ['shutdown'], { memory: '4096' }],
    ['at a container’s next start', '/nodes/pve/lxc/201', ['stop', 'start'], { ostype: 'ubuntu' }],
  ] as const)('that is pending counts %s', async (_when, guest, actions, form) => {
    await send('PUT', `${guest}/config`, form);
    expect(await objectAt(`${guest}/config?current=1`)).not.toMatchObject(form);
    for (const action of actions) expect(await finished(await post(`${guest}/status/${action}`))).toBe('OK');
    expect(await objectAt(`${guest}/config?current=1`)).toMatchObject(form);
    expect((await rows(`${guest}/pending`)).filter((row) => 'pending' in row)).toEqual([]);
  });

  it('keeps tags sorted, lower-cased, each once; one that is registered takes Sys.Modify', async () => {
    await send('PUT', `${build}/config`, { tags: 'Zeta alpha,zeta' });
    expect((await objectAt(`${build}/config`))['tags']).toBe('alpha;zeta');
    await send('PUT', '/cluster/options', { 'registered-tags': 'protected' });
    expect(line(await send('PUT', `${build}/config`, { tags: 'alpha' }, 'readOnly'))).toMatch(/^403 /);
  });

  it('with `protection` stops a destruction, and neither a stop nor a rollback', async () => {
    await send('PUT', '/nodes/pve/qemu/100/config', { protection: '1' });
    expect(line(await send('DELETE', '/nodes/pve/qemu/100'))).toBe("500 can't remove VM 100 - protection mode enabled");
    expect(await finished(await post('/nodes/pve/qemu/100/status/stop'))).toBe('OK');
  });
});

describe('what is destroyed', () => {
  it('leaves the id in backup jobs unless it is purged', async () => {
    await post('/cluster/backup', { id: 'nightly', vmid: '101,105', schedule: '02:00', storage: 'nas' });
    const vmids = async () => (await objectAt('/cluster/backup/nightly'))['vmid'];
    await send('DELETE', '/nodes/Home/qemu/101');
    clock.advance(10_000);
    expect([await vmids(), line(await ask('/nodes/Home/qemu/101/config'))[0]]).toEqual(['101,105', '5']);
    await send('DELETE', `${build}?purge=1`);
    clock.advance(10_000);
    expect(await vmids()).toBe('101');
  });

  it('an attached disk goes with a DELETE of its volume, and a pool takes ids that no guest has', async () => {
    expect(line(await send('DELETE', '/nodes/agent1/storage/local-lvm/content/local-lvm:vm-105-disk-0'))).toBe('200 OK');
    expect(line(await send('PUT', '/pools', { poolid: 'prod', vms: '4711' }))).toBe('200 OK');
  });
});
