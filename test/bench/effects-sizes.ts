/**
 * What a run over a view costs: `node test/bench/effects-sizes.ts [RUNS] [FILES …]` (15 runs; 2,000, 100,000 and 400,000 files). Plain bash,
 * bubblewrap alone and `run_command` take turns at each command, so that whatever else the machine does weighs on all alike; printed are p50 in
 * ms and the processor time of our own process for one run, which a loaded machine blurs less (what bubblewrap starts is not in it: bubblewrap
 * ends without collecting that). It exits 1 when a goal is missed: `true` at most 20 ms over bubblewrap alone, 1,000 new files at most three times plain bash, undo of 2,400 changes at most 0.5 s.
 * Figures for ADR 18 want an idle machine; the load is said, and whether it was one.
 */

import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createCommandRunner } from '#execution/command-runner';
import { disk } from '#execution/effects/disk';
import { programRunner } from '#execution/run-child';
import { isControlPath } from '#policy/effects/control-places';
import { judgeChange } from '#policy/effects/judge-change';
import { isSecretPath } from '#policy/paths/secret-files';
import { quantiles } from './measure.ts';

const [runs = 15, ...given] = process.argv.slice(2).map(Number);
const sizes = given.length > 0 ? given : [2_000, 100_000, 400_000];
const signal = new AbortController().signal;
const root = mkdtempSync(path.join(realpathSync(os.tmpdir()), 'banksman-effects-sizes-'));
const goals = { trueMs: 20, newFiles: 3, undoMs: 500 };
const missed: string[] = [];
let busiest = 0;

type Start = (command: string) => Promise<{ readonly exitCode?: number; readonly stderr: string }>;

/** A repository, ten files in each directory, a small project with a test and a secret. */
function makeWorkspace(files: number): string {
  const workspace = path.join(root, `files-${files}`);
  const script = `mkdir -p "$0/test" && cd "$0" && git init -q && for ((d = 0; d < $1 / 10; d++)); do dir=src/p$((d / 100))/d$d; mkdir -p $dir; for n in 0 1 2 3 4 5 6 7 8 9; do echo $d > $dir/f$n.txt; done; done
git -c user.name=a -c user.email=a@b add -A && git -c user.name=a -c user.email=a@b commit -qm one`;
  const made = spawnSync('bash', ['-c', script, workspace, String(files)], { encoding: 'utf8' });
  if (made.status !== 0) throw new Error(made.stderr);
  writeFileSync(path.join(workspace, 'package.json'), '{"name":"small","scripts":{"test":"node --test"}}');
  writeFileSync(path.join(workspace, 'test/one.test.js'), "require('node:test')('one', () => {});\n");
  writeFileSync(path.join(workspace, '.env'), 'TOKEN=1');
  return workspace;
}

function startsIn(workspace: string) {
  const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: console.error };
  const rules = { isControl: isControlPath, isSecret: isSecretPath };
  const stateDir = path.join(root, 'state');
  const runner = createCommandRunner({
    workspaceRoot: workspace,
    stateDir,
    hiddenPaths: [],
    requireSandbox: true,
    rules,
    judge: judgeChange,
    log: quiet,
  });
  const env = { PATH: process.env['PATH'] ?? '', HOME: root, LANG: 'C.UTF-8' };
  const plain = (program: string, args: readonly string[]) =>
    programRunner.run({ program, args, cwd: workspace, env, timeoutMs: 600_000, keepBytes: 10_000 }, signal);
  const cage = [
    '--ro-bind',
    '/',
    '/',
    '--dev',
    '/dev',
    '--proc',
    '/proc',
    '--tmpfs',
    '/run',
    '--bind',
    workspace,
    workspace,
    '--unshare-all',
    '--die-with-parent',
    '--chdir',
    workspace,
  ];
  const request = { surface: 'workspace_command', timeoutMs: 600_000, network: false, agentId: 'cli:bench' } as const;
  const starts: Readonly<Record<string, Start>> = {
    plain: (command) => plain('bash', ['-c', command]),
    bubblewrap: (command) => plain('bwrap', [...cage, 'bash', '-c', command]),
    ours: (command) => runner.run({ ...request, command }, signal, () => undefined),
  };
  return { runner, starts };
}

const sides = ['plain', 'bubblewrap', 'ours'] as const;
type Row = Readonly<Record<(typeof sides)[number], number>> & { readonly cpu: number };

function cpuMs(): number {
  const { userCPUTime, systemCPUTime } = process.resourceUsage();
  return (userCPUTime + systemCPUTime) / 1_000;
}

