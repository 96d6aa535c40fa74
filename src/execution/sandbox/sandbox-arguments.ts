/** The bubblewrap command line. Each flag answers a way out that was tried (docs/adr/0012-bubblewrap.md names them). */
import type { ExtraDescriptor } from '../run-child.ts';
import type { Etc } from './follow-etc.ts';
import type { Mount } from './guard-workspace.ts';
import type { SandboxHome } from './home.ts';
import type { SandboxUser } from './sandbox-user.ts';
import { seccompFilter } from './seccomp-filter.ts';
import type { Architecture } from './syscall-numbers.ts';
import type { DeviceNode } from './system-root.ts';
import { systemRoot } from './system-root.ts';

export interface SandboxPlan {
  readonly architecture: Architecture;
  readonly workspaceRoot: string;
  readonly readonly: boolean;
  readonly network: boolean;
  readonly home: SandboxHome;
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
    ...plan.home.visible.flatMap((directory) => ['--ro-bind-try', directory, directory]),
    // Copies: a tool may change its settings, for itself and until its end.
    ...[...plan.home.files].flatMap(([file, text]) => ['--file', descriptor({ kind: 'feed', bytes: Buffer.from(text) }), file]),
    ...[plan.readonly ? '--ro-bind' : '--bind', plan.workspaceRoot, plan.workspaceRoot],
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
    ...['--uid', String(user.uid), '--gid', String(user.gid), '--hostname', 'sandbox'],
    // As root the capabilities would stay, and `mount -o remount,rw` would open the host.
    ...['--cap-drop', 'ALL'],
    // Also after a normal end: what the command left in the background ends with it.
    ...['--die-with-parent', '--new-session', '--as-pid-1'],
  ];
}
