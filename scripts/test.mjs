// Plain JavaScript for Node 20: `npm test` on a fresh clone runs this before anything is installed.
//
// Everything, in the order in which it is quick to fail: check (types, lint, architecture, generated files,
// dead code, unit tests), build and package, properties, integration, then the suites in a real editor.
import path from 'node:path';
import { installBench, installTestServers } from './bench/install.mjs';
import { ROOT } from './lib/cache-folder.mjs';
import { cleanEnv } from './lib/clean-env.mjs';
import { ensureDependencies } from './lib/dependencies.mjs';
import { onlyHelp } from './lib/only-help.mjs';
import { buildAndPackage, VSIX } from './lib/package-extension.mjs';
import { runCommand, say, seconds } from './lib/run-command.mjs';
import { newReportFolder, sumReports } from './lib/test-reports.mjs';

const usage = `npm test: everything (types, lint, unit, property and integration tests, and a real VS Code). Installs what is missing.

  npm run check                      the quick part of it
  npm run test:unit -- PATH          some tests; so test:property, test:integration and test:editor
`;

process.exitCode = onlyHelp('npm test', usage) ?? (await main());

async function main() {
  const startedAt = Date.now();
  if (!(await ensureDependencies())) return 1;
  const bench = await installBench({ browser: true });
  const missing = await installTestServers();
  if (missing) bench.skipped.push(`some integration tests: ${missing}`);
  const reports = newReportFolder();
  const failed = [];
  const step = async (name, work) => {
    const stepStartedAt = Date.now();
    say(`\n=== ${name}`);
    const fault = await work();
    if (fault !== undefined) failed.push(name);
    say(`=== ${name}: ${fault === undefined ? 'ok' : `failed${fault && `: ${fault}`}`} (${seconds(stepStartedAt)})`);
    return fault === undefined;
  };
  // Where the servers could be installed, a test that finds none must fail, not be skipped.
  const env = { ...reports.env, BANKSMAN_VSIX: VSIX, ...(missing ? {} : { BANKSMAN_REQUIRE_SERVERS: '1' }) };
  await step('check', () => npmRun('check', env, '--fresh'));
  if (await step('build and package', () => buildAndPackage())) {
    await step('property tests', () => npmRun('test:property', env));
    await step('integration tests', () => npmRun('test:integration', env));
    await editorStep(bench, step, env);
  }
  return summarize({ reports, failed, startedAt, bench });
}

async function editorStep(bench, step, env) {
  if (bench.editor && bench.browser) return step('tests in a real editor', () => npmRun('test:editor', env));
  for (const reason of bench.skipped) say(`Skipped, the tests in a real editor: ${reason}`);
  // On a machine that nobody watches, a suite that did not run must not look like one that passed.
  if (process.env.CI) await step('tests in a real editor', async () => 'not run');
}

async function npmRun(script, env, ...words) {
  const result = await runCommand('npm', ['run', '--silent', script, ...(words.length > 0 ? ['--', ...words] : [])], {
    cwd: ROOT,
    env: cleanEnv(env),
    inherit: true,
  });
  return result.ok ? undefined : '';
}

function summarize({ reports, failed, startedAt, bench }) {
  const sum = sumReports(reports.folder);
  say('');
  // The end of a long log is what a person sees of it.
  for (const { file, test, reason } of sum.failed) say(`FAILED ${path.relative(ROOT, file)}: ${test}\n  ${reason}`);
  for (const reason of bench.skipped) say(`Skipped: ${reason}`);
  if (failed.length > 0) say(`Failed: ${failed.join(', ')}`);
  say(`All of it took ${seconds(startedAt)}.`);
  say(`${sum.passed} passed, ${sum.failed.length} failed${sum.skipped > 0 ? `, ${sum.skipped} skipped` : ''}`);
  return failed.length > 0 || sum.failed.length > 0 || sum.passed === 0 ? 1 : 0;
}