/** @returns p50 of each side, and the mean processor time of ours, in ms; `after` puts the workspace back to what it was, untimed */
async function compare(
  starts: Readonly<Record<string, Start>>,
  command: string,
  { times, after }: { times: number; after?: () => void },
): Promise<Row> {
  const taken = Object.fromEntries(Object.keys(starts).map((name) => [name, [] as number[]]));
  let used = 0;
  for (let turn = -1; turn < times; turn += 1) {
    for (const [name, start] of Object.entries(starts)) {
      const [begun, cpu] = [performance.now(), cpuMs()];
      const { exitCode, stderr } = await start(command);
      if (turn >= 0) taken[name]?.push(performance.now() - begun);
      if (turn >= 0 && name === 'ours') used += cpuMs() - cpu;
      if (exitCode !== 0) throw new Error(`\`${command}\` (${name}) ended with ${exitCode}: ${stderr}`);
      after?.();
    }
  }
  busiest = Math.max(busiest, os.loadavg()[0] ?? 0);
  const p50 = (name: string) => quantiles(taken[name] ?? []).p50;
  return { plain: p50('plain'), bubblewrap: p50('bubblewrap'), ours: p50('ours'), cpu: used / times };
}

interface Verdict {
  readonly goal: string;
  readonly met: boolean;
}

function say(name: string, row: Row, verdict?: Verdict): void {
  const figures = [...sides, 'cpu' as const].map((column) => row[column].toFixed(1).padStart(12)).join('');
  console.log(`  ${name.padEnd(18)}${figures}${verdict === undefined ? '' : judged(name, verdict)}`);
}

function judged(name: string, { goal, met }: Verdict): string {
  if (!met) missed.push(`${name} (${goal})`);
  return `   ${goal}: ${met ? 'met' : 'MISSED'}`;
}

async function measureSize(files: number): Promise<void> {
  const workspace = makeWorkspace(files);
  const { runner, starts } = startsIn(workspace);
  const begun = performance.now();
  await starts['ours']?.('true');
  const first = performance.now() - begun;
  console.log(
    `\n${files} files, first run ${first.toFixed(0)} ms, load ${os
      .loadavg()
      .map((figure) => figure.toFixed(2))
      .join(' ')}`,
  );
  console.log(`  ${'p50 in ms'.padEnd(18)}${[...sides, 'our cpu'].map((column) => column.padStart(12)).join('')}`);
  const empty = await compare(starts, 'true', { times: runs });
  say('true', empty, { goal: `+${goals.trueMs} ms`, met: empty.ours - empty.bubblewrap <= goals.trueMs });
  say('git status', await compare(starts, 'git status --short', { times: runs }));
  const clean = () => disk.remove(path.join(workspace, 'new'));
  const created = await compare(starts, 'mkdir new; for i in {1..1000}; do echo $i > new/f$i; done', {
    times: Math.ceil(runs / 2),
    after: clean,
  });
  say('1,000 new files', created, { goal: `${goals.newFiles} x plain`, met: created.ours <= goals.newFiles * created.plain });
  say('npm test', await compare(starts, 'npm test --silent', { times: Math.ceil(runs / 3) }));
  const many = 'mkdir new; for d in {1..500}; do mkdir new/d$d; for i in {1..100}; do : > new/d$d/f$i; done; done';
  if (files === sizes[0]) say('50,000 new files', await compare(starts, many, { times: 1, after: clean }));
  await measureUndo(runner);
}

async function measureUndo(runner: ReturnType<typeof createCommandRunner>): Promise<void> {
  const command =
    'n=0; for f in src/p0/d*/f*.txt; do case $((n++ % 3)) in 0) echo more >> "$f";; 1) rm "$f";; 2) echo x > "$f.new";; esac; done; for i in {1..1400}; do echo $i > new$i; done';
  const { effects } = await runner.run(
    { command, surface: 'workspace_command', timeoutMs: 600_000, network: false, agentId: 'cli:bench' },
    signal,
    () => undefined,
  );
  const changes = [effects?.created, effects?.changed, effects?.deleted].reduce((sum, list) => sum + (list?.length ?? 0), 0);
  const begun = performance.now();
  await (await runner.history?.())?.undo(effects?.runId ?? '', { force: false });
  const took = performance.now() - begun;
  const verdict = judged('undo', { goal: `${goals.undoMs} ms`, met: took <= goals.undoMs });
  console.log(`  undo of ${changes} changes: ${took.toFixed(0)} ms${verdict}`);
}

try {
  console.log(`user ${process.getuid?.()}, ${runs} runs in turn, ${os.availableParallelism()} cores`);
  mkdirSync(path.join(root, 'state'));
  for (const files of sizes) await measureSize(files);
} finally {
  disk.remove(root);
}
const quiet = busiest <= os.availableParallelism() ? 'an idle machine' : 'NOT an idle machine: compare processor times only';
console.log(`\nhighest load ${busiest.toFixed(1)}, ${quiet}; our memory at most ${Math.round(process.resourceUsage().maxRSS / 1_024)} MB`);
console.log(missed.length > 0 ? `missed: ${missed.join(', ')}` : 'all goals are met');
process.exitCode = missed.length > 0 ? 1 : 0;
