/**
 * What the sandbox adds to a command: `node test/bench/sandbox-start.ts [RUNS]` prints p50 and p99 of a plain spawn of bash, of a sandbox
 * alone and of a whole run with the looks at the workspace. Exits 1 when the sandbox adds more than 20 ms. Run it on an idle machine.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createCommandRunner } from '#execution/command-runner';
import { programRunner } from '#execution/run-program';
import { isControlPath } from '#policy/paths/control-files';
import { isSecretPath } from '#policy/paths/secret-files';
import { measure } from './measure.ts';

const calls = Number(process.argv[2] ?? 60);
const mostAddedMs = 20;
const root = mkdtempSync(path.join(realpathSync(os.tmpdir()), 'banksman-sandbox-start-'));
const workspaceRoot = path.join(root, 'workspace');

for (let index = 0; index < 500; index += 1) {
  const directory = path.join(workspaceRoot, `d${index % 50}`);
  mkdirSync(directory, { recursive: true });
  writeFileSync(path.join(directory, `f${index}`), '');
}
spawnSync('git', ['init', '-q'], { cwd: workspaceRoot });

const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
const rules = { isControl: isControlPath, isSecret: isSecretPath };
const runner = createCommandRunner({
  workspaceRoot,
  stateDir: path.join(root, 'state'),
  hiddenPaths: [],
  requireSandbox: true,
  rules,
  log: quiet,
});
const signal = new AbortController().signal;
const plain = { program: '/bin/bash', args: ['-c', 'true'], cwd: workspaceRoot, env: {}, timeoutMs: 30_000, keepBytes: 1_000 };
const request = { command: 'true', timeoutMs: 30_000, network: false, agentId: 'cli:bench' };
const load = { warmUp: 5, calls, atOnce: 1, limitMs: 120_000 };

try {
  const rows = {
    'plain bash': await measure(async () => void (await programRunner.run(plain, signal)), load),
    'readonly_bash in the sandbox': await measure(
      async () => void (await runner.run({ ...request, surface: 'readonly_bash' }, signal, () => undefined)),
      load,
    ),
    'workspace_command in the sandbox': await measure(
      async () => void (await runner.run({ ...request, surface: 'workspace_command' }, signal, () => undefined)),
      load,
    ),
  };
  for (const [name, { p50, p99 }] of Object.entries(rows))
    console.log(`${name.padEnd(34)} p50 ${p50.toFixed(1)} ms  p99 ${p99.toFixed(1)} ms`);
  const added = rows['workspace_command in the sandbox'].p50 - rows['plain bash'].p50;
  console.log(`added at the median: ${added.toFixed(1)} ms (at most ${mostAddedMs})`);
  if (added > mostAddedMs) process.exitCode = 1;
} finally {
  rmSync(root, { recursive: true, force: true });
}
