/** Looks at a tree that others change meanwhile: what cannot be looked at is not there. Links are never followed. */
import { type Dirent, lstatSync, readdirSync, type Stats } from 'node:fs';

export function entriesOf(directory: string): readonly Dirent[] {
  try {
    return readdirSync(directory, { withFileTypes: true });
  } catch {
    return [];
  }
}

export function statsOf(file: string): Stats | undefined {
  try {
    return lstatSync(file, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/**
 * Where a workspace's runs are kept when that is not below the state directory: on the mount of the workspace, in a directory of this user's. Where it
 * has to lie in the workspace itself, no command and no tool sees it.
 */
export const runsFolder = `.banksman-runs-${process.getuid?.() ?? 0}`;

/** Whether `inner` is `outer` or below it; both absolute and normal. */
export function isInside(inner: string, outer: string): boolean {
  return inner === outer || inner.startsWith(outer.endsWith('/') ? outer : `${outer}/`);
}

/** Below these nothing is secret on any system that follows the file-system standard. */
export const programPlaces = ['/usr', '/nix/store'];
