/** A caller's path, walked to and decided at the moment of use; what follows works on what was pinned. */

import { lstatSync, readlinkSync } from 'node:fs';
import { isAbsolute, relative, sep } from 'node:path';
import { type DirectoryPin, type Pinning, pathChanged, pinRoot } from '#files/directory-pin';
import type { Decision } from '#kernel/decision';
import { Fault } from '#kernel/errors';
import type { PathFact, Segments } from '#kernel/ports/path-facts';
import type { FileScope } from '#kernel/ports/workspace';
import type { PathUse } from '#kernel/resource';
import { asIs, type Message, say } from '#kernel/text/message';
import { errnoOf, fileFault, notFound } from './file-faults.ts';

/** `workspace`, or the agent's own sandbox, whose paths are written below `/tmp`. */
type PathRoot = 'workspace' | 'persona';

export type PlacedPath =
  | { readonly ok: true; readonly root: PathRoot; readonly segments: Segments }
  | { readonly ok: false; readonly code: string; readonly message: string };

export interface PathRules {
  /** Which root a path's text means, and where below it. */
  place(path: string): PlacedPath;
  /** The decision on a path that turned out to be `fact`. */
  decide(path: string, use: PathUse, fact: PathFact): Decision;
}

/** A real path as it is shown to callers and bound by a person's agreement. */
export function showPath(root: PathRoot, segments: Segments): string {
  if (root === 'persona') return ['/tmp', ...segments].join('/');
  return segments.length === 0 ? '.' : segments.join('/');
}

export interface PersonaRoom {
  /** Absolute, links resolved. */
  readonly path: string;
  /** For files that are not whole yet: on the same file system, in nobody's room. */
  readonly writing: string;
  /**
   * Sets `bytes` aside for the file at the room's `path`, before it is written. `settle` must follow.
   * @throws {Fault} `QUOTA_EXCEEDED`, `PATH_CHANGED` where the room was cleaned meanwhile
   */
  reserve(path: string, bytes: number): Promise<{ settle(written: boolean): Promise<void> }>;
}

export interface PersonaRooms {
  /** The agent's room, marked as used; undefined where it has none and `make` does not ask for one. */
  room(agentId: string, make: boolean): Promise<PersonaRoom | undefined>;
}

export interface FilePlaces {
  readonly rules: PathRules;
  /** Absolute, links resolved. */
  readonly workspaceRoot: string;
  readonly personas: PersonaRooms;
  readonly pinning: Pinning;
}

interface PathRequest {
  readonly path: string;
  readonly use: PathUse;
  readonly scope: FileScope;
}

export interface OpenedPath extends Walked {
  readonly root: PathRoot;
  /** The agent's sandbox, where the path is in it. */
  readonly room?: PersonaRoom;
}

/** How often a path that changes under way is walked to anew. */
const mostTries = 8;

/**
 * Opens the path, lets `work` use it, and closes it. Where somebody swaps things under way, all of it is done again, decision included.
 * @throws {Fault} the path policy's codes, `PATH_CHANGED`, and what `work` throws
 */
export async function withPath<T>(places: FilePlaces, request: PathRequest, work: (opened: OpenedPath) => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await once(places, request, work);
    } catch (thrown) {
      const fault = fileFault(thrown, request.path);
      if (errnoOf(fault) !== 'PATH_CHANGED' || tries >= mostTries) throw fault;
    }
  }
}

async function once<T>(places: FilePlaces, request: PathRequest, work: (opened: OpenedPath) => Promise<T>): Promise<T> {
  const placed = places.rules.place(request.path);
  if (!placed.ok) throw refusal(placed.code, asIs(placed.message));
  const room = placed.root === 'persona' ? await places.personas.room(request.scope.agentId, request.use === 'write') : undefined;
  // Nothing was ever written there.
  if (placed.root === 'persona' && room === undefined) throw notFound(request.path);
  const walked = walkPath({ path: room?.path ?? places.workspaceRoot, pinning: places.pinning }, placed.segments);
  try {
    requireAllowed(places.rules, request, placed.root, walked.fact);
    return await work({ ...walked, root: placed.root, ...(room === undefined ? {} : { room }) });
  } finally {
    walked.close();
  }
}

/**
 * @throws {Fault} the path policy's codes
 * SECURITY: what the pipeline decided was about another moment; this is the decision that counts for what is open now.
 */
export function requireAllowed(rules: PathRules, { path, use, scope }: PathRequest, root: PathRoot, fact: PathFact): void {
  const decision = rules.decide(path, use, fact);
  if (decision.effect === 'deny') throw refusal(decision.code, say`\`${path}\`: ${decision.reason}`);
  if (decision.effect === 'ask' && !('path' in fact && scope.agreed === showPath(root, fact.path))) {
    throw refusal(decision.code, say`\`${path}\`: ${decision.reason}`);
  }
}

function refusal(code: string, message: Message): Fault {
  return new Fault(code, message, { audience: 'user', next: 'do not try another way; ask the user' });
}

// Walking to a path with every directory on the way pinned: what it is, in a form that can be opened without looking again.

/** As Linux: ELOOP after 40 links (path_resolution(7)). Swaps under way count as well, so that a walk always ends. */
const mostSteps = 40;

interface RootPlace {
  /** Absolute, links resolved. */
  readonly path: string;
  readonly pinning: Pinning;
}

/** Where a walk ended. INVARIANT: `close` is called whatever happens. */
interface Walked {
  readonly fact: PathFact;
  /** The deepest directory reached: the one itself where `fact` is a directory, else the one that holds (or would hold) the next name. */
  readonly directory: DirectoryPin;
  /** The pinned directories from the root on, `directory` the last of them. */
  readonly pins: readonly DirectoryPin[];
  /** Names below `directory`: none for a directory, one for anything else that is there, one or more for what is missing. */
  readonly names: Segments;
  close(): void;
}

