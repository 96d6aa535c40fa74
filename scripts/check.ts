/**
 * `npm run check`: everything that must hold at each commit, in parallel, with one summary. Exit 1 when any step fails.
 * `npm run check -- types lint` runs only the steps named.
 */
import os from 'node:os';
import path from 'node:path';
import { runStep, runSteps, type Step, type StepResult } from './check/run-step.ts';

const root = path.join(import.meta.dirname, '..');

/** The longest first, so that the short ones fill the gaps. */
const steps: readonly Step[] = [
  { name: 'test', command: ['vitest', 'run', '--project', 'unit', '--silent=passed-only'] },
  {
    name: 'lint',
    command: ['oxlint', '--type-aware', '--deny-warnings', '--format=unix', 'src', 'scripts', 'test', 'esbuild.mjs', 'vitest.config.ts'],
  },
  {
    name: 'format',
    command: ['biome', 'check', '--error-on-warnings', '--reporter=concise', '--max-diagnostics=100', '--diagnostic-level=warn', '.'],
  },
  { name: 'deadcode', command: ['knip', '--no-progress'] },
  { name: 'architecture', command: ['node', 'scripts/architecture.ts'] },
  { name: 'types', command: ['tsc', '--noEmit', '--pretty', 'false', '-p', '.'] },
  { name: 'generated', command: ['node', 'scripts/generate.ts', '--check'] },
  { name: 'texts', command: ['node', 'scripts/check-texts.ts'] },
  { name: 'links', command: ['node', 'scripts/check-links.ts'] },
];

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !steps.some((step) => step.name === name));
if (unknown.length > 0) {
  console.error(`check: no step is named ${unknown.join(', ')}; there are ${steps.map((step) => step.name).join(', ')}`);
  process.exit(1);
}

const env = {
  ...process.env,
  PATH: `${path.join(root, 'node_modules', '.bin')}${path.delimiter}${process.env.PATH ?? ''}`,
  NO_COLOR: '1',
};
const chosen = wanted.length > 0 ? steps.filter((step) => wanted.includes(step.name)) : steps;
const startedAt = performance.now();
const results = await runSteps(chosen, Math.min(4, os.availableParallelism()), async (step) => report(await runStep(step, root, env)));
const failed = results.filter((result) => !result.ok).map((result) => result.name);
const total = seconds(performance.now() - startedAt);
console.log(failed.length > 0 ? `\ncheck: FAILED in ${total}: ${failed.join(', ')}` : `\ncheck: ok, ${results.length} steps in ${total}`);
process.exitCode = failed.length > 0 ? 1 : 0;

/** A line for a step that passed; everything it said for one that did not. */
function report(result: StepResult): StepResult {
  console.log(`${result.ok ? 'ok    ' : 'FAILED'} ${result.name.padEnd(13)} ${seconds(result.milliseconds)}`);
  if (!result.ok) console.log(`${result.output.trimEnd()}\n`);
  return result;
}

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)} s`;
}
