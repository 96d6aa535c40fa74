/**
 * Counts over lines of shell, each in a fresh workspace: `node test/bench/effects-lines.ts LINES.jsonl FIXTURE.sh [KIND …]`. A line is
 * `{ id, kind, input }`. Each is run and undone; `ordinary` ones on plain bash too, before and after, in a workspace at the same place:
 * exit codes, words and trees are compared where plain bash agrees with itself. Of all others is counted what is left. `TMPDIR` is where,
 * `WATCH` names more places in which nothing may change. Run as a user who may be harmed: the ordinary lines run on the host, too.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, realpathSync, writeFileSync } from 'node:fs';
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
const home = process.env['BENCH_HOME'] ?? at('home');
const watched = (process.env['WATCH'] ?? '').split(':').filter((place) => place !== '');
const lines = readFileSync(linesFile, 'utf8')
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => JSON.parse(line) as Line)
  .filter(({ kind }) => kinds.length === 0 || kinds.includes(kind));
const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: console.error };
const counts = new Map<string, number>();
const signal = new AbortController().signal;
const limitMs = 30_000;

function count(line: Line, what: string, detail = ''): void {
  counts.set(`${line.kind}: ${what}`, (counts.get(`${line.kind}: ${what}`) ?? 0) + 1);
  if (what !== 'all') console.log(`${line.id} ${what} ${JSON.stringify(line.input.slice(0, 160))} ${detail.slice(0, 600)}`);
}

function fresh(name: string): string {
  spawnSync('chmod', ['-R', 'u+rwx', at(name)], { stdio: 'ignore' });
  disk.remove(at(name));
  spawnSync('cp', ['-a', at('fixture'), at(name)]);
  return at(name);
}

/** The workspace is made anew at the same place for each line. */
let opened: CommandRunner | undefined;

function runnerOf(workspaceRoot: string): CommandRunner {
  const rules = { isControl: isControlPath, isSecret: isSecretPath };
  const place = { workspaceRoot, stateDir: at('state'), hiddenPaths: [], requireSandbox: true };
  opened ??= createCommandRunner({ ...place, rules, judge: judgeChange, log: quiet, environment: { ...process.env, HOME: home } });
  return opened;
}

interface Left {
  readonly exitCode: number | undefined;
  readonly words: string;
  readonly tree: Readonly<Record<string, string>>;
}

interface Ours extends Left {
  readonly result: CommandResult;
  readonly undone: boolean;
}

/** undefined: a person is asked before. */
async function ours(line: Line, workspace: string): Promise<Ours | undefined> {
  const command = line.input.replaceAll('WORKSPACE', workspace);
  const runner = runnerOf(workspace);
  const target = { kind: 'command', access: 'operate', surface: 'workspace_command', text: command } as const;
  const status = await runner.status();
  if (decideCommand(target, { userRules: [], view: status.view }).effect !== 'allow') {
    count(line, 'asked', JSON.stringify(status));
    return undefined;
  }
  const before = everything(workspace);
  const request = { command, surface: 'workspace_command', timeoutMs: limitMs, network: false, agentId: 'cli:bench' } as const;
  const result = await runner.run(request, signal, () => undefined);
  if (!line.kind.startsWith('ordinary')) check(line, result, workspace);
  const left = leftIn(workspace, result.exitCode, `${result.stdout}\n${result.stderr}`);
  const { runId } = result.effects ?? {};
  if (runId !== undefined) await (await runner.history?.())?.undo(runId, { force: false });
  const after = everything(workspace);
  const differing = Object.keys({ ...before, ...after }).filter((name) => before[name] !== after[name]);
  if (differing.length > 0)
    count(line, 'not undone', differing.map((name) => `${name}: ${before[name] ?? '-'} → ${after[name] ?? '-'}`).join('; '));
  return { ...left, result, undone: differing.length === 0 };
}

