/**
 * A copy-on-write view of the workspace: a mount namespace of one run's own, overlayfs at the workspace's place in it, and whatever is started
 * there. Written is the upper directory; the workspace itself is only read. Without root a user namespace comes first, and overlayfs keeps its
 * marks in `user.*` attributes. Source: the kernel's `overlayfs.rst`, `unshare(1)`, `mount(8)`.
 */
import { chmodSync, chownSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { Fault } from '#kernel/errors';
import type { ProgramRunner } from '#kernel/ports/program-runner';
import { launcherEnvironment } from '../sandbox/clean-environment.ts';
import { look } from './stamp.ts';

export interface View {
  readonly workspaceRoot: string;
  /** Of the run: `upper`, `work` and what else it needs are in it. */
  readonly directory: string;
}

export interface ProgramLine {
  readonly program: string;
  readonly args: readonly string[];
}

/** A secret's place holder. */
export interface HiddenFile {
  readonly path: string;
  readonly inode: string;
}

const unshare = '/usr/bin/unshare';

/** Whether the kernel lets us mount with the marks of root: only then can a directory that was there be given another name. */
export function isPrivileged(): boolean {
  return process.getuid?.() === 0;
}

/**
 * The paths go in as open descriptors: a comma or colon in them would end an option. SECURITY: the descriptors are closed before anything else
 * is started, for they lead out of the view.
 */
function mountScript(more: string): string {
  const marks = isPrivileged() ? 'redirect_dir=on' : 'userxattr';
  return `set -e
exec {ws}<"$1" {run}<"$2"
mount -i -t overlay banksman -o "lowerdir=/proc/self/fd/$ws,upperdir=/proc/self/fd/$run/upper,workdir=/proc/self/fd/$run/work,${marks}" "$1"
exec {ws}<&- {run}<&-
cd "$1"
${more}`;
}

/**
 * An empty file that nobody may read takes a secret's place, in the upper directory: nothing of the content is within reach, and the command
 * can still delete, rename or replace it. A second name keeps its inode number from being given away. A mount instead would make `rm`, `git clean` and `mv` fail.
 */
const hideScript = `if [[ -s $2/hide ]]; then
  xargs -0 -a "$2/hide" rm -f --
  while IFS= read -r -d '' file; do : > "$file"; done < "$2/hide"
  xargs -0 -a "$2/hide" chmod 000 --
  mkdir "$2/hidden"
  (cd "$2/upper"; xargs -0 -a "$2/hide" cp -l --parents -t "$2/hidden" --)
fi
cd /
`;

/** @param hide files of the workspace whose content the command must not see */
export function openView(view: View, hide: readonly string[]): void {
  const { workspaceRoot, directory } = view;
  const upper = `${directory}/upper`;
  for (const part of [upper, `${directory}/work`]) mkdirSync(part, { mode: 0o700 });
  // The upper directory gives the workspace's own directory its owner and mode.
  const { mode, uid, gid } = statSync(workspaceRoot);
  if (isPrivileged()) chownSync(upper, uid, gid);
  chmodSync(upper, mode & 0o7777);
  writeFileSync(`${directory}/hide`, hide.map((path) => `./${path}\0`).join(''));
}

/** The line that starts a program over the view. It keeps its process id and its descriptors all the way. */
export function overView(view: View, { program, args }: ProgramLine): ProgramLine {
  return inNamespace(view, mountScript(`${hideScript}shift 2\nexec "$@"`), [program, ...args]);
}

function inNamespace({ workspaceRoot, directory }: View, script: string, args: readonly string[]): ProgramLine {
  const namespaces = isPrivileged() ? ['-m'] : ['-U', '-r', '-m'];
  return {
    program: unshare,
    args: [...namespaces, '/bin/bash', '--noprofile', '--norc', '-c', script, 'bash', workspaceRoot, directory, ...args],
  };
}

export function hiddenFiles({ directory }: View): readonly HiddenFile[] {
  const paths = readOrNothing(`${directory}/hide`).split('\0').slice(0, -1);
  return paths.flatMap((named) => {
    const path = named.slice('./'.length);
    const stats = look(`${directory}/hidden/${path}`);
    return stats === undefined ? [] : [{ path, inode: String(stats.ino) }];
  });
}

export interface Looker {
  /** Inode numbers in the view, of the paths that are there. */
  inodes(view: View, paths: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, string>>;
  /** Copies what is at the paths to the same paths below `copied` in the run's directory: attributes included, the overlay's own marks not. */
  copyOut(view: View, paths: readonly string[], signal: AbortSignal): Promise<void>;
}

const looksMs = 600_000;

/** Looks at a view whose command has ended. */
export function createLooker(programs: ProgramRunner): Looker {
  const run = async (view: View, script: string, paths: readonly string[], signal: AbortSignal) => {
    writeFileSync(`${view.directory}/ask`, paths.map((path) => `./${path}\0`).join(''));
    const line = inNamespace(view, mountScript(script), []);
    const options = { cwd: '/', env: launcherEnvironment, timeoutMs: looksMs, keepBytes: 4_096 };
    const { exitCode, stderr } = await programs.run({ ...line, ...options }, signal);
    if (exitCode !== 0) throw new Fault('effects_failed', `what the command changed could not be read: ${stderr.trim()}`);
  };
  return {
    inodes: async (view, paths, signal) => {
      if (paths.length === 0) return new Map();
      // What is not there (any more) has no line, and is no failure.
      await run(view, `xargs -0 -a "$2/ask" stat --printf '%i %n\\0' -- > "$2/seen" 2>/dev/null || true`, paths, signal);
      return new Map(namedInodes(`${view.directory}/seen`).map(({ path, inode }) => [path, inode]));
    },
    copyOut: async (view, paths, signal) => {
      if (paths.length === 0) return;
      await run(view, `mkdir -p "$2/copied"; xargs -0 -a "$2/ask" cp -a --reflink=auto --parents -t "$2/copied" --`, paths, signal);
    },
  };
}

function namedInodes(file: string): readonly HiddenFile[] {
  return readOrNothing(file)
    .split('\0')
    .slice(0, -1)
    .map((line) => {
      const blank = line.indexOf(' ');
      return { inode: line.slice(0, blank), path: line.slice(blank + ' ./'.length) };
    });
}

function readOrNothing(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
