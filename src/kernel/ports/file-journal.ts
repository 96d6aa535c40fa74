/** Changing a file so that a person can take it back. */

/** New content of one plain file of the workspace, as the caller found it. */
export interface FileChange {
  /** Below the workspace, links resolved, `/`-separated. */
  readonly path: string;
  /** How many names at the path's end are not there: the file's and those of its new directories; 0: it is there. */
  readonly newNames: number;
  readonly bytes: Uint8Array;
  /** For the list of runs. */
  readonly title: string;
  readonly agentId: string;
  /** Once it has aborted the change does not begin any more. */
  readonly signal?: AbortSignal | undefined;
  /**
   * The outermost entry that changes (the file, or the first new directory), through a directory that is held open.
   * @throws what stops the change: somebody else was there meanwhile
   */
  place(): string;
  /** The same, without that look: where what was begun is taken back, wherever the directory is by now. */
  held(): string;
}

export interface FileJournal {
  /**
   * One step: the old file or the new one, with the old one's attributes, and never anything else in the workspace.
   * @returns the run's id
   * @throws {Fault} `FILE_CHANGED` where something else is there by now; what `place` throws; the file system's error
   */
  change(change: FileChange): Promise<string>;
}
