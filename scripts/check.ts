/**
 * `npm run check`: everything that must hold at each commit, in parallel, with one summary. Exit 1 when any step fails. What was green with the
 * same contents, settings and tools is not looked at again (scripts/check/green.ts).
 * `npm run check -- types lint` runs only the steps named, `npm run check -- --fresh` remembers nothing.
 */
import os from 'node:os';
import path from 'node:path';
import { readGreen } from './check/green.ts';
import { createChangedRunner } from './check/run-changed.ts';
import { runSteps, type StepResult } from './check/run-step.ts';
import { type CheckStep, steps } from './check/steps.ts';
import { cacheFolder } from './lib/cache-folder.mjs';

const root = path.join(import.meta.dirname, '..');
const wanted = process.argv.slice(2).filter((word) => word !== '--fresh');
const unknown = wanted.filter((name) => !steps.some((step) => step.name === name));
if (unknown.length > 0) {
  console.error(`check: no step is named ${unknown.join(', ')}; there are ${steps.map((step) => step.name).join(', ')}`);
  process.exit(1);
}

const startedAt = performance.now();
const memory = path.join(cacheFolder(), 'check', 'green.json');
const green = process.argv.includes('--fresh') ? {} : readGreen(memory);
const changed = createChangedRunner({ root, memory, green });
const chosen = (wanted.length > 0 ? steps.filter((step) => wanted.includes(step.name)) : steps).toSorted(longestFirst);
const results = await runSteps(chosen, Math.min(4, os.availableParallelism()), async (step) => report(await changed.run(step)));
changed.remember();
const failed = results.filter((result) => !result.ok).map((result) => result.name);
const total = seconds(performance.now() - startedAt);
console.log(failed.length > 0 ? `\ncheck: FAILED in ${total}: ${failed.join(', ')}` : `\ncheck: ok, ${results.length} steps in ${total}`);
process.exitCode = failed.length > 0 ? 1 : 0;

/** As measured here; else as the table has them. */
function longestFirst(a: CheckStep, b: CheckStep): number {
  return (green[b.name]?.milliseconds ?? 0) - (green[a.name]?.milliseconds ?? 0);
}

/** A line for a step that passed; everything it said for one that did not. */
function report(result: StepResult & { readonly note: string }): StepResult {
  const end = result.note === '' ? '' : `  ${result.note}`;
  console.log(`${result.ok ? 'ok    ' : 'FAILED'} ${result.name.padEnd(13)} ${seconds(result.milliseconds)}${end}`);
  if (!result.ok) console.log(`${result.output.trimEnd()}\n`);
  return result;
}

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)} s`;
}
