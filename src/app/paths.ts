/** Where state and configuration live (XDG Base Directory Specification); editor and command line meet there. */
import { homedir, userInfo } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';

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

/** SECURITY: with an empty HOME these paths would count from the current directory, which may be a workspace that agents write to. */
function home(): string {
  const named = homedir();
  return isAbsolute(named) ? named : userInfo().homedir;
}
