/**
 * `node test/bench/store-contention.ts [SECONDS]`: how long the host's event loop is blocked while four processes write to the same SQLite
 * file as fast as they can, with the store in its worker as in the editor, and, to compare, on the host's own thread. Exit code 1 above 50 ms.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { openStoreInWorker } from '#app/store/open-store';
import { seal } from '#audit/seal';
import type { Store } from '#kernel/ports/store';
import { openSqliteStore } from '#stores/sqlite/open-sqlite-store';
import { bundleProgram } from '../integration/stores/bundle-program.ts';
import { approved, createApprover, draftBy } from '../integration/stores/request-fixtures.ts';
import { figure, quantiles } from './measure.ts';

const seconds = Number(process.argv[2] ?? 10);
const limitMs = 50;
const tickMs = 1;
const folder = mkdtempSync(join(tmpdir(), 'banksman-contention-'));
const worker = await bundleProgram(new URL('../../src/app/store/store-worker.ts', import.meta.url), folder);
const file = join(folder, 'state', 'banksman.db');
const alice = createApprover();
let vmid = 100;
const writers: ChildProcess[] = [];
try {
  console.log(`${cpus().length} cores, ${seconds} s each`);
  console.log(`nobody else, nothing done: ${await measured(() => sleep(seconds * 1000))}`);
  for (let count = 0; count < 4; count += 1) writers.push(await startWriter(file));
  console.log(`four writers, nothing done: ${await measured(() => sleep(seconds * 1000))}`);
  const inWorker = await openStoreInWorker({ worker, file });
  // What is loaded and compiled at the first use is none of the store's doing.
  await work(inWorker, 0.5);
  const result = await delays(() => work(inWorker, seconds));
  await inWorker.close();
  console.log(`four writers, the store in its worker: ${text(result)}`);
  const here = await openSqliteStore({ file, seal });
  console.log(`four writers, the store on the host's thread: ${await measured(() => work(here, seconds))}`);
  await here.close();
  process.exitCode = result.own <= limitMs ? 0 : 1;
} finally {
  for (const writer of writers) writer.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
}

interface Delays {
  /** The longest time between two turns of the loop, less the turn's own length, in ms. */
  readonly max: number;
  /** The longest that is not explained by another thread having had the core. */
  readonly own: number;
  readonly p99: number;
  readonly done: number | undefined;
}

/** A timer of 1 ms that looks how late it is, and how long the kernel has had this thread wait for a core meanwhile. */
async function delays(run: () => Promise<number | undefined>): Promise<Delays> {
  const late: number[] = [];
  const own: number[] = [];
  let [before, waitedBefore] = [performance.now(), waitedForCore()];
  const timer = setInterval(() => {
    const [now, waited] = [performance.now(), waitedForCore()];
    late.push(Math.max(0, now - before - tickMs));
    own.push(Math.max(0, now - before - tickMs - (waited - waitedBefore)));
    [before, waitedBefore] = [now, waited];
  }, tickMs);
  const done = await run();
  clearInterval(timer);
  return { max: Math.max(...late), own: Math.max(...own), p99: quantiles(late).p99, done };
}

/** In ms since the thread began; 0 where the system does not tell (https://docs.kernel.org/scheduler/sched-stats.html). */
function waitedForCore(): number {
  try {
    return Number(readFileSync('/proc/self/schedstat', 'utf8').split(' ')[1]) / 1e6;
  } catch {
    // Not Linux: everything counts as the host's own then.
    return 0;
  }
}

async function measured(run: () => Promise<number | undefined>): Promise<string> {
  return text(await delays(run));
}

function text({ max, own, p99, done }: Delays): string {
  const calls = done === undefined ? '' : `, ${Math.round(done / seconds)} requests asked, approved and consumed a second`;
  return `longest block ${figure(own)} ms (${figure(max)} ms with the time that others had the core), p99 ${figure(p99)} ms${calls}`;
}

/** What an editor does, without pause: ask, approve, consume, list. */
async function work(store: Store, duration: number): Promise<number> {
  const end = performance.now() + duration * 1000;
  let done = 0;
  while (performance.now() < end) {
    vmid += 1;
    const record = await approved(store, alice, Date.now(), draftBy('mcp:host', vmid));
    await store.requests.consume(record.id, record.digest, 'host');
    await store.requests.list({ statuses: ['pending'], limit: 50 });
    await store.requests.countPending();
    done += 1;
  }
  return done;
}

async function startWriter(path: string): Promise<ChildProcess> {
  const script = fileURLToPath(new URL('../integration/stores/children/work-forever.ts', import.meta.url));
  const child = spawn(process.execPath, [script, path], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  child.stdout.resume();
  return child;
}
