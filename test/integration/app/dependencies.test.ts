/** What protected guests depend on is protected as well: storages, gateways, DNS servers, the vote that keeps quorum. And refusals say their tier. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { call, startWorld, type World } from './support.ts';

let world: World;
beforeEach(async () => {
  world = await startWorld({ pins: 'each' });
});
afterEach(async () => {
  await world.close();
});

const vpn = { protected: { guests: [{ vmid: 100, reason: 'the VPN' }] } };

function guest(vmid: number) {
  const found = world.demo.cluster.state.guests.get(vmid);
  if (found === undefined) throw new Error(`no guest ${vmid}`);
  return found;
}

describe('what a protected guest depends on', () => {
  it('is its gateway', async () => {
    guest(200).config.set('net0', 'name=eth0,bridge=vmbr0,ip=192.168.1.1/24');
    const app = await world.open(vpn);
    expect(await call(app, 'stop_container', { vmid: 200 })).toMatchObject({
      ...{ status: 'denied', code: 'protected_resource', tier: 'red' },
      message: expect.stringMatching(/guest 200 is the gateway of protected guest 100; .*the reason given: the VPN/),
    });
    expect(await call(app, 'stop_container', { vmid: 201 })).toMatchObject({ status: 'pending' });
  });

  it('is its only DNS server, and not one of two', async () => {
    guest(100).config.set('nameserver', '192.168.1.53');
    const app = await world.open(vpn);
    expect((await call(app, 'restart_container', { vmid: 200 })).message).toMatch(
      /guest 200 is the only DNS server of protected guest 100/,
    );
    guest(100).config.set('nameserver', '192.168.1.53 192.168.1.80');
    expect(await call(app, 'restart_container', { vmid: 200 })).toMatchObject({ status: 'pending' });
  });

  it('is the guest, or the node, that its disks are served from', async () => {
    const { storages } = world.demo.cluster.state;
    const nas = storages.get('nas');
    const serveFrom = (server: string) => nas !== undefined && storages.set('nas', { ...nas, options: { ...nas.options, server } });
    guest(100).config.set('scsi1', 'nas:100/vm-100-disk-1.raw,size=8G');
    serveFrom('192.168.1.80');
    const app = await world.open(vpn);
    expect((await call(app, 'stop_container', { vmid: 201 })).message).toMatch(/guest 201 serves disks of protected guest 100/);
    serveFrom('192.168.1.50');
    expect((await call(app, 'restart_service', { node: 'Home', service: 'nginx' })).message).toMatch(
      /node `Home` serves disks of protected guest 100/,
    );
  });

  it('is the vote of a node without which the cluster has no quorum', async () => {
    await world.demo.faults.nodeDown('Home');
    const app = await world.open({ protected: { guests: [103] }, securityLevel: 'strict' });
    // 103 runs on agent1; the other node that is left is pve.
    expect(await call(app, 'restart_service', { node: 'pve', service: 'networking' })).toMatchObject({
      code: 'protected_resource',
      message: expect.stringMatching(/without node `pve` the cluster has no quorum, which protected guest 103 needs/),
    });
    expect(await call(app, 'restart_service', { node: 'pve', service: 'nginx' })).toMatchObject({ status: 'pending' });
  });

  it('is the storage that a clone keeps, too', async () => {
    const app = await world.open(vpn);
    expect(await call(app, 'clone_guest', { vmid: 900, new_vmid: 300 })).toMatchObject({
      code: 'protected_resource',
      message: expect.stringMatching(/storage `local-lvm` on `pve` holds the disks of protected guest 100/),
    });
    const free = await world.open();
    expect(await call(free, 'clone_guest', { vmid: 900, new_vmid: 300 })).toMatchObject({ status: 'pending' });
  });
});
