/**
 * Files that make another program run something later, outside every sandbox: hooks, editor and container settings, start-up files. Writing
 * one by its name is a person's decision; of what a command changed in a repository `judgeChange` knows more.
 */
import type { Segments } from '#kernel/ports/path-facts';
import { controlRowOf } from '../effects/control-places.ts';
import { foldName } from './secret-files.ts';

/** Whether writing the path plants something that runs later; `segments` are below the root. */
export function isControlPath(segments: Segments): boolean {
  return segments.some((segment) => foldName(segment) === '.git') || controlRowOf(segments) !== undefined;
}
