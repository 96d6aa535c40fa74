/** A fixture of configuration files (`/etc/pve`) as the emulator's initial state. */

import { createHash } from 'node:crypto';
import { administratorPrivileges } from '#demo/initial-state';
import type { AclSeed } from '#demo/pve/access-control';
import { configText, parseGuestFile } from '#demo/pve/guest-config';
import type { ClusterSeed, GuestSeed, PoolSeed, StorageSeed } from '#demo/pve/state';
import { labFacts, labServices, labState, labUuid } from './lab-fixture.ts';
import type { RecordedFile, RecordedGuest } from './recordings.ts';

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
  const options = Object.fromEntries(
    [...(fixture['datacenter.cfg'] ?? '').matchAll(/^(\w+): (.*)$/gm)].map(([, name = '', value = '']) => [name, value]),
  );
  const seed: ClusterSeed = {
    name: 'lab',
    version: 3,
    nodes: labState.nodes.map((node) => ({ ...node, ...labFacts, services: labServices, journal: false })),
    guests,
    storages,
    volumes: [],
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
export function guestSeed(vmid: number, { kind, node, status, config: text }: RecordedGuest): GuestSeed {
  const { config, pending, snapshots } = parseGuestFile(kind, text);
  return {
    ...{ vmid, kind, node, running: status === 'running', obeysShutdown: kind === 'lxc', snapshots },
    config: Object.fromEntries(config),
    pending: Object.fromEntries(pending),
    origin: { digest: createHash('sha1').update(text).digest('hex'), text: configText({ kind, config, pending, snapshots }) },
  };
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