/** With extended attributes, which Node cannot read. */
function everything(workspace: string): Readonly<Record<string, string>> {
  const script = `import os,sys
found=[]
for d,ds,fs in os.walk(sys.argv[1]):
  for n in ['.']+fs:
    p=os.path.join(d,n)
    found+=[(p,a,os.getxattr(p,a,follow_symlinks=False)) for a in os.listxattr(p,follow_symlinks=False)]
print(sorted(found))`;
  const attributes = spawnSync('/usr/bin/python3', ['-c', script, workspace], { encoding: 'utf8' }).stdout;
  return { ...snapshot(workspace), attributes };
}

function check(line: Line, result: CommandResult, workspace: string): void {
  if (`${result.stdout}${result.stderr}`.includes(canary)) count(line, 'secret printed', result.stdout);
  const controls = controlsOf(workspace);
  if (controls !== controlsBefore) count(line, 'control file changed', controls);
  if (JSON.stringify(snapshot(at('home'))) !== homeBefore) count(line, 'home changed');
}

function plain(line: Line, workspace: string): Left {
  const command = line.input.replaceAll('WORKSPACE', workspace);
  const searchPath = process.env['PATH'] ?? '';
  const env = { ...process.env, PATH: searchPath, HOME: home, LANG: 'C.UTF-8', TERM: 'dumb', SHLVL: '1', OLDPWD: undefined };
  const ofUsers = process.getuid?.() === 0 ? [] : ['-U', '-c', '--keep-caps'];
  const script = 'ip link set lo up; exec setpriv --ambient-caps=-all --inh-caps=-all timeout 30 bash -c "$0"';
  const args = [...ofUsers, '-n', '--kill-child', '--fork', '--pid', '--mount-proc', 'bash', '-c', script];
  const options = { cwd: workspace, env, encoding: 'utf8', timeout: 40_000, maxBuffer: 1e8 } as const;
  const { status, stdout, stderr } = spawnSync('unshare', [...args, command], options);
  return leftIn(workspace, status ?? undefined, `${stdout}\n${stderr}`);
}

/** What git says of a repository but for times and what it names by them. */
const questions = `git status --porcelain; git log --all --format='%s %T' | grep -v 'WIP on\\|index on' | sort; git stash list --format=%gs | sed 's/: .*//'
git branch -a; git ls-files -s; git config -l --local; git worktree list | sed -E 's/ +[0-9a-f]{7,} / /'; git tag`;
const day = 86_400_000_000_000n;

/** Without what two runs of the same line never have in common: new times and what git names by them. */
function leftIn(workspace: string, exitCode: number | undefined, words: string): Left {
  const now = BigInt(Date.now()) * 1_000_000n;
  const entries = Object.entries(snapshot(workspace)).flatMap(([name, state]) => {
    if (/(?:^|\/)\.git(?:\/|$)/.test(name)) return [];
    return [[name, state.replace(' linked', '').replace(/ (\d+) /, (all, time: string) => (now - BigInt(time) < day ? ' new ' : all))]];
  });
  const env = {
    ...process.env,
    GIT_OPTIONAL_LOCKS: '0',
    GIT_CONFIG_COUNT: '1',
    GIT_CONFIG_KEY_0: 'safe.directory',
    GIT_CONFIG_VALUE_0: '*',
  };
  const { stdout } = spawnSync('bash', ['-c', questions], { cwd: workspace, encoding: 'utf8', env });
  return { exitCode, words, tree: Object.fromEntries([...entries, ['git', stdout]]) };
}

mkdirSync(at('home/.ssh'), { recursive: true });
for (const name of ['.bashrc', '.ssh/id_rsa', '.gitconfig'])
  writeFileSync(at(`home/${name}`), name === '.gitconfig' ? '[user]\n\tname = a\n\temail = a@b\n' : canary);
spawnSync('bash', [fixtureFile, at('fixture')], { env: { PATH: '/usr/bin:/bin', HOME: at('home') }, stdio: 'inherit' });
const homeBefore = JSON.stringify(snapshot(at('home')));
const controlsBefore = controlsOf(fresh('ws'));

function countEffects(line: Line, { effects, needsNetwork }: CommandResult): void {
  if (needsNetwork === true) count(line, 'network');
  for (const kind of ['held', 'refused', 'conflict', 'not a file']) {
    const out = effects?.leftOut.filter(({ reason }) => reason === kind) ?? [];
    if (out.length > 0) count(line, kind, out.map(({ path: file, rule, why }) => `${file} ${rule ?? why}`).join(', '));
  }
  if (effects?.nothingApplied !== undefined) count(line, 'nothing applied', effects.nothingApplied);
}

