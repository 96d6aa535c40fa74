/**
 * `npm run bench:fleet [-- --agents 10,100,1000 --seconds 60 --store valkey,sqlite --clusters 10 --nodes 500
 * --pause 2000,8000 --no-kills]`: agents on several processes, ten clusters of 500 emulated
 * nodes, one service, one store, people who think before they sign; servers are killed in the middle. Prints calls a second, p50, p99 and memory for each
 * size, reckons up at the end of each, and exits 1 where anything was lost, done twice or crossed. Root on Linux, after `npm run build`.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startValkey, type ValkeyServer } from '../integration/stores/valkey-server.ts';
import { type Crew, startCrew } from './fleet/crew.ts';
import { type Fleet, type FleetProcess, startFleet, whyNoFleet } from './fleet/machine.ts';
import { settle } from './fleet/settle.ts';
import { figure, processorMs, quantiles, residentMb } from './measure.ts';

const { values } = parseArgs({
  options: {
    agents: { type: 'string', default: '10,100,1000' },
    seconds: { type: 'string', default: '60' },
    store: { type: 'string', default: 'valkey,sqlite' },
    clusters: { type: 'string', default: '10' },
    nodes: { type: 'string', default: '500' },
    pause: { type: 'string', default: '2000,8000' },
    'no-kills': { type: 'boolean', default: false },
  },
});

interface Run {
  readonly store: 'valkey' | 'sqlite';
  readonly agents: number;
}

async function measureRun({ store, agents }: Run): Promise<boolean> {
  const valkey = store === 'valkey' ? await startValkey() : undefined;
  const seconds = Number(values.seconds);
  const [least = 0, most = 0] = values.pause.split(',').map(Number);
  // A user's calls have limits of their own (docs/service.md): 25 agents to a user.
  const users = Math.max(2, Math.ceil(agents / 25));
  const people = Math.max(2, Math.ceil(agents / 25));
  const fleet = await startFleet({
    ...{ clusters: Number(values.clusters), nodes: Number(values.nodes), guests: 2, users, people, stateMiB: 2_000, taskDurationMs: 1_000 },
    ...(valkey === undefined ? {} : { valkey: valkey.url }),
  });
  try {
    const until = Date.now() + seconds * 1_000;
    const crew = await startCrew(fleet, {
      agents,
      processes: Math.min(4, users),
      until,
      pauseMs: [least, most],
      thinkMs: [2_000, 8_000],
      change: 5,
      seed: 1,
    });
    const watched = watchProcesses(fleet, crew, valkey);
    if (!values['no-kills']) await killInTheMiddle(fleet, valkey, until);
    await crew.finished();
    const used = watched.stop();
    const reckoning = await settle(fleet, crew);
    report({ store, agents }, { reckoning, used });
    return reckoning.broken.length === 0;
  } finally {
    await fleet.close();
    await valkey?.close();
  }
}

/** The service, an emulator and the store, one after the other, each started again. */
async function killInTheMiddle(fleet: Fleet, valkey: ValkeyServer | undefined, until: number): Promise<void> {
  const part = (until - Date.now()) / 4;
  await sleep(part);
  await fleet.service.kill();
  await fleet.service.start();
  await sleep(part);
  await fleet.emulators[0]?.kill();
  await sleep(1_000);
  await fleet.emulators[0]?.start();
  await sleep(part);
  if (valkey === undefined) return;
  await valkey.kill();
  await sleep(1_000);
  await valkey.start();
}

interface Used {
  /** The most that it had at once. */
  readonly mb: ReadonlyMap<string, number>;
  /** Of all processes of that name, those that were killed included; without what they took to start. */
  processorMs(name: string): number;
}

/** Looked at twice a second: whoever is killed takes at most half a second of its figures along. */
function watchProcesses(fleet: Fleet, crew: Crew, valkey: ValkeyServer | undefined) {
  const mb = new Map<string, number>();
  /** By process: when it was first seen, and last. */
  const spent = new Map<string, Map<number, readonly [number, number]>>();
  const note = async ({ name, pid }: FleetProcess) => {
    try {
      const found = pid();
      const [resident, ms] = [await residentMb(found), await processorMs(found)];
      if (Number.isNaN(resident) || Number.isNaN(ms)) return;
      mb.set(name, Math.max(mb.get(name) ?? 0, resident));
      const of = spent.get(name) ?? new Map<number, readonly [number, number]>();
      spent.set(name, of.set(found, [of.get(found)?.[0] ?? ms, ms]));
    } catch {
      // It is being started again.
    }
  };
  const look = async () => {
    for (const one of [fleet.service, ...fleet.emulators.slice(0, 1), ...crew.processes]) await note(one);
    if (valkey === undefined) return;
    const used = /used_memory_rss:(\d+)/.exec(await valkey.operator.info('memory').catch(() => ''))?.[1];
    mb.set('valkey', Math.max(mb.get('valkey') ?? 0, Number(used ?? 0) / 2 ** 20));
  };
  const timer = setInterval(() => void look(), 500);
  const sum = (name: string) => [...(spent.get(name)?.values() ?? [])].reduce((total, [first, last]) => total + last - first, 0);
  return {
    stop: (): Used => {
      clearInterval(timer);
      return { mb, processorMs: sum };
    },
  };
}

interface Result {
  readonly reckoning: Awaited<ReturnType<typeof settle>>;
  readonly used: Used;
}

function report({ store, agents }: Run, { reckoning, used }: Result): void {
  const { calls, seconds, times, effects, done, unknown, notDone, answers, records, orphans, broken } = reckoning;
  const reads = quantiles(times.read);
  console.log(
    `${store}, ${agents} agents: ${figure(calls / seconds)} calls/s; reads p50 ${figure(reads.p50)} ms, p99 ${figure(reads.p99)} ms; ` +
      `${calls} calls answered, ${orphans} of killed processes; ${answers} answers of people; ${effects} effects = ${done} done, ${unknown} unknown, ${notDone} found not done; ${records} records`,
  );
  console.log(`  memory: ${[...used.mb].map(([name, mb]) => `${name} ${figure(mb)} MB`).join(', ')}`);
  const perCall = used.processorMs('service') / calls;
  console.log(
    `  the service’s processor time: ${figure(perCall)} ms a call, ${figure(used.processorMs('service') / seconds / 10)} % of one processor`,
  );
  console.log(`  ends: ${[...reckoning.ends].map(([end, count]) => `${count} ${end}`).join(', ')}`);
  for (const flaw of broken.slice(0, 20)) console.log(`  BROKEN ${flaw}`);
  if (broken.length > 20) console.log(`  … and ${broken.length - 20} more`);
}

if (whyNoFleet !== undefined) {
  console.error(`fleet: ${whyNoFleet}`);
  process.exit(1);
}
let broken = 0;
for (const store of values.store.split(',') as Run['store'][])
  for (const agents of values.agents.split(',').map(Number)) if (!(await measureRun({ store, agents }))) broken += 1;
console.log(broken === 0 ? 'fleet: nothing was lost, done twice or crossed' : `fleet: BROKEN in ${broken} runs`);
process.exit(broken === 0 ? 0 : 1);
