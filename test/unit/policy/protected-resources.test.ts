import { describe, expect, it } from 'vitest';
import type { GuestTarget, NodeTarget, Resource, ServiceTarget } from '#kernel/resource';
import { deriveProtection, type ProtectedList, protectionApplies, protectLiteral, protectTarget } from '#policy/protected-resources';

const list: ProtectedList = {
  nodes: ['agent1'],
  guests: [103],
  services: ['docker', { name: 'nginx', node: '*' }, { name: 'postgres.service', node: 'pve' }],
  addresses: ['192.168.1.61', '192.168.1.65', 'fd00::65'],
  protectReads: false,
};
const aliases = new Map([
  ['agent1', ['10.9.9.9', 'mgmt.lan']],
  ['pve', ['192.168.1.60', 'pve.lan']],
  ['far', ['192.168.1.65']],
]);
const nothing = { hosts: new Map<string, number[]>(), addressed: new Map<string, string>() };

function literal(resource: Resource) {
  return protectLiteral(resource, list, aliases);
}
function nodeLiteral(node: string) {
  return literal({ kind: 'node', access: 'operate', node });
}
function serviceLiteral(service: string, node: string) {
  return literal({ kind: 'service', access: 'operate', node, service });
}

describe('a protected node, as named', () => {
  it.each([
    'agent1',
    'AGENT1',
    'Agent1',
    'agent1.',
    'agent1.lan',
    'AGENT1.home.arpa.',
    '10.9.9.9',
    '10.9.9.9.',
    '168364297',
    '0x0a090909',
    'mgmt.lan',
    'MGMT.LAN.',
    '192.168.1.61',
    '192.168.1.61.',
    '[::ffff:192.168.1.61]',
    '::ffff:c0a8:13d',
    '::ffff:192.168.1.61%eth0',
    '0xC0A8013D',
    '3232235837',
    '0300.0250.1.075',
    '192.168.317',
    'fd00:0:0::65',
    '192.168.1.65',
    'far',
  ])('is refused as `%s`', (name) => {
    const decision = nodeLiteral(name);
    expect(decision).toMatchObject({ effect: 'deny', code: 'protected_resource' });
    expect(decision.reason).toMatch(/no approval lifts this/);
    expect(decision.rules[0]).toMatch(/^protected\.(?:nodes:agent1|addresses:(?:192\.168\.1\.6[15]|fd00::65))$/);
  });

  it.each([
    'pve',
    'pve.lan',
    '192.168.1.60',
    'agent10',
    'xagent1',
    'agent',
    'agent1x',
    '192.168.1.6',
    '192.168.1.62',
    'fd00::66',
    'lan',
    '',
  ])('is not `%s`', (name) => {
    expect(nodeLiteral(name).effect).toBe('allow');
  });
});

describe('a protected guest, as named', () => {
  it.each<[Resource]>([
    [{ kind: 'guest', access: 'operate', vmid: 103 }],
    [{ kind: 'guest', access: 'operate', vmid: 103, node: 'pve' }],
    [{ kind: 'guest', access: 'operate', vmid: 103, guestType: 'lxc' }],
    [{ kind: 'guest', access: 'operate', vmid: 100, node: 'agent1' }],
    [{ kind: 'guest', access: 'operate', vmid: 100, node: '192.168.1.61' }],
    [{ kind: 'guest', access: 'operate', vmid: 100, node: 'MGMT.lan' }],
  ])('is refused as %j', (resource) => {
    expect(literal(resource)).toMatchObject({ effect: 'deny', code: 'protected_resource' });
  });

  it('is not another one', () => {
    expect(literal({ kind: 'guest', access: 'operate', vmid: 1030 }).effect).toBe('allow');
    expect(literal({ kind: 'guest', access: 'operate', vmid: 100, node: 'pve' }).effect).toBe('allow');
  });
});

describe('a protected service, as named', () => {
  it.each([
    ['nginx', 'pve'],
    ['nginx.service', 'Home'],
    ['NGINX', 'pve'],
    ['Nginx.Service', 'pve'],
    ['nginx.socket', 'pve'],
    ['postgres', 'pve'],
    ['postgres.timer', 'PVE'],
    ['docker', 'agent1'],
    ['anything', 'agent1'],
    ['anything', '192.168.1.61'],
  ])('`%s` on `%s` is refused', (service, node) => {
    expect(serviceLiteral(service, node)).toMatchObject({ effect: 'deny', code: 'protected_resource' });
  });

  it.each([
    ['docker', 'pve'],
    ['postgres', 'Home'],
    ['nginx2', 'pve'],
    ['nginx.conf', 'pve'],
  ])('`%s` on `%s` is not', (service, node) => {
    expect(serviceLiteral(service, node).effect).toBe('allow');
  });
});

describe('other resources, as named', () => {
  it('destinations count by address', () => {
    for (const host of ['192.168.1.61', '[::ffff:192.168.1.61]', '0xC0A8013D'])
      expect(literal({ kind: 'destination', access: 'read', host })).toMatchObject({ effect: 'deny' });
    expect(literal({ kind: 'destination', access: 'read', host: 'example.org' }).effect).toBe('allow');
  });

  it('commands and paths are decided elsewhere', () => {
    expect(literal({ kind: 'command', access: 'operate', surface: 'ssh', text: 'agent1 103 192.168.1.61' }).effect).toBe('allow');
    expect(literal({ kind: 'path', access: 'operate', path: '/agent1' }).effect).toBe('allow');
  });

  it('an empty list protects nothing', () => {
    const none: ProtectedList = { nodes: [], guests: [], services: [], addresses: [], protectReads: false };
    expect(protectLiteral({ kind: 'node', access: 'operate', node: 'agent1' }, none, aliases).effect).toBe('allow');
    expect(protectLiteral({ kind: 'guest', access: 'operate', vmid: 103 }, none, aliases).effect).toBe('allow');
  });
});

