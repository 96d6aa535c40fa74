import { describe, expect, it } from 'vitest';
import { guestPicks, nodePicks, plainLabel } from '#hosts/vscode/commands/picks';
import { type GuestRow, offlineStatus } from '#kernel/ports/cluster';

const guests: readonly GuestRow[] = [
  { vmid: 201, node: 'pve', type: 'lxc', status: 'running', name: 'proxy', raw: {} },
  { vmid: 105, node: 'agent1', type: 'qemu', status: 'stopped', name: 'build', raw: {} },
  { vmid: 100, node: 'pve', type: 'qemu', status: 'running', name: 'web', raw: {} },
  { vmid: 102, node: 'gone', type: 'qemu', status: 'unknown', raw: {} },
];
const vmids = (picks: ReturnType<typeof guestPicks>) => picks.map((pick) => pick.fills.vmid);

describe('guestPicks', () => {
  it('keeps kind and state, by number', () => {
    expect(vmids(guestPicks(guests, {}))).toEqual([100, 102, 105, 201]);
    expect(vmids(guestPicks(guests, { guestType: 'qemu', running: true }))).toEqual([100]);
    expect(vmids(guestPicks(guests, { guestType: 'qemu', running: false }))).toEqual([102, 105]);
    expect(vmids(guestPicks(guests, { guestType: 'lxc' }))).toEqual([201]);
  });

  it('marks a guest whose node is offline, and offers it for no action', () => {
    const away: GuestRow = { vmid: 103, node: 'agent1', type: 'qemu', status: offlineStatus, name: 'management', raw: {} };
    expect(guestPicks([away], {})).toMatchObject([{ description: 'unknown, node offline on agent1', icon: 'question' }]);
    for (const running of [true, false]) expect(guestPicks([away], { running })).toEqual([]);
  });

  it('says what each is', () => {
    expect(guestPicks(guests, { running: true })[0]).toEqual({
      label: '100  web',
      description: 'running on pve',
      icon: 'vm-running',
      fills: { vmid: 100, node: 'pve' },
    });
    expect(guestPicks(guests, { running: false })[0]?.label).toBe('102');
  });
});

it('nodePicks puts first what the action is about', () => {
  const nodes = [
    { node: 'pve', status: 'online', raw: {} },
    { node: 'agent1', status: 'offline', raw: {} },
    { node: 'Home', status: 'online', raw: {} },
  ];
  expect(nodePicks(nodes, false).map((pick) => pick.label)).toEqual(['Home', 'pve', 'agent1']);
  expect(nodePicks(nodes, true).map((pick) => pick.label)).toEqual(['agent1', 'Home', 'pve']);
});

it.each([
  ['$(error) boom', '\\$(error) boom'],
  ['$(sync~spin)', '\\$(sync~spin)'],
  ['cost $(5 EUR)', 'cost $(5 EUR)'],
  ['a\u202eb', 'a\\u{202e}b'],
])('plainLabel(%j) draws no icon and hides nothing', (text, shown) => {
  expect(plainLabel(text)).toBe(shown);
});