/** @throws {Fault} `WORKSPACE_MISSING` */
function walkPath(root: RootPlace, segments: Segments): Walked {
  const walk = startWalk(root, segments);
  try {
    return { ...finish(walk), pins: walk.pins, close: () => closeAll(walk) };
  } catch (thrown) {
    const directory = walk.pins.at(-1);
    if (directory === undefined || (thrown instanceof Fault && thrown.retryable)) {
      closeAll(walk);
      throw thrown;
    }
    return { fact: { kind: 'unreadable', reason: errnoOf(thrown) }, directory, pins: walk.pins, names: [], close: () => closeAll(walk) };
  }
}

type End = Omit<Walked, 'close' | 'pins'>;

interface Walk {
  readonly root: string;
  left: string[];
  /** Real names from the root to the last of `pins`; one pin more than names. */
  readonly done: string[];
  readonly pins: DirectoryPin[];
  steps: number;
}

function startWalk({ path: root, pinning }: RootPlace, segments: Segments): Walk {
  try {
    return { root, left: [...segments], done: [], pins: [pinRoot(root, pinning)], steps: 0 };
  } catch (thrown) {
    throw new Fault('WORKSPACE_MISSING', say`the workspace's own directory cannot be opened (${errnoOf(thrown)})`, {
      cause: thrown,
      next: 'open a folder that is there, or correct `workspace.root`',
    });
  }
}

function finish(walk: Walk): End {
  while (walk.left.length > 0) {
    const name = walk.left.shift() ?? '';
    const end = step(walk, name);
    if (end !== undefined) return end;
  }
  return { fact: { kind: 'directory', path: [...walk.done] }, directory: topOf(walk), names: [] };
}

/** One name further; something where the walk ends here. */
function step(walk: Walk, name: string): End | undefined {
  if (name === '' || name === '.') return undefined;
  if (name === '..') return goUp(walk);
  const directory = topOf(walk);
  const stats = lstatSync(`${directory.at}/${name}`, { throwIfNoEntry: false });
  if (stats === undefined) return missing(walk, name);
  if (stats.isSymbolicLink()) return enterLink(walk, name);
  if (stats.isDirectory()) return enterDirectory(walk, name);
  if (walk.left.some((later) => later !== '' && later !== '.')) {
    return { fact: { kind: 'unreadable', reason: 'ENOTDIR' }, directory, names: [name] };
  }
  const real = [...walk.done, name];
  const fact: PathFact = stats.isFile() ? { kind: 'file', path: real, size: stats.size } : { kind: 'special', path: real };
  return { fact, directory, names: [name] };
}

function goUp(walk: Walk): End | undefined {
  if (walk.done.pop() === undefined) return { fact: { kind: 'outside' }, directory: topOf(walk), names: [] };
  walk.pins.pop()?.close();
  return undefined;
}

function enterDirectory(walk: Walk, name: string): undefined {
  try {
    walk.pins.push(topOf(walk).enter(name));
    walk.done.push(name);
  } catch (thrown) {
    // It is a link or a file by now: look again.
    retry(walk, name, thrown, ['ENOTDIR', 'ELOOP', 'ENOENT']);
  }
}

/** Puts the text of a link before what is left. */
function enterLink(walk: Walk, name: string): End | undefined {
  walk.steps += 1;
  if (walk.steps > mostSteps) return { fact: { kind: 'loop' }, directory: topOf(walk), names: [] };
  let text: string;
  try {
    text = readlinkSync(`${topOf(walk).at}/${name}`);
  } catch (thrown) {
    // It is no link by now: look again.
    retry(walk, name, thrown, ['EINVAL', 'ENOENT']);
    return undefined;
  }
  if (!isAbsolute(text)) {
    walk.left.unshift(...text.split(sep));
    return undefined;
  }
  const below = relative(walk.root, text);
  // As for `path-facts.ts`: an absolute link into the root is one into it; anything else is outside, `/proc/self/cwd` too.
  if (below === '..' || below.startsWith(`..${sep}`) || isAbsolute(below)) {
    return { fact: { kind: 'outside' }, directory: topOf(walk), names: [] };
  }
  for (const pin of walk.pins.splice(1)) pin.close();
  walk.done.length = 0;
  walk.left.unshift(...below.split(sep));
  return undefined;
}

function retry(walk: Walk, name: string, thrown: unknown, expected: readonly string[]): void {
  if (!expected.includes(errnoOf(thrown))) throw thrown;
  walk.steps += 1;
  if (walk.steps > mostSteps) throw pathChanged();
  walk.left.unshift(name);
}

/** What is missing is below the last directory that is there; `..` behind it must not climb out of the root. */
function missing({ done, left, pins }: Walk, name: string): End {
  const directory = pins.at(-1) as DirectoryPin;
  const names = [name];
  for (const segment of left) {
    if (segment === '' || segment === '.') continue;
    if (segment !== '..') names.push(segment);
    // Through a directory that is not there, the kernel goes nowhere; nor do we.
    else if (names.length <= 1) return { fact: { kind: 'unreadable', reason: 'ENOENT' }, directory, names: [] };
    else names.pop();
  }
  return { fact: { kind: 'missing', path: [...done, ...names] }, directory, names };
}

function topOf({ pins }: Walk): DirectoryPin {
  // The root's pin is never taken off.
  return pins.at(-1) as DirectoryPin;
}

function closeAll({ pins }: Walk): void {
  for (const pin of pins) pin.close();
}
