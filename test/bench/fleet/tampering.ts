/** What somebody does to a trail who can write all of it, and whether who holds an old checkpoint or an export finds it. */
import { execFileSync } from 'node:child_process';
import { copyFileSync, readFileSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'iovalkey';
import { hashOf } from '#audit/seal';
import type { AuditRecord } from '#kernel/audit-event';
import type { WatchedServers } from '../../integration/stores/valkey-groups.ts';
import { flipBit } from './faults.ts';
import type { Fleet } from './machine.ts';

const storeFile = 'banksman.db';
const trailKey = 'molis:log:events';

/** Taken in the middle of the round. */
export interface Kept {
  /** The signed checkpoint. */
  readonly note: string;
  /** The store from before it; of the embedded one. */
  readonly older?: string;
  /** All records there were; of a trail with a chain per writer. */
  readonly exported?: string;
}

export interface Tampered {
  readonly tried: number;
  readonly found: number;
  /** Flipped bits that changed nothing that is read. */
  readonly harmless: number;
  readonly broken: readonly string[];
}

/**
 * Keeps a copy of the store, and after `work` a checkpoint of it. `work` leaves a trail that can be read and is not empty: nothing could be held
 * against an empty one. @throws where there is none to be had
 */
export async function keepSomething(fleet: Fleet, isShared: boolean, work: () => Promise<void>): Promise<Kept> {
  const [older, note, exported] = ['older.db', 'kept/checkpoint.note', 'kept/export.jsonl'].map((name) => join(fleet.folder, name)) as [
    string,
    string,
    string,
  ];
  if (!isShared) copyStore(fleet, older);
  await work();
  await keep(fleet, 'checkpoint', note);
  if (!isShared) return { note, older };
  await keep(fleet, 'export', exported);
  return { note, exported };
}

/** Asked again while it is refused: none is signed before all replicas have it. */
async function keep(fleet: Fleet, what: 'checkpoint' | 'export', target: string): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    const { status, out } = fleet.command(['audit', what, '--output', target]);
    if (status === 0) return;
    if (tries === 60) throw new Error(out);
    await sleep(500);
  }
}

function copyStore({ stateDir }: Fleet, target: string): void {
  rmSync(target, { force: true });
  const database = new DatabaseSync(join(stateDir, storeFile));
  try {
    database.exec('PRAGMA busy_timeout = 10000');
    database.prepare('VACUUM INTO ?').run(target);
  } finally {
    database.close();
  }
}

type Change = (file: string, tools: { readonly random: () => number; readonly kept: Kept }) => void;

const changes: Readonly<Record<string, Change>> = {
  'changed record': (file, { random }) =>
    withFile(file, (raw) => {
      const record = anyRecord(raw, random);
      put(raw, { ...record, attributes: { ...record.attributes, status: 'ok', forged: true } });
    }),
  'removed record': (file, { random }) =>
    withFile(file, (raw) => void raw.prepare('DELETE FROM audit WHERE sequence = ?').run(anyRecord(raw, random).sequence)),
  'cut-off end': (file, { kept }) =>
    withFile(file, (raw) => {
      const last = recordAt(raw, Math.floor(sizeIn(kept) / 2));
      raw.prepare('DELETE FROM audit WHERE sequence > ?').run(last.sequence);
      raw.prepare('UPDATE audit_head SET sequence = ?, hash = ?').run(last.sequence, last.hash);
    }),
  'rewritten end': (file, { kept }) =>
    withFile(file, (raw) => {
      const from = Math.floor(sizeIn(kept) / 2);
      let previous = recordAt(raw, from).hash;
      for (let sequence = from + 1; sequence <= countOf(raw); sequence += 1) {
        const { hash: _, ...record } = { ...recordAt(raw, sequence), previous };
        const changed = { ...record, attributes: { ...record.attributes, forged: true } };
        previous = hashOf(changed);
        put(raw, { ...changed, hash: previous });
      }
      raw.prepare('UPDATE audit_head SET hash = ?').run(previous);
    }),
  'forged checkpoint': (file) => forgeCheckpoint(file),
  'older copy': (file, { kept }) => {
    rmSync(`${file}-wal`, { force: true });
    copyFileSync(kept.older ?? '', file);
  },
  'deleted store': (file) => {
    for (const end of ['', '-wal', '-shm']) rmSync(`${file}${end}`, { force: true });
  },
};
const flips = 10;

