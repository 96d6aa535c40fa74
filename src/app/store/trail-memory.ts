/** Whether the store is the one that was there before: anchors outside it, beside the configuration and in the state directory. */

import { readFileSync } from 'node:fs';
import path from 'node:path';
import * as z from 'zod';
import { isChained } from '#audit/verify-trail';
import { isForService } from '#files/folder-owner';
import type { Finding } from '#kernel/app';
import { Fault, toFault } from '#kernel/errors';
import type { ChainedAuditLog } from '#kernel/ports/audit-log';
import type { Log } from '#kernel/ports/log';
import type { Store } from '#kernel/ports/store';
import { english, type Message, say } from '#kernel/text/message';
import { replacePrivateFile } from '../config/private-file.ts';
import { finding } from '../finding.ts';
import { missingWords } from './open-store.ts';

/**
 * `at`: when it was looked at. `origin`: its tree's name, where it has one. Where each writer has a chain of its own also whose record it is, and from
 * when.
 */
const seenSchema = z.record(
  z.string(),
  z.strictObject({
    sequence: z.int().positive(),
    hash: z.string(),
    at: z.iso.datetime(),
    origin: z.string().optional(),
    chain: z.string().optional(),
    time: z.iso.datetime().optional(),
  }),
);
type Seen = z.output<typeof seenSchema>[string];

/** Beside the machine's configuration, so that it survives the state directory. */
export function seenTrailsFolder(configFile: string): string {
  return path.join(path.dirname(configFile), 'seen-trails');
}

const fileName = 'trails.json';
/** Nobody waits for the disk each time; in ms. */
const leastBetween = 60_000;
/** Where the record of a new beginning is looked for: it is among the first. */
const firstRecords = 50;

/** What this machine saw of the store's trail last. */
export interface TrailMemory {
  /** Keeps the newest record, where the trail goes on from what is kept. Never rejects: a memory is a help, not a condition. */
  keep(): Promise<void>;
  /** undefined where nothing is known of an earlier trail, or it may have left because it was old. */
  finding(): Promise<Finding | undefined>;
  /** The same, where it costs next to nothing: a shared store is looked through by `doctor` alone. */
  alarm(): Promise<Finding | undefined>;
  /** Says where another trail is in the place of the one that was here, and writes that into it, once. Never rejects. */
  tellLoss(log: Log): Promise<void>;
  /** A person says that this trail is the right one: it is what counts as seen from now on. @param by `user:alice` @throws {Fault} `memory_not_kept` */
  accept(by: string): Promise<boolean>;
}

interface MemoryPlaces {
  readonly configFile: string;
  readonly stateDir: string;
}

/**
 * Remembers that there was a trail, against accidents: a store that somebody deleted or emptied is made anew at the next start, and looks like a
 * first one. The state directory's own copy is for where the configuration is another user's (a service's). LIMIT: whoever can write both places
 * can change this, too; a checkpoint that somebody else holds tells then.
 */
export function createTrailMemory(places: MemoryPlaces, { audit, location }: Pick<Store, 'audit' | 'location'>): TrailMemory {
  const { folders, seenNow, keepSeen } = createMemoryFiles(places, isChained(audit) ? location : path.resolve(location));
  const isSame = async (seen: Seen): Promise<boolean> => {
    const origin = seen.origin === undefined ? undefined : await originOf(audit);
    // What was seen may have left because it was old: the tree's name stays.
    if (origin !== undefined && origin !== seen.origin) return false;
    if (isChained(audit)) return holdsStill(audit, seen);
    const [record] = await audit.read(seen.sequence - 1, 1);
    return record !== undefined && (record.sequence > seen.sequence || record.hash === seen.hash);
  };
  const lost = async (): Promise<Seen | undefined> => {
    for (const seen of seenNow()) if (!(await isSame(seen))) return seen;
    return undefined;
  };
  const write = async (everywhere?: boolean): Promise<void> => {
    const now = await newestOf(audit);
    if (now !== undefined) await keepSeen(now, everywhere);
  };
  return {
    keep: async () => {
      try {
        const [seen] = seenNow();
        if (seen !== undefined && (Date.now() - Date.parse(seen.at) < leastBetween || (await lost()))) return;
        if ((await audit.head())?.hash !== seen?.hash) await write();
      } catch {
        // The store is busy or gone: whoever needs it is told.
      }
    },
    finding: async () => findingOf(audit, await lost(), folders),
    alarm: async () => (isChained(audit) ? undefined : findingOf(audit, await lost(), folders)),
    tellLoss: async (log) => (isChained(audit) ? undefined : lost().then((seen) => tellLoss(audit, seen, log), unknown(log))),
    accept: async (by) => {
      const seen = await lost();
      if (seen === undefined) return false;
      const { sequence, hash } = seen;
      await audit.append({ name: 'store.changed', attributes: { change: 'trail_accepted', by, before: { sequence, hash } } });
      await write(true);
      if ((await lost()) === undefined) return true;
      throw new Fault('memory_not_kept', say`that it was accepted cannot be kept in ${folders.join(' and ')}`, {
        next: 'let this account write there, and accept it again',
      });
    },
  };
}

