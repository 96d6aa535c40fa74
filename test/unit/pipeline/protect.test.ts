import { describe, expect, it } from 'vitest';
import { Fault } from '#kernel/errors';
import { securityLevels } from '#kernel/tiers';
import { createBench, demoProtection } from './support/bench.ts';
import { createFakeCluster } from './support/fake-cluster.ts';

type Bench = Awaited<ReturnType<typeof createBench>>;
const effects = (bench: Bench) => bench.cluster.effects.filter((effect) => !effect.startsWith('tool.'));

async function expectProtected(bench: Bench, tool: string, input: object): Promise<void> {
  expect(await bench.call(tool, input), `${tool} ${JSON.stringify(input)}`).toMatchObject({ status: 'denied', code: 'protected_resource' });
  expect(effects(bench)).toEqual([]);
  expect(await bench.approvals.countPending()).toBe(0);
}

describe('protected resources through the whole pipeline', () => {
  it.each<[string, object]>([
    ['stop_vm', { vmid: 103 }],
    ['stop_vm', { vmid: '103' }],
    ['stop_vm', { vmid: '0103' }],
    ['stop_vm', { vmid: 103.0 }],
    ['stop_vm', { vmid: 1.03e2 }],
    ['start_vm', { vmid: 103, node: 'pve' }],
    ['restart_vm', { vmid: 103, node: 'agent1', reason: 'trust me' }],
    ['stop_container', { vmid: 103 }],
    ['stop_vm', { vmid: 101 }],
    ['stop_vm', { vmid: 100, node: 'agent1' }],
    ['stop_vm', { vmid: 100, node: 'AGENT1' }],
    ['stop_vm', { vmid: 100, node: '::ffff:c0a8:13d' }],
    ['execute_ssh', { node: 'agent1', command: 'uptime' }],
    ['execute_ssh', { node: 'Agent1', command: 'uptime' }],
    ['execute_ssh', { node: 'agent1.lan.', command: 'uptime' }],
    ['execute_ssh', { node: '192.168.1.61', command: 'uptime' }],
    ['execute_ssh', { node: '0xC0A8013D', command: 'uptime' }],
    ['execute_ssh', { node: '[::ffff:192.168.1.61]', command: 'uptime' }],
    ['execute_ssh', { node: 'mgmt.lan', command: 'uptime' }],
    ['execute_ssh', { node: '10.9.9.9', command: 'uptime' }],
    ['restart_service', { node: 'agent1', service: 'docker' }],
    ['restart_service', { node: 'agent1', service: 'docker.service' }],
    ['restart_service', { node: 'agent1', service: 'Docker' }],
    ['restart_service', { node: 'agent1', service: 'docker.socket' }],
    ['restart_service', { node: 'AGENT1', service: 'nginx' }],
    ['restart_service', { node: 'agent1', service: 'reboot.target' }],
    ['wake_node', { node: 'agent1' }],
    ['wake_node', { node: '192.168.1.61' }],
    ['reboot_node', { node: 'agent1' }],
    ['reboot_node', { node: '3232235837' }],
  ])('%s %j is refused before anybody is asked', async (tool, input) => {
    const aliases = new Map([['agent1', ['10.9.9.9', 'mgmt.lan']]]);
    await expectProtected(await createBench({ aliases }), tool, input);
  });

  it.each(securityLevels)('at level %s, for a person at the palette, too', async (securityLevel) => {
    const bench = await createBench({ config: { protected: demoProtection, securityLevel } });
    const outcome = await bench.call('stop_vm', { vmid: 103 }, { agent: { id: 'user:ann', host: 'palette', modelTier: 'advanced' } });
    expect(outcome).toMatchObject({ status: 'denied', code: 'protected_resource' });
  });

  it('by the literal arguments even when the cluster cannot be asked', async () => {
    const bench = await createBench();
    bench.cluster.down = new Fault('pve_unreachable', 'no route', { retryable: true });
    await expectProtected(bench, 'stop_vm', { vmid: 103 });
    await expectProtected(bench, 'execute_ssh', { node: '192.168.1.61', command: 'uptime' });
    await expectProtected(bench, 'restart_service', { node: 'agent1', service: 'x' });
    await expectProtected(bench, 'reboot_node', { node: 'agent1' });
    expect(bench.cluster.calls.filter((call) => !['nodes', 'clusterStatus', 'guests'].includes(call))).toEqual([]);
    expect(await bench.call('stop_vm', { vmid: 100 })).toMatchObject({ status: 'error', code: 'pve_unreachable' });
  });

  it('even when no cluster, or another one, is named', async () => {
    const bench = await createBench();
    await expectProtected(bench, 'stop_vm', { vmid: 103, cluster: 'nope' });
    const none = await createBench({ deps: { clusters: new Map() } });
    await expectProtected(none, 'stop_vm', { vmid: 103 });
    expect(await none.call('stop_vm', { vmid: 100 })).toMatchObject({
      status: 'error',
      code: 'no_cluster',
      next: expect.stringContaining('clusters'),
    });
  });

  it('by aliases of every cluster while it is not known which one is meant', async () => {
    const aliases = new Map([['agent1', ['mgmt.lan']]]);
    const clusters = new Map([
      ['a', { access: createFakeCluster('a').access, aliases: new Map() }],
      ['b', { access: createFakeCluster('b').access, aliases }],
    ]);
    const bench = await createBench({ deps: { clusters } });
    await expectProtected(bench, 'execute_ssh', { node: 'mgmt.lan', command: 'uptime' });
    expect(await bench.call('execute_ssh', { node: 'pve', command: 'uptime' })).toMatchObject({
      code: 'unknown_cluster',
      message: expect.stringContaining('`a`, `b`'),
    });
  });

  it('is recorded with the rule and the arguments', async () => {
    const { call, trail, lines } = await createBench();
    await call('stop_vm', { vmid: '0103' });
    expect(await trail.last()).toMatchObject({
      name: 'tool.denied',
      attributes: { rules: ['protected.guests:103'], 'gen_ai.tool.call.arguments': { vmid: 103 }, tier: 'red' },
    });
    expect(lines).toEqual([expect.stringMatching(/^warn DENIED: stop_vm \(red\) \[\d+ms\] protected_resource: guest 103/)]);
  });
});

