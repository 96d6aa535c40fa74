/** Pathname expansion (POSIX.1-2024 §2.14) done by us, so that the names that were checked are the names that run. */

import { locatePath } from '../paths/locate-path.ts';
import type { WorkspaceView } from '../paths/workspace-view.ts';
import type { GlobPart } from '../ssh/line.ts';

const mostNames = 100;

/** The matching paths in the order of their code units, as a shell in the C locale gives them; none is an empty list. */
export function expandPattern(parts: readonly GlobPart[], view: WorkspaceView): readonly string[] | 'too-many' {
  const segments = splitSegments(parts);
  let found: readonly string[] = [''];
  for (const [index, segment] of segments.entries()) {
    const last = index === segments.length - 1;
    found = found.flatMap((prefix) => extend(prefix, segment, last, view));
    if (found.length > mostNames) return 'too-many';
  }
  return found;
}

/** A word's parts cut at its slashes; wild parts hold none. */
function splitSegments(parts: readonly GlobPart[]): readonly (readonly GlobPart[])[] {
  const segments: GlobPart[][] = [[]];
  for (const part of parts) {
    if ('wild' in part) {
      segments.at(-1)?.push(part);
      continue;
    }
    const [first = '', ...rest] = part.literal.split('/');
    segments.at(-1)?.push({ literal: first });
    for (const piece of rest) segments.push([{ literal: piece }]);
  }
  return segments;
}

function extend(prefix: string, segment: readonly GlobPart[], last: boolean, view: WorkspaceView): readonly string[] {
  const end = last ? '' : '/';
  if (segment.every((part) => 'literal' in part)) {
    const path = `${prefix}${segment.map((part) => ('literal' in part ? part.literal : '')).join('')}`;
    return !last || exists(path, view) ? [`${path}${end}`] : [];
  }
  const pattern = segmentPattern(segment);
  return namesIn(prefix, view)
    .filter((name) => pattern.test(name))
    .map((name) => `${prefix}${name}${end}`);
}

function namesIn(prefix: string, { ground, facts }: WorkspaceView): readonly string[] {
  const located = locatePath(prefix === '' ? '.' : prefix, ground);
  if (!located.ok) return [];
  const fact = facts.look(located.raw);
  return fact.kind === 'directory' ? (facts.names(fact.path) ?? []).toSorted() : [];
}

function exists(path: string, { ground, facts }: WorkspaceView): boolean {
  const located = locatePath(path, ground);
  return located.ok && facts.look(located.raw).kind !== 'missing';
}

function segmentPattern(segment: readonly GlobPart[]): RegExp {
  const expression = segment
    .map((part) => ('wild' in part ? wildExpression(part.wild) : part.literal.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')))
    .join('');
  const [first] = segment;
  // A leading dot is only matched by a dot.
  const start = first !== undefined && 'literal' in first && first.literal !== '' ? '' : '(?!\\.)';
  return new RegExp(`^${start}${expression}$`, 'su');
}

function wildExpression(wild: string): string {
  if (wild === '*') return '.*';
  if (wild === '?') return '.';
  // Classes, escapes and signs: any character, which is more than it matches.
  if (!/^\[[!^]?[A-Za-z0-9_.-]+\]$/.test(wild)) return '.';
  // A range that runs backwards matches nothing, as in bash.
  const runsBackwards = [...wild.matchAll(/([^![])-([^\]])/g)].some(([, from = '', to = '']) => from > to);
  return runsBackwards ? '(?!)' : wild.replace('[!', '[^').replace(/-(?=\])/, '\\-');
}
