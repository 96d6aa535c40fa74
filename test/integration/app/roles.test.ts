/** What people declare of guests and nodes: on the card, in refusals, in Explain. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { agent, call, manageGuest, startWorld, type World } from './support.ts';

let world: World;
beforeEach(async () => {
  world = await startWorld({ pins: 'each' });
});
afterEach(async () => {
  await world.close();
});

const gateway = { name: 'lan', as: 'gateway', guest: 100, reason: 'all traffic goes through it' };

async function risk(changes: object, tool: string, input: object): Promise<readonly string[]> {
  const app = await world.open({ protected: {}, ...changes });
  const outcome = await call(app, tool, input);
  expect(outcome).toMatchObject({ status: 'pending' });
  const lines = (await app.approvals.get(outcome.request_id ?? ''))?.risk ?? [];
  // Else the same call would be the same request, with what was looked up then.
  await app.approvals.deny(outcome.request_id ?? '', 'user:alice');
  return lines;
}

describe('a declared role', () => {
  it('is on the card, with whom it serves and its author’s reason', async () => {
    expect((await risk({}, 'stop_vm', { vmid: 100 })).join('\n')).not.toContain('gateway');
    const lines = await risk({ roles: [{ ...gateway, of: { guests: [200, 201] } }] }, 'stop_vm', { vmid: 100 });
    expect(lines).toContain('it is declared as gateway (`roles.lan`); the reason given: all traffic goes through it');
    expect(lines).toContain('it is the gateway of container 200 (dns), container 201 (proxy)');
    const other = await risk({ roles: [{ ...gateway, cluster: 'elsewhere' }] }, 'stop_vm', { vmid: 100 });
    expect(other.join('\n')).not.toContain('declared');
  });

  it('is lost with the last that is declared for the same guests', async () => {
    const of = { guests: [200] };
    const second = { ...gateway, name: 'lan2', guest: 201, of };
    expect((await risk({ roles: [{ ...gateway, of }, second] }, 'stop_vm', { vmid: 100 })).join('\n')).not.toContain('is the gateway of');
    // One that is not there stands in for nobody.
    const lines = await risk(
      {
        roles: [
          { ...gateway, of },
          { ...second, guest: 999 },
        ],
      },
      'stop_vm',
      { vmid: 100 },
    );
    expect(lines).toContain('it is the gateway of container 200 (dns)');
  });

  it('of storage takes along whose disks are served from there', async () => {
    world.demo.cluster.state.guests.get(201)?.config.set('mp0', 'nas:201/vm-201-disk-1.raw,mp=/data,size=8G');
    const nas = { name: 'nas-box', as: 'storage', guest: 100, storages: ['nas'], reason: 'its disks are exported' };
    expect(await risk({ roles: [nas] }, 'stop_vm', { vmid: 100 })).toContain(
      'goes down with it (runs there, or has disks that are served from there): container 201 (proxy)',
    );
  });

  it('of a protected guest protects who has it, and says whose word that is', async () => {
    const app = await world.open({ protected: { guests: [{ vmid: 103, reason: 'the VPN' }] }, roles: [gateway] });
    const refused = await call(app, 'stop_vm', { vmid: 100 });
    expect(refused).toMatchObject({ status: 'denied', code: 'protected_resource' });
    expect(refused.message).toMatch(
      /^guest 100 is declared as gateway \(`roles\.lan`\); the reason given: all traffic goes through it; protected guest 103 depends on it.*the VPN/,
    );
    const { decision } = await app.explain({ tool: 'stop_vm', input: { vmid: 100 }, agent });
    expect(decision.rules).toEqual(['roles.lan', 'derived.gateway-of:103']);
    // What is no change of it goes on, and so does a role that serves no protected guest.
    expect(await call(app, 'get_guest', { vmid: 100 })).toMatchObject({ status: 'ok' });
    const narrow = await world.open({ protected: { guests: [103] }, roles: [{ ...gateway, of: { guests: [201] } }] });
    expect(await call(narrow, 'stop_vm', { vmid: 100 })).toMatchObject({ status: 'pending' });
  });

  it('of a node holds what is done to the node, and a pool that nobody can see holds, too', async () => {
    const node = { name: 'router-node', as: 'gateway', node: 'PVE', reason: 'it routes', of: { pools: ['prod'] } };
    const app = await world.open({ protected: { guests: [103] }, roles: [node] });
    expect(await call(app, 'restart_service', { node: 'pve', service: 'nginx' })).toMatchObject({
      code: 'protected_resource',
      message: expect.stringContaining('node `pve` is declared as gateway (`roles.router-node`)'),
    });
    expect(await call(app, 'stop_vm', { vmid: 100 })).toMatchObject({ status: 'pending' });
  });

  it.each([
    ['no server', { name: 'a', as: 'dns', reason: 'x' }, /the `guest` or the `node`/],
    ['two servers', { ...gateway, node: 'pve' }, /the `guest` or the `node`/],
    ['storage without storages', { ...gateway, as: 'storage' }, /`storage`/],
    ['storages of a gateway', { ...gateway, storages: ['nas'] }, /`storage`/],
    ['no reason', { name: 'a', as: 'dns', guest: 100 }, /reason/],
  ])('with %s is refused by name', async (_what, role, why) => {
    await expect(world.open({ roles: [role] })).rejects.toThrow(why);
  });
});

describe('the radius', () => {
  it('has the boot order as a sign', async () => {
    const { guests } = world.demo.cluster.state;
    guests.get(100)?.config.set('startup', 'order=1,up=30');
    for (const vmid of [100, 201]) guests.get(vmid)?.config.set('onboot', 1);
    expect(await risk({}, 'stop_vm', { vmid: 100 })).toContain('its node starts it before container 201 (proxy), which may need it');
    guests.get(201)?.config.set('startup', 'order=1');
    expect((await risk({}, 'stop_vm', { vmid: 100 })).join('\n')).not.toContain('its node starts it before');
  });

  it('says where high availability finds no place under its rules', async () => {
    const { ha, state } = world.demo.cluster;
    state.guests.get(100)?.config.set('scsi0', 'nas:100/vm-100-disk-0.qcow2,size=32G');
    manageGuest(world, 100, { crmState: 'started', state: 'started' });
    const lines = () => risk({}, 'restart_service', { node: 'pve', service: 'networking' });
    expect((await lines()).join('\n')).toContain('high availability starts elsewhere: VM 100 (web)');
    ha.rules.push({ rule: 'only', type: 'node-affinity', resources: 'vm:100', nodes: 'pve', strict: 1 });
    expect((await lines()).join('\n')).toContain(
      'high availability finds no place that its rules allow and that has room for VM 100 (web)',
    );
    ha.rules.splice(0, 1, { rule: 'only', type: 'node-affinity', resources: 'vm:100', nodes: 'pve', strict: 1, disable: 1 });
    expect((await lines()).join('\n')).toContain('starts elsewhere');
  });
});
