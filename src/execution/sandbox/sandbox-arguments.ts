/** The bubblewrap command line. Each flag answers a way out that was tried (docs/adr/0012-bubblewrap.md names them). */

import { chmodSync, mkdirSync, readlinkSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { ProgramRunner } from '#kernel/ports/program-runner';
import type { ExtraDescriptor } from '../run-child.ts';
import { commandLanguage, launcherEnvironment, type SandboxUser, sandboxMark } from './clean-environment.ts';
import { isInside, programPlaces, statsOf } from './entries.ts';
import type { Etc } from './follow-etc.ts';
import type { Mount } from './guard-workspace.ts';
import type { SandboxHome } from './home.ts';
import { type Architecture, seccompFilter } from './seccomp-filter.ts';

export interface SandboxPlan {
  readonly architecture: Architecture;
  readonly workspaceRoot: string;
  /** What lies at the workspace's place; left out: what is there. */
  readonly workspaceSource?: string | undefined;
  readonly readonly: boolean;
  readonly network: boolean;
  readonly home: SandboxHome;
  /** `SeccompOptions.groupId` */
  readonly groupId?: boolean;
  /** What lies at the places of `home.caches` is this run's alone: it may be written. Left out: it is not. */
  readonly ownCaches?: boolean;
  readonly etc: Etc;
  /** Of root's own; none for other users. */
  readonly devices: readonly DeviceNode[];
  /** Over the workspace, in this order. */
  readonly mounts: readonly Mount[];
  /** Size of each directory that lives in memory (`/tmp`, the home directory, …). */
  readonly memoryDiskBytes: number;
  readonly user: SandboxUser;
  readonly env: Readonly<Record<string, string>>;
  /** Program and arguments inside. */
  readonly command: readonly string[];
}

interface SandboxLine {
  readonly args: readonly string[];
  /** Descriptors 3 and on. */
  readonly extra: readonly ExtraDescriptor[];
}

interface SandboxChannels {
  /** Gets bubblewrap's own report, JSON lines. */
  readonly onStatus: (text: string) => void;
  /** What the command waits for before it becomes itself. */
  readonly start: Promise<Uint8Array>;
}

/**
 * The descriptor on which the sandbox's first process waits, alone, until it is held by what limits it. SECURITY: bubblewrap's own
 * `--block-fd` goes on when it is closed, as it is when this process dies; who finds this one closed ends.
 */
export const gateDescriptor = 5;

export function sandboxArguments(plan: SandboxPlan, { onStatus, start }: SandboxChannels): SandboxLine {
  const extra: ExtraDescriptor[] = [];
  const descriptor = (item: ExtraDescriptor) => String(extra.push(item) + 2);
  const [status, filter] = [descriptor({ kind: 'collect', onText: onStatus }), descriptor({ kind: 'feed', bytes: seccompFilter(plan) })];
  // INVARIANT: the third, `gateDescriptor`. Bubblewrap knows nothing of it and leaves it to the command.
  descriptor({ kind: 'feed-later', bytes: start });
  const args = [
    ...namespaces(plan),
    ...['--json-status-fd', status, '--seccomp', filter],
    ...systemRoot({ ...plan, homeDirectory: plan.home.directory }),
    ...plan.home.visible.flatMap((place) => [
      plan.ownCaches && plan.home.caches?.includes(place) ? '--bind-try' : '--ro-bind-try',
      place,
      place,
    ]),
    ...preallocation((text) => descriptor({ kind: 'feed', bytes: Buffer.from(text) })),
    // Copies: a tool may change its settings, for itself and until its end.
    ...[...plan.home.files].flatMap(([file, text]) => ['--file', descriptor({ kind: 'feed', bytes: Buffer.from(text) }), file]),
    ...[plan.readonly ? '--ro-bind' : '--bind', plan.workspaceSource ?? plan.workspaceRoot, plan.workspaceRoot],
    ...plan.mounts.flatMap((mount) => {
      // Who owns it may still open it for itself: what is put there stays in memory, a little, until the end.
      if (mount.how === '--tmpfs') return ['--perms', '0555', '--size', '65536', mount.how, mount.at];
      if (mount.how === '--ro-bind') return [mount.how, mount.source, mount.at];
      return [mount.how, descriptor({ kind: 'inherit', descriptor: mount.descriptor }), mount.at];
    }),
    // What bubblewrap made to hang the rest on; without a size, and writable until now.
    ...['--remount-ro', '/', '--chdir', plan.workspaceRoot],
    '--clearenv',
    ...Object.entries(plan.env).flatMap(([name, value]) => ['--setenv', name, value]),
    ...['--', ...plan.command],
  ];
  return { args, extra };
}

function namespaces({ network, user }: SandboxPlan): readonly string[] {
  return [
    ...['--unshare-user', '--disable-userns', '--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup'],
    ...(network ? [] : ['--unshare-net']),
    ...['--uid', String(user.uid), '--gid', String(user.gid), '--hostname', os.hostname()],
    // As root the capabilities would stay, and `mount -o remount,rw` would open the host.
    ...['--cap-drop', 'ALL'],
    // Also after a normal end: what the command left in the background ends with it.
    ...['--die-with-parent', '--new-session', '--as-pid-1'],
  ];
}

// The command inside. A bash is process 1: it waits for its start, sets the limits on itself, starts the bash that runs the text and collects
// what is left behind. SECURITY: bubblewrap's own process 1 would be a link to a program of the host (`/proc/1/exe`) that root could change.
export interface ProcessLimits {
  /** Largest file that can be written. */
  readonly fileBytes: number;
  /** Processes and threads in the sandbox; the kernel holds root to it by a control group only. */
  readonly tasks: number;
  readonly openFiles: number;
  /** CPU time of one process. */
  readonly cpuSeconds: number;
}

/** Whatever it is: nobody is left to see it. */
const notStartedCode = 125;

/** SECURITY: what this process inherited open from whoever started it would reach the command; a directory of the host's is a way out. */
const closeAll = `for fd in /proc/self/fd/*; do (( \${fd##*/} > 2 )) && all+=" \${fd##*/}<&-"; done; eval "exec$all"; unset fd all`;

/**
 * No RLIMIT_AS and no RLIMIT_DATA: V8, Go, the JVM and sanitizers reserve far more addresses than memory; what the tree really uses is looked
 * at from outside. Set inside, because RLIMIT_NPROC counts per user namespace, and outside it would count the person's own processes. A limit
 * that is lower already stays.
 */
export function limitedCommand(text: string, limits: ProcessLimits): readonly string[] {
  const settings = [
    ['c', 0],
    // In units of 1,024 bytes.
    ['f', Math.ceil(limits.fileBytes / 1_024)],
    ['u', limits.tasks],
    ['n', limits.openFiles],
    ['t', limits.cpuSeconds],
  ];
  const script = [
    `read -r -n 1 -u ${gateDescriptor} || exit ${notStartedCode}`,
    closeAll,
    // SECURITY: not the host's, whose mode root could change by its descriptor. Its own words about the child's end are none of the command's.
    'exec </dev/null 9>&2 2>/dev/null',
    ...settings.map(([letter, value]) => `ulimit -${letter} ${value}`),
    `LANG=${commandLanguage} /bin/bash --noprofile --norc -c "$1" 2>&9 9>&-`,
    'exit $?',
  ];
  return ['/bin/bash', '--noprofile', '--norc', '-c', script.join('; '), 'bash', text];
}

// The root that a command sees: programs and libraries read-only, a few harmless files of `/etc`, memory for the rest. A list of what is
// there, not of what is hidden: as root even a bare sandbox could read what its owner may (`/etc/shadow`).
/** What is installed, as `dpkg -l`, `rpm -q` and `pacman -Q` list it. */
const packageLists = ['/var/lib/dpkg', '/var/lib/rpm', '/var/lib/pacman/local'];
/** Links into `/usr` on a merged system, directories on an older one. */
const merged = ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'];

export interface DeviceNode {
  readonly source: string;
  readonly at: string;
}

interface SystemRootOptions {
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
function systemRoot({ memoryDiskBytes, network, workspaceRoot, homeDirectory, etc, devices }: SystemRootOptions): readonly string[] {
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

/**
 * `fallocate(1)` fails where the kernel does not allocate (`seccomp-filter.ts`), and writes only where it is told to. Not on systems whose own is
 * part of another program: that one cannot.
 */
function preallocation(feed: (text: string) => string): readonly string[] {
  const [place, real] = ['/usr/bin/fallocate', `${sandboxMark}/fallocate`];
  if (statsOf(place)?.isFile() !== true) return [];
  const plain = '--length*|--offset*|--verbose|-[lov]*|[!-]*';
  const run = `exec -a fallocate ${real}`;
  const script = `#!/bin/bash\nfor word; do case $word in ${plain}) ;; *) ${run} "$@" ;; esac; done\n${run} --posix "$@"\n`;
  return ['--ro-bind', place, real, '--perms', '0755', '--ro-bind-data', feed(script), place];
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
