/**
 * `node test/bench/store-pruning.ts [RECORDS]`: how long others wait while a trail of a million old records is pruned by a process that has the
 * store on its own thread, as the MCP server has: that process's own event loop, and an append of another process. Exit code 1 above 100 ms.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { seal } from '#audit/seal';
import { openDatabase } from '#stores/sqlite/database';
import { openSqliteStore } from '#stores/sqlite/open-sqlite-store';
import { defaultRetention, prune } from '#stores/sqlite/retention';
import { createAppend } from '#stores/sqlite/sqlite-audit';
import { figure, quantiles } from './measure.ts';

const records = Number(process.argv[2] ?? 1_000_000);
const limitMs = 100;
const sweeps = 3;
const dayMs = 86_400_000;
const folder = mkdtempSync(join(tmpdir(), 'banksman-pruning-'));
const file = join(folder, 'banksman.db');

/** Old enough to go, in the shape of a green read's record. */
async function fill(): Promise<void> {
  const then = Date.now() - 100 * dayMs;
  const database = await openDatabase({ file, busyDeadlineMs: 5000 });
  const append = createAppend(seal, () => then);
  for (let done = 0; done < records; done += 50_000) {
    await database.write((tx) => {
      let previous: ReturnType<typeof append> | undefined;
      for (let index = 0; index < Math.min(50_000, records - done); index += 1) {
        const attributes = {
          'gen_ai.tool.name': 'get_vm_status',
          'gen_ai.agent.id': 'mcp:laptop',
          tier: 'green',
          args: { vmid: 100 + index },
        };
        previous = append(tx, { name: 'tool.finished', attributes }, previous);
      }
    });
  }
  database.close();
}

/** Another process, in effect: a thread with a connection of its own that appends every 5 ms, and tells how long each took. */
const writer = `
const { parentPort, workerData } = require('node:worker_threads');
const { DatabaseSync } = require('node:sqlite');
const db = new DatabaseSync(workerData, { timeout: 30000 });
db.exec('PRAGMA synchronous = FULL');
const waits = [];
let over = false;
parentPort.on('message', () => { over = true; });
(function next() {
  if (over) { parentPort.postMessage(waits); db.close(); return parentPort.close(); }
  const before = performance.now();
  db.exec("BEGIN IMMEDIATE; INSERT INTO passkeys (credential_id, counter) VALUES (hex(randomblob(8)), 1); COMMIT");
  waits.push(performance.now() - before);
  setTimeout(next, 5);
})();`;

async function measured(work: () => Promise<unknown>): Promise<{ readonly loop: number; readonly waits: readonly number[] }> {
  const other = new Worker(writer, { eval: true, workerData: file });
  let loop = 0;
  let before = performance.now();
  const timer = setInterval(() => {
    loop = Math.max(loop, performance.now() - before - 1);
    before = performance.now();
  }, 1);
  await work();
  await sleep(50);
  clearInterval(timer);
  const waits = new Promise<readonly number[]>((resolve) => void other.once('message', resolve));
  other.postMessage('over');
  return { loop, waits: await waits };
}

try {
  const started = performance.now();
  await fill();
  console.log(`${records} records written in ${figure((performance.now() - started) / 1000)} s`);
  const idle = await measured(() => sleep(3000));
  console.log(
    `nothing pruned: loop ${figure(idle.loop)} ms, append p99 ${figure(quantiles(idle.waits).p99)} max ${figure(Math.max(...idle.waits))} ms`,
  );
  const store = await openSqliteStore({ file, seal });
  const database = await openDatabase({ file, busyDeadlineMs: 5000 });
  const append = createAppend(seal, Date.now);
  const pruning = performance.now();
  const { loop, waits } = await measured(async () => {
    for (let sweep = 0; sweep < sweeps; sweep += 1) await prune(database, { now: Date.now(), append, retention: defaultRetention });
  });
  const raw = new DatabaseSync(file, { readOnly: true });
  const left = Number(raw.prepare('SELECT count(*) AS n FROM audit').get()?.['n']);
  raw.close();
  const seconds = (performance.now() - pruning) / 1000;
  console.log(
    `pruned to ${left} in ${figure(seconds)} s: loop max ${figure(loop)} ms, append p99 ${figure(quantiles(waits).p99)} max ${figure(Math.max(...waits))} ms`,
  );
  database.close();
  await store.close();
  process.exitCode = Math.max(loop, ...waits) <= limitMs ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
