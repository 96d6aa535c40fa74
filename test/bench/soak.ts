/**
 * `npm run soak [-- --minutes 60 --seed 1 --round 90 --store sqlite,valkey]`: rounds of agents, people, clusters and one service, with faults that the seed
 * chooses: kill -9, a hang, a full and a slow disk, a clock that jumps, a cut link, a fail-over. Each round ends with a reckoning (every call answered, every
 * effect recorded or named unknown, every approval used once) and with somebody who alters the trail in every way that is known: who holds an old checkpoint
 * finds it. Exit 1, with the seed, where a round broke. Root on Linux, after `npm run build`; the clock needs libfaketime, or is left alone.
 */
import { cpSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createRandom } from '../../src/demo/random.ts';
import { startWatched } from '../integration/stores/valkey-groups.ts';
import { startCrew } from './fleet/crew.ts';
import { type Patient, type SoakFault, soakFaults } from './fleet/faults.ts';
import { type Fleet, startFleet, whyNoFleet } from './fleet/machine.ts';
import { counted, type Reckoning } from './fleet/reconcile.ts';
import { settle } from './fleet/settle.ts';
import { type Kept, keepSomething, type Tampered, tamperWithFile, tamperWithServer } from './fleet/tampering.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    round: { type: 'string', default: '90' },
    store: { type: 'string', default: 'sqlite,valkey' },
    verbose: { type: 'boolean', default: false },
  },
});

interface Round {
  readonly seed: number;
  readonly isShared: boolean;
  readonly seconds: number;
  /** When the whole soak is to be over, ms since the epoch. */
  readonly limit: number;
}

interface Soaked {
  readonly reckoning: Reckoning;
  readonly tampered: Tampered;
  readonly faults: readonly string[];
}

async function soakRound(round: Round): Promise<Soaked> {
  const valkey = round.isShared ? await startWatched() : undefined;
  const fleet = await startFleet({
    ...{
      clusters: 3,
      nodes: 20,
      guests: 2,
      users: 6,
      people: 6,
      stateMiB: 64,
      taskDurationMs: 1_000,
      remote: true,
      clock: !round.isShared,
    },
    ...(valkey === undefined ? {} : { valkey: `${valkey.url}&replicas=2` }),
  });
  try {
    const until = Date.now() + round.seconds * 1_000;
    const crew = await startCrew(fleet, {
      agents: 24,
      processes: 3,
      until,
      pauseMs: [200, 1_500],
      thinkMs: [200, 2_500],
      change: 25,
      seed: round.seed,
    });
    const random = createRandom(round.seed);
    const patient: Patient = { fleet, crew, random: () => random.next(), ...(valkey === undefined ? {} : { valkey }) };
    const faults: string[] = [];
    const kept = await keepSomething(fleet, round.isShared, async () => {
      await breakThings(patient, faults, Date.now() + (until - Date.now()) / 2);
      await untilWell(fleet, Math.max(until, round.limit));
    });
    await breakThings(patient, faults, until);
    await crew.finished();
    const reckoning = await settle(fleet, crew);
    const tampered = await tamper(patient, kept);
    if (reckoning.broken.length + tampered.broken.length > 0) keepForLooking(fleet, round);
    return { reckoning, tampered, faults };
  } finally {
    await fleet.close();
    await valkey?.close();
  }
}

/** One after the other, in an order that the seed decides. */
async function breakThings(patient: Patient, done: string[], until: number): Promise<void> {
  while (Date.now() < until) {
    await sleep(1_000 + patient.random() * 3_000);
    const fault = soakFaults[Math.floor(patient.random() * soakFaults.length)] as SoakFault;
    const run = fault.run(patient);
    if (run === undefined) continue;
    const begun = Date.now();
    await run;
    done.push(fault.name);
    if (values.verbose) console.log(`  ${new Date(begun).toISOString()} ${fault.name}, ${Date.now() - begun} ms`);
  }
}

