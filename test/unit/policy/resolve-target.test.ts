import { describe, expect, it } from 'vitest';
import type { GuestResource, Resource } from '#kernel/resource';
import { type Inventory, resolveTarget } from '#policy/resolve-target';

const inventory: Inventory = {
  cluster: 'lab',
  nodes: [
    { node: 'Home', online: true, addresses: ['192.168.1.50'], aliases: [] },
    { node: 'pve', online: false, addresses: ['192.168.1.60', 'fd00::60'], aliases: ['192.168.1.60', 'pve.lan'] },
    { node: 'agent1', online: true, addresses: ['192.168.1.61'], aliases: [] },
  ],
  guests: [
    { vmid: 100, node: 'pve', type: 'qemu', name: 'web', status: 'running' },
    { vmid: 200, node: 'Home', type: 'lxc', status: 'stopped' },
  ],
};
const resolve = (resource: Resource) => resolveTarget(resource, inventory);
const guest = (claims: Partial<GuestResource>): GuestResource => ({ kind: 'guest', access: 'operate', vmid: 100, ...claims });

describe('a guest', () => {
  it('is where the cluster says it is', () => {
    expect(resolve(guest({}))).toEqual({
      target: {
        kind: 'guest',
        access: 'operate',
        cluster: 'lab',
        vmid: 100,
        node: 'pve',
        guestType: 'qemu',
        name: 'web',
        status: 'running',
        addresses: [],
      },
    });
    expect(resolve(guest({ vmid: 200, node: 'Home', guestType: 'lxc' })).problem).toBeUndefined();
    expect(resolve(guest({ vmid: 200 })).target).not.toHaveProperty('name');
  });

  it('that is not there is said, with how to find those that are', () => {
    const { target, problem } = resolve(guest({ vmid: 999 }));
    expect(target).toBeUndefined();
    expect(problem).toMatchObject({ code: 'unknown_guest', message: expect.stringMatching(/no guest 999 in cluster `lab`.*get_vms/) });
  });

  it('of the wrong kind or node is named, and what it really is stays known for protection', () => {
    const wrongKind = resolve(guest({ guestType: 'lxc' }));
    expect(wrongKind.problem).toMatchObject({ code: 'wrong_kind', message: expect.stringContaining('the `…_vm` tools') });
    expect(wrongKind.target).toMatchObject({ vmid: 100, node: 'pve' });
    expect(resolve(guest({ vmid: 200, guestType: 'qemu' })).problem?.message).toContain('the `…_container` tools');
    const wrongNode = resolve(guest({ node: 'Home' }));
    expect(wrongNode.problem).toMatchObject({ code: 'wrong_node', message: expect.stringContaining('is on node `pve`, not on `Home`') });
    expect(wrongNode.target).toMatchObject({ vmid: 100, node: 'pve' });
  });

  it.each(['PVE', 'localhost', '192.168.1.60', 'pve.lan', 'pve%2f', 'pve/qemu/103'])('is not taken on a node given as `%s`', (node) => {
    expect(resolve(guest({ node })).problem?.code).toBe('wrong_node');
  });
});

describe('a node', () => {
  it('is a row of the node list, by its very name', () => {
    expect(resolve({ kind: 'node', access: 'read', node: 'pve' })).toEqual({
      target: { kind: 'node', access: 'read', cluster: 'lab', node: 'pve', online: false, addresses: ['192.168.1.60', 'fd00::60'] },
    });
  });

  it.each(['PVE', 'pve.', 'pve.lan', 'PVE.LAN.', '192.168.1.60', '[fd00:0::60]', '::ffff:192.168.1.60'])(
    'named `%s` is recognized, and the call is sent back for the right name',
    (node) => {
      const { target, problem } = resolve({ kind: 'node', access: 'read', node });
      expect(target).toMatchObject({ node: 'pve' });
      expect(problem).toMatchObject({ code: 'unknown_node', message: expect.stringContaining('looks like node `pve`') });
    },
  );

  it.each(
    ['localhost', 'pve2', '192.168.1.99', '127.0.0.1'].map(
      (node) => [node, node === 'pve2' || node === 'localhost' ? 'unknown_node' : 'invalid_input'] as const,
    ),
  )('named `%s` is none (%s)', (node, code) => {
    const { target, problem } = resolve({ kind: 'node', access: 'read', node });
    expect(target).toBeUndefined();
    expect(problem).toMatchObject({ code, message: expect.stringContaining('nodes here: `Home`, `pve`, `agent1`') });
  });

  it.each(['pve/../agent1', 'agent1%2fqemu%2f103', 'pve agent1', 'pve;reboot', '../../access', 'пве'])(
    'named `%s` is bad input',
    (node) => {
      expect(resolve({ kind: 'node', access: 'read', node })).toMatchObject({ problem: { code: 'invalid_input' } });
    },
  );
});

describe('a service', () => {
  it('has its full unit name on a resolved node', () => {
    expect(resolve({ kind: 'service', access: 'operate', node: 'pve', service: 'docker' })).toEqual({
      target: { kind: 'service', access: 'operate', cluster: 'lab', node: 'pve', service: 'docker.service' },
    });
    expect(resolve({ kind: 'service', access: 'operate', node: 'pve', service: 'docker.socket' }).target).toMatchObject({
      service: 'docker.socket',
    });
  });

  it('on a node that is named otherwise keeps what it is, for protection', () => {
    const { target, problem } = resolve({ kind: 'service', access: 'operate', node: '192.168.1.61', service: 'x' });
    expect(target).toMatchObject({ node: 'agent1', service: 'x.service' });
    expect(problem?.code).toBe('unknown_node');
  });

  it('on no node has no target', () => {
    expect(resolve({ kind: 'service', access: 'operate', node: 'nope', service: 'x' })).toEqual({
      problem: { code: 'unknown_node', message: expect.any(String) },
    });
  });
});

it('commands, paths and destinations are what they say', () => {
  const others: Resource[] = [
    { kind: 'command', access: 'operate', surface: 'ssh', text: 'x' },
    { kind: 'path', access: 'read', path: '/x' },
    { kind: 'destination', access: 'read', host: 'h' },
  ];
  for (const resource of others) expect(resolve(resource)).toEqual({ target: resource });
});
