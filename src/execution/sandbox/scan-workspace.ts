/**
 * One walk over a workspace for what matters to a sandbox: files that make others run something (hooks, configuration), secrets, and
 * entries that are no plain files. Breadth first, in slices that leave the event loop free, and bounded in time.
 */
import { type Dirent, readlinkSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Segments } from '#kernel/ports/path-facts';
import type { DirectoryMemory } from './directory-memory.ts';
import { readEntries, statsOf } from './entries.ts';
import { gitDirectoryPoints, isGitDirectory } from './git-directory.ts';
import { isInside } from './is-inside.ts';

/** Which names matter; the policy's own lists, handed in. `segments` are below the root. */
export interface NameRules {
  /** Writing it makes another program run something later. */
  isControl(segments: Segments): boolean;
  /** Reading it gives a secret away. */
  isSecret(segments: Segments): boolean;
}

export type FindingKind =
  /** A repository's directory (`.git`, a bare one); its `git_point`s follow. */
  | 'git_directory'
  /** What git runs or reads as configuration in there. */
  | 'git_point'
  | 'control'
  | 'secret'
  | 'link_out'
  | 'socket'
  | 'fifo'
  | 'device'
  | 'set_id';

export interface ScanFinding {
  /** Below the root, `/`-separated. */
  readonly path: string;
  readonly kind: FindingKind;
  readonly directory: boolean;
  readonly link: boolean;
  /** Inode, change time, mode and size: another value means another or a changed entry. */
  readonly stamp: string;
  /** ms since the epoch; a program cannot set it back (`utimensat(2)` sets the other times only). */
  readonly changedAt: number;
  /** A complete look that is not thorough finds it, too: one that such a look did not find is new. */
  readonly always: boolean;
}

export interface ScanOptions {
  readonly root: string;
  readonly rules: NameRules;
  readonly limitMs: number;
  /** Also look at each plain file's mode, and into installed packages. */
  readonly thorough: boolean;
  /** Of former looks at this root by these rules; left out: all is read. */
  readonly memory?: ScanMemory;
}

export type ScanMemory = DirectoryMemory<Listing>;

/** What one directory holds, judged by names and kinds of entries. */
export interface Listing {
  /** Git would take it for a repository's: what is in it is looked at in its own way. */
  readonly isRepository: boolean;
  readonly items: readonly Item[];
}

interface Item {
  readonly name: string;
  readonly segments: Segments;
  readonly type: 'directory' | 'file' | 'link' | 'other';
  readonly kinds: readonly FindingKind[];
}

export interface Scan {
  readonly findings: readonly ScanFinding[];
  /** The whole tree was looked at. */
  readonly complete: boolean;
}

/** Installed packages: many, and made elsewhere. Looked at last, and only for what is dangerous where it lies. */
const packageFolders: ReadonlySet<string> = new Set(['node_modules', '.venv', 'site-packages']);
const sliceMs = 8;

interface Place {
  readonly segments: Segments;
  readonly inPackages: boolean;
}

export async function scanWorkspace(options: ScanOptions, signal: AbortSignal): Promise<Scan> {
  const startedAt = performance.now();
  const findings: ScanFinding[] = [];
  const later: Place[] = [];
  let open: Place[] = [{ segments: [], inPackages: false }];
  let sliceStart = startedAt;
  while (open.length > 0) {
    const below: Place[] = [];
    for (const place of open) {
      if (performance.now() - startedAt > options.limitMs) return { findings, complete: false };
      if (performance.now() - sliceStart > sliceMs) {
        await nextTurn();
        signal.throwIfAborted();
        sliceStart = performance.now();
      }
      below.push(...look(place, options, findings));
    }
    later.push(...below.filter((place) => place.inPackages));
    open = below.filter((place) => !place.inPackages);
    if (open.length === 0 && options.thorough) open = later.splice(0).map((place) => place);
  }
  return { findings, complete: true };
}

/** Adds what is in one directory to `findings`; returns the directories in it. */
function look(place: Place, options: ScanOptions, findings: ScanFinding[]): readonly Place[] {
  const directory = path.join(options.root, ...place.segments);
  const where = { options, inPackages: place.inPackages };
  const read = () => listingOf(directory, place, options.rules);
  const listing = options.memory === undefined ? read() : options.memory.recall(directory, read);
  if (listing?.isRepository) findings.push(...gitFindings(place.segments, where));
  return listing?.items.flatMap((item) => lookAt(item, where, findings)) ?? [];
}

