/**
 * One walk over a workspace for what matters to a sandbox: files that make others run something (hooks, configuration), secrets, and
 * entries that are no plain files. Breadth first, in slices that leave the event loop free, and bounded in time.
 */

import { type Dirent, readlinkSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Segments } from '#kernel/ports/path-facts';
import { showPlainly } from '#kernel/text/text';
import { entriesOf, isInside, runsFolder, statsOf } from './entries.ts';
import { gitDirectoryPoints, isGitDirectory } from './git-directory.ts';

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
}

export interface Scan {
  readonly findings: readonly ScanFinding[];
  /** The whole tree was looked at. */
  readonly complete: boolean;
}

/** Installed packages: many, and made elsewhere. Looked at last, and only for what is dangerous where it lies. */
export const packageFolders: ReadonlySet<string> = new Set(['node_modules', '.venv', 'site-packages']);
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
    if (open.length === 0 && options.thorough) open = later.splice(0);
  }
  return { findings, complete: true };
}

interface Where {
  readonly options: ScanOptions;
  readonly inPackages: boolean;
}

/** Adds what is in one directory to `findings`; returns the directories in it. What is in a repository is looked at in its own way. */
function look({ segments, inPackages }: Place, options: ScanOptions, findings: ScanFinding[]): readonly Place[] {
  const entries = entriesOf(path.join(options.root, ...segments));
  const where = { options, inPackages };
  if (!isGitDirectory(entries)) return entries.flatMap((item) => lookAt(item, [...segments, item.name], where, findings));
  findings.push(...gitFindings(segments, where));
  return [];
}

function lookAt(item: Dirent, segments: Segments, where: Where, findings: ScanFinding[]): readonly Place[] {
  if (segments.length === 1 && item.name === runsFolder) return [];
  if (item.name === '.git' && item.isDirectory()) {
    findings.push(...gitFindings(segments, where));
    return [];
  }
  for (const kind of [...namedKinds(item, segments, where), ...specialKinds(item)]) findings.push(...entry(kind, segments, where));
  if (where.options.thorough) findings.push(...closer(item, segments, where));
  return item.isDirectory() ? [{ segments, inPackages: where.inPackages || packageFolders.has(item.name) }] : [];
}

/** By name alone; of installed packages only what git would obey. */
function namedKinds(item: Dirent, segments: Segments, { options: { rules }, inPackages }: Where): readonly FindingKind[] {
  if (item.name === '.git') return ['control'];
  if (inPackages) return [];
  const secret = !item.isDirectory() && rules.isSecret(segments);
  return [...(rules.isControl(segments) ? (['control'] as const) : []), ...(secret ? (['secret'] as const) : [])];
}

function specialKinds(item: Dirent): readonly FindingKind[] {
  if (item.isSocket()) return ['socket'];
  if (item.isFIFO()) return ['fifo'];
  return item.isBlockDevice() || item.isCharacterDevice() ? ['device'] : [];
}

/** What no name tells. */
function closer(item: Dirent, segments: Segments, where: Where): readonly ScanFinding[] {
  const { root } = where.options;
  if (item.isSymbolicLink() && leadsOut(root, segments)) return entry('link_out', segments, where);
  if (item.isFile() && isSetId(path.join(root, ...segments))) return entry('set_id', segments, where);
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

/** The kernel stamps changes with its tick's time, which may be some ms before the clock's. */
const tickMs = 20;
const mostShown = 50;

const words: Readonly<Record<Exclude<FindingKind, 'secret'>, string>> = {
  git_directory: 'a git repository',
  git_point: 'git runs or obeys it',
  control: 'another program runs or obeys it',
  link_out: 'a link that leads out of the workspace',
  socket: 'a socket',
  fifo: 'a FIFO',
  device: 'a device',
  set_id: 'set-user-id or set-group-id',
};

/**
 * What a run left behind for others: the difference between the workspace before and after. Edits of package.json, a Makefile or sources are no findings: they are the work itself, a diff shows them, and their next run asks like
 * this one.
 * @param before taken right before the run. @param startedAt ms since the epoch
 * @returns `path (what)`, sorted; a last line says how many more there are
 */
export function findPlanted(before: Scan, after: Scan, startedAt: number): readonly string[] {
  const known = new Map(before.findings.map((finding) => [keyOf(finding), finding]));
  const isNew = (finding: ScanFinding) => {
    const former = known.get(keyOf(finding));
    if (former !== undefined) return isAnother(finding, former);
    // SECURITY: a directory that is moved into place brings files whose own times are old.
    return (before.complete && finding.always) || finding.changedAt >= startedAt - tickMs;
  };
  const planted = after.findings.filter((finding) => counts(finding) && isNew(finding)).map(describe);
  const sorted = [...new Set(planted)].sort();
  if (sorted.length <= mostShown) return sorted;
  return [...sorted.slice(0, mostShown), `and ${sorted.length - mostShown} more`];
}

/** Of directories only repositories: what is in the others counts by itself, and an empty one means nothing. */
function counts({ kind, directory }: ScanFinding): boolean {
  return kind !== 'secret' && (!directory || kind === 'git_directory');
}

/** Working in a repository changes its directory; only another one in its place is news. */
function isAnother(finding: ScanFinding, former: ScanFinding): boolean {
  return finding.directory ? inodeOf(former) !== inodeOf(finding) : former.stamp !== finding.stamp;
}

function describe({ path: at, kind }: ScanFinding): string {
  return kind === 'secret' ? at : `${showPlainly(at)} (${words[kind]})`;
}

function keyOf({ kind, path: at }: ScanFinding): string {
  return `${kind} ${at}`;
}

function inodeOf({ stamp }: ScanFinding): string {
  return stamp.slice(0, stamp.indexOf(':'));
}
