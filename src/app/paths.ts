/** Where state and configuration live (XDG Base Directory Specification); editor and command line meet there. */
import { realpathSync } from 'node:fs';
import { homedir, userInfo } from 'node:os';
import { isAbsolute, join, parse, resolve } from 'node:path';

/** `$XDG_STATE_HOME/banksman`, else `~/.local/state/banksman` (Windows: `%LOCALAPPDATA%\banksman`). */
export function defaultStateDir(): string {
  return join(xdg('XDG_STATE_HOME', 'LOCALAPPDATA', '.local/state'), 'banksman');
}

/** `$XDG_CONFIG_HOME/banksman/config.json`, else `~/.config/banksman/config.json` (Windows: `%APPDATA%`). */
export function defaultConfigFile(): string {
  return join(xdg('XDG_CONFIG_HOME', 'APPDATA', '.config'), 'banksman', 'config.json');
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

/**
 * Why a directory (links resolved) is no workspace, though it is there; undefined where it may be one. In the file system's root and in the
 * home directory lie the machine's own files and every program's keys and settings: a rule for a project's files would be wrong there.
 */
export function tooWideForWorkspace(real: string): string | undefined {
  if (real === parse(real).root) return `\`${real}\` is the root of the file system, which is no workspace`;
  const isHome = [home(), userInfo().homedir].some((directory) => real === realPathOr(directory));
  return isHome ? `\`${real}\` is the home directory, where keys and settings of all programs lie: it is no workspace` : undefined;
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
  return isAbsolute(named) ? named : userInfo().homedir;
}
