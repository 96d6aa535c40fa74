// Plain JavaScript for Node 20: this runs before the first `npm ci`.
import { findProgram } from './system-packages.mjs';

/**
 * @returns {string | undefined} the desktop editor's `code` command, where it is on the PATH and has a display.
 *   Inside an editor's own remote terminal `code` is another program, which opens files in that editor.
 */
export function findDesktopEditor() {
  if (process.env.VSCODE_IPC_HOOK_CLI) return undefined;
  if (process.platform === 'win32') return findProgram('code.cmd');
  const hasDisplay = process.platform === 'darwin' || process.env.DISPLAY || process.env.WAYLAND_DISPLAY;
  return hasDisplay ? findProgram('code') : undefined;
}
