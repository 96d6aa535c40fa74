/**
 * What no `before` holds, read from the recording's own outcome: pools, backup jobs, firewall rules, volumes, datacenter options, space. A
 * request that was told `pool 'x' already exists` was made while there was one; a volume that was deleted was there.
 */
import { parseVolume } from '#demo/pve/drives';
import { parseSize } from '#demo/pve/guest-config';
import type { ConfigValue, GuestSeed, PoolSeed, StorageSeed, VolumeSeed } from '#demo/pve/state';
import type { Fixture } from './fixture.ts';
import { poolsOf } from './pools.ts';
import { dataOf, type Fields, fieldsOf, type Recording, rowsOf } from './recordings.ts';

export interface Belongings {
  readonly pools: readonly PoolSeed[];
  readonly backupJobs: readonly Readonly<Record<string, ConfigValue>>[];
  readonly firewalls: ReadonlyMap<number, GuestFirewall>;
  readonly volumes: readonly VolumeSeed[];
  readonly options: Readonly<Record<string, unknown>>;
  readonly storages: readonly StorageSeed[];
}

type Plain = Readonly<Record<string, ConfigValue>>;

export interface GuestFirewall {
  readonly rules: readonly Plain[];
  readonly options: Plain;
}

/** @param words everything that the recordings of the story say, one text */
export function belongingsOf(fixture: Fixture, request: Recording, words: string): Belongings {
  return {
    pools: poolsOf(fixture, request, words),
    backupJobs: jobsOf(fixture, request, words),
    firewalls: firewallsOf(request),
    volumes: volumesOf(request, words),
    options: optionsOf(request, words),
    storages: storagesOf(fixture, request, words),
  };
}

function isDone(request: Recording): boolean {
  return request.response.status === 200;
}

function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

type Job = Record<string, ConfigValue>;

function jobsOf({ seed }: Fixture, request: Recording, words: string): Job[] {
  const { method, path } = request.request;
  if (path === '/cluster/backup-info/not-backed-up') return coveringJob(seed.guests, request);
  if (path === '/cluster/backup' && method === 'GET') return rowsOf(request).map(jobFrom);
  const taken = /Job '([^']+)' already exists/.exec(words)?.[1];
  if (taken !== undefined) return [{ ...plainJob, id: taken }];
  return /No such job|no such vzdump job/.test(words) ? [] : jobInPath(request);
}

/** The job that a path names, as it is shown. */
function jobInPath(request: Recording): Job[] {
  const { method, path } = request.request;
  const [, id, below] = /^\/cluster\/backup\/([^/?]+)(\/\w+)?/.exec(path) ?? [];
  if (id === undefined) return [];
  const named = { ...plainJob, id: decodeURIComponent(id) };
  if (below !== undefined) return [{ ...named, vmid: childrenOf(request).join(',') }];
  return [{ ...named, ...(method === 'GET' ? jobFrom(fieldsOf(request)) : {}) }];
}

const plainJob = { enabled: 1, schedule: '02:00', storage: 'local', vmid: '100' };

function childrenOf(request: Recording): number[] {
  const { children = [] } = fieldsOf(request) as unknown as { readonly children?: readonly { readonly id: number }[] };
  return children.map(({ id }) => id);
}

function jobFrom(row: Fields): Job {
  const pairs = Object.entries(row).filter(([key]) => key !== 'next-run' && key !== 'type');
  return Object.fromEntries(
    pairs.map(([key, value]) => [key, typeof value === 'object' && value !== null ? joined(value) : (value as ConfigValue)]),
  );
}

function joined(value: object): string {
  return Object.entries(value)
    .map(([key, one]) => `${key}=${one}`)
    .join(',');
}

/** Guests that a list of the uncovered leaves out are in some job. */
function coveringJob(guests: readonly GuestSeed[], request: Recording): Job[] {
  const open = new Set(rowsOf(request).map((row) => Number(row['vmid'])));
  const covered = guests.map(({ vmid }) => vmid).filter((vmid) => !open.has(vmid));
  return covered.length === 0 ? [] : [{ id: 'some', enabled: 1, schedule: '02:00', vmid: covered.join(','), storage: 'local' }];
}

const rulePath = /^\/nodes\/[^/]+\/(?:qemu|lxc)\/(\d+)\/firewall\/(?:rules|options)(?:\/(\d+))?/;

function firewallsOf(request: Recording): Belongings['firewalls'] {
  const [, vmid, pos] = rulePath.exec(request.request.path) ?? [];
  if (vmid === undefined) return new Map();
  const shown = [...rowsOf(request), ...(pos === undefined ? [] : [fieldsOf(request)])].filter((row) => row['action'] !== undefined);
  const plain = { type: 'in', action: 'ACCEPT', enable: 1 };
  const rules: Record<string, ConfigValue>[] = shown.map((row) => {
    const { pos: _, digest: __, ...rule } = row;
    return rule as Record<string, ConfigValue>;
  });
  if (pos !== undefined && isDone(request)) while (rules.length <= Number(pos)) rules.unshift(plain);
  const { digest: _, ...options } = request.request.path.endsWith('/options') ? fieldsOf(request) : {};
  return new Map([[Number(vmid), { rules, options: options as Plain }]]);
}

