/** What the file system says (errno(3)), as faults that a model can act on. No path of the machine is in them, only the caller's own. */

import { Fault, type FaultOptions } from '#kernel/errors';
import { say } from '#kernel/text/message';

/** `ENOENT`, … or `unknown error`. */
export function errnoOf(thrown: unknown): string {
  return thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : 'unknown error';
}

const known: Readonly<Record<string, readonly [code: string, what: string, options: FaultOptions]>> = {
  ENOENT: ['FILE_NOT_FOUND', 'does not exist', { audience: 'user', next: 'look with list_directory' }],
  EACCES: ['PERMISSION_DENIED', 'may not be accessed', { audience: 'operator' }],
  EPERM: ['PERMISSION_DENIED', 'may not be accessed', { audience: 'operator' }],
  EROFS: ['PERMISSION_DENIED', 'is on a read-only file system', { audience: 'operator' }],
  ENOSPC: [
    'DISK_FULL',
    'cannot be written: the disk is full; what was there is unchanged',
    { next: 'free some disk space, then try again' },
  ],
  EDQUOT: [
    'DISK_FULL',
    'cannot be written: the disk quota is used up; what was there is unchanged',
    { next: 'free some disk space, then try again' },
  ],
  ENAMETOOLONG: ['PATH_INVALID', 'has a name that is too long', { audience: 'user' }],
  EMFILE: ['TOO_MANY_OPEN_FILES', 'cannot be opened: too many files are open', { retryable: true }],
  ENFILE: ['TOO_MANY_OPEN_FILES', 'cannot be opened: too many files are open', { retryable: true }],
};

/** The file system's failure with `path`, as the caller wrote it, as a `Fault`; anything else (a cancel's reason, a bug) as it is. */
export function fileFault(thrown: unknown, path: string): unknown {
  const errno = errnoOf(thrown);
  if (thrown instanceof Fault || !/^E[A-Z0-9]+$/.test(errno)) return thrown;
  const [code, what, options] = known[errno] ?? ['FILE_FAILED', `failed with ${errno}`, {}];
  return new Fault(code, say`\`${path}\` ${what}`, { ...options, cause: thrown });
}

export function notFound(path: string): Fault {
  return new Fault('FILE_NOT_FOUND', say`\`${path}\` does not exist`, { audience: 'user', next: 'look with list_directory' });
}
