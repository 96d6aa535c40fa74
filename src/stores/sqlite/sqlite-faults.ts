/** SQLite's result codes (https://sqlite.org/rescode.html) as faults that say which file and what to do. */

import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { Fault, type FaultOptions } from '#kernel/errors';
import { type Message, say } from '#kernel/text/message';

const busyCodes: ReadonlySet<number> = new Set([5, 6, 15]);

type Kind = 'read_only' | 'corrupt' | 'full' | 'refused' | 'unavailable';

const kindByCode: Readonly<Record<number, Kind>> = { 8: 'read_only', 11: 'corrupt', 13: 'full', 19: 'refused', 26: 'corrupt' };

const describe: Record<Kind, (file: string, detail: string) => readonly [message: Message, options: FaultOptions]> = {
  read_only: (file) => [
    say`the store \`${file}\` cannot be written: it is read-only`,
    { next: say`make the file and its folder writable, or choose another folder with \`--state\`` },
  ],
  corrupt: (file, detail) => [
    say`the store \`${file}\` is damaged or not a database (${detail}); it was left as it is`,
    {
      next: say`\`banksman audit verify\` says which records can still be read; keep a copy of the file, then restore a backup or move it away (a new one is made at the next start, with an empty trail)`,
    },
  ],
  full: (file) => [
    say`the store \`${file}\` cannot grow: the disk is full`,
    { next: say`free some disk space and try again`, retryable: true },
  ],
  refused: (file, detail) => [say`the store \`${file}\` refused a change that breaks its rules (${detail})`, { audience: 'bug' }],
  unavailable: (file, detail) => [
    say`the store \`${file}\` cannot be used (${detail})`,
    { next: say`check the file, its folder and the disk` },
  ],
};

/** SQLITE_BUSY, SQLITE_LOCKED and SQLITE_PROTOCOL: someone else is at it, so a retry helps. */
export function isBusy(thrown: unknown): boolean {
  const code = resultCode(thrown);
  return code !== undefined && busyCodes.has(code & 0xff);
}

/** SQLITE_ERROR: an expression met a value that it cannot use. The file's pages are not in question. */
export function isValueFault(thrown: unknown): boolean {
  return resultCode(thrown) === 1;
}

/** The fault for whatever an operation on `file` threw. A `Fault` stays what it is. */
export function storeFault(thrown: unknown, file: string): Fault {
  if (thrown instanceof Fault) return thrown;
  const code = resultCode(thrown);
  if (code === undefined) return fileFault(thrown, file);
  if (isBusy(thrown)) return busyFault(file);
  return faultOf(kindOf(code, file), file, thrown);
}

/** A damaged or foreign file, found by looking rather than by an error. */
export function corruptFault(file: string, detail: string): Fault {
  const [message, options] = describe.corrupt(file, detail);
  return new Fault('store_corrupt', message, options);
}

export function busyFault(file: string): Fault {
  return new Fault('store_busy', say`the store \`${file}\` is in use by other windows or processes and did not get free in time`, {
    retryable: true,
    next: 'try again; if it goes on, close other Banksman processes',
  });
}

export function lockedFault(file: string): Fault {
  return new Fault('store_locked', say`the store \`${file}\` is locked by another process, so it cannot be opened`, {
    retryable: true,
    next: 'close the program that holds it (a database browser, a backup), then try again',
  });
}

function kindOf(code: number, file: string): Kind {
  const kind = kindByCode[code & 0xff] ?? 'unavailable';
  // A full disk shows as an I/O error (10) or a failure to open (14) where SQLite grows its -shm or -wal file.
  return kind === 'unavailable' && isDiskFull(file) ? 'full' : kind;
}

/** A failure outside SQLite: making the folder or the file. */
function fileFault(thrown: unknown, file: string): Fault {
  const code = (thrown as NodeJS.ErrnoException | null)?.code;
  if (code === 'EROFS' || code === 'EACCES' || code === 'EPERM') return faultOf('read_only', file, thrown);
  if (code === 'ENOSPC' || code === 'EDQUOT') return faultOf('full', file, thrown);
  return faultOf('unavailable', file, thrown);
}

function faultOf(kind: Kind, file: string, cause: unknown): Fault {
  const detail = cause instanceof Error ? cause.message : String(cause);
  const [message, options] = describe[kind](file, detail);
  return new Fault(`store_${kind}`, message, { ...options, cause });
}

/** `node:sqlite` puts the extended result code into `errcode`. */
function resultCode(thrown: unknown): number | undefined {
  const code = thrown instanceof Error && 'errcode' in thrown ? thrown.errcode : undefined;
  return typeof code === 'number' ? code : undefined;
}

function isDiskFull(file: string): boolean {
  try {
    return statfsSync(dirname(file)).bavail === 0;
  } catch {
    // The folder is gone, too: not a question of space.
    return false;
  }
}
