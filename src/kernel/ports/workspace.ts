/** What the workspace tools need. Paths are as the caller wrote them; an implementation checks each again at the moment of use. */
import type { TextEdit } from '../text/text-edits.ts';

/** A file's text, by lines. Line numbers start at 1. */
export interface FileText {
  /** Links resolved, `/`-separated: relative to the workspace, or below `/tmp` for the agent's own sandbox. */
  readonly path: string;
  /** Lines `startLine` to `endLine`, joined by `\n`; fewer than asked for where they are too long for one answer. */
  readonly text: string;
  readonly startLine: number;
  readonly endLine: number;
  readonly totalLines: number;
  /** Size of the whole file. */
  readonly bytes: number;
  readonly encoding: 'utf-8' | 'utf-16le' | 'utf-16be' | 'latin1';
  /** Of the whole file's bytes: the first 16 hex digits of SHA-256. */
  readonly hash: string;
}

export interface DirectoryEntry {
  readonly path: string;
  readonly type: 'file' | 'directory' | 'link' | 'other';
  /** Only of files. */
  readonly bytes?: number;
}

export interface Listing {
  readonly entries: readonly DirectoryEntry[];
  /** Entries that were left out because the cap was reached; counted up to a limit. */
  readonly omitted: number;
  /** Entries that `.gitignore` files hide. */
  readonly ignored: number;
}

/** What became of a change. */
export interface ChangedFile {
  readonly path: string;
  readonly bytes: number;
  /** For undo; left out where nothing is kept. */
  readonly runId?: string;
  /** Of a file of the workspace: why it cannot be undone. */
  readonly notKept?: string;
  /** Hard links to the file that was there; they keep the old content. Left out: none. */
  readonly otherNames?: number;
}

export interface WrittenFile extends ChangedFile {
  /** Whether there was no such file before. */
  readonly created: boolean;
}

export interface EditedFile extends ChangedFile {
  readonly replacements: number;
  /** As `FileText.hash`, of what is there now. */
  readonly hash: string;
}

/** Whose files: paths below `/tmp` are the agent's own sandbox, everything else the workspace. */
export interface FileScope {
  readonly agentId: string;
  /** The real path for which a person agreed to what the path policy asked; opening any other still needs no asking. */
  readonly agreed?: string;
}

/** @throws {Fault} `PATH_OUTSIDE_WORKSPACE`, `SYMLINK_OUTSIDE_WORKSPACE`, `SECRET_FILE`, `NOT_A_REGULAR_FILE`, `FILE_TOO_LARGE`, `BINARY_FILE`, `FILE_NOT_FOUND`, `QUOTA_EXCEEDED`, … */
export interface WorkspaceFiles {
  read(path: string, lines: { readonly start?: number; readonly end?: number }, scope: FileScope, signal: AbortSignal): Promise<FileText>;
  /** Why a change of the path could not be undone; undefined: it can. */
  notKept(path: string): Promise<string | undefined>;
  /**
   * Atomic: the old file or the new one, never a part; not begun any more once the signal has aborted.
   * @throws {Fault} `FILE_CHANGED` where somebody else wrote there meanwhile; the signal's reason
   */
  write(
    path: string,
    content: string,
    options: { readonly createDirs: boolean; readonly signal?: AbortSignal },
    scope: FileScope,
  ): Promise<WrittenFile>;
  /**
   * As `write`. All edits or none, in one step; two at once on one file come one after the other. Encoding, byte order mark and line ends stay.
   * @throws {Fault} `OLD_TEXT_NOT_FOUND`, `OLD_TEXT_NOT_UNIQUE`, `NOTHING_TO_CHANGE`, `FILE_CHANGED`, `ENCODING_CANNOT_HOLD`
   */
  edit(
    path: string,
    edits: readonly TextEdit[],
    options: { readonly ifUnchanged?: string; readonly signal?: AbortSignal },
    scope: FileScope,
  ): Promise<EditedFile>;
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
  /** There were more, or time was up. */
  readonly truncated: boolean;
  readonly engine: 'ripgrep' | 'built-in';
}

/** @throws {Fault} `BAD_PATTERN` with what is wrong and where; `SEARCH_TIMEOUT`, `SEARCH_FAILED`; the codes of `WorkspaceFiles` for `path` */
export interface WorkspaceSearch {
  search(query: SearchQuery, scope: FileScope, signal: AbortSignal): Promise<SearchResult>;
}
