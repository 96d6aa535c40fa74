/**
 * Which files of a node the read-only surface may read or list, decided from the path as text: the node is not here to be asked. So only
 * trees in which no link leads elsewhere are readable: sysfs (its links stay inside), a few files of procfs, and single files by name.
 * A pattern is taken as all that it could match.
 */
import type { ValueKind } from '../../program-rule.ts';

const readableFiles: ReadonlySet<string> = new Set([
  '/proc/loadavg',
  '/proc/meminfo',
  '/proc/cpuinfo',
  '/proc/uptime',
  '/proc/version',
  '/proc/mdstat',
  '/proc/pressure/cpu',
  '/proc/pressure/memory',
  '/proc/pressure/io',
  '/etc/hosts',
  '/etc/os-release',
  '/etc/debian_version',
  '/etc/pve/storage.cfg',
  '/var/run/reboot-required',
  '/run/reboot-required',
  '/var/run/reboot-required.pkgs',
  '/run/reboot-required.pkgs',
]);

/**
 * SECURITY: below /sys, what blocks for ever (trace_pipe), what holds secrets (firmware tables with licence keys, EFI variables), and
 * what touches the device when it is read (PCI resources, ROMs, vital product data).
 */
const closedInSysfs: readonly (readonly string[])[] = [
  ['kernel', 'debug'],
  ['kernel', 'tracing'],
  ['kernel', 'config'],
  ['kernel', 'security'],
  ['firmware'],
  ['fs', 'bpf'],
];
const closedLeaves: readonly string[] = [
  'rom',
  'vpd',
  'config',
  'resource0',
  'resource0_wc',
  'eeprom',
  'nvmem',
  'trace_pipe',
  'trace',
  'data',
];

/** SECURITY: not even listed: names of keys, and doors to other trees (`/proc/1/root`, descriptors). */
const closedToList: readonly (readonly string[])[] = [
  ['etc', 'pve', 'priv'],
  ['etc', 'pve', 'nodes', '*', 'priv'],
  ['etc', 'pve', 'local', 'priv'],
  ['etc', 'ssl', 'private'],
  ['etc', 'ssh'],
  ['root', '.*'],
  ['home', '*', '.*'],
  ['proc', '[0-9]*'],
  ['proc', 'self'],
  ['proc', 'thread-self'],
  ['dev', 'fd'],
  ['sys', 'kernel', 'debug'],
  ['sys', 'kernel', 'tracing'],
  ['net'],
  ['misc'],
  ['media'],
];

const openTrees: readonly (readonly string[])[] = [
  ['var', 'lib', 'vz'],
  ['mnt', 'pve', '*'],
  ['etc', 'pve', 'nodes', '*', 'qemu-server'],
  ['etc', 'pve', 'nodes', '*', 'lxc'],
  ['etc', 'pve', 'ha'],
  ['etc', 'pve', 'firewall'],
  ['etc', 'network'],
  ['etc', 'apt', 'sources.list.d'],
  ['etc', 'systemd', 'system'],
  ['var', 'log', 'pve'],
  ['sys', 'class', '*'],
  ['sys', 'block', '*'],
  ['sys', 'devices', 'system'],
  ['boot'],
];
const plainTrees: readonly (readonly string[])[] = [
  ['sys', 'devices', 'system', 'cpu', 'vulnerabilities'],
  ['sys', 'devices', 'system', 'cpu', 'smt'],
  ['sys', 'devices', 'system', 'cpu', '*', 'cpufreq'],
  ['sys', 'devices', 'system', 'cpu', '*', 'topology'],
  ['sys', 'class', 'dmi', 'id'],
  ['sys', 'class', 'thermal', '*'],
  ['sys', 'class', 'hwmon', '*'],
  ['sys', 'class', 'power_supply', '*'],
  ['sys', 'class', 'net', '*', 'statistics'],
  ['sys', 'class', 'net', '*', 'bonding'],
  ['sys', 'block', '*', 'queue'],
  ['sys', 'module', '*', 'parameters'],
  ['sys', 'kernel', 'mm', 'ksm'],
  ['sys', 'kernel', 'mm', 'transparent_hugepage'],
];

/** A file whose content may be read. */
export const readableFile: ValueKind = {
  name: 'a file under /sys, or one of the few readable files such as /proc/meminfo',
  file: 'read',
  accepts: (path) => readableFiles.has(path) || isReadableInSysfs(path),
};

