/** A fixture of configuration files (`/etc/pve`) as the emulator's initial state. */

import { administratorPrivileges } from '#demo/initial-state';
import type { AclSeed } from '#demo/pve/access-control';
import type { ClusterSeed, ConfigValue, GuestSeed, PoolSeed, SnapshotState, StorageSeed, VolumeSeed } from '#demo/pve/state';
import { labFacts, labServices, labState, labUuid } from './lab-fixture.ts';
import type { RecordedFile, RecordedGuest } from './recordings.ts';

const mib = 1_048_576;
const units: Readonly<Record<string, number>> = { K: 1024, M: mib, G: 1024 * mib, T: mib * mib };

/** Name of a token in the recordings → its `Authorization` header. */
export type Tokens = Readonly<Record<string, string>>;

export interface Fixture {
  readonly seed: ClusterSeed;
  readonly tokens: Tokens;
}

/** The state that a file's recordings start from. */
export function readFixture({ fixture }: RecordedFile): Fixture {
  const access = fixture === undefined ? labState.access : readAccess(fixture['user.cfg'] ?? '');
  const tokens = Object.fromEntries(access.tokens.map((token) => [shortName(token.id), `PVEAPIToken=${token.id}=${token.secret}`]));
  if (fixture === undefined) return { seed: labState, tokens: { ...tokens, nobody: tokens['none'] ?? '', root: tokens['lab'] ?? '' } };
  const guests = Object.entries(fixture).flatMap(([path, text]) => guestIn(path, text));
  const storages = readStorages(fixture['storage.cfg'] ?? '');
  const options = Object.fromEntries(properties(fixture['datacenter.cfg'] ?? ''));
  const seed: ClusterSeed = {
    name: 'lab',
    version: 3,
    nodes: labState.nodes.map((node) => ({ ...node, ...labFacts, services: labServices, journal: false })),
    guests,
    storages,
    volumes: guests.flatMap(disksOf),
    pools: readPools(fixture['user.cfg'] ?? ''),
    options,
    tasks: [],
    access,
  };
  return { seed, tokens };
}

/** `oper@pve!sep` → `sep` */
function shortName(id: string): string {
  return id.slice(id.indexOf('!') + 1);
}

function guestIn(path: string, config: string): GuestSeed[] {
  const [, node = '', folder = '', vmid = ''] = /^nodes\/([^/]+)\/(qemu-server|lxc)\/(\d+)\.conf$/.exec(path) ?? [];
  if (node === '') return [];
  return [guestSeed(Number(vmid), { node, kind: folder === 'lxc' ? 'lxc' : 'qemu', status: 'stopped', config })];
}

