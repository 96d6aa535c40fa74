/** A directory's `.gitignore`, read without following anything. */
import { closeSync, lstatSync, readSync } from 'node:fs';
import type { DirectoryPin } from './directory-pin.ts';
import { type IgnoreFile, mostIgnoreBytes, parseIgnoreFile } from './ignore-rules.ts';

/** undefined where there is none that can be read: then it hides nothing. */
export function readIgnoreFile(directory: DirectoryPin, depth: number): IgnoreFile | undefined {
  let descriptor: number;
  try {
    // Most directories have none, and an error costs ten times a look.
    if (lstatSync(`${directory.at}/.gitignore`, { throwIfNoEntry: false }) === undefined) return undefined;
    descriptor = directory.openFile('.gitignore');
  } catch {
    return undefined;
  }
  try {
    const buffer = Buffer.alloc(mostIgnoreBytes);
    return parseIgnoreFile(buffer.toString('utf8', 0, readSync(descriptor, buffer, 0, buffer.length, 0)), depth);
  } catch {
    return undefined;
  } finally {
    closeSync(descriptor);
  }
}

/** The rules of every directory on the way, but not of the last one. */
export function ignoreFilesAbove(pins: readonly DirectoryPin[]): readonly IgnoreFile[] {
  return pins.slice(0, -1).flatMap((pin, depth) => readIgnoreFile(pin, depth) ?? []);
}
