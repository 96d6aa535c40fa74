/**
 * `node test/bench/claim-races.ts [ROUNDS]`: a thousand claims on one grant, over and over, on both stores. Every round must have exactly one winner and
 * one record of it; anything else ends with exit code 1.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { claimRounds } from '../integration/stores/claim-rounds.ts';
import { startValkey } from '../integration/stores/valkey-server.ts';
import { figure, quantiles } from './measure.ts';

const rounds = Number(process.argv[2] ?? 100);
const claims = 1000;
const folder = mkdtempSync(join(tmpdir(), 'banksman-claims-'));
const server = await startValkey();
let wrong = 0;
try {
  for (const [engine, store] of [
    ['SQLite', join(folder, 'state', 'banksman.db')],
    ['Valkey', server.url],
  ] as const) {
    const times: number[] = [];
    let bad = 0;
    await claimRounds({ store, rounds, processes: 4, claims }, ({ won, recorded, status, ms }) => {
      times.push(ms);
      if (won === 1 && recorded === 1 && status === 'consumed') return;
      bad += 1;
      console.log(`${engine}, round ${times.length}: ${won} winners, ${recorded} records, ${String(status)}`);
    });
    wrong += bad;
    const { p50 } = quantiles(times);
    console.log(
      `${engine}: ${times.length - bad} of ${times.length} rounds of ${claims} claims had one winner; p50 ${figure(p50)} ms a round`,
    );
  }
} finally {
  await server.close();
  rmSync(folder, { recursive: true, force: true });
}
process.exitCode = wrong === 0 ? 0 : 1;