interface Where {
  readonly options: ScanOptions;
  readonly inPackages: boolean;
}

function lookAt(item: Item, where: Where, findings: ScanFinding[]): readonly Place[] {
  const { name, segments, type } = item;
  const isDirectory = type === 'directory';
  if (name === '.git' && isDirectory) {
    findings.push(...gitFindings(segments, where));
    return [];
  }
  for (const kind of item.kinds) findings.push(...entry(kind, segments, where));
  if (where.options.thorough) findings.push(...closer(item, where));
  return isDirectory ? [{ segments, inPackages: where.inPackages || packageFolders.has(name) }] : [];
}

function listingOf(directory: string, { segments, inPackages }: Place, rules: NameRules): Listing | undefined {
  const entries = readEntries(directory);
  if (entries === undefined) return undefined;
  if (isGitDirectory(entries)) return { isRepository: true, items: [] };
  return { isRepository: false, items: entries.map((item) => judge(item, [...segments, item.name], { rules, inPackages })) };
}

function judge(item: Dirent, segments: Segments, { rules, inPackages }: { readonly rules: NameRules; readonly inPackages: boolean }): Item {
  return {
    name: item.name,
    segments,
    type: typeOf(item),
    kinds: [...namedKinds(item, segments, { rules, inPackages }), ...specialKinds(item)],
  };
}

function typeOf(item: Dirent): Item['type'] {
  if (item.isDirectory()) return 'directory';
  if (item.isFile()) return 'file';
  return item.isSymbolicLink() ? 'link' : 'other';
}

/** By name alone; of installed packages only what git would obey. */
function namedKinds(
  item: Dirent,
  segments: Segments,
  { rules, inPackages }: { readonly rules: NameRules; readonly inPackages: boolean },
): readonly FindingKind[] {
  if (item.name === '.git') return ['control'];
  if (inPackages) return [];
  const control = rules.isControl(segments);
  const secret = !item.isDirectory() && rules.isSecret(segments);
  return [...(control ? (['control'] as const) : []), ...(secret ? (['secret'] as const) : [])];
}

function specialKinds(item: Dirent): readonly FindingKind[] {
  if (item.isSocket()) return ['socket'];
  if (item.isFIFO()) return ['fifo'];
  return item.isBlockDevice() || item.isCharacterDevice() ? ['device'] : [];
}

/** What no name tells. */
function closer({ type, segments }: Item, where: Where): readonly ScanFinding[] {
  const { root } = where.options;
  if (type === 'link' && leadsOut(root, segments)) return entry('link_out', segments, where);
  if (type === 'file' && isSetId(path.join(root, ...segments))) return entry('set_id', segments, where);
  return [];
}

function gitFindings(segments: Segments, where: Where): readonly ScanFinding[] {
  const points = gitDirectoryPoints(where.options.root, segments);
  return [...entry('git_directory', segments, where), ...points.flatMap((point) => entry('git_point', point, where))];
}

const onlyThorough: ReadonlySet<FindingKind> = new Set(['link_out', 'set_id']);

function entry(kind: FindingKind, segments: Segments, { options, inPackages }: Where): readonly ScanFinding[] {
  const stats = statsOf(path.join(options.root, ...segments));
  if (stats === undefined) return [];
  return [
    {
      path: segments.join('/'),
      kind,
      directory: stats.isDirectory(),
      link: stats.isSymbolicLink(),
      stamp: [stats.ino, stats.ctimeMs, stats.mode, stats.size].join(':'),
      changedAt: stats.ctimeMs,
      always: !inPackages && !onlyThorough.has(kind),
    },
  ];
}

function isSetId(file: string): boolean {
  const stats = statsOf(file);
  return stats !== undefined && (stats.mode & 0o6000) !== 0;
}

/** A link whose target is outside, or would be once somebody makes it. */
function leadsOut(root: string, segments: Segments): boolean {
  const link = path.join(root, ...segments);
  try {
    return !isInside(realpathSync(link), root);
  } catch {
    // Dangling, or in a circle: by its text.
    try {
      return !isInside(path.resolve(path.dirname(link), readlinkSync(link)), root);
    } catch {
      return false;
    }
  }
}
