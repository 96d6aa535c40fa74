/**
 * The agents' own sandboxes: a directory each, made at the first write. The ledger knows whose a directory is and what is in it; the
 * directory's name is random, so nothing about the agent's id gets into a path.
 */

import { randomBytes } from 'node:crypto';
import { lstatSync, mkdirSync, readdirSync, renameSync, unlinkSync } from 'node:fs';
import { lstat, mkdir, readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathChanged } from '#files/directory-pin';
import { Fault, toFault } from '#kernel/errors';
import type { Log } from '#kernel/ports/log';
import type { PersonaAccount, PersonaFile, PersonaLedger, PersonaLimits, Reservation } from '#kernel/ports/store';
import { say } from '#kernel/text/message';
import type { PersonaRoom, PersonaRooms } from '../workspace-files/open-path.ts';

export interface PersonaSandboxOptions {
  /** Absolute; made where it is missing. Nothing else may be in it. */
  readonly base: string;
  readonly ledger: PersonaLedger;
  readonly limits?: PersonaLimits;
}

/** Beside the rooms. */
export const writing = '.writing';

/** A reservation this old belongs to a process that is gone, in ms: no write takes as long. */
const staleReservationMs = 15 * 60_000;

export function createPersonaSandboxes({ base, ledger, limits = usualPersonaLimits }: PersonaSandboxOptions): PersonaRooms {
  const roomOf = (account: PersonaAccount): PersonaRoom => ({
    path: path.join(base, account.directory),
    writing: path.join(base, writing),
    reserve: async (file, bytes) => {
      const claim = { path: file, bytes: chargeOf(bytes) };
      let reservation = await ledger.reserve(account, claim, limits);
      // What a crash left reserved, or somebody deleted by hand, counts until the next look at the disk.
      if (!reservation.ok && reservation.why === 'full' && (await recount(ledger, base, reservation.account))) {
        reservation = await ledger.reserve(account, claim, limits);
      }
      if (!reservation.ok) throw refusal(reservation, limits);
      const { id } = reservation;
      return { settle: (written) => ledger.settle(id, written) };
    },
  });
  return {
    room: async (agentId, make) => {
      const account = make ? await ledger.open(agentId, randomBytes(16).toString('hex')) : await ledger.find(agentId);
      if (account === undefined) return undefined;
      for (const name of [account.directory, writing]) mkdirSync(path.join(base, name), { recursive: true, mode: 0o700 });
      return roomOf(account);
    },
  };
}

/** Whether the account was replaced by what is on the disk. */
export async function recount(ledger: PersonaLedger, base: string, account: PersonaAccount | undefined): Promise<boolean> {
  if (account === undefined) return false;
  const files = await walkSandbox(path.join(base, account.directory));
  return ledger.recount(account, files, staleReservationMs);
}

function refusal(reservation: Extract<Reservation, { ok: false }>, limits: PersonaLimits): Fault {
  // Cleaned between opening and writing: the next try gets a new directory.
  if (reservation.why === 'gone') return pathChanged();
  const used = reservation.account;
  const now = used === undefined ? '' : `; it has ${used.files} files and ${inMegabytes(used.bytes)} MB`;
  return new Fault('QUOTA_EXCEEDED', say`your sandbox holds at most ${inMegabytes(limits.bytes)} MB in ${limits.files} files${now}`, {
    audience: 'user',
    next: 'write less, or overwrite a file that is no longer needed with a shorter one',
  });
}

function inMegabytes(bytes: number): string {
  return (bytes / (1024 * 1024)).toFixed(1);
}

/** Every file with what it costs; nothing is followed, and what disappears meanwhile is not there. */
async function walkSandbox(directory: string, below = ''): Promise<readonly PersonaFile[]> {
  const entries = await readdir(path.join(directory, below), { withFileTypes: true }).catch(() => []);
  const files: PersonaFile[] = [];
  for (const entry of entries) {
    const name = below === '' ? entry.name : `${below}/${entry.name}`;
    if (entry.isDirectory()) files.push(...(await walkSandbox(directory, name)));
    else {
      const stats = await lstat(path.join(directory, name)).catch(() => undefined);
      if (stats !== undefined) files.push({ path: name, bytes: chargeOf(Math.max(stats.size, stats.blocks * 512)) });
    }
  }
  return files;
}

/** 100 MB each, and no more files than a person can clean up. */
const usualPersonaLimits: PersonaLimits = { bytes: 100 * 1024 * 1024, files: 10_000 };

/** A sandbox that nobody used for this long is cleaned, in ms. */
export const personaLifeMs = 24 * 3_600_000;

