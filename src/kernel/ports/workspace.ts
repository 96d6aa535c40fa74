/** What the workspace tools need. Paths are as the caller wrote them; an implementation checks each again at the moment of use. */

/** A file's text, by lines. Line numbers start at 1. */
export interface FileText {
  /** Relative to the root it belongs to, `/`-separated, links resolved. */
  readonly path: string;
  /** Lines `startLine` to `endLine`, joined by `\n`. */
  readonly text: string;
  readonly startLine: number;
  readonly endLine: number;
  readonly totalLines: number;
  /** Size of the whole file. */
  readonly bytes: number;
  readonly encoding: 'utf-8' | 'utf-16le' | 'utf-16be' | 'latin1';
}

export interface DirectoryEntry {
  readonly path: string;
  readonly type: 'file' | 'directory' | 'link' | 'other';
  /** Only of files. */
  readonly bytes?: number;
}

export interface Listing {
  readonly entries: readonly DirectoryEntry[];
  /** Entries that were left out because the cap was reached. */
  readonly omitted: number;
}

export interface WrittenFile {
  readonly path: string;
  readonly bytes: number;
  /** Whether there was no such file before. */
  readonly created: boolean;
}

/** Whose files: paths below `/tmp` are the agent's own sandbox, everything else the workspace. */
export interface FileScope {
  readonly agentId: string;
}

/** @throws {Fault} `PATH_OUTSIDE_WORKSPACE`, `SYMLINK_OUTSIDE_WORKSPACE`, `SECRET_FILE`, `NOT_A_REGULAR_FILE`, `FILE_TOO_LARGE`, `BINARY_FILE`, `FILE_NOT_FOUND`, `QUOTA_EXCEEDED`, … */
export interface WorkspaceFiles {
  read(path: string, lines: { readonly start?: number; readonly end?: number }, scope: FileScope, signal: AbortSignal): Promise<FileText>;
  /** Atomic: the old file or the new one, never a part. */
  write(path: string, content: string, options: { readonly createDirs: boolean }, scope: FileScope): Promise<WrittenFile>;
  list(
    path: string,
    options: { readonly recursive: boolean; readonly pattern?: string },
    scope: FileScope,
    signal: AbortSignal,
  ): Promise<Listing>;
}

export interface SearchQuery {
  /** A regular expression of the linear-time kind (no back-references, no look-around). */
  readonly pattern: string;
  readonly path: string;
  readonly filePattern?: string;
  readonly maxResults: number;
}

export interface SearchHit {
  readonly path: string;
  readonly line: number;
  readonly text: string;
}

export interface SearchResult {
  readonly hits: readonly SearchHit[];
  /** There were more. */
  readonly truncated: boolean;
}

/** @throws {Fault} `BAD_PATTERN` with what is wrong and where; `SEARCH_TIMEOUT` */
export interface WorkspaceSearch {
  search(query: SearchQuery, scope: FileScope, signal: AbortSignal): Promise<SearchResult>;
}