const node = (name: string, addresses: readonly string[] = []): NodeTarget => ({
  kind: 'node',
  access: 'operate',
  cluster: 'lab',
  node: name,
  online: true,
  addresses,
});
const guest = (vmid: number, on: string, addresses: readonly string[] = []): GuestTarget => ({
  kind: 'guest',
  access: 'operate',
  cluster: 'lab',
  vmid,
  node: on,
  guestType: 'qemu',
  addresses,
});
const service = (name: string, on: string): ServiceTarget => ({
  kind: 'service',
  access: 'operate',
  cluster: 'lab',
  node: on,
  service: name,
});

describe('what live rows imply', () => {
  const rows = {
    guests: [
      { vmid: 103, node: 'PVE' },
      { vmid: 100, node: 'PVE' },
      { vmid: 104, node: 'Home' },
    ],
    nodes: [
      { node: 'Home', addresses: ['192.168.1.59', '::ffff:192.168.1.61'] },
      { node: 'PVE', addresses: ['192.168.1.60'] },
    ],
  };
  const derived = deriveProtection(rows, list);

  it('is which nodes host protected guests, and which own a protected address', () => {
    expect(derived.hosts).toEqual(new Map([['pve', [103]]]));
    expect([...derived.addressed.keys()]).toEqual(['home']);
    expect(deriveProtection(rows, { ...list, guests: [], addresses: [] })).toEqual(nothing);
  });

  it('the host of a protected guest is protected itself, and its services are; its other guests are not', () => {
    expect(protectTarget(node('PVE'), list, derived)).toMatchObject({ effect: 'deny', rules: ['derived.host-of:103'] });
    expect(protectTarget(service('sshd.service', 'PVE'), list, derived)).toMatchObject({ effect: 'deny', rules: ['derived.host-of:103'] });
    expect(protectTarget(guest(100, 'PVE'), list, derived).effect).toBe('allow');
    expect(protectTarget(guest(103, 'PVE'), list, derived)).toMatchObject({ effect: 'deny', rules: ['protected.guests:103'] });
  });

  it('names each of several protected guests', () => {
    const two = { hosts: new Map([['pve', [103, 104]]]), addressed: new Map<string, string>() };
    const decision = protectTarget(node('pve'), list, two);
    expect(decision.rules).toEqual(['derived.host-of:103', 'derived.host-of:104']);
    expect(decision.reason).toContain('protected guests 103, 104');
  });

  it('a node with a protected address is like a listed one: its guests and services, too', () => {
    expect(protectTarget(node('Home'), list, derived).effect).toBe('deny');
    expect(protectTarget(guest(104, 'Home'), list, derived).effect).toBe('deny');
    expect(protectTarget(service('x.service', 'Home'), list, derived).effect).toBe('deny');
  });
});

describe('a resolved target', () => {
  it('on a listed node is covered, whatever its case', () => {
    expect(protectTarget(node('AGENT1'), list, nothing).effect).toBe('deny');
    expect(protectTarget(guest(100, 'Agent1'), list, nothing).effect).toBe('deny');
    expect(protectTarget(service('x.service', 'agent1'), list, nothing).effect).toBe('deny');
  });

  it('with a protected address is protected', () => {
    expect(protectTarget(guest(100, 'pve', ['10.0.0.1', '192.168.1.65']), list, nothing)).toMatchObject({
      effect: 'deny',
      rules: ['protected.addresses:192.168.1.65'],
    });
    expect(protectTarget(node('pve', ['192.168.1.61']), list, nothing).effect).toBe('deny');
    expect(protectTarget(guest(100, 'pve', ['10.0.0.1']), list, nothing).effect).toBe('allow');
  });

  it('of a service counts by unit and node', () => {
    expect(protectTarget(service('nginx.service', 'pve'), list, nothing)).toMatchObject({
      effect: 'deny',
      rules: ['protected.services:nginx'],
    });
    expect(protectTarget(service('postgres.service', 'pve'), list, nothing).reason).toContain('protected on `pve`');
    expect(protectTarget(service('postgres.service', 'Home'), list, nothing).effect).toBe('allow');
    expect(protectTarget(service('docker.service', 'pve'), list, nothing).effect).toBe('allow');
  });

  it('of another kind is decided elsewhere, but a destination', () => {
    expect(protectTarget({ kind: 'command', access: 'operate', surface: 'ssh', text: 'x' }, list, nothing).effect).toBe('allow');
    expect(protectTarget({ kind: 'path', access: 'operate', path: '/x' }, list, nothing).effect).toBe('allow');
    expect(protectTarget({ kind: 'destination', access: 'read', host: '192.168.1.65' }, list, nothing).effect).toBe('deny');
  });
});

it('the list binds yellow, red and black; reads only where asked for', () => {
  expect((['green', 'yellow', 'red', 'black'] as const).map((tier) => protectionApplies(tier, list))).toEqual([false, true, true, true]);
  expect(protectionApplies('green', { ...list, protectReads: true })).toBe(true);
});
