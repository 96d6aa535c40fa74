/** What `doctor` finds where the store lives: whether it takes a record, and whether it is the one that was there before. */

import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import path from 'node:path';
import * as z from 'zod';
import { isChained } from '#audit/verify-trail';
import type { Finding, SecuritySettings } from '#kernel/app';
import type { Pause } from '#kernel/approval/security';
import { toFault } from '#kernel/errors';
import type { ChainedAuditLog } from '#kernel/ports/chained-audit-log';
import type { Store } from '#kernel/ports/store';
import { showPlainly } from '#kernel/text/text';
import { replacePrivateFile } from '../config/private-file.ts';

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

/** `at`: when it was looked at. Where each writer has a chain of its own also whose record it is, and from when. */
const seenSchema = z.record(
  z.string(),
  z.strictObject({
    sequence: z.int().positive(),
    hash: z.string(),
    at: z.iso.datetime(),
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

/** What this machine saw of the store's trail last. */
export interface TrailMemory {
  /** Keeps the newest record, where the trail goes on from what is kept. Never rejects: a memory is a help, not a condition. */
  keep(): Promise<void>;
  /** undefined where nothing is known of an earlier trail, or it may have left because it was old. */
  finding(): Promise<Finding | undefined>;
}

/**
 * Remembers that there was a trail, against accidents: a state directory that somebody deleted or emptied is made anew at the next start, and looks
 * like a first one. LIMIT: whoever can write the configuration directory can change this, too.
 */
export function createTrailMemory(configFile: string, { audit, location }: Pick<Store, 'audit' | 'location'>): TrailMemory {
  const folder = seenTrailsFolder(configFile);
  const file = path.join(folder, fileName);
  const name = isChained(audit) ? location : path.resolve(location);
  const isSame = async (seen: Seen): Promise<boolean> => {
    if (isChained(audit)) return holdsStill(audit, seen);
    const [record] = await audit.read(seen.sequence - 1, 1);
    return record !== undefined && (record.sequence > seen.sequence || record.hash === seen.hash);
  };
  return {
    keep: async () => {
      try {
        const all = readSeen(file);
        const [seen, head] = [all[name], await audit.head()];
        if (head === undefined || head.hash === seen?.hash) return;
        if (seen !== undefined && (Date.now() - Date.parse(seen.at) < leastBetween || !(await isSame(seen)))) return;
        const [newest] = await audit.read(head.sequence - 1, 1);
        if (newest === undefined) return;
        const { sequence, hash, chain, time } = newest;
        const now = { sequence, hash, at: new Date().toISOString(), ...(chain === undefined ? {} : { chain, time }) };
        await replacePrivateFile(folder, fileName, `${JSON.stringify({ ...all, [name]: now }, null, 2)}\n`);
      } catch {
        // A directory that cannot be written (a service's configuration) remembers nothing.
      }
    },
    finding: async () => {
      const seen = readSeen(file)[name];
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

/** Whether a record is still among those of its writer, or old enough to have been trimmed. */
async function holdsStill(audit: ChainedAuditLog, { sequence, hash, chain, time }: Seen): Promise<boolean> {
  const written = Date.parse(time ?? new Date(0).toISOString());
  const { records, keptSince } = await audit.readChains(written);
  if (written < keptSince) return true;
  for await (const record of records) if (record.chain === chain && record.sequence === sequence) return record.hash === hash;
  return false;
}

function readSeen(file: string): z.output<typeof seenSchema> {
  try {
    return seenSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    return {};
  }
}

/** Doctor's look at what people set in the store: what counts, and what somebody wrote there that does not. */
export async function securityFindings(security: Pick<SecuritySettings, 'level' | 'rules'>): Promise<readonly Finding[]> {
  try {
    const [{ level, from, by, warning, paused }, rules] = await Promise.all([security.level(), security.rules()]);
    const origin = from === 'configuration' ? 'the configuration' : `the store${by === undefined ? '' : `, set by ${by}`}`;
    return [
      warning === undefined
        ? { topic: 'security level', state: 'ok', message: `${level}, from ${origin}` }
        : { topic: 'security level', state: 'warning', message: warning, remedy: 'set it again with `banksman level set`' },
      ...pauseFinding(paused),
      ...rules.flatMap((rule): Finding[] => {
        if (rule.warning === undefined) return [];
        const remedy = 'set it again, or remove it, with `banksman auto-approve`';
        return [{ topic: 'auto-approve', state: 'warning', message: `\`${rule.pattern}\` (${rule.action}): ${rule.warning}`, remedy }];
      }),
    ];
  } catch (thrown) {
    return [
      {
        topic: 'security level',
        state: 'failed',
        message: `cannot be read, so calls are handled as at strict: ${toFault(thrown).message}`,
      },
    ];
  }
}

function pauseFinding(paused: Pause | undefined): readonly Finding[] {
  if (paused === undefined) return [];
  const since = paused.at === 0 ? 'what is stored of it is damaged' : `since ${new Date(paused.at).toISOString()}`;
  const why = paused.reason === undefined ? '' : `: ${showPlainly(paused.reason, 300)}`;
  const message = `all agents are paused by ${showPlainly(paused.by, 100)}, ${since}${why}`;
  return [{ topic: 'agents', state: 'warning', message, remedy: 'a person resumes them with `banksman resume`' }];
}
