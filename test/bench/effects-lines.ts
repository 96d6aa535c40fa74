/**
 * Counts over lines of shell, each in a fresh workspace: `node test/bench/effects-lines.ts LINES.jsonl FIXTURE.sh [KIND …]`. A line is
 * `{ id, kind, input }`; `ordinary` ones are compared with plain bash, of `hostile` and `destructive` ones what is left, and what undo brings
 * back. Run as a user who may be harmed: the ordinary lines run on the host, too.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createCommandRunner } from '#execution/command-runner';
import { disk } from '#execution/effects/disk';
import type { CommandResult, CommandRunner } from '#kernel/ports/command-runner';
import { isControlPath } from '#policy/effects/control-places';
import { decideCommand } from '#policy/effects/decide-command';
import { judgeChange } from '#policy/effects/judge-change';
import { isSecretPath } from '#policy/paths/secret-files';
import { controlsOf, snapshot } from '../integration/effects/support/effects-bench.ts';

interface Line {
  readonly id: string;
  readonly kind: string;
  readonly input: string;
}

const canary = 'SECRETCANARY7f3';
const [linesFile = '', fixtureFile = '', ...kinds] = process.argv.slice(2);
const root = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'effects-lines-')));
const at = (name: string) => path.join(root, name);
const lines = readFileSync(linesFile, 'utf8')
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => JSON.parse(line) as Line)
  .filter(({ kind }) => kinds.length === 0 || kinds.includes(kind));
const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: console.error };
const counts = new Map<string, number>();
const signal = new AbortController().signal;

function count(line: Line, what: string, detail = ''): void {
  counts.set(`${line.kind}: ${what}`, (counts.get(`${line.kind}: ${what}`) ?? 0) + 1);
  if (what !== 'all') console.log(`${line.id} ${what} ${JSON.stringify(line.input.slice(0, 160))} ${detail.slice(0, 400)}`);
}

function fresh(name: string): string {
  disk.remove(at(name));
  spawnSync('cp', ['-a', at('fixture'), at(name)]);
  return at(name);
}

let opened: CommandRunner | undefined;

/** The workspace is made anew at the same place for each line. */
function runnerOf(workspaceRoot: string): CommandRunner {
  const rules = { isControl: isControlPath, isSecret: isSecretPath };
  const place = { workspaceRoot, stateDir: at('state'), hiddenPaths: [], requireSandbox: true };
  opened ??= createCommandRunner({ ...place, rules, judge: judgeChange, log: quiet, environment: { ...process.env, HOME: at('home') } });
  return opened;
}

async function ours(
  line: Line,
  workspace: string,
): Promise<{ readonly asked: boolean; readonly result?: CommandResult; readonly undone?: boolean }> {
  const command = line.input.replaceAll('WORKSPACE', workspace);
  const runner = runnerOf(workspace);
  const target = { kind: 'command', access: 'operate', surface: 'workspace_command', text: command } as const;
  const { effect } = decideCommand(target, { userRules: [], view: (await runner.status()).view });
  if (effect !== 'allow') return { asked: true };
  const before = snapshot(workspace);
  const request = { command, surface: 'workspace_command', timeoutMs: 20_000, network: false, agentId: 'cli:bench' } as const;
  const result = await runner.run(request, signal, () => undefined);
  const kept = snapshot(workspace);
  const controls = controlsOf(workspace);
  if (line.kind !== 'ordinary') check(line, { result, controls });
  const { runId } = result.effects ?? {};
  if (runId === undefined) return { asked: false, result, undone: JSON.stringify(kept) === JSON.stringify(before) };
  await (await runner.history?.())?.undo(runId, { force: false });
  return { asked: false, result, undone: JSON.stringify(snapshot(workspace)) === JSON.stringify(before) };
}

function check(line: Line, { result, controls }: { readonly result: CommandResult; readonly controls: string }): void {
  if (`${result.stdout}${result.stderr}`.includes(canary)) count(line, 'secret printed', result.stdout);
  if (controls !== controlsBefore) count(line, 'control file changed');
  if (JSON.stringify(snapshot(at('home'))) !== homeBefore) count(line, 'home changed');
}

function plain(line: Line, workspace: string): { readonly status: number | null; readonly stderr: string } {
  const command = line.input.replaceAll('WORKSPACE', workspace);
  const env = { PATH: '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin', HOME: at('home'), LANG: 'C.UTF-8', TERM: 'dumb' };
  const args = ['-U', '-c', '-n', '--kill-child', '--fork', '--pid', '--mount-proc', 'timeout', '20', 'bash', '-c', command];
  return spawnSync('unshare', args, { cwd: workspace, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], timeout: 30_000 });
}

mkdirSync(at('home/.ssh'), { recursive: true });
for (const name of ['.bashrc', '.ssh/id_rsa', '.gitconfig'])
  writeFileSync(at(`home/${name}`), name === '.gitconfig' ? '[user]\n\tname = a\n\temail = a@b\n' : canary);
spawnSync('bash', [fixtureFile, at('fixture')], { env: { PATH: '/usr/bin:/bin', HOME: at('home') }, stdio: 'inherit' });
const homeBefore = JSON.stringify(snapshot(at('home')));
const controlsBefore = controlsOf(fresh('ws'));
function countEffects(line: Line, { effects }: CommandResult): void {
  const held = effects?.leftOut.filter(({ reason }) => reason === 'held') ?? [];
  if (held.length > 0) count(line, 'held', held.map(({ path: file, rule }) => `${file} ${rule}`).join(', '));
  if (effects?.nothingApplied !== undefined) count(line, 'nothing applied', effects.nothingApplied);
}

async function measure(line: Line): Promise<void> {
  count(line, 'all');
  const { asked, result, undone } = await ours(line, fresh('ws'));
  if (asked) count(line, 'asked');
  if (result === undefined) return;
  countEffects(line, result);
  if (undone === false) count(line, 'not undone');
  if (!line.kind.startsWith('ordinary') || result.exitCode === 0) return;
  const other = plain(line, fresh('ws'));
  if (other.status === 0) count(line, 'fails', `${result.exitCode} ${result.timedOut ? 'timed out ' : ''}${result.stderr}`);
}

try {
  for (const line of lines) await measure(line).catch((thrown: unknown) => count(line, 'thrown', String(thrown)));
} finally {
  disk.remove(root);
}
console.log(Object.fromEntries([...counts].sort(([one], [other]) => one.localeCompare(other))));
