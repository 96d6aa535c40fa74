/** What else goes with a guest or node, on the card of a single call: from what the cluster itself says. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { call, manageGuest, startWorld, type World } from './support.ts';

let world: World;
beforeEach(async () => {
  world = await startWorld({ pins: 'each' });
});
afterEach(async () => {
  await world.close();
});

function guest(vmid: number) {
  const found = world.demo.cluster.state.guests.get(vmid);
  if (found === undefined) throw new Error(`no guest ${vmid}`);
  return found;
}

async function risk(tool: string, input: object): Promise<readonly string[]> {
  const app = await world.open({ protected: {}, securityLevel: 'strict' });
  const outcome = await call(app, tool, input);
  expect(outcome).toMatchObject({ status: 'pending' });
  return (await app.approvals.get(outcome.request_id ?? ''))?.risk ?? [];
}

describe('the card of a call', () => {
  it('names, in the order of their numbers, the guests whose gateway or only DNS server it is', async () => {
    // 200 `dns` answers at .53; 100 and 201 have the gateway .1, which is nobody of the cluster.
    guest(201).config.set('nameserver', '192.168.1.53');
    guest(100).config.set('nameserver', '192.168.1.53 1.1.1.1');
    const dns = await risk('stop_container', { vmid: 200 });
    expect(dns).toContain('it is the only DNS server of container 201 (proxy)');
    expect(dns.join()).not.toContain('gateway');
    guest(200).config.set('net0', 'name=eth0,bridge=vmbr0,ip=192.168.1.1/24');
    const gateway = await risk('stop_container', { vmid: 200 });
    expect(gateway.find((line) => line.startsWith('it is the gateway of'))).toMatch(/VM 100 \(web\).*container 201 \(proxy\)/);
  });

  it('names the guests whose disks are served from it', async () => {
    const { storages } = world.demo.cluster.state;
    const nas = storages.get('nas');
    if (nas !== undefined) storages.set('nas', { ...nas, options: { ...nas.options, server: '192.168.1.70' } });
    guest(201).config.set('mp0', 'nas:201/vm-201-disk-1.raw,mp=/data,size=8G');
    expect(await risk('stop_vm', { vmid: 100 })).toContain(
      'goes down with it (runs there, or has disks that are served from there): container 201 (proxy)',
    );
    expect((await risk('suspend_vm', { vmid: 100 })).join()).toContain('container 201 (proxy)');
  });

  it('says nothing where nothing depends on it, and of starting a guest', async () => {
    const lines = (await risk('stop_vm', { vmid: 100 })).join('\n');
    expect(lines).not.toMatch(/gateway of|DNS server of|goes down|not known what/);
    expect((await risk('start_vm', { vmid: 101 })).join()).not.toContain('goes down');
  });

  it('says that a node’s votes are needed, and what high availability could do', async () => {
    manageGuest(world, 100, { crmState: 'started', state: 'started' });
    await world.demo.faults.nodeDown('Home');
    const lines = await risk('restart_service', { node: 'pve', service: 'networking' });
    expect(lines.join('\n')).toMatch(/the cluster would lose quorum: 1 vote would be left, 2 are needed/);
  });
});
