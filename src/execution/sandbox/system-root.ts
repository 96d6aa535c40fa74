/**
 * The root that a command sees: programs and libraries read-only, a few harmless files of `/etc`, memory for the rest. A list of what is
 * there, not of what is hidden: as root even a bare sandbox could read what its owner may (`/etc/shadow`).
 */
import { readlinkSync } from 'node:fs';
import path from 'node:path';
import { statsOf } from './entries.ts';
import type { Etc } from './follow-etc.ts';
import { isInside } from './is-inside.ts';
import { sandboxMark } from './sandbox-user.ts';

/** Below these nothing is secret on any system that follows the file-system standard. */
const programs = ['/usr', '/nix/store'];
/** Links into `/usr` on a merged system, directories on an older one. */
const merged = ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'];

export interface DeviceNode {
  readonly source: string;
  readonly at: string;
}

export interface SystemRootOptions {
  readonly memoryDiskBytes: number;
  readonly network: boolean;
  /** The command's home directory. */
  readonly homeDirectory: string;
  /** What stands for `/etc`. */
  readonly etc: Etc;
  /** Instead of the host's. */
  readonly devices: readonly DeviceNode[];
}

/** Arguments of bubblewrap in the order in which it must do them. */
export function systemRoot({ memoryDiskBytes, network, homeDirectory, etc, devices }: SystemRootOptions): readonly string[] {
  const memory = (at: string) => ['--size', String(memoryDiskBytes), '--tmpfs', at];
  return [
    ...programs.flatMap((place) => ['--ro-bind-try', place, place]),
    ...merged.flatMap(visible),
    ...['--ro-bind', etc.directory, '/etc', ...etc.mounts.flatMap((name) => ['--ro-bind-try', `/etc/${name}`, `/etc/${name}`])],
    // A link to a file of the resolver's in `/run` on many systems: the file itself is bound.
    ...(network ? ['--ro-bind-try', '/etc/resolv.conf', '/etc/resolv.conf'] : []),
    // SECURITY: as root without capabilities a command still owns `/proc/sys`, and `core_pattern` starts programs outside. Bubblewrap covers
    // it only where the directory itself looks writable, which it never does.
    ...['--proc', '/proc', '--remount-ro', '/proc'],
    ...['--dev', '/dev', ...devices.flatMap(({ source, at }) => ['--dev-bind', source, at])],
    ...[...memory('/dev/shm'), '--remount-ro', '/dev'],
    ...['/tmp', homeDirectory].flatMap(memory),
    ...['--perms', '0555', '--size', '4096', '--tmpfs', sandboxMark, '--symlink', '../tmp', '/var/tmp', '--symlink', '../run', '/var/run'],
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
