import { expect, it } from 'vitest';
import { english } from '#kernel/text/message';
import type { RadiusFacts, RadiusGuest } from '#policy/blast/blast-radius';
import { type OwnMachine, suggestProtection } from '#policy/blast/suggest-protection';

const guest = (vmid: number, more: Partial<RadiusGuest> = {}): RadiusGuest => ({
  ...{ vmid, node: 'pve', running: true, memory: 1, ha: false, addresses: [], gateways: [], resolvers: [], storages: [] },
  ...more,
});

const suggested = (facts: RadiusFacts, own: OwnMachine, names: ReadonlyMap<number, string>) =>
  suggestProtection(facts, own, (vmid) => names.get(vmid)).map((one) => ({ ...one, why: english(one.why) }));

it('suggests what others depend on, what this runs on, and what is named like it, each with all of its reasons', () => {
  const facts: RadiusFacts = {
    clustered: true,
    nodes: [
      { node: 'pve', online: true, votes: 1, memory: 1, addresses: ['10.0.0.60'] },
      { node: 'nfs', online: true, votes: 1, memory: 1, addresses: ['10.0.0.50'] },
    ],
    guests: [
      guest(300, { addresses: ['10.0.0.1'] }),
      guest(100, { addresses: ['10.0.0.53'], resolvers: ['10.0.0.53'], gateways: ['10.0.0.1'] }),
      guest(101, { gateways: ['10.0.0.1'], resolvers: ['10.0.0.53', '10.0.0.1'] }),
      guest(102, { addresses: ['10.0.0.77'] }),
      guest(103),
      guest(104),
    ],
    storages: [{ storage: 'nas', shared: true, servers: ['10.0.0.50'] }],
  };
  const names = new Map([
    [103, 'home-vpn-1'],
    [104, 'dnsmasq-docs'],
  ]);
  expect(suggested(facts, { addresses: ['10.0.0.77', 'fe80::1%eth0'], name: '', ids: [] }, names)).toEqual([
    { kind: 'guest', name: '100', why: 'is a DNS server of 1 guest' },
    { kind: 'guest', name: '102', why: 'is the machine that this runs on' },
    { kind: 'guest', name: '103', why: 'is named as one that others depend on' },
    { kind: 'guest', name: '300', why: 'is the gateway of 2 guests, is a DNS server of 1 guest' },
    { kind: 'node', name: 'nfs', why: 'serves the storage `nas`' },
  ]);
});

it('finds the machine that this runs on by its name and its machine id, too', () => {
  const id = '0b1c2d3e4f5061728394a5b6c7d8e9f0';
  const facts: RadiusFacts = {
    clustered: false,
    nodes: [{ node: 'PVE', online: true, votes: 1, memory: 1, addresses: [] }],
    guests: [guest(100, { uuid: id }), guest(101, { uuid: 'f'.repeat(32) }), guest(102), guest(103)],
    storages: [],
  };
  const names = new Map([
    [102, 'Ops.lan'],
    [103, 'ops-2'],
  ]);
  const found = (name: string) => suggested(facts, { addresses: [], name, ids: [id] }, names);
  expect(found('ops')).toEqual([
    { kind: 'guest', name: '100', why: 'has the machine id of the machine that this runs on' },
    { kind: 'guest', name: '102', why: 'has the name of the machine that this runs on' },
  ]);
  expect(found('pve').map(({ name }) => name)).toEqual(['100', 'PVE']);
  // A machine without a name of its own is nobody's.
  expect(found('').map(({ name }) => name)).toEqual(['100']);
});