/** A file or directory whose name and attributes may be listed. */
export const listablePath: ValueKind = {
  name: 'an absolute path that holds no secrets',
  file: 'list',
  accepts: isListable,
};

/**
 * A directory whose whole tree may be listed (`ls -R`): nothing that is closed lies below it, and it is not the system itself. Links below
 * are not followed.
 */
export const listableTree: ValueKind = {
  name: 'a directory of storages, of the cluster file system or of sysfs whose tree holds no secrets',
  file: 'list',
  accepts: (path) => isListable(path) && openTrees.some((tree) => isBelow(segmentsOf(path) ?? [], tree)),
};

/** A directory of sysfs in which every file is a plain value (`grep -r`); links below it are not followed. */
export const readableTree: ValueKind = {
  name: 'a directory of plain values under /sys',
  file: 'read',
  accepts: (path) => {
    const segments = segmentsOf(path) ?? [];
    return isReadableInSysfs(path) && plainTrees.some((tree) => segments.length === tree.length && isBelow(segments, tree));
  },
};

/** A mount point or any file on it, for `df`: nothing of it is read. */
export const plainPath: ValueKind = {
  name: 'an absolute path',
  accepts: (path) => segmentsOf(path) !== undefined && !/[*?[\]]/.test(path),
};

/** `/a/b` as `['a', 'b']`; undefined for anything that is not absolute or not in its shortest form. */
function segmentsOf(path: string): readonly string[] | undefined {
  if (!path.startsWith('/') || path.length > 400) return undefined;
  if (path === '/') return [];
  const segments = (path.endsWith('/') ? path.slice(1, -1) : path.slice(1)).split('/');
  return segments.some((segment) => segment === '' || isDots(segment)) ? undefined : segments;
}

/** `.` and `..`, and patterns that match them: a leading dot is only matched by a dot (POSIX §2.14.3). */
function isDots(segment: string): boolean {
  return segment.startsWith('.') && (mayMatch(segment, '..') || mayMatch(segment, '.'));
}

function isReadableInSysfs(path: string): boolean {
  const [top, ...below] = segmentsOf(path) ?? [];
  if (top !== 'sys' || below.length < 2) return false;
  if (closedInSysfs.some((closed) => closed.every((name, index) => mayMatch(below[index] ?? '', name)))) return false;
  if (hasOnlyPlainLeaves(below)) return true;
  const leaf = below.at(-1) ?? '';
  return !closedLeaves.some((name) => mayMatch(leaf, name)) && !/^resource\d/.test(leaf);
}

/** Where a pattern meets none of the closed leaves: processors and memory, and the values of sensors themselves. */
function hasOnlyPlainLeaves([top, second, ...rest]: readonly string[]): boolean {
  if (top === 'devices' && second === 'system') return true;
  return top === 'class' && (second === 'thermal' || second === 'hwmon' || second === 'power_supply') && rest.length === 2;
}

/** A `*` of the tree stands for any one name, patterns included; every other name must be written out. */
function isBelow(segments: readonly string[], tree: readonly string[]): boolean {
  return tree.every((name, index) => (name === '*' ? segments[index] !== undefined : segments[index] === name));
}

function isListable(path: string): boolean {
  const segments = segmentsOf(path);
  if (segments === undefined) return false;
  // A pattern needs a fixed start, so that it cannot roam.
  const firstPattern = segments.findIndex((segment) => /[*?[]/.test(segment));
  if (firstPattern === 0) return false;
  return !closedToList.some(
    (closed) => segments.length >= closed.length && closed.every((name, index) => overlaps(segments[index] ?? '', name)),
  );
}

/** Whether the two patterns can match one name; unsure counts as yes. */
function overlaps(pattern: string, closed: string): boolean {
  if (closed === '*') return true;
  if (closed === '.*') return pattern.startsWith('.') || /^[?*[]/.test(pattern);
  if (closed === '[0-9]*') return /^[\d?*[]/.test(pattern);
  return mayMatch(pattern, closed);
}

/** Shell pattern matching of one path segment (POSIX §2.14.1); a set `[…]` counts as any character. */
function mayMatch(pattern: string, name: string): boolean {
  if (!/[*?[]/.test(pattern)) return pattern === name;
  const expression = pattern.replace(/\[[^\]]*\]|[\s\S]/g, (piece) => {
    if (piece === '*') return '.*';
    if (piece === '?' || piece.startsWith('[')) return '.';
    return piece.replace(/[\\^$.|+(){}\]]/g, '\\$&');
  });
  return new RegExp(`^${expression}$`, 's').test(name);
}
