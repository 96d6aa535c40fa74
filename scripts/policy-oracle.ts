/**
 * The long run of the differential oracle: `node scripts/policy-oracle.ts [RUNS] [SEED]` executes RUNS (default 5,000) different lines that
 * each read-only surface allows, in throw-away sandboxes, and exits 1 when one of them wrote, read what it must not, left a process or hung.
 * Needs bubblewrap. A failure is repeated with the same seed.
 */
import { runOracle } from '../test/integration/policy/oracle.ts';

const [runs = '5000', seed = String(Math.floor(Math.random() * 2 ** 31))] = process.argv.slice(2);
let failed = false;
for (const surface of ['readonly_bash', 'ssh'] as const) {
  const report = await runOracle({
    surface,
    seed: Number(seed),
    runs: Number(runs),
    onProgress: (generated, run) => console.error(`${surface}: ${run} of ${runs} run, ${generated} generated`),
  });
  console.log(
    `${surface}: seed ${seed}, ${report.generated} lines generated, ${report.run} allowed and run, ${report.failures.length} failures`,
  );
  for (const failure of report.failures) console.log(failure);
  failed ||= report.failures.length > 0;
}
process.exitCode = failed ? 1 : 0;
