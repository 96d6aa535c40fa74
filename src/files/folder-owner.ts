/** Root at work in another user's folder (a service's): what it makes there is that user's, or the service could not use it. */
import { lstatSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/**
 * Does `work` as the user to whom `folder` (or the nearest directory above it) belongs, where root calls: root then neither leaves files that the
 * service cannot read, nor follows a link that the service's user made with root's rights. For one thing at a time: it is the process that changes.
 */
export async function asOwnerOf<T>(folder: string, work: () => Promise<T>): Promise<T> {
  const owner = ownerOf(folder);
  if (owner === undefined || !become(owner)) return work();
  try {
    return await work();
  } finally {
    becomeRoot();
  }
}

/** The same of what ends at once: then nothing else that goes on in this process is done as that user. */
export function asOwnerNow<T>(folder: string, work: () => T): T {
  const owner = ownerOf(folder);
  if (owner === undefined || !become(owner)) return work();
  try {
    return work();
  } finally {
    becomeRoot();
  }
}

/** Within `asOwnerOf`: does `work` as who called it, for what lies among the caller's own files. Else the same as `work`. */
export async function asCaller<T>(work: () => T | Promise<T>): Promise<T> {
  const [uid, gid] = [process.geteuid?.() ?? 0, process.getegid?.() ?? 0];
  if (uid === 0 || process.getuid?.() !== 0) return work();
  becomeRoot();
  try {
    return await work();
  } finally {
    become({ uid, gid });
  }
}

/** Whether root works here for a service that runs as another user. */
export function isForService(stateDir: string): boolean {
  return ownerOf(stateDir) !== undefined;
}

/** undefined: nobody but who calls. */
export function ownerOf(folder: string): Owner | undefined {
  if (process.geteuid?.() !== 0) return undefined;
  const entry = lstatSync(folder, { throwIfNoEntry: false });
  // SECURITY: a link that the service's user made is that user's, wherever it leads; one of root's is where root wants it.
  const found = entry?.isSymbolicLink() === true && entry.uid === 0 ? statSync(folder, { throwIfNoEntry: false }) : entry;
  if (found === undefined) return dirname(folder) === folder ? undefined : ownerOf(dirname(folder));
  return found.uid === 0 ? undefined : { uid: found.uid, gid: found.gid };
}

/** False in a worker thread, which changes no user: it works on what its process has made. */
function become({ uid, gid }: Owner): boolean {
  try {
    process.setegid?.(gid);
  } catch {
    return false;
  }
  process.seteuid?.(uid);
  return true;
}

function becomeRoot(): void {
  process.seteuid?.(0);
  process.setegid?.(0);
}
