/**
 * A copy-on-write view of the workspace: a mount namespace of one run's own, overlayfs at the workspace's place in it, and whatever is started
 * there. Written is the upper directory; the workspace itself is only read. Without root a user namespace comes first, and overlayfs keeps its
 * marks in `user.*` attributes. Source: the kernel's `overlayfs.rst`, `unshare(1)`, `mount(8)`.
 */

import {
  type BigIntStats,
  chmodSync,
  close as closeFile,
  constants,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Fault } from '#kernel/errors';
import type { ProgramRunner } from '#kernel/ports/program-runner';
import { say } from '#kernel/text/message';
import { launcherEnvironment } from '../sandbox/clean-environment.ts';
import { disk } from './disk.ts';
import { look } from './stamp.ts';

export interface ViewPlace {
  /** `copy`: no mount at all, the command works on a copy of the workspace, which is its `upper`. */
  readonly kind: 'overlay' | 'copy';
  readonly workspaceRoot: string;
  /** Of the run, on the workspace's own mount. */
  readonly directory: string;
  /** `upper` and what the kernel needs beside it; on another file system than `directory` all of it is copied, else it can be moved. */
  readonly scratch: string;
}

export interface View extends ViewPlace {
  /** Place holders of secrets by inode number. */
  readonly holders: ReadonlyMap<string, string>;
  /** Their paths. */
  readonly hidden: ReadonlySet<string>;
  /** Where in the workspace the journal lies; the view has nothing there. */
  readonly concealed?: string;
  /** In `upper` before anything was started, by path: the directories above place holders; of a copy all. */
  readonly laid: ReadonlyMap<string, BigIntStats>;
  /** `upper` itself, then. */
  readonly laidRoot?: BigIntStats | undefined;
}

export function upperOf({ scratch }: Pick<ViewPlace, 'scratch'>): string {
  return `${scratch}/upper`;
}

export interface ProgramLine {
  readonly program: string;
  readonly args: readonly string[];
}

const unshare = '/usr/bin/unshare';

/** Whether the kernel lets us mount with the marks of root: only then can a directory that was there be given another name. */
export function isPrivileged(): boolean {
  return process.getuid?.() === 0;
}

/** The upper directory is on another file system. */
function isFar({ directory, scratch }: ViewPlace): boolean {
  return directory !== scratch;
}

/** The number that an entry of the workspace has in the view. `overlayfs.rst`, xino: of two file systems the lower one has the highest bit. */
export function numberSeen(view: ViewPlace, { ino }: BigIntStats): string {
  return String(isFar(view) ? ino | (1n << 63n) : ino);
}

/** One overlay: what is below it, where it writes, and its work directory, all absolute. */
interface Layer {
  readonly at: string;
  readonly upper: string;
  readonly work: string;
  readonly options: string;
}

/** Of the run's directory and its scratch directory: the view may lie over their paths. */
const [ownDescriptor, scratchDescriptor, firstDescriptor] = [198, 199, 200];
const [own, scratchOf] = [`/proc/self/fd/${ownDescriptor}`, `/proc/self/fd/${scratchDescriptor}`];

/**
 * All mounts by one `mount -a`: a process for each would take longer than most commands. The layers go in as open descriptors: a comma or colon in a
 * path would end an option. SECURITY: they are closed before anything else is started, for they lead out of the view. The first layer must be
 * there; a later one that the kernel refuses is read-only instead. `volatile`: what is applied is flushed by us, the rest is thrown away.
 * Source: `fstab(5)`, `mount(8)`, `overlayfs.rst`.
 * @param devices laid over `/dev`. SECURITY: a root's command could change the modes of the machine's own
 */
function mountScript(table: string, layers: readonly Layer[], { more, devices }: { more: string; devices?: string | undefined }): string {
  const numbers = layers.flatMap((_layer, index) => [0, 1, 2].map((part) => firstDescriptor + index * 3 + part));
  const places = layers.flatMap(({ at, upper, work }) => [at, upper, work]);
  const lines = layers.map(({ at, options }, index) => {
    const [lower, upper, work] = [0, 1, 2].map((part) => `/proc/self/fd/${firstDescriptor + index * 3 + part}`);
    return `banksman-${index} ${escaped(at)} overlay lowerdir=${lower},upperdir=${upper},workdir=${work},volatile,noatime${options}\n`;
  });
  if (devices !== undefined) lines.push(`${escaped(devices)} /dev none bind\n`);
  writeFileSync(table, lines.join(''));
  const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
  const others = layers
    .slice(1)
    .map(
      ({ at }, index) => `isThere ${index + 1} || { mount -i --bind ${quote(at)} ${quote(at)}; mount -i -o remount,bind,ro ${quote(at)}; }`,
    );
  return `set -e
exec ${ownDescriptor}<"$2" ${scratchDescriptor}<"$3" ${places.map((place, index) => `${numbers[index]}<${quote(place)}`).join(' ')}
said=$(exec mount -i -a -T ${quote(table)} 2>&1) || {
mounts=$(</proc/self/mountinfo)
isThere() { [[ $mounts == *" - overlay banksman-$1 "* ]]; }
isThere 0 || { echo "$said" >&2; exit 1; }
${devices === undefined ? '' : `mount -i --bind ${quote(devices)} /dev`}
${others.join('\n')}
}
exec ${numbers.map((number) => `${number}<&-`).join(' ')}
${more}`;
}

