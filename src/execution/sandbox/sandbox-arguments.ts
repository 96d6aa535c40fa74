/** The bubblewrap command line. Each flag answers a way out that was tried (docs/adr/0012-bubblewrap.md names them). */
import os from 'node:os';
import type { ExtraDescriptor } from '../run-child.ts';
import { commandLanguage, type SandboxUser } from './clean-environment.ts';
import type { Etc } from './follow-etc.ts';
import type { Mount } from './guard-workspace.ts';
import type { SandboxHome } from './home.ts';
import { type Architecture, seccompFilter } from './seccomp-filter.ts';
import { type DeviceNode, systemRoot } from './system-root.ts';

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

export interface SandboxLine {
  readonly args: readonly string[];
  /** Descriptors 3 and on. */
  readonly extra: readonly ExtraDescriptor[];
}

export interface SandboxChannels {
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
