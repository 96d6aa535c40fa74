/**
 * Limits that no rlimit can hold for a whole tree: how many processes, how much memory together, how much of the disk. Looked at
 * every few hundred ms, from outside. RLIMIT_NPROC does not bind root, and no rlimit counts memory over several processes.
 */
import { readdirSync, readFileSync, statfsSync } from 'node:fs';

export interface TreeLimits {
  readonly processes: number;
  readonly memoryBytes: number;
  /** How much the free space of the workspace's file system may shrink. */
  readonly diskBytes: number;
}

export type TreeLimit = 'processes' | 'memory' | 'disk';

const intervalMs = 150;
const pageBytes = 4_096;

interface TreeUse {
  readonly processes: number;
  readonly memoryBytes: number;
}

/** @param root pid of the tree's first process, once it is known. @returns the end of watching */
export function watchTree(
  root: () => number | undefined,
  place: { readonly workspaceRoot: string; readonly limits: TreeLimits },
  onOver: (limit: TreeLimit) => void,
): () => void {
  const { workspaceRoot, limits } = place;
  const freeAtStart = freeBytes(workspaceRoot);
  const timer = setInterval(() => {
    const pid = root();
    const use = pid === undefined ? undefined : treeUse(pid, limits.processes);
    if (use !== undefined && use.processes > limits.processes) onOver('processes');
    else if (use !== undefined && use.memoryBytes > limits.memoryBytes) onOver('memory');
    else if (freeAtStart - freeBytes(workspaceRoot) > limits.diskBytes) onOver('disk');
  }, intervalMs);
  return () => clearInterval(timer);
}

/** Counts from the parent's list of children; ends as soon as there are more than `most`. Linux only: elsewhere the tree is empty. */
export function treeUse(root: number, most: number): TreeUse {
  const open = [root];
  let processes = 0;
  let memoryBytes = 0;
  for (let pid = open.pop(); pid !== undefined && processes <= most; pid = open.pop()) {
    processes += 1;
    memoryBytes += privateBytes(pid);
    open.push(...childrenOf(pid));
  }
  return { processes, memoryBytes };
}

function childrenOf(pid: number): readonly number[] {
  return names(`/proc/${pid}/task`).flatMap((thread) =>
    read(`/proc/${pid}/task/${thread}/children`)
      .split(' ')
      .filter((child) => child !== '')
      .map(Number),
  );
}

/** Resident minus shared: what would be free without it. `proc(5)`, statm, in pages. */
function privateBytes(pid: number): number {
  const [, resident = 0, shared = 0] = read(`/proc/${pid}/statm`).split(' ').map(Number);
  return Math.max(0, resident - shared) * pageBytes;
}

function freeBytes(path: string): number {
  try {
    const { bavail, bsize } = statfsSync(path);
    return bavail * bsize;
  } catch {
    return 0;
  }
}

// A process may end between its listing and the look at it.
function names(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
