/**
 * What paths below a directory really are: every component looked at by itself, links resolved by their text and never followed out.
 * The answer is for deciding; whoever opens the file afterwards must pin each component while opening (a name can change in between).
 */
import { lstatSync, readlinkSync, type Stats } from 'node:fs';
import path from 'node:path';
import type { PathFact, PathFacts } from '#kernel/ports/path-facts';

/** As Linux: ELOOP after 40 links (path_resolution(7)). */
const mostLinks = 40;

/** Looks below `root`, an absolute path in which links are resolved already. Synchronous: a few `lstat` calls per path. */
export function createPathFacts(root: string): PathFacts {
  return {
    look: (segments) => {
      try {
        return walk(root, segments);
      } catch (thrown) {
        return { kind: 'unreadable', reason: codeOf(thrown) };
      }
    },
  };
}

interface Walk {
  /** Segments still to go, the next one first. */
  left: string[];
  /** Real segments below the root, no links in them. */
  readonly done: string[];
  links: number;
}

function walk(root: string, segments: readonly string[]): PathFact {
  const state: Walk = { left: segments.filter(isStep), done: [], links: 0 };
  let last: Stats | undefined;
  while (state.left.length > 0) {
    const name = state.left.shift() ?? '';
    // Beside the root is outside, whatever follows.
    if (name === '..' && state.done.length === 0) return { kind: 'outside' };
    const found = name === '..' ? stepUp(state) : stepDown(root, state, name);
    if (found !== undefined && 'kind' in found) return found;
    last = found;
  }
  return factOf(last ?? lstatSync(path.join(root, ...state.done)), state.done);
}

function isStep(name: string): boolean {
  return name !== '' && name !== '.';
}

function stepUp(state: Walk): undefined {
  state.done.pop();
}

/** Into `name`: its stats, where the walk ends, or undefined behind a link. */
function stepDown(root: string, state: Walk, name: string): Stats | PathFact | undefined {
  const stats = lstatSync(placeOf(root, state.done, name), { throwIfNoEntry: false });
  if (stats === undefined) return missing(state, name);
  if (stats.isSymbolicLink()) return enterLink(root, state, name);
  state.done.push(name);
  return stats;
}

/** As `path.join`, for names that are none of `.` and `..`, in a fifth of its time. */
function placeOf(root: string, done: readonly string[], name: string): string {
  return done.length === 0 ? `${root}${path.sep}${name}` : `${root}${path.sep}${done.join(path.sep)}${path.sep}${name}`;
}

/** Puts the text of a link before what is left. */
function enterLink(root: string, state: Walk, name: string): PathFact | undefined {
  state.links += 1;
  if (state.links > mostLinks) return { kind: 'loop' };
  const text = readlinkSync(placeOf(root, state.done, name));
  if (!path.isAbsolute(text)) {
    state.left.unshift(...split(text));
    return undefined;
  }
  const below = path.relative(root, text);
  // An absolute link into the workspace is one into it; anything else is outside, `/proc/self/cwd` too.
  if (below === '..' || below.startsWith(`..${path.sep}`) || path.isAbsolute(below)) return { kind: 'outside' };
  state.done.length = 0;
  state.left.unshift(...split(below));
  return undefined;
}

/** What is missing is below the last directory that is there; `..` behind it must not climb out of the root. */
function missing({ done, left }: Walk, name: string): PathFact {
  const whole = [...done, name];
  for (const segment of left) {
    if (segment === '..') {
      if (whole.pop() === undefined) return { kind: 'outside' };
    } else if (segment !== '' && segment !== '.') whole.push(segment);
  }
  return { kind: 'missing', path: whole };
}

function factOf(stats: Stats, done: readonly string[]): PathFact {
  if (stats.isFile()) return { kind: 'file', path: done, size: stats.size };
  return { kind: stats.isDirectory() ? 'directory' : 'special', path: done };
}

function split(text: string): readonly string[] {
  return text.split(path.sep).filter(isStep);
}

function codeOf(thrown: unknown): string {
  return thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : 'unknown error';
}
