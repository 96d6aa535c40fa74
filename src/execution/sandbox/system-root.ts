/**
 * The root that a command sees: programs and libraries read-only, a few harmless files of `/etc`, memory for the rest. A list of what is
 * there, not of what is hidden: as root even a bare sandbox could read what its owner may (`/etc/shadow`).
 */

import { chmodSync, mkdirSync, readlinkSync, rmSync } from 'node:fs';
import path from 'node:path';
import type { ProgramRunner } from '#kernel/ports/program-runner';
import { launcherEnvironment, sandboxMark } from './clean-environment.ts';
import { isInside, programPlaces, statsOf } from './entries.ts';
import type { Etc } from './follow-etc.ts';

/** What is installed, as `dpkg -l`, `rpm -q` and `pacman -Q` list it. */
const packageLists = ['/var/lib/dpkg', '/var/lib/rpm', '/var/lib/pacman/local'];
/** Links into `/usr` on a merged system, directories on an older one. */
const merged = ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'];

export interface DeviceNode {
  readonly source: string;
  readonly at: string;
}

export interface SystemRootOptions {
  readonly memoryDiskBytes: number;
  readonly network: boolean;
  readonly workspaceRoot: string;
  /** The command's home directory. */
  readonly homeDirectory: string;
  /** What stands for `/etc`. */
  readonly etc: Etc;
  /** Instead of the host's. */
  readonly devices: readonly DeviceNode[];
}

/** Arguments of bubblewrap in the order in which it must do them. */
export function systemRoot({ memoryDiskBytes, network, workspaceRoot, homeDirectory, etc, devices }: SystemRootOptions): readonly string[] {
  const memory = (at: string) => ['--size', String(memoryDiskBytes), '--tmpfs', at];
  // A mount less, where nothing has to lie below that name.
  const isNeeded = [workspaceRoot, homeDirectory].some((place) => isInside(place, '/var/tmp'));
  const varTmp = isNeeded ? memory('/var/tmp') : ['--symlink', '../tmp', '/var/tmp'];
  return [
    ...programPlaces.flatMap((place) => ['--ro-bind-try', place, place]),
    ...merged.flatMap(visible),
    ...packageLists.flatMap((place) => (statsOf(place)?.isDirectory() ? ['--ro-bind', place, place] : [])),
    ...['--ro-bind', etc.directory, '/etc', ...etc.mounts.flatMap((name) => ['--ro-bind-try', `/etc/${name}`, `/etc/${name}`])],
    // A link to a file of the resolver's in `/run` on many systems: the file itself is bound.
    ...(network ? ['resolv.conf', 'hosts'].flatMap((name) => ['--ro-bind-try', `/etc/${name}`, `/etc/${name}`]) : []),
    // SECURITY: as root without capabilities a command still owns `/proc/sys`, and `core_pattern` starts programs outside. Bubblewrap covers
    // it only where the directory itself looks writable, which it never does.
    ...['--proc', '/proc', '--remount-ro', '/proc'],
    ...['--dev', '/dev', ...devices.flatMap(({ source, at }) => ['--dev-bind', source, at])],
    ...[...memory('/dev/shm'), '--remount-ro', '/dev'],
    ...[...memory('/tmp'), ...varTmp, ...memory(homeDirectory)],
    ...['--perms', '0555', '--size', '4096', '--tmpfs', sandboxMark, '--symlink', '../run', '/var/run'],
  ];
}

/** A link into `/usr` as a link, which costs no mount; any other entry bound. */
function visible(file: string): readonly string[] {
  const entry = statsOf(file);
  if (entry === undefined) return [];
  const target = entry.isSymbolicLink() ? readlinkSync(file) : undefined;
  const isBelowUsr = target !== undefined && isInside(path.resolve(path.dirname(file), target), '/usr');
  return isBelowUsr ? ['--symlink', target, file] : ['--ro-bind-try', file, file];
}

// Device nodes of the sandbox's own, for root. `bwrap --dev` binds the host's nodes, and root owns those: `chmod 0 /dev/null` in the sandbox
// would break the machine. A read-only bind is no way out, for bubblewrap makes it `nodev`, too. Other users own no node.
/** Major and minor number of what `--dev` would bind. There is no terminal: `/dev/tty` is another `null`. Source: Linux `devices.txt`. */
const numbers: readonly (readonly [name: string, major: number, minor: number])[] = [
  ['null', 1, 3],
  ['zero', 1, 5],
  ['full', 1, 7],
  ['random', 1, 8],
  ['urandom', 1, 9],
  ['tty', 1, 3],
];

/** @returns none for other users than root, and where nodes cannot be made: the probe then finds the host's */
export async function deviceNodes(stateDir: string, programs: ProgramRunner, signal: AbortSignal): Promise<readonly DeviceNode[]> {
  if (process.getuid?.() !== 0) return [];
  const folder = path.join(stateDir, 'sandbox', 'dev');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const nodes: DeviceNode[] = [];
  for (const [name, major, minor] of numbers) {
    const source = path.join(folder, name);
    if (!isNode(source, major, minor) && !(await make(source, [major, minor], programs, signal))) return [];
    nodes.push({ source, at: `/dev/${name}` });
  }
  resetModes(nodes);
  return nodes;
}

/** Where the nodes lie, by their names below `/dev`; undefined where there are none. */
export function deviceFolder([first]: readonly DeviceNode[]): string | undefined {
  return first === undefined ? undefined : path.dirname(first.source);
}

/** A former command may have changed them. */
export function resetModes(nodes: readonly DeviceNode[]): void {
  for (const { source } of nodes) if (((statsOf(source)?.mode ?? 0) & 0o7777) !== 0o666) chmodSync(source, 0o666);
}

/** Linux packs small numbers as `major << 8 | minor` (`makedev(3)`). */
function isNode(file: string, major: number, minor: number): boolean {
  const stats = statsOf(file);
  return stats?.isCharacterDevice() === true && stats.rdev === (major << 8) + minor;
}

async function make(file: string, pair: readonly [number, number], programs: ProgramRunner, signal: AbortSignal): Promise<boolean> {
  rmSync(file, { recursive: true, force: true });
  const args = [file, 'c', ...pair.map(String)];
  const request = { program: 'mknod', args, cwd: '/', env: launcherEnvironment, timeoutMs: 10_000, keepBytes: 1_000 };
  const made = await programs.run(request, signal).catch(() => undefined);
  signal.throwIfAborted();
  return made?.exitCode === 0;
}
