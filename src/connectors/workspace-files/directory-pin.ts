/** A directory held fast: names in it are addressed through `at`, so that what its own path leads to by now no longer matters. */
import { Fault } from '#kernel/errors';

export interface DirectoryPin {
  /** `${at}/${name}` is the entry `name` of this very directory. */
  readonly at: string;
  /** The directory `name` in this one, never through a link. @throws the file system's error; {Fault} `PATH_CHANGED` */
  enter(name: string): DirectoryPin;
  /** Opens the plain file `name` for reading, never through a link, never a device or pipe. Gives the descriptor. @throws as `enter` */
  openFile(name: string): number;
  /**
   * As `openFile`, for many names that a listing a moment ago called plain files: one step instead of four. What was put there since may be
   * opened (a pipe or socket does not wait for it); look at the descriptor before using what was read.
   */
  openListed(name: string): number;
  /** Throws {Fault} `PATH_CHANGED` where it shows that names addressed here may have been another directory's. */
  confirm(): void;
  close(): void;
}

/** Something was swapped between looking and opening. */
export function pathChanged(): Fault {
  return new Fault('PATH_CHANGED', 'the path was changed by another program while it was being opened', {
    audience: 'user',
    retryable: true,
    next: 'call again; if it goes on, ask the user what is changing the workspace',
  });
}
