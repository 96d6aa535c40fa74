/** What `.gitignore` files hide (gitignore(5)). They come from the workspace: they may hide names from a listing, nothing else. */
import { closeSync, lstatSync, readSync } from 'node:fs';
import type { DirectoryPin } from '#files/directory-pin';
import type { Segments } from '#kernel/ports/path-facts';
import { type Glob, globOf } from './glob.ts';

/** Bytes of a `.gitignore` that are read; rules beyond them are not applied. */
const mostIgnoreBytes = 256 * 1024;

interface IgnoreRule {
  readonly glob: Glob;
  readonly keeps: boolean;
  readonly directoriesOnly: boolean;
}

/** The rules of one file, for paths below the directory it is in. */
export interface IgnoreFile {
  /** How deep its directory is below the root. */
  readonly depth: number;
  readonly rules: readonly IgnoreRule[];
}

export function parseIgnoreFile(text: string, depth: number): IgnoreFile {
  const rules = text.split(/\r?\n/).flatMap((line) => ruleOf(line) ?? []);
  return { depth, rules };
}

/** Whether the last of all rules that match hides the path; rules of deeper directories count after those above. */
export function isIgnored(files: readonly IgnoreFile[], segments: Segments, isDirectory: boolean): boolean {
  for (const { depth, rules } of files.toReversed()) {
    const below = segments.slice(depth);
    const last = rules.findLast((rule) => (isDirectory || !rule.directoriesOnly) && rule.glob(below));
    if (last !== undefined) return !last.keeps;
  }
  return false;
}

function ruleOf(line: string): IgnoreRule | undefined {
  if (line.startsWith('#')) return undefined;
  // Trailing blanks do not count unless they are escaped.
  const trimmed = line.replace(/(?<!\\) +$/, '');
  const keeps = trimmed.startsWith('!');
  const body = keeps ? trimmed.slice(1) : trimmed;
  const directoriesOnly = body.endsWith('/');
  const pattern = directoriesOnly ? body.slice(0, -1) : body;
  if (pattern === '' || pattern.length > 1_000) return undefined;
  return { glob: globOf(pattern), keeps, directoriesOnly };
}

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