/** A guest from its configuration file. Nothing runs inside: VMs ignore ACPI, containers obey their init. */
export function guestSeed(vmid: number, recorded: RecordedGuest): GuestSeed {
  const [main = '', ...sections] = recorded.config.split(/^(?=\[)/m);
  const config = Object.fromEntries(properties(main).map(([name, value]) => [name, typed(recorded.kind, name, value)]));
  const size = Object.entries(config).find(([name]) => (recorded.kind === 'lxc' ? name === 'rootfs' : name === bootDisk(config)));
  return {
    vmid,
    ...{ kind: recorded.kind, node: recorded.node, running: recorded.status === 'running', config },
    maxdisk: size === undefined ? 0 : sizeOf(String(size[1])),
    obeysShutdown: recorded.kind === 'lxc',
    snapshots: sections.flatMap((section) => snapshotIn(section)),
  };
}

/** `key: value` lines. A line that starts with `#` belongs to the description. */
function properties(text: string): [string, string][] {
  const comments = [...text.matchAll(/^#(.*)$/gm)].map(([, line = '']) => decodeURIComponent(line));
  const pairs = [...text.matchAll(/^([\w.-]+): (.*)$/gm)].map(([, name = '', value = '']): [string, string] => [name, value]);
  return comments.length === 0 ? pairs : [...pairs, ['description', `${comments.join('\n')}\n`]];
}

const texts: Readonly<Record<string, readonly string[]>> = {
  qemu: ['memory', 'agent', 'description', 'name', 'tags'],
  lxc: ['description', 'hostname', 'tags'],
};

/** PVE's JSON has a number where the schema says so; a VM's memory is text. */
function typed(kind: string, name: string, value: string): ConfigValue {
  return /^\d+$/.test(value) && !(texts[kind] ?? []).includes(name) ? Number(value) : value;
}

function bootDisk(config: Readonly<Record<string, ConfigValue>>): string | undefined {
  const [, first] = /^order=([^;]+)/.exec(String(config['boot'] ?? '')) ?? [];
  return first;
}

function sizeOf(disk: string): number {
  const [, amount = '0', unit = ''] = /(?:^|,)size=(\d+)([KMGT]?)/.exec(disk) ?? [];
  return Number(amount) * (units[unit] ?? 1);
}

function snapshotIn(section: string): SnapshotState[] {
  const [, name = ''] = /^\[([^\]]+)\]/.exec(section) ?? [];
  const pairs = new Map(properties(section));
  if (name === '' || name.includes(':') || name === 'PENDING') return [];
  return [
    {
      name,
      description: pairs.get('description') ?? '',
      parent: pairs.get('parent'),
      vmstate: pairs.has('vmstate'),
      snaptime: Number(pairs.get('snaptime') ?? 0),
    },
  ];
}

function disksOf(guest: GuestSeed): VolumeSeed[] {
  return Object.entries(guest.config).flatMap(([name, value]) => {
    const [, volid = '', format = ''] = /^([\w-]+:\d+\/[\w.-]+\.(\w+))(?:,|$)/.exec(String(value)) ?? [];
    if (volid === '' || !/^(?:scsi|virtio|ide|sata|unused|rootfs|mp)\d*$/.test(name)) return [];
    const content = guest.kind === 'lxc' ? 'rootdir' : 'images';
    const size = sizeOf(String(value)) || 1024 * mib;
    return [{ volid, node: guest.node, content, format, size, ctime: 1_795_374_344, vmid: guest.vmid, used: 200_704, parent: null }];
  });
}

function readStorages(text: string): StorageSeed[] {
  return text.split(/^(?=\w+: )/m).flatMap((section) => {
    const [, type = '', id = ''] = /^(\w+): (\S+)/.exec(section) ?? [];
    if (id === '') return [];
    const options = new Map([...section.matchAll(/^\s+([\w-]+) (.*)$/gm)].map(([, name = '', value = '']) => [name, value]));
    const nodes = options.get('nodes')?.split(',');
    return [
      {
        ...{ id, type, content: (options.get('content') ?? '').split(','), options: Object.fromEntries(options) },
        shared: options.get('shared') === '1' || type === 'nfs',
        ...{ totalBytes: labFacts.diskBytes, usedBytes: labFacts.diskUsedBytes, disabled: options.get('disable') === '1' },
        ...(nodes === undefined ? {} : { nodes }),
      },
    ];
  });
}

function lines(text: string, kind: string): string[][] {
  return text
    .split('\n')
    .filter((line) => line.startsWith(`${kind}:`))
    .map((line) => line.split(':').slice(1));
}

function list(text: string | undefined): string[] {
  return (text ?? '').split(',').filter((one) => one !== '');
}

function readPools(text: string): PoolSeed[] {
  return lines(text, 'pool').map(([id = '', comment = '', guests, storages]) => ({
    ...{ id, guests: list(guests).map(Number), storages: list(storages) },
    ...(comment === '' ? {} : { comment }),
  }));
}

function readAccess(text: string): AclSeed {
  const roles = lines(text, 'role').map(([name = '', privileges]) => [name, list(privileges)] as const);
  return {
    users: Object.fromEntries(lines(text, 'user').map(([id = '']) => [id, undefined])),
    tokens: lines(text, 'token').map(([id = '', expire, privsep]) => ({
      id,
      secret: labUuid,
      privsep: privsep === '1',
      expire: Number(expire),
    })),
    roles: { Administrator: administratorPrivileges, ...Object.fromEntries(roles) },
    entries: lines(text, 'acl').flatMap(([propagate, path = '', subjects, granted]) =>
      list(subjects).flatMap((subject) => list(granted).map((role) => ({ path, subject, role, propagate: propagate === '1' }))),
    ),
  };
}
