/**
 * What a path really is. The policy decides from text; links and types come from this port, which a connector implements on the file
 * system. INVARIANT: an answer is about the moment it was given; whoever opens the file afterwards must check again while opening.
 */

/** Segments below the workspace root; `..` goes to the real parent, as the kernel does. */
export type Segments = readonly string[];

export type PathFact =
  /** Nothing is there; `path` is where it would be, links resolved. */
  | { readonly kind: 'missing'; readonly path: Segments }
  | { readonly kind: 'file'; readonly path: Segments; readonly size: number }
  | { readonly kind: 'directory'; readonly path: Segments }
  /** A FIFO, socket or device: reading it may never end. */
  | { readonly kind: 'special'; readonly path: Segments }
  /** A link or `..` leads out of the root, whether or not something is there. */
  | { readonly kind: 'outside' }
  /** Links in a circle, or more of them than the kernel follows. */
  | { readonly kind: 'loop' }
  /** It cannot be looked at (no permission, a file used as a directory, a name that is too long). */
  | { readonly kind: 'unreadable'; readonly reason: string };

export interface PathFacts {
  /** Resolves every link on the way, the last one included. Never follows anything out of the root. */
  look(segments: Segments): PathFact;
}