describe('what live data adds', () => {
  const onlyGuest = { protected: { guests: [103] } };

  it('the node that hosts a protected guest is refused itself; its other guests are not', async () => {
    const bench = await createBench({ config: onlyGuest });
    await expectProtected(bench, 'execute_ssh', { node: 'agent1', command: 'uptime' });
    await expectProtected(bench, 'restart_service', { node: 'agent1', service: 'nginx' });
    await expectProtected(bench, 'reboot_node', { node: 'agent1' });
    expect(await bench.call('stop_vm', { vmid: 101 })).toMatchObject({ status: 'pending' });
  });

  it('follows the guest when it moves', async () => {
    const bench = await createBench({ config: onlyGuest });
    for (const guest of bench.cluster.guests) if (guest.vmid === 103) guest.node = 'pve';
    await expectProtected(bench, 'execute_ssh', { node: 'pve', command: 'uptime' });
    expect(await bench.call('execute_ssh', { node: 'agent1', command: 'uptime' })).toMatchObject({ status: 'ok' });
    expect(await bench.call('stop_vm', { vmid: 103 })).toMatchObject({ code: 'protected_resource' });
  });

  it('a node that owns a protected address is like a listed one', async () => {
    const bench = await createBench({ config: { protected: { addresses: ['192.168.1.61'] } } });
    await expectProtected(bench, 'execute_ssh', { node: 'agent1', command: 'uptime' });
    await expectProtected(bench, 'stop_vm', { vmid: 101 });
    expect(await bench.call('stop_vm', { vmid: 100 })).toMatchObject({ status: 'pending' });
  });

  it('also when only the ssh configuration knows the address', async () => {
    const config = { protected: { addresses: ['10.9.9.9'] } };
    const bench = await createBench({ config, aliases: new Map([['pve', ['10.9.9.9', 'pve.lan']]]) });
    await expectProtected(bench, 'execute_ssh', { node: 'pve', command: 'uptime' });
    await expectProtected(bench, 'stop_vm', { vmid: 100 });
  });

  it.each([
    ['cloud-init', 100, { ipconfig0: 'ip=192.168.1.65/24' }],
    ['container', 200, { net0: 'name=eth0,ip=192.168.1.65/24' }],
  ])('a guest whose %s configuration holds a protected address is protected', async (_what, vmid, config) => {
    const bench = await createBench({ config: { protected: { addresses: ['192.168.1.65'] } } });
    for (const guest of bench.cluster.guests) if (guest.vmid === vmid) guest.config = config;
    await expectProtected(bench, vmid === 100 ? 'stop_vm' : 'stop_container', { vmid });
  });

  it('a guest whose configuration cannot be read is not operated on', async () => {
    const bench = await createBench();
    const real = bench.cluster.access.api;
    const api = { ...real, guestConfig: () => Promise.reject(new Fault('pve_403', 'no VM.Audit on /vms/100')) };
    const clusters = new Map([['lab', { access: { ...bench.cluster.access, api }, aliases: new Map() }]]);
    const blind = await createBench({ deps: { clusters } });
    expect(await blind.call('stop_vm', { vmid: 100 })).toMatchObject({ status: 'error', code: 'pve_403' });
    expect(await blind.approvals.countPending()).toBe(0);
  });

  it('a service everywhere, a service on one node', async () => {
    const config = {
      protected: {
        services: [
          { name: 'nginx', node: '*' },
          { name: 'postgres', node: 'pve' },
        ],
      },
    };
    const bench = await createBench({ config });
    for (const node of ['Home', 'pve', 'agent1']) await expectProtected(bench, 'restart_service', { node, service: 'nginx.socket' });
    await expectProtected(bench, 'restart_service', { node: 'pve', service: 'Postgres' });
    expect(await bench.call('restart_service', { node: 'Home', service: 'nginx2' }, { signal: AbortSignal.abort() })).toMatchObject({
      code: 'cancelled',
    });
  });
});

