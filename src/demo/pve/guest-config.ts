/**
 * A guest's configuration file: the text that PVE would write (`PVE/QemuServer.pm` write_vm_config, `PVE/LXC/Config.pm`), its SHA-1, and
 * what the text says. The digest of an answer is that of the text, so one recorded from a real cluster holds here too.
 */
import { createHash } from 'node:crypto';
import { guestOptions } from './declared/read-tables.ts';
import { specOf } from './parameter.ts';
import type { ConfigValue, GuestKind, GuestState, SnapshotState } from './state.ts';

type Values = ReadonlyMap<string, ConfigValue>;

/** What a file holds. */
export interface GuestFile {
  readonly config: Map<string, ConfigValue>;
  readonly pending: Map<string, ConfigValue | null>;
  readonly snapshots: SnapshotState[];
}

type Written = Pick<GuestState, 'kind'> & {
  readonly config: Values;
  readonly pending: ReadonlyMap<string, ConfigValue | null>;
  readonly snapshots: readonly SnapshotState[];
};

export function configText(guest: Written): string {
  const { kind, config, pending, snapshots } = guest;
  const sections = [...snapshots].sort((one, other) => (one.name < other.name ? -1 : 1));
  return [
    sectionText(config),
    ...(pending.size === 0 ? [] : [`[${pendingName(kind)}]\n${pendingText(pending)}`]),
    ...sections.map((snapshot) => `[${snapshot.name}]\n${sectionText(snapshotValues(snapshot))}`),
  ].join('\n');
}

function pendingName(kind: GuestKind): string {
  return kind === 'qemu' ? 'PENDING' : 'pve:pending';
}

function sectionText(values: Values): string {
  const description = values.get('description');
  const comment = description === undefined ? '' : commentOf(String(description));
  const keys = [...values.keys()].filter((key) => key !== 'description').sort();
  return comment + keys.map((key) => `${key}: ${values.get(key)}\n`).join('');
}

/** Control characters, `%`, `:` and what is not ASCII are escaped. */
function commentOf(description: string): string {
  const escaped = (line: string) => line.replace(/[^\x20-\x24\x26-\x39\x3b-\x7e]/gu, (one) => encodeURIComponent(one));
  return description
    .replace(/\n$/, '')
    .split('\n')
    .map((line) => `#${escaped(line)}\n`)
    .join('');
}

function pendingText(pending: ReadonlyMap<string, ConfigValue | null>): string {
  const set = new Map([...pending].filter((entry): entry is [string, ConfigValue] => entry[1] !== null));
  const gone = [...pending.keys()].filter((key) => pending.get(key) === null).sort();
  return sectionText(gone.length === 0 ? set : set.set('delete', gone.join(',')));
}

/** A snapshot's section, with what is kept beside its configuration. */
export function snapshotValues({ config, description, parent, snaptime }: SnapshotState): Map<string, ConfigValue> {
  return new Map<string, ConfigValue>([
    ...config,
    ...(description === '' ? [] : [['description', description] as const]),
    ...(parent === undefined ? [] : [['parent', parent] as const]),
    ['snaptime', snaptime],
  ]);
}

/** SHA-1 of the file. What was loaded and is unchanged keeps the digest that it came with. */
export function digestOf(guest: GuestState): string {
  const text = configText(guest);
  return guest.origin?.text === text ? guest.origin.digest : createHash('sha1').update(text).digest('hex');
}

/** Reads a configuration file. */
export function parseGuestFile(kind: GuestKind, text: string): GuestFile {
  const [main = '', ...sections] = text.split(/^(?=\[)/m);
  const file: GuestFile = { config: valuesIn(kind, main), pending: new Map(), snapshots: [] };
  for (const section of sections) {
    const [, name = ''] = /^\[([^\]]+)\]/.exec(section) ?? [];
    const values = valuesIn(kind, section);
    if (name === pendingName(kind)) readPending(file, values);
    else if (!name.includes(':')) file.snapshots.push(snapshotOf(name, values));
  }
  return file;
}

function readPending(file: GuestFile, values: Map<string, ConfigValue>): void {
  const gone = String(values.get('delete') ?? '');
  values.delete('delete');
  for (const [key, value] of values) file.pending.set(key, value);
  for (const key of gone.split(',').filter((one) => one !== '')) file.pending.set(key.replace(/^!/, ''), null);
}

function snapshotOf(name: string, values: Map<string, ConfigValue>): SnapshotState {
  const description = String(values.get('description') ?? '');
  const parent = values.get('parent');
  const snaptime = Number(values.get('snaptime') ?? 0);
  for (const key of ['description', 'parent', 'snaptime']) values.delete(key);
  return { name, description, parent: parent === undefined ? undefined : String(parent), snaptime, config: values };
}

/** `key: value` lines. A line that starts with `#` belongs to the description; of a container's the last line end is part of it. */
function valuesIn(kind: GuestKind, section: string): Map<string, ConfigValue> {
  const comments = [...section.matchAll(/^#(.*)$/gm)].map(([, line = '']) => decodeURIComponent(line));
  const values = new Map<string, ConfigValue>();
  for (const [, key = '', value = ''] of section.matchAll(/^([\w.-]+): ?(.*)$/gm)) values.set(key, typedValue(kind, key, value));
  if (comments.length > 0) values.set('description', `${comments.join('\n')}${kind === 'lxc' ? '\n' : ''}`);
  return values;
}

const numbers: ReadonlySet<string> = new Set(['snaptime', 'template']);

/** PVE's JSON has a number where the schema says so; a VM's memory is a property string. */
export function typedValue(kind: GuestKind, key: string, value: string): ConfigValue {
  const type = specOf(guestOptions[kind], key)?.type;
  const isNumber = type === 'integer' || type === 'number' || type === 'boolean' || numbers.has(key);
  return isNumber && /^-?\d+(?:\.\d+)?$/.test(value) ? Number(value) : value;
}

const units: Readonly<Record<string, number>> = { K: 1024, M: 1024 ** 2, G: 1024 ** 3, T: 1024 ** 4 };

/** Bytes of `1G`, `64M`, `4096`; undefined: no size. */
export function parseSize(text: string): number | undefined {
  const [, amount, unit = ''] = /^(\d+(?:\.\d+)?)([KMGT]?)$/.exec(text) ?? [];
  return amount === undefined ? undefined : Math.trunc(Number(amount) * (units[unit] ?? 1));
}

/** The largest unit that leaves no rest, as PVE writes sizes. */
export function formatSize(bytes: number): string {
  const unit = (['T', 'G', 'M', 'K'] as const).find((one) => bytes > 0 && bytes % (units[one] ?? 1) === 0);
  return unit === undefined ? String(bytes) : `${bytes / (units[unit] ?? 1)}${unit}`;
}

/** `maxdisk` of a guest: the first boot disk of a VM that says which, the root file system of a container (4 GiB where it has no size). */
export function maxDisk({ kind, config }: Pick<GuestState, 'kind' | 'config'>): number {
  const first = kind === 'lxc' ? 'rootfs' : (/^order=([^;]+)/.exec(String(config.get('boot') ?? ''))?.[1] ?? '');
  const [, size] = /(?:^|,)size=([\d.]+[KMGT]?)/.exec(String(config.get(first) ?? '')) ?? [];
  const bytes = size === undefined ? undefined : parseSize(size);
  return bytes ?? (kind === 'lxc' ? 4 * 1024 ** 3 : 0);
}