/** What was put right has come back: the trail can be read, and has a record of what agents asked. */
async function untilWell(fleet: Fleet, until: number): Promise<void> {
  while (!hasRecord(fleet)) {
    if (Date.now() > until) throw new Error('no record could be read of the trail before the time of the soak was over');
    await sleep(500);
  }
}

function hasRecord(fleet: Fleet): boolean {
  const { status, out } = fleet.command(['audit', 'tail', '--count', '1', '--json']);
  return status === 0 && out.includes('"hash"');
}

async function tamper({ fleet, valkey, random }: Patient, kept: Kept): Promise<Tampered> {
  await fleet.service.kill();
  return valkey === undefined ? tamperWithFile(fleet, kept, random) : tamperWithServer(fleet, kept, valkey);
}

function keepForLooking(fleet: Fleet, { seed }: Round): void {
  const target = mkdtempSync(join(tmpdir(), `banksman-soak-${seed}-`));
  for (const name of ['journals', 'state', 'etc/config.json']) cpSync(join(fleet.folder, name), join(target, name), { recursive: true });
  console.log(`  kept for a look: ${target}`);
}

function say(round: Round, { reckoning, tampered, faults }: Soaked): void {
  const { calls, orphans, effects, done, unknown, notDone, answers, records, ends } = reckoning;
  const store = round.isShared ? 'valkey, three servers' : 'sqlite';
  console.log(
    `seed ${round.seed}, ${store}: ${calls} calls answered (${orphans} of killed processes), ${answers} answers of people; ${effects} effects = ${done} done, ` +
      `${unknown} unknown, ${notDone} found not done; ${records} records; ${tampered.found} of ${tampered.tried - tampered.harmless} alterations found`,
  );
  console.log(`  faults: ${[...counted(faults)].map(([name, count]) => `${count} ${name}`).join(', ')}`);
  console.log(`  ends: ${[...ends].map(([end, count]) => `${count} ${end}`).join(', ')}`);
  for (const flaw of [...reckoning.broken, ...tampered.broken].slice(0, 20)) console.log(`  BROKEN ${flaw}`);
}

const totals = { rounds: 0, faults: 0, calls: 0, effects: 0, unknown: 0, found: 0 };
function add({ reckoning, tampered, faults }: Soaked): void {
  totals.rounds += 1;
  totals.faults += faults.length;
  totals.calls += reckoning.calls;
  totals.effects += reckoning.effects;
  totals.unknown += reckoning.unknown;
  totals.found += tampered.found;
}

if (whyNoFleet !== undefined) {
  console.error(`soak: ${whyNoFleet}`);
  process.exit(1);
}
const stores = values.store.split(',');
const brokenSeeds: number[] = [];
const limit = Date.now() + Number(values.minutes) * 60_000;
for (let index = 0; Date.now() < limit; index += 1) {
  const isShared = stores[index % stores.length] === 'valkey';
  const round = { seed: Number(values.seed) + index, isShared, seconds: Number(values.round), limit };
  try {
    const soaked = await soakRound(round);
    say(round, soaked);
    add(soaked);
    if (soaked.reckoning.broken.length + soaked.tampered.broken.length > 0) brokenSeeds.push(round.seed);
  } catch (thrown) {
    console.log(`seed ${round.seed}: BROKEN ${thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)}`);
    brokenSeeds.push(round.seed);
  }
}
const { rounds, faults, calls, effects, unknown, found } = totals;
console.log(
  `soak of ${values.minutes} minutes from seed ${values.seed}: ${rounds} rounds, ${faults} faults, ${calls} calls answered, ${effects} effects (${unknown} named unknown), ${found} alterations found: ` +
    (brokenSeeds.length === 0 ? 'nothing broke' : `BROKEN with seeds ${brokenSeeds.join(', ')}`),
);
process.exit(brokenSeeds.length === 0 ? 0 : 1);