describe('what a call names wrongly', () => {
  it.each<[string, object, string]>([
    ['stop_vm', { vmid: 999 }, 'unknown_guest'],
    ['stop_vm', { vmid: 200 }, 'wrong_kind'],
    ['stop_container', { vmid: 100 }, 'wrong_kind'],
    ['stop_vm', { vmid: 100, node: 'Home' }, 'wrong_node'],
    ['stop_vm', { vmid: 100, node: 'localhost' }, 'wrong_node'],
    ['execute_ssh', { node: 'localhost', command: 'uptime' }, 'unknown_node'],
    ['execute_ssh', { node: 'PVE', command: 'uptime' }, 'unknown_node'],
    ['execute_ssh', { node: '192.168.1.60', command: 'uptime' }, 'unknown_node'],
    ['get_node_status', { node: 'pve/../agent1' }, 'invalid_input'],
    ['get_node_status', { node: 'agent1%2fqemu%2f103%2fstatus' }, 'invalid_input'],
    ['restart_service', { node: 'nope', service: 'x' }, 'unknown_node'],
    ['get_vms', { cluster: 'nope' }, 'unknown_cluster'],
  ])('%s %j is %s', async (tool, input, code) => {
    const bench = await createBench();
    expect(await bench.call(tool, input)).toMatchObject({ status: 'error', code });
    expect(effects(bench)).toEqual([]);
  });
});
