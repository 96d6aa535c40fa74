/** Looks at a tree that others change meanwhile: what cannot be looked at is not there. Links are never followed. */
import { type Dirent, lstatSync, readdirSync, type Stats } from 'node:fs';

export function entriesOf(directory: string): readonly Dirent[] {
  return readEntries(directory) ?? [];
}

/** @returns undefined where it could not be read, which may be so for this moment only */
export function readEntries(directory: string): readonly Dirent[] | undefined {
  try {
    return readdirSync(directory, { withFileTypes: true });
  } catch {
    return undefined;
  }
}

export function statsOf(file: string): Stats | undefined {
  try {
    return lstatSync(file, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
