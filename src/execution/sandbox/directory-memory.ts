/** What was read of directories, as long as the kernel's stamps say that their entries are still the same. */
import { type Stats, statfsSync } from 'node:fs';
import { statsOf } from './entries.ts';

export interface DirectoryMemory<Content> {
  /**
   * @param read undefined: it could not be read, which is not remembered
   * @returns what `read` makes of the directory, or once made of it; undefined where there is none (a link to one is none)
   */
  recall(directory: string, read: () => Content | undefined): Content | undefined;
}

export interface MemoryOptions {
  /** The directories are in there. */
  readonly root: string;
  /** How many directories are remembered. */
  readonly most?: number;
  /** A change within the same tick of the clock as the last one cannot be told from it: in ms, more than a tick has. */
  readonly settledMs?: number;
}

/**
 * Of these it is known that a change of a directory's entries sets its change time, which no program can set back. Elsewhere (network, FUSE,
 * FAT) every look is a new one. Source: `statfs(2)`: ext2 to 4, XFS, Btrfs, tmpfs, overlay, F2FS, ZFS.
 */
const stampingFileSystems: ReadonlySet<number> = new Set([
  ...[0xef53, 0x58465342, 0x9123683e, 0x01021994, 0x794c7630, 0xf2f52010, 0x2fc12fc1],
]);

export function createDirectoryMemory<Content>({ root, most = 20_000, settledMs = 100 }: MemoryOptions): DirectoryMemory<Content> {
  const known = new Map<string, { readonly stamp: string; readonly content: Content }>();
  const device = statsOf(root)?.dev;
  const isStamping = canStamp(root);
  return {
    recall: (directory, read) => {
      const now = Date.now();
      // SECURITY: before it is read. What changes meanwhile has a later stamp than the one that is kept.
      const stats = statsOf(directory);
      if (stats?.isDirectory() !== true) return undefined;
      const stamp = stampOf(stats);
      const former = known.get(directory);
      if (former?.stamp === stamp) return former.content;
      const content = read();
      known.delete(directory);
      if (content === undefined) return undefined;
      if (known.size >= most) known.clear();
      if (isStamping && stats.dev === device && now - stats.ctimeMs > settledMs) known.set(directory, { stamp, content });
      return content;
    },
  };
}

function stampOf({ dev, ino, ctimeMs, mtimeMs }: Stats): string {
  return `${dev}:${ino}:${ctimeMs}:${mtimeMs}`;
}

function canStamp(root: string): boolean {
  try {
    return stampingFileSystems.has(statfsSync(root).type);
  } catch {
    return false;
  }
}