/** `fstab(5)`: blanks and the like in octal. */
function escaped(place: string): string {
  return place.replace(/[ \t\n\\#]/g, (char) => `\\${char.charCodeAt(0).toString(8).padStart(3, '0')}`);
}

/**
 * `index=on`: the names of one file stay one file when it is written to; its notes lie in the work directory, so only the first mount has it.
 * @param work its name in `scratch`; a work directory serves one mount
 */
function viewLayer(view: ViewPlace, work: 'work' | 'look'): Layer {
  const ofRoot = `redirect_dir=on,index=${work === 'work' ? 'on' : 'off'}`;
  const marks = `,${isPrivileged() ? ofRoot : 'userxattr'}${isFar(view) ? ',xino=on' : ''}`;
  return { at: view.workspaceRoot, upper: upperOf(view), work: `${view.scratch}/${work}`, options: marks };
}

/** What is put into a cache is this run's alone, and gone at its end. */
function cacheLayers(caches: readonly string[], place: string): readonly Layer[] {
  if (caches.length > 0) mkdirSync(place, { mode: 0o700 });
  return caches.map((at, index) => {
    const [upper, work] = [`${place}/${index}`, `${place}/${index}-work`];
    for (const part of [upper, work]) mkdirSync(part, { mode: 0o700 });
    return { at, upper, work, options: isPrivileged() ? '' : ',userxattr' };
  });
}

/** What a command reads where a secret is: a comment in most of the formats that secrets have, so that `cp -r`, `tar` and parsers go on. */
export const holderText = '# Hidden by Banksman: a secret that git does not track is not shown to commands.\n';
/** Nobody writes to it by accident. */
export const holderMode = 0o444;

/** What lies over the machine's own for one run, all absolute, links resolved. */
export interface OverHost {
  /** Directories that get an overlay, too; left out: none. */
  readonly caches?: readonly string[] | undefined;
  /** Laid over `/dev`; left out: nothing. */
  readonly devices?: string | undefined;
}

/** The line that starts a program over the view. It keeps its process id and its descriptors all the way. */
export function overView(view: View, line: ProgramLine, { caches = [], devices }: OverHost = {}): ProgramLine {
  if (view.kind === 'copy') return line;
  const layers = [viewLayer(view, 'work'), ...cacheLayers(caches, `${view.scratch}/caches`)];
  const more = `${view.hidden.size > 0 ? settle : ''}shift 3\nexec ${ownDescriptor}<&- ${scratchDescriptor}<&-\nexec "$@"`;
  const script = mountScript(`${view.scratch}/mounts`, layers, { more, devices });
  return inNamespace(view, script, [line.program, ...line.args]);
}

/**
 * The first look at a directory that lies in both layers writes the kernel's mark on the one above it, which `tar` would take for a change
 * while it reads: so each is looked at before.
 */
const settle = `while IFS= read -r -d '' at; do [ -e "$1/$at" ] || :; done < ${scratchOf}/work/parents\n`;

function inNamespace({ workspaceRoot, directory, scratch }: View, script: string, args: readonly string[]): ProgramLine {
  const namespaces = isPrivileged() ? ['-m'] : ['-U', '-r', '-m'];
  return {
    program: unshare,
    args: [...namespaces, '/bin/bash', '--noprofile', '--norc', '-c', script, 'bash', workspaceRoot, directory, scratch, ...args],
  };
}

/** A view held open from outside: what it shows can be looked at when all that ran over it is gone, without another mount. */
export interface HeldView {
  /** @param pid of a process over the view, not collected yet; where that does not work, looks mount anew */
  open(pid: number): void;
  readonly path: () => string | undefined;
  close(): Promise<void>;
}

/** `statfs(2)`, OVERLAYFS_SUPER_MAGIC. */
const overlayMagic = 0x794c7630;

export function createHeldView({ workspaceRoot }: Pick<ViewPlace, 'workspaceRoot'>): HeldView {
  let descriptor: number | undefined;
  const path = () => (descriptor === undefined ? undefined : `/proc/self/fd/${descriptor}`);
  const close = async () => {
    const closing = descriptor;
    descriptor = undefined;
    // The mount ends with its last descriptor, which may take a moment.
    if (closing !== undefined) await promisify(closeFile)(closing);
  };
  return {
    open: (pid) => {
      try {
        descriptor = openSync(`/proc/${pid}/root${workspaceRoot}`, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
        if (statfsSync(path() ?? '').type !== overlayMagic) void close();
      } catch {
        // A kernel that keeps its processes to itself.
      }
    },
    path,
    close,
  };
}

export interface Looker {
  /** Inode numbers in the view, of the paths that are there. */
  inodes(view: View, paths: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, string>>;
  /** Copies what is at the paths to the same paths below `copied` in the run's directory: attributes included, the overlay's own marks not. */
  copyOut(view: View, paths: readonly string[], signal: AbortSignal): Promise<void>;
}

const looksMs = 600_000;

/** Looks at a view whose command has ended. */
export function createLooker(programs: ProgramRunner, held?: HeldView): Looker {
  const run = async (view: View, script: string, paths: readonly string[], signal: AbortSignal) => {
    await held?.close();
    writeFileSync(`${view.directory}/ask`, paths.map((path) => `./${path}\0`).join(''));
    mkdirSync(`${view.scratch}/look`, { recursive: true, mode: 0o700 });
    const mounts = mountScript(`${view.scratch}/look-mounts`, [viewLayer(view, 'look')], { more: `cd "$1"\n${script}` });
    const options = { cwd: '/', env: launcherEnvironment, timeoutMs: looksMs, keepBytes: 4_096 };
    const { exitCode, stderr } = await programs.run({ ...inNamespace(view, mounts, []), ...options }, signal);
    if (exitCode !== 0) throw new Fault('effects_failed', say`what the command changed could not be read: ${stderr.trim()}`);
    // A work directory serves one mount that is `volatile`.
    disk.remove(`${view.scratch}/look`);
  };
  return {
    inodes: async (view, paths, signal) => {
      if (paths.length === 0) return new Map();
      const seen = held?.path();
      const known = seen === undefined ? undefined : await inodesIn(seen, paths);
      if (known !== undefined) return known;
      // What is not there (any more) has no line, and is no failure.
      await run(view, `xargs -0 -a ${own}/ask stat --printf '%i %n\\0' -- > ${own}/seen 2>/dev/null || true`, paths, signal);
      return new Map(namedInodes(`${view.directory}/seen`).map(({ path, inode }) => [path, inode]));
    },
    copyOut: async (view, paths, signal) => {
      if (paths.length === 0) return;
      await run(view, copyScript, paths, signal);
      if (readOrNothing(`${view.directory}/bare`) !== '') await copyModes(view, paths, { programs, signal });
    },
  };
}

/** Without root an access list that names other people cannot be written in the namespace, where nobody but this user has a number. */
const copyScript = `mkdir -p ${own}/copied
copy() { xargs -0 -a ${own}/ask cp -a --reflink=auto --remove-destination "$@" --parents -t ${own}/copied --; }
copy 2>/dev/null || { copy --no-preserve=mode && echo bare > ${own}/bare; }`;

/** Outside of the namespace: the upper directory has them, too. */
async function copyModes(
  view: View,
  paths: readonly string[],
  { programs, signal }: { readonly programs: ProgramRunner; readonly signal: AbortSignal },
): Promise<void> {
  const to = `${view.directory}/copied`;
  const copy = ['cp', '--attributes-only', '--no-dereference', '--preserve=mode,timestamps', '--parents', '-t', to, '--'];
  const options = { cwd: upperOf(view), env: launcherEnvironment, timeoutMs: looksMs, keepBytes: 4_096 };
  await programs.run({ program: 'xargs', args: ['-0', '-a', `${view.directory}/ask`, ...copy], ...options }, signal);
  for (const path of paths) {
    const { mode } = lstatSync(`${upperOf(view)}/${path}`);
    // A file that its owner may not read was not opened.
    if (lstatSync(`${to}/${path}`).mode !== mode && (mode & constants.S_IFMT) !== constants.S_IFLNK)
      chmodSync(`${to}/${path}`, mode & 0o7777);
  }
  rmSync(`${view.directory}/bare`);
}

const slice = 500;

/** @returns undefined where the command closed a directory to us: in a namespace of its own the owner may look */
async function inodesIn(root: string, paths: readonly string[]): Promise<ReadonlyMap<string, string> | undefined> {
  const inodes = new Map<string, string>();
  try {
    for (const [index, path] of paths.entries()) {
      const stats = look(`${root}/${path}`);
      if (stats !== undefined) inodes.set(path, String(stats.ino));
      if (index % slice === slice - 1) await nextTurn();
    }
    return inodes;
  } catch {
    return undefined;
  }
}

function namedInodes(file: string): readonly { readonly path: string; readonly inode: string }[] {
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
