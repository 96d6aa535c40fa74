/** Copies of the embedded store: a backup while it is in use, and putting one back. Whoever works with the store's folder could do it by hand. */

import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, linkSync, openSync, renameSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import path from 'node:path';
import { seal } from '#audit/seal';
import { verifyTrail } from '#audit/verify-trail';
import { asCaller, asOwnerOf } from '#files/folder-owner';
import { makeFolder } from '#files/make-folder';
import type { ChainPoint } from '#kernel/audit-event';
import { Fault, reasonMessage, reasonOf } from '#kernel/errors';
import type { LocalStore } from '#kernel/ports/store';
import { type Message, say } from '#kernel/text/message';
import { copyDatabase, requireStore } from '#stores/sqlite/copy-database';
import { openDamagedTrail } from '#stores/sqlite/open-damaged-trail';
import { openSqliteStore } from '#stores/sqlite/open-sqlite-store';

export interface Copied {
  /** Where the copy's trail ends; undefined: it is empty. */
  readonly head: ChainPoint | undefined;
  readonly records: number;
}

/**
 * A whole, verified copy of the store in a new file (0600). Others may go on working with the store.
 * @throws {Fault} `file_exists`, `cannot_write`, `bad_backup`, `store_…`
 */
export async function backUpStore(store: string, target: string): Promise<Copied> {
  const file = path.resolve(target);
  requireFree(file);
  const temporary = `${file}.${randomBytes(6).toString('hex')}.tmp`;
  try {
    // 0600 before there is anything in it.
    closeSync(openSync(temporary, 'wx', 0o600));
    await copyDatabase(store, temporary);
    const copied = await verified(temporary);
    sync(temporary);
    linkSync(temporary, file);
    sync(path.dirname(file));
    return copied;
  } catch (thrown) {
    throw thrown instanceof Fault
      ? thrown
      : new Fault('cannot_write', say`${file}: ${reasonOf(thrown)}`, { audience: 'user', cause: thrown });
  } finally {
    rmSync(temporary, { force: true });
  }
}

export interface Restored extends Copied {
  /** Where the trail of the store that was in its place ended; undefined: there was none, or it cannot be read. */
  readonly before: ChainPoint | undefined;
  /** Where that store is now; undefined: there was none. */
  readonly setAside: string | undefined;
}

/** @throws {Fault} `bad_backup` for what is no whole store with a trail that fits */
export async function lookAtBackup(backup: string): Promise<Copied> {
  if (!existsSync(backup)) throw badBackup(backup, 'there is no such file');
  return verified(backup);
}

/**
 * Puts a backup in the place of the store, which is set aside under another name. Processes that work with it are refused from then on and have to
 * be started again. Its trail says that it was restored, by whom, and where the other had come to.
 * @param by `user:alice`
 */
export async function restoreStore(backup: string, store: string, by: string): Promise<Restored> {
  return asOwnerOf(path.dirname(store), () => restoreAsOwner(backup, store, by));
}

async function restoreAsOwner(backup: string, store: string, by: string): Promise<Restored> {
  const copied = await asCaller(() => lookAtBackup(backup));
  makeFolder(path.dirname(store));
  const temporary = `${store}.${randomBytes(6).toString('hex')}.tmp`;
  try {
    await copyOfCallers(backup, temporary);
    await verified(temporary);
    sync(temporary);
    const before = await headOf(store);
    const setAside = putAside(store);
    linkSync(temporary, store);
    sync(path.dirname(store));
    const head = await tellRestored(store, { by, before, copied });
    return { ...copied, head, before, setAside };
  } finally {
    rmSync(temporary, { force: true });
  }
}

/** The backup may lie where only its caller looks. */
async function copyOfCallers(backup: string, target: string): Promise<void> {
  const source = await asCaller(() => open(backup, 'r'));
  const copy = await open(target, 'wx', 0o600);
  try {
    await copy.writeFile(source.createReadStream({ autoClose: false }));
  } finally {
    await Promise.all([source.close(), copy.close()]);
  }
}

async function tellRestored(
  file: string,
  { by, before, copied }: { readonly by: string; readonly before: ChainPoint | undefined; readonly copied: Copied },
): Promise<ChainPoint | undefined> {
  const restored: LocalStore = await openSqliteStore({ file, seal });
  try {
    const point = (at: ChainPoint | undefined) => (at === undefined ? null : { sequence: at.sequence, hash: at.hash });
    const attributes = { change: 'restored', by, to: point(copied.head), before: point(before) };
    await restored.audit.append({ name: 'store.changed', attributes });
    return await restored.audit.head();
  } finally {
    await restored.close();
  }
}

/** The file with all that belongs to it, under a name that tells when. */
function putAside(store: string): string | undefined {
  if (!existsSync(store)) return undefined;
  const aside = `${store}.before-${new Date().toISOString().replace(/[:.]/g, '-')}`;
  // What is in the -wal file belongs to the same store; the -shm file is made anew.
  for (const end of ['-wal', '']) if (existsSync(`${store}${end}`)) renameSync(`${store}${end}`, `${aside}${end}`);
  rmSync(`${store}-shm`, { force: true });
  return aside;
}

async function headOf(file: string): Promise<ChainPoint | undefined> {
  try {
    const { audit, close } = await openDamagedTrail(file);
    try {
      return await audit.head();
    } finally {
      close();
    }
  } catch {
    // Not there, or past reading: it is set aside as it is.
    return undefined;
  }
}

async function verified(file: string): Promise<Copied> {
  try {
    await requireStore(file);
    const { audit, damage, close } = await openDamagedTrail(file);
    try {
      if (damage !== undefined) throw badBackup(file, damage);
      const head = await audit.head();
      const { ok, message, records } = await verifyTrail(audit);
      // An empty trail has nothing to verify.
      if (!ok && head !== undefined) throw badBackup(file, message);
      return { head, records };
    } finally {
      close();
    }
  } catch (thrown) {
    throw thrown instanceof Fault && thrown.code === 'bad_backup' ? thrown : badBackup(file, reasonMessage(thrown), thrown);
  }
}

function badBackup(file: string, why: string | Message, cause?: unknown): Fault {
  return new Fault('bad_backup', say`${file} is no whole store: ${why}`, { audience: 'user', next: 'name another backup', cause });
}

function requireFree(file: string): void {
  if (!existsSync(file)) return;
  throw new Fault('file_exists', say`${file} is there already, and is not written over`, { audience: 'user', next: 'name a new file' });
}

function sync(place: string): void {
  const descriptor = openSync(place, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
