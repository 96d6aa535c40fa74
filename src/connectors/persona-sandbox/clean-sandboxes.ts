/**
 * Removing sandboxes that nobody used for a day. Any number of processes may do it at once: the ledger hands each out once, and a directory
 * that was handed out is nobody's any more, so nothing can be written into it afterwards.
 */
import { lstatSync, readdirSync, renameSync, unlinkSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { toFault } from '#kernel/errors';
import type { Log } from '#kernel/ports/log';
import type { PersonaAccount, PersonaLedger } from '#kernel/ports/persona-ledger';
import { cleaningIntervalMs, type PersonaSandboxOptions, personaLifeMs, staleReservationMs, writing } from './persona-sandboxes.ts';

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
