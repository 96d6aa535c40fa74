/** What Proxmox VE 9.1's own sources say and no recording here shows: HA from request to recovery, refusals, rights. */
import { describe, expect, it } from 'vitest';
import { demoTokens } from '#demo/index';
import { ask, clock, demo, line, post, rows, send, type Token, taskOf } from './fresh-demo.ts';

describe('HA resources that are asked for wrongly', () => {
  const put = (form: Readonly<Record<string, string>>) => send('PUT', '/cluster/ha/resources/vm:101', form);

  it.each([
    [{ sid: 'vm:101', type: 'ct' }, '500 types does not match'],
    [{ sid: 'vm:101', group: 'fast' }, "500 invalid parameter 'group': ha groups have been migrated to rules"],
    [{ sid: 'ct:101' }, "500 resource 'ct:101' - guest with ID 101 is not a container"],
    [{ sid: 'vm:200' }, "500 resource 'vm:200' - guest with ID 200 is not a VM"],
    [{ sid: 'db:101' }, "500 unknown section type 'db'"],
    [{ sid: 'vm:web' }, '500 invalid VMID'],
    [{ sid: '999' }, '500 unable do detect SID from VMID - VM/CT 999 does not exist'],
    [{ sid: 'VM101' }, '400 Parameter verification failed.'],
  ])('%j: %s', async (form, expected) => {
    expect(line(await send('POST', '/cluster/ha/resources', form))).toBe(expected);
  });

  it('an option that does not exist cannot be deleted, and there are no groups any more', async () => {
    await send('POST', '/cluster/ha/resources', { sid: '101' });
    expect(line(await put({ delete: 'nosuch' }))).toBe("500 update resources config failed: no such option 'nosuch'");
    expect(line(await ask('/cluster/ha/groups'))).toBe('500 cannot index groups: ha groups have been migrated to rules');
    expect(line(await send('POST', '/cluster/ha/resources/vm:100/migrate', { node: 'Home' }))).toBe(
      "500 resource 'vm:100' is not HA managed",
    );
    await put({ state: 'ignored' });
    expect(line(await send('POST', '/cluster/ha/resources/101/relocate', { node: 'pve' }))).toBe("500 resource 'vm:101' is not HA managed");
    const { body } = await ask('/nodes/Home/qemu/101/status/current');
    expect(body).toMatchObject({ data: { ha: { managed: 0 } } });
  });

  it('in an error, nothing but `disabled` is taken; then it can be started again', async () => {
    await send('POST', '/cluster/ha/resources', { sid: 'vm:101', state: 'stopped' });
    clock.advance(10_000);
    await rows('/nodes');
    const resource = demo.cluster.ha.resources.get('vm:101');
    if (resource !== undefined) resource.crmState = 'error';
    expect(line(await put({ state: 'started' }))).toBe("500 service 'vm:101' in error state, must be disabled and fixed first");
    const refused = await post('/nodes/Home/qemu/101/status/start');
    clock.advance(2000);
    expect(await taskOf(refused)).toMatchObject({
      type: 'hastart',
      exitstatus: "command 'ha-manager set vm:101 --state started' failed: exit code 255",
    });
    expect(line(await put({ state: 'disabled' }))).toBe('200 OK');
    expect((await rows('/cluster/ha/status/current')).at(-1)).toMatchObject({ state: 'clearing error flag', crm_state: 'error' });
    clock.advance(5000);
    expect((await rows('/cluster/ha/status/current')).at(-1)).toMatchObject({ state: 'disabled', crm_state: 'stopped' });
    expect(line(await put({ state: 'started' }))).toBe('200 OK');
    clock.advance(20_000);
    await rows('/nodes');
    expect(demo.cluster.state.guests.get(101)?.running).toBe(true);
  });

  it('stopping one whatever shuts it down, and suspending it to disk, are not for HA', async () => {
    await send('POST', '/cluster/ha/resources', { sid: 'vm:100' });
    const stop = await send('POST', '/nodes/pve/qemu/100/status/stop', { 'overrule-shutdown': '1' });
    expect(stop.body).toMatchObject({ errors: { 'overrule-shutdown': 'Not applicable for HA resources.' } });
    expect(line(await send('POST', '/nodes/pve/qemu/100/status/suspend', { todisk: '1' }))).toBe(
      '500 Cannot suspend HA managed VM to disk',
    );
  });
});

