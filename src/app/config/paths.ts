/** Where state and configuration live (XDG Base Directory Specification); editor and command line meet there. */

import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { homedir, userInfo } from 'node:os';
import { dirname, isAbsolute, join, parse, resolve, win32 } from 'node:path';
import { isForService } from '#files/folder-owner';
import { Fault } from '#kernel/errors';
import { say } from '#kernel/text/message';

/** `$XDG_STATE_HOME/banksman`, else `~/.local/state/banksman` (Windows: `%LOCALAPPDATA%\banksman`). */
export function defaultStateDir(): string {
  return isServiceRoot() ? serviceStateDir : ownStateDir();
}

function ownStateDir(): string {
  return join(xdg('XDG_STATE_HOME', 'LOCALAPPDATA', '.local/state'), 'banksman');
}

/**
 * Where the journal of runs, the sandbox and the agents' own directories are. Tools of the workspace run as who calls them, so root's are root's own
 * where the state is a service's: that one's user has no use for them, and a sandbox of root's sees nothing in a folder of another's.
 */
export function workspaceStateDir(stateDir: string): string {
  if (!isForService(stateDir)) return stateDir;
  const own = [ownStateDir(), join(osUser().homedir, '.local/state/banksman')];
  return own.find((place) => !isForService(place)) ?? stateDir;
}

/** `$XDG_CONFIG_HOME/banksman/config.json`, else `~/.config/banksman/config.json` (Windows: `%APPDATA%`). */
export function defaultConfigFile(): string {
  if (isServiceRoot()) return serviceConfigFile;
  return join(xdg('XDG_CONFIG_HOME', 'APPDATA', '.config'), 'banksman', 'config.json');
}

export const serviceConfigFile = '/etc/banksman/config.json';
export const serviceStateDir = '/var/lib/banksman';

/** Where the service is installed, root's commands are about the service: it is root who sets its level, its rules and its approvers. */
function isServiceRoot(): boolean {
  return process.getuid?.() === 0 && existsSync(serviceConfigFile);
}

/** A path from a configuration: `~` is the home directory, relative ones count from `base`. */
export function expandPath(path: string, base: string): string {
  if (path === '~' || path.startsWith('~/')) return join(home(), path.slice(1));
  return isAbsolute(path) ? path : resolve(base, path);
}

function xdg(variable: string, windowsVariable: string, fallback: string): string {
  const named = process.env[variable];
  // The specification says that a relative path there is to be ignored.
  if (named !== undefined && isAbsolute(named)) return named;
  const windows = process.platform === 'win32' ? process.env[windowsVariable] : undefined;
  return windows ?? join(home(), fallback);
}

/** Where systems keep home directories. */
const homesOfAll = ['/home', '/Users', '/var/home', '/export/home'];

/**
 * Why a directory (links resolved) is no workspace, though it is there; undefined where it may be one. In the file system's root, in a
 * drive's, and in and above home directories lie the machine's own files and every program's keys and settings: a rule for a project's
 * files would be wrong there.
 * @param accounts the machine's list of users, in the form of passwd(5)
 */
export function tooWideForWorkspace(real: string, accounts = '/etc/passwd'): string | undefined {
  const isDrive = /^[a-z]:/i.test(real);
  if (isDrive && real === win32.parse(real).root) return `\`${real}\` is the root of a drive, which is no workspace`;
  if (real === parse(real).root) return `\`${real}\` is the root of the file system, which is no workspace`;
  const is = (directory: string) => real === realPathOr(directory);
  if (['/root', '/var/root'].some(is)) return `\`${real}\` is root's home directory, which is no workspace`;
  if ([home(), osUser().homedir].some(is))
    return `\`${real}\` is the home directory, where keys and settings of all programs lie: it is no workspace`;
  if (homesOfAll.some(is) || /^[a-z]:\\users$/i.test(real))
    return `\`${real}\` holds the home directories of all users: it is no workspace`;
  return isHomeOf(real, accounts) ? `\`${real}\` is somebody's home directory, which is no workspace` : undefined;
}

/** @returns it with links resolved. @throws {Fault} `no_workspace` where it is no directory; `workspace_too_wide` */
export function checkWorkspace(folder: string): string {
  const real = realWorkspace(folder);
  const wide = tooWideForWorkspace(real);
  if (wide === undefined) return real;
  throw new Fault('workspace_too_wide', say`${wide}; open a folder below it, or name one with \`--root DIR\` or in \`workspace.root\``);
}

function realWorkspace(folder: string): string {
  let cause: unknown;
  try {
    const real = realpathSync(folder);
    if (statSync(real).isDirectory()) return real;
  } catch (thrown) {
    cause = thrown;
  }
  throw new Fault('no_workspace', say`the workspace \`${folder}\` is no directory that can be read`, {
    ...(cause === undefined ? {} : { cause }),
    next: 'open a folder, or set `workspace.root`',
  });
}

/** Of a person (ids from 1000 on; a service's home, such as `/var/www`, can be a project), also of one whom another machine lists. */
function isHomeOf(real: string, accounts: string): boolean {
  if (/^(?:[a-z]:\\users\\(?!public$)|\/users\/(?!shared$))[^\\/]+$/i.test(real)) return true;
  try {
    const homes = readFileSync(accounts, 'utf8')
      .split('\n')
      .map((line) => line.split(':'))
      .flatMap(([, , uid, , , directory]) => (directory !== undefined && Number(uid) >= 1000 ? [directory] : []));
    if (homes.some((directory) => isAbsolute(directory) && realPathOr(directory) === real)) return true;
  } catch {
    // No such list: Windows, or macOS, where it holds services only.
  }
  if (!homesOfAll.includes(dirname(real))) return false;
  const owner = statSync(real, { throwIfNoEntry: false })?.uid ?? 0;
  return owner >= 1000 && owner !== process.getuid?.();
}

function realPathOr(directory: string): string {
  try {
    return realpathSync(directory);
  } catch {
    return directory;
  }
}

/** SECURITY: with an empty HOME these paths would count from the current directory, which may be a workspace that agents write to. */
function home(): string {
  const named = homedir();
  return isAbsolute(named) ? named : osUser().homedir;
}

/** Who runs this; a user id that the machine has no entry for (containers have such) is a user all the same. */
export function osUser(): { readonly username: string; readonly homedir: string } {
  try {
    return userInfo();
  } catch {
    return { username: `uid-${process.getuid?.() ?? 'unknown'}`, homedir: '/' };
  }
}