/** The service has ended. */
export async function tamperWithFile(fleet: Fleet, kept: Kept, random: () => number): Promise<Tampered> {
  const file = join(fleet.stateDir, storeFile);
  withFile(file, (raw) => raw.exec('PRAGMA wal_checkpoint(TRUNCATE)'));
  const whole = recordsOf(file);
  const broken: string[] = [];
  const control = onCopy(fleet, kept, () => undefined);
  if (!control.isOk) broken.push(`the untouched trail is not ok: ${control.out}`);
  for (const [name, change] of Object.entries(changes)) {
    const { isOk, out } = onCopy(fleet, kept, (copy) => change(copy, { random, kept }));
    if (isOk) broken.push(`not found: ${name}: ${out}`);
  }
  let harmless = 0;
  for (let flip = 0; flip < flips; flip += 1) {
    const { isOk, text } = onCopy(fleet, kept, (copy) => flipBit(copy, random));
    if (isOk) harmless += 1;
    if (isOk && text !== whole) broken.push('not found: a flipped bit, with other records');
  }
  const tried = Object.keys(changes).length + flips;
  return { tried, harmless, found: tried - harmless - broken.length, broken };
}

function onCopy(fleet: Fleet, { note }: Kept, work: (file: string) => void) {
  const copy = join(fleet.folder, 'tampered');
  // With owners and modes: what belongs to others is not trusted.
  execFileSync('cp', ['--archive', fleet.stateDir, copy]);
  try {
    work(join(copy, storeFile));
    const { status, out } = fleet.command(['audit', 'verify', '--since', note], copy);
    const isOk = status === 0;
    return { isOk, out, text: isOk ? recordsOf(join(copy, storeFile)) : '' };
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

/** All records as they are in the file. */
function recordsOf(file: string): string {
  const raw = new DatabaseSync(file);
  try {
    return JSON.stringify(raw.prepare('SELECT sequence, body FROM audit ORDER BY sequence').all());
  } finally {
    raw.close();
  }
}

/** With the triggers out of the way meanwhile. */
function withFile(file: string, work: (raw: DatabaseSync) => void): void {
  const raw = new DatabaseSync(file);
  try {
    const triggers = raw.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name LIKE 'audit%'").all();
    for (const { name } of triggers) raw.exec(`DROP TRIGGER ${name}`);
    work(raw);
    for (const { sql } of triggers) raw.exec(String(sql));
  } finally {
    raw.close();
  }
}

/** How many records the checkpoint is about: what came later may be rewritten unseen. */
function sizeIn({ note }: Kept): number {
  return Number(readFileSync(note, 'utf8').split('\n')[1]);
}

function countOf(raw: DatabaseSync): number {
  return Number(raw.prepare('SELECT max(sequence) AS last FROM audit').get()?.['last']);
}

function recordAt(raw: DatabaseSync, sequence: number): AuditRecord {
  return JSON.parse(String(raw.prepare('SELECT body FROM audit WHERE sequence = ?').get(sequence)?.['body'])) as AuditRecord;
}

function anyRecord(raw: DatabaseSync, random: () => number): AuditRecord {
  return recordAt(raw, 1 + Math.floor(random() * countOf(raw)));
}

function put(raw: DatabaseSync, record: AuditRecord): void {
  raw.prepare('UPDATE audit SET body = ? WHERE sequence = ?').run(JSON.stringify(record), record.sequence);
}

/** Nothing of the schema is changed: young records are declared to have been dropped for their age. */
function forgeCheckpoint(file: string): void {
  const raw = new DatabaseSync(file);
  try {
    const last = recordAt(raw, Math.floor(countOf(raw) / 2));
    const head = raw.prepare('SELECT sequence, hash FROM audit_head').get();
    const base = { sequence: last.sequence, hash: last.hash };
    const open = {
      ...{
        version: 1 as const,
        sequence: Number(head?.['sequence']) + 1,
        previous: String(head?.['hash']),
        time: new Date().toISOString(),
      },
      name: 'audit.checkpoint' as const,
      attributes: { base, removed: last.sequence, removed_until: last.time, last: { ...last } },
    };
    const body = JSON.stringify({ ...open, hash: hashOf(open) });
    raw.prepare('INSERT INTO audit (sequence, name, body) VALUES (?, ?, ?)').run(open.sequence, open.name, body);
    raw.prepare('DELETE FROM audit WHERE sequence <= ?').run(last.sequence);
  } finally {
    raw.close();
  }
}

interface LogEntry {
  readonly member: string;
  readonly score: string;
}

/** What is taken out of the log, and what is put there instead. */
interface Trick {
  readonly out: readonly LogEntry[];
  readonly in?: readonly LogEntry[];
}

/** With records that the export has: what came later may be cut off unseen. */
async function tricksOn(operator: Redis, exported: string): Promise<Readonly<Record<string, Trick>>> {
  const all = await operator.zrange(trailKey, 0, -1, 'WITHSCORES');
  const entries = Array.from({ length: all.length / 2 }, (_, index) => ({ member: all[2 * index] ?? '', score: all[2 * index + 1] ?? '' }));
  const known = new Set(readFileSync(exported, 'utf8').split('\n').map(placeOf));
  // Of what has been packed since, nothing lies here any more.
  const lying = entries.filter(({ member }) => placeOf(member) !== undefined && known.has(placeOf(member)));
  const one = lying[Math.floor(lying.length / 2)];
  if (one === undefined) return {};
  const ofChain = entries.filter(({ member }) => chainOf(member) === chainOf(one.member));
  return {
    'removed record': { out: [one] },
    'changed record': {
      out: [one],
      in: [{ ...one, member: one.member.replace(/"status":"[a-z]+"|"name":"[a-z.]+"/, '"status":"forged"') }],
    },
    'cut-off chain': { out: ofChain.slice(ofChain.indexOf(one)) },
    'removed chain': { out: ofChain },
  };
}

/** On the server itself, each undone again; held against the checkpoint and against the export. */
export async function tamperWithServer(fleet: Fleet, { note, exported = '' }: Kept, valkey: WatchedServers): Promise<Tampered> {
  const { operator } = await valkey.primary();
  const verify = () =>
    [note, exported].map((since) => ({ since: basename(since), ...fleet.command(['audit', 'verify', '--since', since]) }));
  const broken: string[] = [];
  for (const { status, out, since } of verify()) if (status !== 0) broken.push(`the untouched trail is not ok since ${since}: ${out}`);
  const tricks = await tricksOn(operator, exported);
  let [tried, found] = [0, 0];
  for (const [name, { out, in: added = [] }] of Object.entries(tricks)) {
    await replace(operator, out, added);
    for (const { status, out: said, since } of verify()) {
      tried += 1;
      if (status !== 0) found += 1;
      else broken.push(`not found since ${since}: ${name}: ${said}`);
    }
    await replace(operator, added, out);
  }
  return { tried, harmless: 0, found, broken };
}

async function replace(operator: Redis, out: readonly LogEntry[], added: readonly LogEntry[]): Promise<void> {
  for (const { member } of out) await operator.zrem(trailKey, member);
  for (const { member, score } of added) await operator.zadd(trailKey, score, member);
}

/** Chain and number of a record, as text. */
function placeOf(line: string): string | undefined {
  const sequence = /"sequence":(\d+)/.exec(line)?.[1];
  return sequence === undefined ? undefined : `${chainOf(line)} ${sequence}`;
}

function chainOf(member: string): string | undefined {
  return /"chain":"([^"]+)"/.exec(member)?.[1];
}
