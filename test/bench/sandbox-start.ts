/**
 * What the sandbox adds to a command: `node test/bench/sandbox-start.ts [RUNS]` starts `echo` plainly and in the sandbox in turn, as the
 * user who runs it and, started by root, as another user, too. It prints p50 of the time to the first output and to the end (the looks
 * at the workspace included), the load, and exits 1 when a start takes more than 20 ms longer than a plain one. For an idle machine.
 */

import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createCommandRunner } from '#execution/command-runner';
import { programRunner } from '#execution/run-child';
import type { CommandRequest } from '#kernel/ports/command-runner';
import { isControlPath } from '#policy/effects/control-places';
import { isSecretPath } from '#policy/paths/secret-files';
import { quantiles } from './measure.ts';

const runs = Number(process.argv[2] ?? 120);
const warmUp = 10;
const mostAddedMs = 20;
const nobody = { uid: 65_534, gid: 65_534 };
const signal = new AbortController().signal;

interface Times {
  readonly first: number[];
  readonly whole: number[];
}

type Start = (onOutput: () => void) => Promise<{ readonly exitCode?: number; readonly stdout: string }>;

/** Adds how long it took to the first output and to the end. */
async function time(start: Start, into: Times): Promise<void> {
  const begun = performance.now();
  let first: number | undefined;
  const result = await start(() => {
    first ??= performance.now() - begun;
  });
  const whole = performance.now() - begun;
  if (result.exitCode !== 0 || result.stdout !== 'x\n' || first === undefined) throw new Error(`\`echo x\` gave ${JSON.stringify(result)}`);
  into.first.push(first);
  into.whole.push(whole);
}

/** A repository with 500 files in 50 directories. */
function makeWorkspace(directory: string): void {
  for (let index = 0; index < 500; index += 1) {
    const inner = path.join(directory, `d${index % 50}`);
    mkdirSync(inner, { recursive: true });
    writeFileSync(path.join(inner, `f${index}`), '');
  }
  if (spawnSync('git', ['init', '-q'], { cwd: directory }).status !== 0) throw new Error('`git init` failed');
}

function startsIn(root: string): Readonly<Record<string, Start>> {
  const workspaceRoot = path.join(root, 'workspace');
  makeWorkspace(workspaceRoot);
  const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
  const rules = { isControl: isControlPath, isSecret: isSecretPath };
  const place = { workspaceRoot, stateDir: path.join(root, 'state'), hiddenPaths: [], requireSandbox: true };
  const runner = createCommandRunner({ ...place, rules, log: quiet });
  const plain = { program: '/bin/bash', args: ['-c', 'echo x'], cwd: workspaceRoot, env: {}, timeoutMs: 30_000, keepBytes: 1_000 };
  const request = { command: 'echo x', timeoutMs: 30_000, network: false, agentId: 'cli:bench' };
  const sandboxed = (surface: CommandRequest['surface']): Start => {
    return (onOutput) => runner.run({ ...request, surface }, signal, onOutput);
  };
  return {
    'plain bash': (onOutput) => programRunner.run(plain, signal, onOutput),
    readonly_bash: sandboxed('readonly_bash'),
    workspace_command: sandboxed('workspace_command'),
  };
}

/** @returns whether the goal is met */
async function compare(root: string): Promise<boolean> {
  const rows = Object.entries(startsIn(root)).map(([name, start]) => ({ name, start, times: { first: [], whole: [] } as Times }));
  for (let run = 0; run < warmUp + runs; run += 1) {
    // In turn: whatever else the machine does weighs on all of them alike.
    for (const { start, times } of rows) await time(start, run < warmUp ? { first: [], whole: [] } : times);
  }
  const [plain, ...others] = rows.map(({ name, times }) => ({
    name,
    first: quantiles(times.first).p50,
    whole: quantiles(times.whole).p50,
  }));
  if (plain === undefined) return false;
  const load = os.loadavg().map((figure) => figure.toFixed(2));
  console.log(`user ${process.getuid?.()}, p50 of ${runs} runs in turn, load ${load.join(' ')} on ${os.availableParallelism()} cores`);
  console.log(`  ${'plain bash'.padEnd(20)} first output ${plain.first.toFixed(1)} ms, end ${plain.whole.toFixed(1)} ms`);
  for (const { name, first, whole } of others) {
    const added = `added ${(first - plain.first).toFixed(1)} and ${(whole - plain.whole).toFixed(1)} ms`;
    console.log(`  ${name.padEnd(20)} first output ${first.toFixed(1)} ms, end ${whole.toFixed(1)} ms: ${added}`);
  }
  const most = Math.max(...others.map(({ first }) => first - plain.first));
  console.log(`  added at the start: ${most.toFixed(1)} ms (at most ${mostAddedMs})`);
  return most <= mostAddedMs;
}

/** The same for a user who is not root, whom other limits bind. */
function compareAsNobody(root: string): boolean {
  chownSync(root, nobody.uid, nobody.gid);
  const env = { PATH: process.env['PATH'] ?? '', HOME: '/nonexistent', BANKSMAN_BENCH_ROOT: root };
  const run = spawnSync(process.execPath, [import.meta.filename, String(runs)], { ...nobody, env, stdio: 'inherit' });
  return run.status === 0;
}

const given = process.env['BANKSMAN_BENCH_ROOT'];
const root = given ?? mkdtempSync(path.join(realpathSync(os.tmpdir()), 'banksman-sandbox-start-'));
try {
  let met = await compare(path.join(root, 'own'));
  if (process.getuid?.() === 0) {
    chmodSync(root, 0o755);
    const others = path.join(root, 'others');
    mkdirSync(others);
    met = compareAsNobody(others) && met;
  }
  if (!met) process.exitCode = 1;
} finally {
  if (given === undefined) {
    // Only root can remove a directory that nobody may open.
    const masked = path.join(root, 'own/state/sandbox/masked-directory');
    if (existsSync(masked)) chmodSync(masked, 0o700);
    rmSync(root, { recursive: true, force: true });
  }
}