/** That of an App that begins: a loss is said, and what is there is what counts as seen. */
export async function rememberTrail(
  { configFile, stateDir, log }: MemoryPlaces & { readonly log: Log },
  store: Pick<Store, 'audit' | 'location' | 'isMissing'>,
): Promise<TrailMemory> {
  const memory = createTrailMemory({ configFile, stateDir }, store);
  if (store.isMissing) {
    log.warn(english(missingWords(store)));
    return memory;
  }
  await memory.tellLoss(log);
  await memory.keep();
  return memory;
}

/** @param name the store's, in both files */
function createMemoryFiles(places: MemoryPlaces, name: string) {
  const folders = [seenTrailsFolder(places.configFile), path.join(places.stateDir, 'seen-trails')];
  // What the service saw last, it writes itself.
  const own = isForService(places.stateDir) ? folders.slice(0, 1) : folders;
  return {
    folders,
    seenNow: (): readonly Seen[] => {
      const seen: Seen[] = [];
      for (const folder of folders) {
        const { [name]: here } = readSeen(folder);
        if (here !== undefined) seen.push(here);
      }
      return seen;
    },
    /** @param everywhere a person says so: what is known in either place goes */
    keepSeen: async (now: Seen, everywhere = false): Promise<void> => {
      // One that cannot be written (a service's configuration) remembers nothing; the other one does.
      for (const folder of everywhere ? folders : own) {
        const text = `${JSON.stringify({ ...readSeen(folder), [name]: now }, null, 2)}\n`;
        await replacePrivateFile(folder, fileName, text).catch(() => undefined);
      }
    },
  };
}

async function findingOf(audit: Store['audit'], seen: Seen | undefined, folders: readonly string[]): Promise<Finding | undefined> {
  if (seen === undefined) return undefined;
  const message = say`${lossOf(seen)} (${await sizeOf(audit)}), and all that waited for a person with it`;
  const files = folders.map((folder) => path.join(folder, fileName)).join(', ');
  const remedy = say`find out who did that, and put a backup back (\`banksman store restore FILE\`); if it was you, say so with \`banksman store accept\` (or remove ${files})`;
  return finding('audit', 'failed', message, remedy);
}

async function tellLoss(audit: Store['audit'], seen: Seen | undefined, log: Log): Promise<void> {
  if (seen === undefined) return;
  log.error(`store: ${english(lossOf(seen))}; \`banksman doctor\` says what to do`);
  try {
    if (await isTold(audit, seen)) return;
    const { sequence, hash, at: seen_at } = seen;
    await audit.append({ name: 'store.changed', attributes: { change: 'began_anew', before: { sequence, hash, seen_at } } });
  } catch (thrown) {
    log.error(`store: that could not be written into it: ${toFault(thrown).message}`);
  }
}

function unknown(log: Log): (thrown: unknown) => void {
  return (thrown) => log.error(`store: whether it is the one that was here before is not known: ${toFault(thrown).message}`);
}

function lossOf({ at, sequence }: Seen): Message {
  return say`this is not the trail that was here: on ${at} it had come to record ${sequence}, which is gone or another. The store was deleted, emptied or replaced`;
}

async function sizeOf(audit: Store['audit']): Promise<Message> {
  const head = await audit.head();
  return head === undefined ? say`it is empty now` : say`it has ${head.sequence} records now`;
}

async function isTold(audit: Store['audit'], { hash }: Seen): Promise<boolean> {
  const records = await audit.read(0, firstRecords);
  return records.some(({ name, attributes }) => name === 'store.changed' && JSON.stringify(attributes).includes(hash));
}

async function newestOf(audit: Store['audit']): Promise<Seen | undefined> {
  const head = await audit.head();
  const [newest] = head === undefined ? [] : await audit.read(head.sequence - 1, 1);
  if (newest === undefined) return undefined;
  const { sequence, hash, chain, time } = newest;
  const origin = await originOf(audit);
  const named = origin === undefined ? {} : { origin };
  return { sequence, hash, at: new Date().toISOString(), ...named, ...(chain === undefined ? {} : { chain, time }) };
}

/** undefined: the store's access rules know no tree yet, or it cannot be read. */
async function originOf({ tree }: Store['audit']): Promise<string | undefined> {
  try {
    return (await tree?.state())?.origin;
  } catch {
    return undefined;
  }
}

/** Whether a record is still among those of its writer, or old enough to have been trimmed. */
async function holdsStill(audit: ChainedAuditLog, { sequence, hash, chain, time }: Seen): Promise<boolean> {
  const written = Date.parse(time ?? new Date(0).toISOString());
  const { records, keptSince } = await audit.readChains(written);
  if (written < keptSince) return true;
  for await (const record of records) if (record.chain === chain && record.sequence === sequence) return record.hash === hash;
  return false;
}

function readSeen(folder: string): z.output<typeof seenSchema> {
  try {
    return seenSchema.parse(JSON.parse(readFileSync(path.join(folder, fileName), 'utf8')));
  } catch {
    return {};
  }
}
