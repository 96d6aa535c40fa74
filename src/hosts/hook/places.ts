/** Where a hook's process and the warm process behind it meet. */
import { createHash } from 'node:crypto';
import { existsSync, lstatSync, readdirSync, realpathSync, rmSync, type Stats, statSync } from 'node:fs';
import { connect } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';
import { defaultConfigFile, defaultStateDir } from '#app/config/paths';
import { hasErrorCode } from '#app/config/private-file';
import { makeFolder } from '#files/make-folder';
import { Fault } from '#kernel/errors';
import { type JsonObject, textOf } from '#kernel/json';

/** As on every command line of ours. */
export interface HookPlaces {
  readonly config?: string | undefined;
  readonly state?: string | undefined;
  readonly store?: string | undefined;
}

/** The variables in which agents say where the project is. */
const projectVariables = ['CLAUDE_PROJECT_DIR', 'GEMINI_PROJECT_DIR', 'QWEN_PROJECT_DIR', 'CURSOR_PROJECT_DIR'];

/** The project: as the agent names it, else the repository around the directory that it works in, else that directory. */
export function workspaceOf(event: JsonObject, env: NodeJS.ProcessEnv, processCwd: string): string {
  const variable = projectVariables.map((name) => env[name]).find((value) => value !== undefined && path.isAbsolute(value));
  const roots = event['workspace_roots'];
  const first = Array.isArray(roots) ? textOf(roots[0]) : undefined;
  const said = variable ?? first;
  if (said !== undefined && isDirectory(said)) return said;
  const cwd = path.resolve(processCwd, textOf(event['cwd']) ?? '.');
  return repositoryAround(cwd) ?? (isDirectory(cwd) ? cwd : processCwd);
}

function repositoryAround(from: string): string | undefined {
  for (let place = from; place !== homedir() && place !== path.dirname(place); place = path.dirname(place))
    if (statSync(path.join(place, '.git'), { throwIfNoEntry: false }) !== undefined) return place;
  return undefined;
}

function isDirectory(place: string): boolean {
  return statSync(place, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** `sun_path` has 108 bytes on Linux and 104 elsewhere, with its end. */
const longestSocket = 100;

/**
 * The socket of the warm process for this workspace and these places. SECURITY: in a folder that only this user can enter; below the state directory, which commands in
 * the sandbox do not see. @throws {Fault} `unsafe_folder`
 */
export function socketFor(workspace: string, places: HookPlaces): string {
  const state = path.resolve(places.state ?? defaultStateDir());
  const known = [workspace, state, places.config ?? defaultConfigFile(), places.store ?? '', process.env['BANKSMAN_SERVICE'] ?? ''];
  return path.join(socketFolder(state), `${hashed(known)}.sock`);
}

function hashed(known: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(known)).digest('hex').slice(0, 20);
}

/** Of a window of the editor that runs in this process, with its first folder. @throws {Fault} `unsafe_folder` */
export function windowSocket(folder: string, state: string): string {
  return path.join(socketFolder(path.resolve(state)), `${windowName(folder)}${process.pid}.sock`);
}

/** Of windows of the editor with this folder, those that have ended by a crash among them. @throws {Fault} `unsafe_folder` */
export function windowSockets(folder: string, { state }: HookPlaces): readonly string[] {
  const place = socketFolder(path.resolve(state ?? defaultStateDir()));
  return readdirSync(place)
    .filter((name) => name.startsWith(windowName(folder)) && name.endsWith('.sock'))
    .map((name) => path.join(place, name));
}

/** By the place itself, however it is written: through links, and in any case where the disk knows none. */
function windowName(folder: string): string {
  return `w${hashed([realPlace(path.resolve(folder))])}-`;
}

function realPlace(place: string): string {
  try {
    return realpathSync.native(place);
  } catch {
    return place;
  }
}

/** A window's or a warm process's: with the process, where its name has one; that of a warm process has it until somebody listens there. */
const socketName = /^(?:w[0-9a-f]{20}-(?<window>\d{1,10})|[0-9a-f]{20})\.sock(?:\.(?<unready>\d{1,10}))?$/;

/**
 * Takes away what windows and warm processes left that ended by a crash. INVARIANT: no socket of one that lives: its process is gone, where that is known,
 * nobody listens there (one of another PID namespace may look gone), and the file is still the one that was tried.
 * @throws {Fault} `unsafe_folder`
 */
export async function removeDeadSockets(state: string): Promise<void> {
  const place = socketFolder(path.resolve(state));
  const names = readdirSync(place);
  const left = names.filter((name) => {
    const { groups } = socketName.exec(name) ?? {};
    const pid = groups?.['window'] ?? groups?.['unready'];
    return groups !== undefined && (pid === undefined || isGone(Number(pid)));
  });
  await Promise.all(left.map((name) => removeUnheard(path.join(place, name))));
  for (const name of names) {
    const of = /^([0-9a-f]{20}\.sock)\.log$/.exec(name)?.[1];
    if (of !== undefined && !['', '.starting'].some((end) => existsSync(path.join(place, `${of}${end}`))))
      rmSync(path.join(place, name), { force: true });
  }
}

function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch (thrown) {
    return hasErrorCode(thrown, 'ESRCH');
  }
}

async function removeUnheard(socket: string): Promise<void> {
  const before = lstatSync(socket, { throwIfNoEntry: false, bigint: true });
  if (before?.isSocket() !== true || !(await refuses(socket))) return;
  if (lstatSync(socket, { throwIfNoEntry: false, bigint: true })?.ino === before.ino) rmSync(socket, { force: true });
}

function refuses(socket: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const peer = connect(socket, () => resolve(false)).once('error', (error) => resolve(hasErrorCode(error, 'ECONNREFUSED')));
  return promise.finally(() => peer.destroy());
}

/** Of a window's: no other is longer. */
const longestName = 'w'.length + 20 + '-4294967295.sock'.length;

function socketFolder(state: string): string {
  const usual = path.join(state, 'hook');
  const uid = process.getuid?.();
  const isShort = Buffer.byteLength(usual) + 1 + longestName <= longestSocket;
  const folder = isShort ? usual : path.join(tmpdir(), `banksman-hook-${uid ?? 0}`);
  makeFolder(folder);
  if (!isOwn(lstatSync(folder), uid))
    throw new Fault('unsafe_folder', `${folder} is not this user’s alone`, { audience: 'operator', next: 'remove it' });
  return folder;
}

function isOwn(folder: Stats, uid: number | undefined): boolean {
  return folder.isDirectory() && (uid === undefined || (folder.uid === uid && (folder.mode & 0o077) === 0));
}

/** What the warm process is made from: another one is needed where any of it changed. */
export function stampOf({ config }: HookPlaces): string {
  const file = config === undefined || config.trimStart().startsWith('{') ? defaultConfigFile() : path.resolve(config);
  return [file, path.join(path.dirname(file), 'agreed.json'), process.argv[1] ?? ''].map(stampOfFile).join(' ');
}

/** Looks whether what the stamp is of has changed since it looked last, and calls `changed` where it has. */
export function onStampChange(stamp: () => string, changed: () => void): () => void {
  let made = stamp();
  return () => {
    const now = stamp();
    if (now === made) return;
    made = now;
    changed();
  };
}

function stampOfFile(file: string): string {
  const found = statSync(file, { throwIfNoEntry: false, bigint: true });
  return found === undefined ? '-' : `${found.ino}:${found.size}:${found.mtimeNs}`;
}
