/**
 * The agents' own sandboxes: a directory each, made at the first write. The ledger knows whose a directory is and what is in it; the
 * directory's name is random, so nothing about the agent's id gets into a path.
 */

import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import path from 'node:path';
import { pathChanged } from '#files/directory-pin';
import { Fault } from '#kernel/errors';
import type { PersonaAccount, PersonaFile, PersonaLedger, PersonaLimits, Reservation } from '#kernel/ports/persona-ledger';
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
export const staleReservationMs = 15 * 60_000;

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
export const cleaningIntervalMs = 6 * 3_600_000;

const blockBytes = 4_096;

/** What a file costs: whole blocks, one at least, so that empty files are not free. */
export function chargeOf(bytes: number): number {
  return Math.max(1, Math.ceil(bytes / blockBytes)) * blockBytes;
}