describe('HA moves a guest', () => {
  const crm = async (sid: string) => (await rows('/cluster/ha/status/current')).find((row) => row['sid'] === sid);
  const steps = async (sid: string, seconds: number) => {
    const seen: string[] = [];
    for (let second = 0; second < seconds; second += 1) {
      clock.advance(1000);
      const row = await crm(sid);
      const now = `${row?.['crm_state']} ${row?.['node']}`;
      if (seen.at(-1) !== now) seen.push(now);
    }
    return seen;
  };
  const running = (vmid: number) => demo.cluster.state.guests.get(vmid)?.running;

  it.each([
    ['vm:100', 'migrate'],
    ['ct:201', 'relocate'],
  ])('%s by `%s`, and it runs there', async (sid, how) => {
    const from = demo.cluster.state.guests.get(Number(sid.slice(3)))?.node ?? '';
    await send('POST', '/cluster/ha/resources', { sid });
    await steps(sid, 10);
    const to = from === 'Home' ? 'pve' : 'Home';
    const asked = await send('POST', `/cluster/ha/resources/${sid}/${how}`, { node: to });
    expect(asked.body).toEqual({ data: { sid, 'requested-node': to } });
    expect(await steps(sid, 20)).toEqual([`${how} ${from}`, `started ${to}`]);
    expect(running(Number(sid.slice(3)))).toBe(true);
  });

  it('whose node dies: it is fenced, recovered and started on another one', async () => {
    await send('POST', '/cluster/ha/resources', { sid: 'vm:100' });
    await steps('vm:100', 10);
    await demo.faults.nodeDown('pve');
    expect(await steps('vm:100', 120)).toEqual(['started pve', 'fence pve', 'started Home']);
    expect(running(100)).toBe(true);
    expect((await rows('/cluster/resources?type=node')).map((row) => `${row['node']} ${row['hastate']}`).sort()).toEqual([
      ...['Home online', 'agent1 online', 'pve unknown'],
    ]);
  });

  it('whose node reboots on purpose: it is frozen until the node is back', async () => {
    await send('POST', '/cluster/ha/resources', { sid: 'vm:100' });
    await steps('vm:100', 10);
    await send('POST', '/nodes/pve/status', { command: 'reboot' });
    expect(await steps('vm:100', 60)).toEqual(['started pve', 'freeze pve', 'started pve']);
    expect(running(100)).toBe(true);
  });
});

describe('services, tasks and rights as the sources have them', () => {
  it('refuses to stop what answers, and says what it runs', async () => {
    const stop = await post('/nodes/pve/services/pveproxy/stop');
    clock.advance(2000);
    expect(await taskOf(stop)).toMatchObject({
      exitstatus: "invalid service cmd 'pveproxy stop': refusing to stop essential service!",
    });
  });

  it('says of a user that is asked for in vain no more than that', async () => {
    expect(line(await ask('/access/users/ops@pve', 'nobody'))).toBe('403 Permission check failed');
    expect(line(await ask('/access/users/nosuch@pve', 'nobody'))).toBe("500 no such user ('nosuch@pve')");
    expect(line(await ask('/access/users/x', 'nobody'))).toBe("500 user name 'x' is too short");
  });

  it('finished tasks are found by their user, not by the name of a token', async () => {
    const upid = await post('/nodes/pve/qemu/100/status/stop', {}, 'ops');
    clock.advance(5000);
    await taskOf(upid);
    const [user = '', token = ''] = demoTokens.ops.split('!');
    const found = async (filter: string) => (await rows(`/nodes/pve/tasks?userfilter=${filter}`)).some((row) => row['upid'] === upid);
    expect([await found(user), await found(`!${token}`)]).toEqual([true, false]);
  });

  it('tells of a guest’s pool only who may see the pool', async () => {
    const [pool] = demo.cluster.state.pools.values();
    const [vmid = 0] = pool?.guests ?? [];
    const row = async (token: Token) => (await rows('/cluster/resources?type=vm', token)).find((one) => one['vmid'] === vmid);
    expect(await row('root')).toMatchObject({ pool: pool?.id });
    const holds = demo.cluster.access.holds.bind(demo.cluster.access);
    demo.cluster.access.holds = (user, path, name) => name !== 'Pool.Audit' && holds(user, path, name);
    expect(await row('root')).toMatchObject({ vmid });
    expect(await row('root')).not.toHaveProperty('pool');
  });

  it('reads no log as a file and by lines at once', async () => {
    const upid = encodeURIComponent(demo.cluster.tasks.list().find((task) => task.node === 'pve')?.upid ?? '');
    expect(line(await ask(`/nodes/pve/tasks/${upid}/log?download=1&limit=5`))).toBe(
      "500 'download' cannot be used together with 'start' or 'limit' parameters",
    );
  });

  it('a dead node is not reached before the rights are looked at; what any node can answer is answered', async () => {
    await demo.faults.nodeDown('agent1', 'No route to host');
    expect(line(await ask('/nodes/agent1/qemu/103/pending'))).toBe('595 No route to host');
    expect(line(await send('PUT', '/nodes/agent1/qemu/103/config', { description: 'x' }))).toBe('595 No route to host');
    expect(line(await send('PUT', '/nodes/agent1/qemu/103/config', { description: 'x' }, 'readOnly'))).toMatch(/^403 /);
    expect(line(await ask('/nodes/agent1/qemu/103/firewall/rules'))).toBe('200 OK');
    expect(line(await ask('/nodes/pve/qemu/100/pending'))).toBe('200 OK');
  });

  it('a volume of another storage, format or owner is refused', async () => {
    const content = '/nodes/pve/storage/local/content';
    expect((await ask(`${content}/nas:100/vm-100-disk-0.raw`)).body).toMatchObject({
      errors: { volume: 'storage ID mismatch (nas != local)\n' },
    });
    const form = { vmid: '100', filename: 'vm-100-disk-9.raw', size: '4M' };
    expect((await send('POST', content, { ...form, format: 'qcow2' })).body).toMatchObject({
      errors: { format: 'different storage formats (qcow2 != raw)' },
    });
    await send('POST', content, form);
    expect(line(await send('POST', content, form))).toBe("500 disk image '/var/lib/vz/images/100/vm-100-disk-9.raw' already exists");
    expect(line(await ask(`${content}/local:100/vm-100-disk-9.raw`, 'readOnly'))).toBe(
      '403 Permission check failed (/vms/100, VM.Config.Disk)',
    );
    expect((await send('DELETE', `${content}/local:100/vm-100-disk-9.raw?delay=5`)).body).toEqual({ data: null });
  });
});
