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

/** Whether `inner` is `outer` or below it; both absolute and normal. */
export function isInside(inner: string, outer: string): boolean {
  return inner === outer || inner.startsWith(outer.endsWith('/') ? outer : `${outer}/`);
}
