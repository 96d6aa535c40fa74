/** What the path policy says, as the file connector asks it: handed in by `app/`, so that both judge alike. */
import type { Decision } from '#kernel/decision';
import type { PathFact, Segments } from '#kernel/ports/path-facts';
import type { PathUse } from '#kernel/resource';

/** `workspace`, or the agent's own sandbox, whose paths are written below `/tmp`. */
export type PathRoot = 'workspace' | 'persona';

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
