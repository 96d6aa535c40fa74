/** One at a time: a lock that the system gives back, however its holder ends. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Fault } from '#kernel/errors';
import { say } from '#kernel/text/message';
import { makeFolder } from '../make-folder.ts';

/** @returns what gives it back. @throws {Fault} `already_running` */
export function holdLock(folder: string, what: string): () => void {
  makeFolder(folder);
  const file = join(folder, `${what}.lock`);
  const database = new DatabaseSync(file);
  try {
    database.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
  } catch (cause) {
    database.close();
    throw new Fault('already_running', say`another ${what} works on ${folder} already`, { next: 'stop that one first', cause });
  }
  return () => database.close();
}

/** Whether a process holds it now. Makes nothing. */
export function isLocked(folder: string, what: string): boolean {
  if (!existsSync(join(folder, `${what}.lock`))) return false;
  try {
    holdLock(folder, what)();
    return false;
  } catch {
    return true;
  }
}
