import type { PathFacts } from '#kernel/ports/path-facts';
import type { Ground } from './locate-path.ts';

/** A workspace as the policy sees it: where it is, and what its paths really are. Commands start in its root. */
export interface WorkspaceView {
  readonly ground: Ground;
  readonly facts: PathFacts;
}
