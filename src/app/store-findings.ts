/** What `doctor` finds where the store lives: whether it takes a record, and whether it is the one that was there before. */
import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import path from 'node:path';
import * as z from 'zod';
import { isChained } from '#audit/verify-trail';
import { toFault } from '#kernel/errors';
import type { Store } from '#kernel/ports/store';
import type { Finding } from './app.ts';
import { replacePrivateFile } from './private-file.ts';

/** More than the largest record and the pages that SQLite writes for it. */
const probeBytes = 64 * 1024;

/**
 * A real write beside the store, made durable and taken away again: that a store opens says nothing about the next record.
 * @param folder where the embedded store is, or this machine's own state beside a shared one
 */
export function writeFinding(folder: string): Finding {
  const file = path.join(folder, `.doctor-${randomBytes(6).toString('hex')}.tmp`);
  try {
    const descriptor = openSync(file, 'wx', 0o600);
    try {
      const probe = randomBytes(probeBytes);
      if (writeSync(descriptor, probe) < probeBytes) throw Object.assign(new Error('only a part was written'), { code: 'ENOSPC' });
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
      rmSync(file, { force: true });
    }
    return { topic: 'disk', state: 'ok', message: `${folder} takes a record` };
  } catch (thrown) {
    const { message, remedy } = wordsFor((thrown as NodeJS.ErrnoException).code, thrown);
    return {
      topic: 'disk',
      state: 'failed',
      message: `${folder} takes no record: ${message}; every call that has to be written down is refused`,
      remedy,
    };
  }
}

function wordsFor(code: string | undefined, thrown: unknown): { readonly message: string; readonly remedy: string } {
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return { message: 'the disk is full', remedy: 'free some disk space; nothing has to be restarted' };
  if (code === 'EROFS' || code === 'EACCES' || code === 'EPERM')
    return { message: 'it cannot be written', remedy: 'make the folder writable for this user, or choose another with `--state`' };
  return { message: toFault(thrown).message, remedy: 'check the folder and its disk' };
}

const seenSchema = z.record(z.string(), z.strictObject({ sequence: z.int().positive(), hash: z.string(), at: z.iso.datetime() }));
type Seen = z.output<typeof seenSchema>[string];

/** Beside the machine's configuration, so that it survives the state directory. */
export function seenTrailsFolder(configFile: string): string {
  return path.join(path.dirname(configFile), 'seen-trails');
}

const fileName = 'trails.json';
/** Nobody waits for the disk each time; in ms. */
const leastBetween = 60_000;

/** What this machine saw of the store's trail last. */
export interface TrailMemory {
  /** Keeps the newest record, where the trail goes on from what is kept. Never rejects: a memory is a help, not a condition. */
  keep(): Promise<void>;
  /** undefined where nothing is known of an earlier trail, or the store has a chain per writer. */
  finding(): Promise<Finding | undefined>;
}

/**
 * Remembers that there was a trail, against accidents: a state directory that somebody deleted or emptied is made anew at the next start, and looks
 * like a first one. LIMIT: whoever can write the configuration directory can change this, too.
 */
export function createTrailMemory(configFile: string, { audit, location }: Pick<Store, 'audit' | 'location'>): TrailMemory {
  const folder = seenTrailsFolder(configFile);
  const file = path.join(folder, fileName);
  const name = path.resolve(location);
  const isSame = async (seen: Seen): Promise<boolean> => {
    const [record] = await audit.read(seen.sequence - 1, 1);
    return record !== undefined && (record.sequence > seen.sequence || record.hash === seen.hash);
  };
  return {
    keep: async () => {
      if (isChained(audit)) return;
      try {
        const all = readSeen(file);
        const [seen, head] = [all[name], await audit.head()];
        if (head === undefined || head.sequence === seen?.sequence) return;
        if (seen !== undefined && (Date.now() - Date.parse(seen.at) < leastBetween || !(await isSame(seen)))) return;
        const now = { sequence: head.sequence, hash: head.hash, at: new Date().toISOString() };
        await replacePrivateFile(folder, fileName, `${JSON.stringify({ ...all, [name]: now }, null, 2)}\n`);
      } catch {
        // A directory that cannot be written (a service's configuration) remembers nothing.
      }
    },
    finding: async () => {
      const seen = isChained(audit) ? undefined : readSeen(file)[name];
      if (seen === undefined || (await isSame(seen))) return undefined;
      const head = await audit.head();
      const now = head === undefined ? 'it is empty now' : `it has ${head.sequence} records now`;
      return {
        topic: 'audit',
        state: 'failed',
        message: `this is not the trail that was here: on ${seen.at} it had come to record ${seen.sequence}, which is gone or another (${now}). The store was deleted, emptied or replaced, and all that waited for a person with it`,
        remedy: `find out who did that, and put a backup back; if it was you, remove ${file}`,
      };
    },
  };
}

function readSeen(file: string): z.output<typeof seenSchema> {
  try {
    return seenSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    return {};
  }
}
