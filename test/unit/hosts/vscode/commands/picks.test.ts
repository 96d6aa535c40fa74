import { describe, expect, it } from 'vitest';
import { guestPicks, type LiveRows, nodePicks, plainLabel } from '#hosts/vscode/commands/picks';
import { type GuestRow, offlineStatus } from '#kernel/ports/cluster';

const guests: readonly GuestRow[] = [
  { vmid: 201, node: 'pve', type: 'lxc', status: 'running', name: 'proxy', raw: {} },
  { vmid: 105, node: 'agent1', type: 'qemu', status: 'stopped', name: 'build', raw: {} },
  { vmid: 100, node: 'pve', type: 'qemu', status: 'running', name: 'web', raw: {} },
  { vmid: 102, node: 'gone', type: 'qemu', status: 'unknown', raw: {} },
  { vmid: 103, node: 'agent1', type: 'qemu', status: 'running', name: 'management', raw: {} },
  { vmid: 104, node: 'pve', type: 'qemu', status: 'stopped', name: 'locked-vm', raw: { lock: 'backup' } },
  { vmid: 900, node: 'pve', type: 'qemu', status: 'stopped', name: 'tmpl', raw: { template: 1 } },
];
const nodes = [
  { node: 'pve', status: 'online', raw: {} },
  { node: 'agent1', status: 'online', raw: {} },
  { node: 'gone', status: 'offline', raw: {} },
];
const unprotected = { guests: new Map(), nodes: new Map() };
const live: LiveRows = {
  guests,
  nodes,
  protected: { ...unprotected, guests: new Map([[103, 'guest 103 is protected by configuration']]) },
};
const vmids = (picks: ReturnType<typeof guestPicks>) => picks.map((pick) => pick.fills.vmid);
const blocked = (picks: ReturnType<typeof guestPicks>) => picks.flatMap((pick) => (pick.blocked ? [[pick.fills.vmid, pick.blocked]] : []));

describe('guestPicks', () => {
  it('keeps kind and state, by number, and leaves out what is in that state already and templates', () => {
    expect(vmids(guestPicks(live, {}))).toEqual([100, 102, 103, 104, 105, 201, 900]);
    expect(vmids(guestPicks(live, { guestType: 'qemu', running: true }))).toEqual([100, 102, 103]);
    expect(vmids(guestPicks(live, { guestType: 'qemu', running: false }))).toEqual([102, 104, 105]);
    expect(vmids(guestPicks(live, { guestType: 'lxc' }))).toEqual([201]);
  });

  it('marks what is protected, locked or on a node that is offline, with the reason', () => {
    expect(blocked(guestPicks(live, { guestType: 'qemu', running: true }))).toEqual([
      [102, 'node gone is offline'],
      [103, 'guest 103 is protected by configuration'],
    ]);
    expect(blocked(guestPicks(live, { guestType: 'qemu', running: false }))).toEqual([
      [102, 'node gone is offline'],
      [104, 'it is locked (backup): an operation on it is running or was left unfinished'],
    ]);
    // Looking at them is no harm.
    expect(blocked(guestPicks(live, {}))).toEqual([]);
    expect(guestPicks(live, {})[1]?.description).toBe('unknown, node offline on gone');
  });

  it('marks a guest whose node is offline, and offers it for no action', () => {
    const away: GuestRow = { vmid: 103, node: 'agent1', type: 'qemu', status: offlineStatus, name: 'management', raw: {} };
    const picks = (filter: { readonly running?: boolean }) =>
      guestPicks({ ...live, nodes: [], guests: [away], protected: unprotected }, filter);
    expect(picks({})).toMatchObject([{ description: 'unknown, node offline on agent1', icon: 'question' }]);
    for (const running of [true, false]) expect(picks({ running })).toMatchObject([{ blocked: 'node agent1 is offline' }]);
  });

  it('says what each is', () => {
    expect(guestPicks(live, { running: true })[0]).toEqual({
      label: '100  web',
      description: 'running on pve',
      icon: 'vm-running',
      fills: { vmid: 100, node: 'pve' },
    });
    expect(guestPicks(live, { running: false })[0]?.label).toBe('102');
  });
});

describe('nodePicks', () => {
  const rows = [
    { node: 'pve', status: 'online', raw: {} },
    { node: 'agent1', status: 'offline', raw: {} },
    { node: 'Home', status: 'online', raw: {} },
  ];
  const names = (toWake: boolean) => nodePicks({ nodes: rows, protected: unprotected }, toWake).map((pick) => [pick.label, pick.blocked]);

  it('puts first what the action is about, and marks the others', () => {
    expect(names(false)).toEqual([
      ['Home', undefined],
      ['pve', undefined],
      ['agent1', 'node agent1 is offline'],
    ]);
    expect(names(true)).toEqual([
      ['agent1', undefined],
      ['Home', 'node Home is online already'],
      ['pve', 'node pve is online already'],
    ]);
  });

  it('marks what is protected', () => {
    const bound = { ...unprotected, nodes: new Map([['pve', 'node `pve` is protected by configuration']]) };
    expect(nodePicks({ nodes: rows, protected: bound }, false).map((pick) => pick.blocked)).toEqual([
      undefined,
      'node `pve` is protected by configuration',
      'node agent1 is offline',
    ]);
  });
});

it.each([
  ['$(error) boom', '\\$(error) boom'],
  ['$(sync~spin)', '\\$(sync~spin)'],
  ['cost $(5 EUR)', 'cost $(5 EUR)'],
  ['a\u202eb', 'a\\u{202e}b'],
])('plainLabel(%j) draws no icon and hides nothing', (text, shown) => {
  expect(plainLabel(text)).toBe(shown);
});
