/** What `doctor` finds where the store lives: whether it takes a record, what time it has, and what people set in it. */

import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, lstatSync, openSync, readdirSync, rmSync, statfsSync, statSync, writeSync } from 'node:fs';
import path from 'node:path';
import { asOwnerNow, ownerOf } from '#files/folder-owner';
import type { Finding, SecuritySettings } from '#kernel/app';
import type { Pause } from '#kernel/approval/security';
import { faultMessage } from '#kernel/errors';
import type { Store } from '#kernel/ports/store';
import { asIs, asListed, joined, type Message, say } from '#kernel/text/message';
import { showPlainly } from '#kernel/text/text';
import { openPlaces } from '../config/open-places.ts';
import { finding } from '../finding.ts';

/** More than the largest record and the pages that SQLite writes for it. */
const probeBytes = 64 * 1024;

/**
 * A real write beside the store, made durable and taken away again: that a store opens says nothing about the next record.
 * @param folder where the embedded store is, or this machine's own state beside a shared one
 */
export function writeFinding(folder: string): Finding {
  const file = path.join(folder, `.doctor-${randomBytes(6).toString('hex')}.tmp`);
  try {
    asOwnerNow(folder, () => writeProbe(file));
    return finding('disk', 'ok', say`${folder} takes a record`);
  } catch (thrown) {
    const { why, remedy } = wordsFor((thrown as NodeJS.ErrnoException).code, thrown);
    return finding('disk', 'failed', say`${folder} takes no record: ${why}; every call that has to be written down is refused`, remedy);
  }
}

function writeProbe(file: string): void {
  const descriptor = openSync(file, 'wx', 0o600);
  try {
    const probe = randomBytes(probeBytes);
    if (writeSync(descriptor, probe) < probeBytes) throw Object.assign(new Error('only a part was written'), { code: 'ENOSPC' });
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
    rmSync(file, { force: true });
  }
}

function wordsFor(code: string | undefined, thrown: unknown): { readonly why: Message; readonly remedy: Message } {
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return { why: say`the disk is full`, remedy: say`free some disk space; nothing has to be restarted` };
  if (code === 'EROFS' || code === 'EACCES' || code === 'EPERM')
    return { why: say`it cannot be written`, remedy: say`make the folder writable for this user, or choose another with \`--state\`` };
  return { why: faultMessage(thrown), remedy: say`check the folder and its disk` };
}

/** Below this a store that grows, or a run's journal, is soon refused. */
const leastRoom = { bytes: 100 * 1024 * 1024, files: 1000 };

/** Disks on which there is little room left, or few files more, each once. `folders`: of the store, of this machine's state, of journals. */
export function roomFindings(folders: readonly string[]): readonly Finding[] {
  const seen = new Set<string>();
  return folders.flatMap((folder): readonly Finding[] => {
    try {
      const disk = String(statSync(folder).dev);
      if (seen.has(disk)) return [];
      seen.add(disk);
      const { bavail, bsize, files, ffree } = statfsSync(folder);
      const room = bavail * bsize;
      // Some file systems make files as they are needed, and say 0 of 0.
      const isShort = files > 0 && ffree < leastRoom.files;
      if (room >= leastRoom.bytes && !isShort) return [];
      const left = isShort ? say`room for ${ffree} more files` : say`${Math.floor(room / (1024 * 1024))} MB free`;
      const message = say`the disk of ${folder} has ${left}: once it is full, every call that has to be written down is refused`;
      return [finding('disk', 'warning', message, say`free some disk space, or choose another folder with \`--state\``)];
    } catch {
      // Not there: nothing is written there yet.
      return [];
    }
  });
}

/** Who else may write the store's file, or a directory on the way to it, may put another store in its place. */
export function openStoreFindings(file: string): readonly Finding[] {
  return openPlaces(file, ownerOf(path.dirname(path.resolve(file)))?.uid).map(({ place, why, remedy }) =>
    finding('store', 'failed', say`${place} ${why}: they may change or replace the store, with what waits in it and its trail`, remedy),
  );
}

/** What an earlier root left in a service's folder: its user can neither read nor write it. */
export function foreignFindings(folder: string): readonly Finding[] {
  const owner = ownerOf(folder);
  if (owner === undefined || !existsSync(folder)) return [];
  const foreign = readdirSync(folder).filter((name) => lstatSync(path.join(folder, name), { throwIfNoEntry: false })?.uid === 0);
  if (foreign.length === 0) return [];
  const message = say`in ${folder} belong to root, and not to the service's user: ${foreign.slice(0, 10).join(', ')}`;
  // SECURITY: not by their names, which that user may have given: a person pastes it as root.
  const remedy = asIs(`chown -R ${owner.uid}:${owner.gid} ${folder}`);
  return [finding('state', 'warning', message, remedy)];
}

const dayMs = 86_400_000;

/** A clock that is ahead of the time that passed: what is old by it stays. Absent where the store has no time of its own. */
export async function timeFindings(care: Store['care']): Promise<readonly Finding[]> {
  try {
    const { ahead } = (await care?.time()) ?? { ahead: 0 };
    if (ahead < dayMs) return [];
    const message = say`the clock is ${Math.floor(ahead / dayMs)} days ahead of the time that the store has seen pass: it was set, or this machine was off. Nothing is dropped by it: what is old stays so much longer`;
    return [finding('clock', 'warning', message, say`if the clock is right, say so with \`banksman store accept\``)];
  } catch {
    // That the store cannot be read is said elsewhere.
    return [];
  }
}

/** Doctor's look at what people set in the store: what counts, and what somebody wrote there that does not. */
export async function securityFindings(security: Pick<SecuritySettings, 'level' | 'rules'>): Promise<readonly Finding[]> {
  try {
    const [{ level, from, by, warning, paused }, rules] = await Promise.all([security.level(), security.rules()]);
    const stored = by === undefined ? say`the store` : say`the store, set by ${by}`;
    const origin = from === 'configuration' ? say`the configuration` : stored;
    return [
      warning === undefined
        ? finding('security level', 'ok', say`${level}, from ${origin}`)
        : finding('security level', 'warning', asListed(warning), say`set it again with \`banksman level set\``),
      ...pauseFinding(paused),
      ...rules.flatMap((rule): Finding[] => {
        if (rule.warning === undefined) return [];
        const remedy = say`set it again, or remove it, with \`banksman auto-approve\``;
        return [finding('auto-approve', 'warning', asIs(`\`${rule.pattern}\` (${rule.action}): ${rule.warning}`), remedy)];
      }),
    ];
  } catch (thrown) {
    return [finding('security level', 'failed', say`cannot be read, so calls are handled as at strict: ${faultMessage(thrown)}`)];
  }
}

function pauseFinding(paused: Pause | undefined): readonly Finding[] {
  if (paused === undefined) return [];
  const since = paused.at === 0 ? say`what is stored of it is damaged` : say`since ${new Date(paused.at).toISOString()}`;
  const why = paused.reason === undefined ? '' : `: ${showPlainly(paused.reason, 300)}`;
  const message = say`all agents are paused by ${showPlainly(paused.by, 100)}, ${since}${why}`;
  const remedy = say`a person resumes them with \`banksman resume\``;
  if (paused.warning === undefined) return [finding('agents', 'warning', message, remedy)];
  const look = say`look who can write to the store; ${remedy}`;
  return [finding('agents', 'failed', joined([message, asListed(paused.warning)], '; '), look)];
}