/** How often that is looked for, in ms. */
const cleaningIntervalMs = 6 * 3_600_000;

const blockBytes = 4_096;

/** What a file costs: whole blocks, one at least, so that empty files are not free. */
export function chargeOf(bytes: number): number {
  return Math.max(1, Math.ceil(bytes / blockBytes)) * blockBytes;
}

// Removing sandboxes that nobody used for a day. Any number of processes may do it at once: the ledger hands each out once, and a directory
// that was handed out is nobody's any more, so nothing can be written into it afterwards.

export interface CleanOptions {
  readonly base: string;
  readonly ledger: PersonaLedger;
  /** Accounts last used before this time go, in ms since the epoch. */
  readonly before: number;
}

export interface Cleaned {
  readonly sandboxes: number;
  readonly bytes: number;
}

const trash = '.trash';

/** Rejects with the ledger's fault; what cannot be removed from the disk now is removed the next time. */
export async function cleanSandboxes({ base, ledger, before }: CleanOptions): Promise<Cleaned> {
  const taken = await ledger.takeUnused(before);
  await mkdir(path.join(base, trash), { recursive: true, mode: 0o700 });
  for (const { directory } of taken) discard(base, directory);
  for (const directory of await unknownDirectories(base, ledger, before)) discard(base, directory);
  for (const name of unfinished(base)) discard(base, `${writing}/${name}`);
  await emptyTrash(base);
  return { sandboxes: taken.length, bytes: taken.reduce((sum, account) => sum + account.bytes, 0) };
}

/** What a write of a process that ended left. */
function unfinished(base: string): readonly string[] {
  const directory = path.join(base, writing);
  if (lstatSync(directory, { throwIfNoEntry: false })?.isDirectory() !== true) return [];
  return readdirSync(directory).filter((name) => {
    const stats = lstatSync(path.join(directory, name), { throwIfNoEntry: false });
    return stats !== undefined && stats.ctimeMs < Date.now() - staleReservationMs;
  });
}

/** One step, so that a reader sees all of it or nothing, and a crash leaves it where the next cleaning finds it. */
function discard(base: string, directory: string): void {
  const from = path.join(base, directory);
  try {
    // SECURITY: somebody may have put a link there; it goes, what it leads to stays.
    if (lstatSync(from).isDirectory()) renameSync(from, path.join(base, trash, directory));
    else unlinkSync(from);
  } catch {
    // Nothing was ever written, or another process was faster.
  }
}

/** Directories that no account has (the store was replaced, a crash came in between) and that are old. */
async function unknownDirectories(base: string, ledger: PersonaLedger, before: number): Promise<readonly string[]> {
  const names = readdirSync(base).filter((name) => /^[0-9a-f]{32}$/.test(name));
  const known = new Set((await ledger.list()).map((account: PersonaAccount) => account.directory));
  return names.filter((name) => {
    const stats = known.has(name) ? undefined : lstatSync(path.join(base, name), { throwIfNoEntry: false });
    return stats !== undefined && stats.ctimeMs < before;
  });
}

/** `rm` follows no links, and nobody else knows the names in here. */
async function emptyTrash(base: string): Promise<void> {
  const names = readdirSync(path.join(base, trash));
  await Promise.all(names.map((name) => rm(path.join(base, trash, name), { recursive: true, force: true }).catch(() => undefined)));
}

export interface CleaningOptions extends Pick<PersonaSandboxOptions, 'base' | 'ledger'> {
  readonly log: Log;
  readonly now: () => number;
  /** In ms. */
  readonly intervalMs?: number;
}

/** Cleans now and every six hours. `stop` waits for a cleaning under way. */
export function startCleaning({ base, ledger, log, now, intervalMs = cleaningIntervalMs }: CleaningOptions): { stop(): Promise<void> } {
  const stopped = new AbortController();
  const clean = async (): Promise<void> => {
    try {
      const { sandboxes, bytes } = await cleanSandboxes({ base, ledger, before: now() - personaLifeMs });
      if (sandboxes > 0) log.info(`${sandboxes} unused agent sandboxes cleaned, ${bytes} bytes`);
    } catch (thrown) {
      // Nothing depends on it; the next time may do better.
      log.warn(`the agents' sandboxes could not be cleaned: ${toFault(thrown).message}`);
    }
  };
  const loop = async (): Promise<void> => {
    while (!stopped.signal.aborted) {
      await clean();
      await sleep(intervalMs, undefined, { signal: stopped.signal, ref: false }).catch(() => undefined);
    }
  };
  const running = loop();
  return {
    stop: () => {
      stopped.abort();
      return running;
    },
  };
}
