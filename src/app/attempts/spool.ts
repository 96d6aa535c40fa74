/**
 * Outcomes that the store did not take, kept beside it until it does: a file each, private, on the disk before the agent is answered. A file goes
 * only when the store has the record, and the store takes an attempt's end once: a kill in between writes nothing twice and loses nothing.
 */

import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { asOwnerNow } from '#files/folder-owner';
import type { Finding } from '#kernel/app';
import { attemptAfter, callOf } from '#kernel/attempt';
import { type AuditDraft, auditEventNames } from '#kernel/audit-event';
import { Fault, reasonOf } from '#kernel/errors';
import { isJsonObject } from '#kernel/json';
import type { AuditLog } from '#kernel/ports/audit-log';
import type { Log } from '#kernel/ports/log';
import { say } from '#kernel/text/message';
import { hasErrorCode, readPrivateFile, writePrivateFile } from '../config/private-file.ts';
import { finding } from '../finding.ts';

export interface Spool {
  /** On the disk when it resolves. @throws {Fault} `spool_full`, or what the disk says: then it is kept as long as this process lives */
  keep(draft: AuditDraft): Promise<void>;
  /** For processes that stay: sees to it that a full disk has room for some outcomes. Never fails. */
  prepare(): void;
  /** Writes what lies there and what no disk took, the oldest first, until the store does not take it. Never rejects. */
  drain(): Promise<void>;
  /** For `doctor`; undefined: nothing lies there. Never rejects. */
  finding(): Finding | undefined;
}

export const spoolFolder = 'spool';
/** More is refused, and said loudly: a store that is away for so many outcomes needs a person. */
const mostFiles = 1_000;
/** Given back where the disk is full, so that there is room for some outcomes. */
const reserveBytes = 256 * 1024;
/** Looked through for an outcome that may have been written just before a process was killed. */
const recordsLookedAt = 2_000;
/** Of a call that the store knows nothing of: kept for a person, and not tried again. */
const unmatched = '.unmatched';

export function createSpool({ stateDir, audit, log }: { readonly stateDir: string; readonly audit: AuditLog; readonly log: Log }): Spool {
  const folder = path.join(stateDir, spoolFolder);
  const reserve = path.join(folder, 'reserve');
  /** Those that the disk did not take either: this process says them as long as it lives, and nobody else does. */
  const unkept: AuditDraft[] = [];
  let last = 0;
  let draining: Promise<void> | undefined;

  /** In the order in which they came, over all processes of this state directory. */
  const nextName = (): string => {
    last = Math.max(Date.now(), last + 1);
    return `${String(last).padStart(15, '0')}-${randomBytes(4).toString('hex')}.json`;
  };

  async function keep(draft: AuditDraft): Promise<void> {
    try {
      await keepOnDisk({ folder, reserve, name: nextName }, draft);
    } catch (thrown) {
      if (unkept.length < mostFiles) unkept.push(draft);
      throw thrown;
    }
  }

  async function drainAll(): Promise<void> {
    for (const draft of [...unkept]) {
      // Not taken: its end is there already, or somebody else's this moment.
      if (!(await audit.endAttempt(draft)) && (await isOpen(draft, audit))) return;
      unkept.splice(unkept.indexOf(draft), 1);
    }
    for (const name of namesIn(folder)) {
      const file = path.join(folder, name);
      const draft = await readDraft(file);
      if (draft === undefined) setAside(file, log);
      else if ((await audit.endAttempt(draft)) || (await isWritten(draft, audit))) rmSync(file, { force: true });
      // Somebody is about to end it, or a try whose answer was lost holds it for a while yet.
      else if (await isOpen(draft, audit)) return;
      else setAside(file, log);
    }
  }
  return {
    keep,
    prepare: () => makeReserve(folder, reserve),
    drain() {
      draining ??= drainAll()
        .catch((thrown: unknown) => log.warn(`outcomes wait in ${folder}: ${reasonOf(thrown)}`))
        .finally(() => {
          draining = undefined;
        });
      return draining;
    },
    finding: () => unkeptFinding(unkept.length) ?? findingOf(folder),
  };
}

interface SpoolPlace {
  readonly folder: string;
  /** The file that is given up where the disk is full. */
  readonly reserve: string;
  readonly name: () => string;
}

