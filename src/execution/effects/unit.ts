/** What a command changed, taken apart into what is applied, held and undone as one. */
import type { ChangeKind, Verdict } from '#kernel/effects';
import type { AttributeChange } from './directory-attributes.ts';
import type { Stamp, Tree, TreeEntry } from './stamp.ts';

/** Something that is there afterwards. */
export interface NewEntry extends TreeEntry {
  /** `path` is below the workspace; the content lies here. */
  readonly source: string;
  /** It has no marks of the overlay, lies on the journal's file system and can be moved as it is; else a copy must be taken through the view. */
  readonly pure: boolean;
  /** A file of the workspace that is not changed, and gets a second name here. */
  readonly linkTo?: string;
  /** Another name of the file that is put there. */
  readonly nameOf?: string;
}

export interface Before {
  readonly stamp: Stamp;
  /** The newest change time of it and of all in it, ns. */
  readonly newest: bigint;
  /** Of a directory that goes as a whole. */
  readonly tree?: Tree;
}

/** What is applied, held and undone as one. */
export interface Unit {
  readonly path: string;
  readonly kind: ChangeKind;
  readonly before?: Before;
  readonly after?: NewEntry;
  /** Of a new directory, outer entries first; paths below the workspace. */
  readonly inside: readonly NewEntry[];
  /** Of `attributes`: the times stay, for what the command saw of them was not the entry's own. */
  readonly keepTimes?: boolean;
  /** Of `attributes` of a directory: its extended attributes and access lists, where they are others. */
  readonly extended?: AttributeChange;
  /** Of `modify`: the file has other names, and is what they name. */
  readonly writtenThrough?: true;
  /** Of `attributes` with another mode, of a file: its other names below the workspace, which get that, too; `unknown`: not all were found. */
  readonly otherNames?: readonly string[] | 'unknown';
  /** Of what a person decides about. */
  readonly held?: Pick<Verdict, 'rule' | 'why'>;
  /** A directory that was there got this name; its content is a copy, taken without any covers. */
  readonly renamed?: true;
  /** It was there when the run began, and is not in the workspace any more. */
  readonly takenAway?: true;
}