interface Compared {
  readonly left: Ours;
  readonly first: Left;
}

/** @returns how much differs from plain bash where its two runs agree */
function compare({ left, first }: Compared, second: Left, tell: (what: string, detail: string) => void): number {
  const { result } = left;
  const failed = `${result.exitCode} ${result.timedOut ? 'timed out ' : ''}${result.stderr.slice(-500)}`;
  const found: [string, string][] = [];
  if (first.exitCode === second.exitCode && first.exitCode !== left.exitCode)
    found.push([first.exitCode === 0 ? 'fails' : 'other exit code', `plain ${first.exitCode}, ours ${failed}`]);
  const names = Object.keys({ ...first.tree, ...second.tree, ...left.tree });
  const differing = names.filter((name) => first.tree[name] === second.tree[name] && first.tree[name] !== left.tree[name]);
  const shown = differing.map((name) => `${name}: ${JSON.stringify(firstDifference(first.tree[name] ?? '-', left.tree[name] ?? '-'))}`);
  if (differing.length > 0) found.push(['other tree', shown.join('; ')]);
  if (first.words === second.words && first.words !== left.words)
    found.push(['other words', JSON.stringify(firstDifference(first.words, left.words))]);
  for (const [what, detail] of found) tell(what, detail);
  return found.length;
}

function firstDifference(one: string, other: string): readonly [string, string] {
  const [left, right] = [one.split('\n'), other.split('\n')];
  const index = left.findIndex((text, number) => text !== right[number]);
  return [left[index] ?? '', right[index] ?? ''];
}

/** Processes that still have the run's places mounted. */
function leftRunning(before: ReadonlySet<string>): readonly string[] {
  return pids().filter((pid) => {
    if (before.has(pid)) return false;
    try {
      return readlinkSync(`/proc/${pid}/cwd`).startsWith(root) || readFileSync(`/proc/${pid}/mountinfo`, 'utf8').includes(root);
    } catch {
      return false;
    }
  });
}

function pids(): readonly string[] {
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name));
}

/** What changed there since the last look, but for the bench's own. */
function changedOutside(): readonly string[] {
  const own = ['ws', 'state', 'looked'].flatMap((name) => ['-o', '-path', at(name)]);
  const args = [
    root,
    ...watched,
    '-xdev',
    '(',
    '-false',
    ...own,
    ')',
    '-prune',
    '-o',
    '!',
    '-path',
    root,
    '-cnewer',
    at('looked'),
    '-print',
  ];
  const found = spawnSync('find', args, { encoding: 'utf8' })
    .stdout.split('\n')
    .filter((name) => name !== '');
  writeFileSync(at('looked'), '');
  return found;
}

async function measure(line: Line): Promise<void> {
  count(line, 'all');
  const isOrdinary = line.kind.startsWith('ordinary') || line.kind === 'host';
  const first = isOrdinary ? plain(line, fresh('ws')) : undefined;
  changedOutside();
  const before = new Set(pids());
  const left = await ours(line, fresh('ws'));
  const running = leftRunning(before);
  if (running.length > 0) count(line, 'left running', running.join(' '));
  const outside = changedOutside();
  if (outside.length > 0) count(line, 'changed outside', outside.join(' '));
  if (left !== undefined) countEffects(line, left.result);
  if (left === undefined || first === undefined) return;
  // The second time of plain bash is for the lines that differ alone.
  if (compare({ left, first }, first, () => undefined) > 0)
    compare({ left, first }, plain(line, fresh('ws')), (what, detail) => count(line, what, detail));
}

writeFileSync(at('looked'), '');
try {
  for (const line of lines) await measure(line).catch((thrown: unknown) => count(line, 'thrown', String(thrown)));
} finally {
  execFileSync('chmod', ['-R', 'u+rwx', root]);
  disk.remove(root);
}
console.log(Object.fromEntries([...counts].sort(([one], [other]) => one.localeCompare(other))));