async function keepOnDisk({ folder, reserve, name }: SpoolPlace, draft: AuditDraft): Promise<void> {
  if (namesIn(folder).length >= mostFiles)
    throw new Fault('spool_full', say`${folder} holds ${mostFiles} outcomes already`, {
      next: 'make the store work again: see `banksman doctor`',
    });
  const kept: AuditDraft = { ...draft, attributes: { ...draft.attributes, kept_since: new Date().toISOString() } };
  const text = `${JSON.stringify(kept)}\n`;
  try {
    await writePrivateFile(folder, name(), text);
  } catch (thrown) {
    if (!hasErrorCode(thrown, 'ENOSPC') && !hasErrorCode(thrown, 'EDQUOT')) throw thrown;
    rmSync(reserve, { force: true });
    await writePrivateFile(folder, name(), text);
  }
}

function namesIn(folder: string, end = '.json'): readonly string[] {
  try {
    return readdirSync(folder)
      .filter((name) => /^\d{15}-/.test(name) && name.endsWith(end))
      .sort();
  } catch {
    // None was ever needed.
    return [];
  }
}

/** SECURITY: whoever can write here can write the store as well; still, only an attempt's end is taken. undefined: it is none. */
async function readDraft(file: string): Promise<AuditDraft | undefined> {
  const text = await readPrivateFile(file);
  try {
    const draft: unknown = JSON.parse(text ?? '');
    if (!isJsonObject(draft) || !isJsonObject(draft['attributes'])) return undefined;
    const name = auditEventNames.find((known) => known === draft['name']);
    const read = name && { name, attributes: draft['attributes'] };
    return read !== undefined && attemptAfter('open', read) === 'over' && read.name.startsWith('tool.') ? read : undefined;
  } catch {
    return undefined;
  }
}

/** By a process that was killed before it could take the file away, or by another one just now. */
async function isWritten(draft: AuditDraft, audit: AuditLog): Promise<boolean> {
  const call = callOf(draft);
  const { request_id: id } = draft.attributes;
  const head = await audit.head();
  const records =
    typeof id === 'string'
      ? await audit.ofRequest(id, Date.now() - 86_400_000)
      : await audit.read(Math.max(0, (head?.sequence ?? 0) - recordsLookedAt), recordsLookedAt);
  return records.some((record) => record.name === draft.name && callOf(record) === call);
}

async function isOpen(draft: AuditDraft, audit: AuditLog): Promise<boolean> {
  const call = callOf(draft);
  return (await audit.attempts()).some((attempt) => attempt.call === call);
}

function setAside(file: string, log: Log): void {
  log.error(`the store knows nothing of the call whose outcome lies in ${file}: it is kept there`);
  renameSync(file, `${file}${unmatched}`);
}

function makeReserve(folder: string, reserve: string): void {
  try {
    asOwnerNow(folder, () => {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      writeFileSync(reserve, Buffer.alloc(reserveBytes, 1), { mode: 0o600, flag: 'wx', flush: true });
    });
  } catch {
    // It is there, or there is no room for it now.
  }
}

function unkeptFinding(count: number): Finding | undefined {
  if (count === 0) return undefined;
  const message = say`${count} outcomes are in this process alone: neither the store nor the disk beside it took them`;
  return finding('spool', 'failed', message, say`make room on the disk, and do not end this process before they are written`);
}

function findingOf(folder: string): Finding | undefined {
  const waiting = namesIn(folder);
  const odd = namesIn(folder, unmatched);
  const [oldest] = waiting;
  if (odd.length > 0) {
    const message = say`${odd.length} outcomes in ${folder} belong to calls that the store knows nothing of: it is another store, or they are older than its trail`;
    return finding('spool', 'failed', message, say`read them, and remove the files (\`*.unmatched\`) once they are kept elsewhere`);
  }
  if (oldest === undefined) return undefined;
  const since = new Date(Number(oldest.slice(0, 15))).toISOString();
  const message = say`${waiting.length} outcomes wait in ${folder} to be written into the trail, the oldest since ${since}`;
  return finding('spool', 'warning', message, say`make the store work again; they are written then by themselves`);
}