const volid = /(?<![\w/.-])[a-z][\w.-]*[a-z0-9]:(?:\d+\/|iso\/|vztmpl\/|backup\/|snippets\/|import\/)[\w./+-]+/gi;

/** Volumes that the request names, where the outcome does not say that they are missing. */
function volumesOf(request: Recording, words: string): VolumeSeed[] {
  const { path, form = {} } = request.request;
  const node = /^\/nodes\/([^/]+)/.exec(path)?.[1] ?? 'Home';
  if (/\/prunebackups/.test(path)) return rowsOf(request).map((row) => pruned(row, node));
  const asked = [decodeURIComponent(path).replace(/^.*(?:\/content\/|[?&]volume=)/, ''), ...Object.values(form)].flatMap((text) =>
    [...text.matchAll(volid)].map(([one]) => one),
  );
  const bases = [...words.matchAll(/(?:base volume|can't migrate local disk) '([^']+)'(?: is still in use|: referenced by linked)/g)].map(
    ([, one = '']) => one,
  );
  const missing = (one: string) => words.includes(`${one}' does not exist`) || new RegExp(`/${escaped(one)}' does not exist`).test(words);
  const there = asked.filter((one) => !missing(one) && (isDone(request) || !/does not exist/.test(words)));
  return [
    ...there.map((one) => volumeSeed(request, one, { node, kept: /cannot remove protected/.test(words) })),
    ...bases.map((base) => ({
      ...volumeSeed(request, base.replace(/:.*$/, ':9999/vm-9999-disk-0.qcow2'), { node, kept: false }),
      parent: base,
    })),
  ];
}

function pruned(row: Fields, node: string): VolumeSeed {
  const facts = { volid: textOf(row['volid']), node, content: 'backup', format: 'vma', size: 1_048_576 };
  const subtype = row['type'] === 'lxc' ? 'lxc' : 'qemu';
  return { ...facts, ctime: Number(row['ctime']), vmid: Number(row['vmid']), subtype, protected: row['mark'] === 'protected' };
}

function escaped(name: string): string {
  return (name.split('/').at(-1) ?? name).replace(/[.+]/g, '\\$&');
}

function volumeSeed(request: Recording, name: string, { node, kept }: { readonly node: string; readonly kept: boolean }): VolumeSeed {
  const [, folder = 'images'] = /:(iso|vztmpl|backup|snippets|import)\//.exec(name) ?? [];
  const { owner, format } = parseVolume(name);
  const common = { volid: name, node, content: folder, ctime: 1_795_374_344, size: sizeAfter(request, name), vmid: owner, protected: kept };
  if (folder !== 'backup') return { ...common, format: folder === 'images' ? format : 'iso' };
  const archived = restored(request);
  const { notes } = fieldsOf(request);
  return {
    ...{ ...common, ...archiveFacts(name) },
    ...(archived === undefined ? {} : { archived }),
    ...(typeof notes === 'string' ? { notes } : {}),
  };
}

function archiveFacts(name: string): Pick<VolumeSeed, 'format'> & Partial<VolumeSeed> {
  return { format: /\.((?:vma|tar)\S*)$/.exec(name)?.[1] ?? 'vma', subtype: name.includes('vzdump-lxc') ? 'lxc' : 'qemu' };
}

/** A volume's size as a configuration has it afterwards. */
function sizeAfter({ after = {} }: Recording, name: string): number {
  const pattern = new RegExp(`${name.replace(/[.+]/g, '\\$&')},(?:[^\\n]*,)?size=([\\d.]+[KMGT]?)`);
  const sizes = Object.values(after).map((guest) => parseSize(pattern.exec(guest?.config ?? '')?.[1] ?? ''));
  return sizes.find((size) => size !== undefined) ?? 1_048_576;
}

/** A restored guest's configuration is what was in the archive. */
function restored(recording: Recording): string | undefined {
  const { request, after } = recording;
  if (request.path.includes('/vzdump/extractconfig')) return textOf(dataOf(recording));
  if (!/^\/nodes\/[^/]+\/(?:qemu|lxc)$/.test(request.path)) return undefined;
  return after?.[request.form?.['vmid'] ?? '']?.config;
}

function optionsOf(request: Recording, words: string): Record<string, unknown> {
  const registered = [...words.matchAll(/for modifying tag '([^']+)'/g)].map(([, tag]) => tag);
  const { method, path } = request.request;
  const shown = method === 'GET' && path === '/cluster/options' ? Object.entries(fieldsOf(request)) : [];
  return {
    ...Object.fromEntries(shown.filter(([name]) => !['allowed-tags', 'description'].includes(name))),
    ...(registered.length === 0 ? {} : { 'registered-tags': registered }),
  };
}

/** A storage that ran out of space was full. */
function storagesOf({ seed }: Fixture, { request }: Recording, words: string): readonly StorageSeed[] {
  const full = /No space left|Wrote only \d+ of|not enough space/i.test(words) ? (request.form?.['storage'] ?? 'local') : undefined;
  return seed.storages.map((storage) => (storage.id === full ? { ...storage, usedBytes: storage.totalBytes } : storage));
}
