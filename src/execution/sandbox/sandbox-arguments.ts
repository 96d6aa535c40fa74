/** The bubblewrap command line. Each flag answers a way out that was tried (docs/adr/0012-bubblewrap.md names them). */
import type { ExtraDescriptor } from '../run-child.ts';
import type { Mount } from './guard-workspace.ts';
import { seccompFilter } from './seccomp-filter.ts';
import type { Architecture } from './syscall-numbers.ts';
import type { DeviceNode } from './system-root.ts';
import { identityFiles, systemRoot } from './system-root.ts';
import type { Toolchains } from './toolchains.ts';

export interface SandboxPlan {
  readonly architecture: Architecture;
  readonly workspaceRoot: string;
  readonly readonly: boolean;
  readonly network: boolean;
  readonly toolchains: Toolchains;
  /** Of root's own; none for other users. */
  readonly devices: readonly DeviceNode[];
  /** Over the workspace, in this order. */
  readonly mounts: readonly Mount[];
  /** Size of each directory that lives in memory (`/tmp`, the home directory, …). */
  readonly memoryDiskBytes: number;
  readonly user: { readonly uid: number; readonly gid: number };
  readonly env: Readonly<Record<string, string>>;
  /** Program and arguments inside. */
  readonly command: readonly string[];
}

export interface SandboxLine {
  readonly args: readonly string[];
  /** Descriptors 3 and on. */
  readonly extra: readonly ExtraDescriptor[];
}

/** @param onStatus gets bubblewrap's own report, JSON lines */
export function sandboxArguments(plan: SandboxPlan, onStatus: (text: string) => void): SandboxLine {
  const extra: ExtraDescriptor[] = [];
  const descriptor = (item: ExtraDescriptor) => String(extra.push(item) + 2);
  const args = [
    ...namespaces(plan),
    ...['--json-status-fd', descriptor({ kind: 'collect', onText: onStatus })],
    ...['--seccomp', descriptor({ kind: 'feed', bytes: seccompFilter(plan) })],
    ...systemRoot(plan),
    ...Object.entries(identityFiles(plan.user.uid, plan.user.gid)).flatMap(([file, text]) => {
      const from = descriptor({ kind: 'feed', bytes: Buffer.from(text) });
      return ['--perms', '0444', '--file', from, file];
    }),
    ...plan.toolchains.directories.flatMap((directory) => ['--ro-bind-try', directory, directory]),
    ...[plan.readonly ? '--ro-bind' : '--bind', plan.workspaceRoot, plan.workspaceRoot],
    ...plan.mounts.flatMap(({ how, descriptor: source, at }) => [how, descriptor({ kind: 'inherit', descriptor: source }), at]),
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
    ...['--die-with-parent', '--new-session'],
  ];
}
