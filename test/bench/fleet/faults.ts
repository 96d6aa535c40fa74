/** What goes wrong in a soak: each breaks one thing of a running fleet, leaves it broken for a while, and puts it right. */
import { readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import type { WatchedServers } from '../../integration/stores/valkey-groups.ts';
import type { Crew } from './crew.ts';
import type { Fleet } from './machine.ts';

export interface Patient {
  readonly fleet: Fleet;
  readonly crew: Crew;
  /** The store, where it is a shared one. */
  readonly valkey?: WatchedServers;
  /** The next number in [0, 1): the seed decides how long and whom. */
  random(): number;
}

export interface SoakFault {
  readonly name: string;
  /** Undefined: this fleet has nothing that it could break. */
  run(patient: Patient): Promise<void> | undefined;
}

const between = ({ random }: Patient, least: number, most: number): number => least + random() * (most - least);

export const soakFaults: readonly SoakFault[] = [
  { name: 'service killed', run: killService },
  { name: 'service hangs', run: hangService },
  { name: 'agents killed', run: ({ crew, random }) => crew.restartHost(Math.floor(random() * crew.hosts.length)) },
  { name: 'cluster killed', run: killCluster },
  { name: 'cluster cut off', run: cutOff },
  { name: 'disk full', run: fillDisk },
  { name: 'slow disk', run: slowDisk },
  { name: 'clock jumps', run: moveClock },
  { name: 'primary killed', run: (patient) => losePrimary(patient, 'kill') },
  { name: 'primary hangs', run: (patient) => losePrimary(patient, 'hang') },
];

async function killService(patient: Patient): Promise<void> {
  const { service } = patient.fleet;
  await service.kill();
  await sleep(between(patient, 0, 3_000));
  await service.start();
}

async function hangService(patient: Patient): Promise<void> {
  const pid = patient.fleet.service.pid();
  process.kill(pid, 'SIGSTOP');
  await sleep(between(patient, 500, 6_000));
  process.kill(pid, 'SIGCONT');
}

async function killCluster(patient: Patient): Promise<void> {
  const { emulators } = patient.fleet;
  const one = emulators[Math.floor(patient.random() * emulators.length)];
  await one?.kill();
  await sleep(between(patient, 500, 4_000));
  await one?.start();
}

function cutOff(patient: Patient): Promise<void> | undefined {
  const { link } = patient.fleet;
  if (link === undefined) return undefined;
  link.down();
  return sleep(between(patient, 2_000, 8_000)).then(() => link.up());
}

/** All of the state directory's disk, to the last byte. */
async function fillDisk(patient: Patient): Promise<void> {
  const ballast = join(patient.fleet.stateDir, 'ballast');
  const { bavail, bsize } = statfsSync(patient.fleet.stateDir);
  try {
    writeFileSync(ballast, Buffer.alloc(bavail * bsize));
  } catch {
    // Somebody else took the last block: it is full.
  }
  await sleep(between(patient, 2_000, 6_000));
  rmSync(ballast, { force: true });
}

/** Nothing gets through to the store's disk for a while: its one lock is held, or its server stands still for less than counts as gone. */
async function slowDisk(patient: Patient): Promise<void> {
  for (let times = 0; times < 4; times += 1) {
    if (patient.valkey === undefined) await holdStore(join(patient.fleet.stateDir, 'banksman.db'), between(patient, 200, 2_500));
    else await hangBriefly(await patient.valkey.primary(), between(patient, 100, 600));
    await sleep(200);
  }
}

async function holdStore(file: string, ms: number): Promise<void> {
  const database = new DatabaseSync(file);
  try {
    database.exec('PRAGMA busy_timeout = 1000; BEGIN IMMEDIATE');
    await sleep(ms);
    database.exec('ROLLBACK');
  } catch {
    // Another one held it for as long.
  } finally {
    database.close();
  }
}

async function hangBriefly(server: { pause(): void; resume(): void }, ms: number): Promise<void> {
  server.pause();
  await sleep(ms);
  server.resume();
}

/** Days ahead or hours back, and right again. */
function moveClock(patient: Patient): Promise<void> | undefined {
  const { setClock } = patient.fleet;
  if (setClock === undefined || patient.valkey !== undefined) return undefined;
  setClock(patient.random() < 0.5 ? Math.floor(between(patient, 60, 40 * 86_400)) : -Math.floor(between(patient, 60, 7_200)));
  return sleep(between(patient, 3_000, 8_000)).then(() => setClock(0));
}

function losePrimary({ valkey }: Patient, how: 'kill' | 'hang'): Promise<void> | undefined {
  return valkey === undefined ? undefined : promoteAnother(valkey, how);
}

/** It comes back as a replica of the one that took over. */
async function promoteAnother(valkey: WatchedServers, how: 'kill' | 'hang'): Promise<void> {
  const before = await valkey.primary();
  if (how === 'kill') await before.kill();
  else before.pause();
  await valkey.promoted(before);
  if (how === 'kill') await before.start();
  else before.resume();
}

/** One bit of a file. */
export function flipBit(file: string, random: () => number): void {
  const bytes = readFileSync(file);
  const place = Math.floor(random() * bytes.length);
  bytes[place] = (bytes[place] ?? 0) ^ (1 << Math.floor(random() * 8));
  writeFileSync(file, bytes);
}
