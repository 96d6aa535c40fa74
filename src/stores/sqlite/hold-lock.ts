/** One at a time: a lock that the system gives back, however its holder ends. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { asOwnerNow } from '#files/folder-owner';
import { makeFolder } from '#files/make-folder';
import { Fault, reasonOf } from '#kernel/errors';
import { say } from '#kernel/text/message';

/** SQLite's result code for a lock that another one has; of an extended code it is the lowest byte. Source: sqlite.org/rescode.html. */
const busy = 5;

/** @returns what gives it back. @throws {Fault} `already_running`, `lock_unusable` */
export function holdLock(folder: string, what: string): () => void {
  return asOwnerNow(folder, () => hold(folder, what));
}

function hold(folder: string, what: string): () => void {
  makeFolder(folder);
  const file = join(folder, `${what}.lock`);
  const database = opened(file);
  try {
    database.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
  } catch (cause) {
    database.close();
    if (((cause as { errcode?: number }).errcode ?? 0) % 256 !== busy) throw unusable(file, cause);
    throw new Fault('already_running', say`another ${what} works on ${folder} already`, { next: 'stop that one first', cause });
  }
  return () => database.close();
}

function opened(file: string): DatabaseSync {
  try {
    return new DatabaseSync(file);
  } catch (cause) {
    throw unusable(file, cause);
  }
}

/** What this user may not open, or is no lock. */
function unusable(file: string, cause: unknown): Fault {
  const next = 'see that this user may write the file; where it is damaged, a person removes it while no Banksman runs';
  return new Fault('lock_unusable', say`\`${file}\` cannot be locked: ${reasonOf(cause)}`, { next, cause });
}

/** How often it is tried to get one, and how many times: ten seconds together. */
const tries = { everyMs: 20, most: 500 } as const;

/** Does `work` while it holds the lock, and waits for whoever has it. @throws {Fault} `lock_busy`, `lock_unusable` */
export async function withLock<T>(folder: string, what: string, work: () => Promise<T>): Promise<T> {
  const release = await waitForLock(folder, what);
  try {
    return await work();
  } finally {
    release();
  }
}

async function waitForLock(folder: string, what: string): Promise<() => void> {
  for (let left: number = tries.most; ; left -= 1) {
    try {
      return holdLock(folder, what);
    } catch (thrown) {
      if (!(thrown instanceof Fault) || thrown.code !== 'already_running') throw thrown;
      if (left === 0)
        throw new Fault('lock_busy', say`another process has held \`${join(folder, what)}.lock\` for ten seconds`, {
          cause: thrown,
          next: 'try again; where it stays so, a person looks which process has the file open',
        });
      await sleep(tries.everyMs);
    }
  }
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
