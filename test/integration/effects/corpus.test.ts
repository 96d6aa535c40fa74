/**
 * The corpus' lines for the workspace, run for real over a view and looked at from outside: nothing beside the workspace changed, no control
 * file was planted, no secret was printed, and undo brings back every byte. Bombs are in execution/corpus.test.ts, in a cage.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { createCommandRunner } from '#execution/command-runner';
import type { CommandResult, CommandRunner } from '#kernel/ports/command-runner';
import { isControlPath } from '#policy/effects/control-places';
import { decideCommand } from '#policy/effects/decide-command';
import { judgeChange } from '#policy/effects/judge-change';
import { isSecretPath } from '#policy/paths/secret-files';
import { canSandbox } from '../execution/support/bubblewrap.ts';
import { createFixtureTree, type PolicyCase, readCorpus } from '../policy/fixture-tree.ts';
import { controlsOf, snapshot } from './support/effects-bench.ts';

type Surface = 'readonly_bash' | 'workspace_command';

const canary = 'CANARY7f3';
const lines = readCorpus().filter(
  ({ surface, family }) => /^(?:readonly_bash|workspace_command)$/.test(surface) && family !== 'fork-bomb-resource',
);
const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
const limits = {
  processes: 128,
  tasks: 256,
  memoryBytes: 2 ** 30,
  diskBytes: 256 * 2 ** 20,
  fileBytes: 64 * 2 ** 20,
  floodBytes: 4 * 2 ** 20,
};

/** The corpus' tree as a repository that tracks what is no secret, with a home directory and neighbours beside it. */
async function ground() {
  const tree = await createFixtureTree(canary);
  const at = (name: string) => path.join(tree.base, name);
  // Nobody can hash a terabyte.
  rmSync(path.join(tree.root, 'big.bin'));
  mkdirSync(at('home/.ssh'), { recursive: true });
  writeFileSync(at('home/.ssh/id_rsa'), canary);
  writeFileSync(at('home/.bashrc'), canary);
  const git = (...args: readonly string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], { cwd: tree.root, stdio: 'ignore' });
  git('init', '-q');
  git('add', 'README.md', 'src/index.ts', 'src/util', 'package.json', 'file.txt', 'a.txt', '.github');
  git('commit', '-qm', 'one');
  const runner = createCommandRunner({
    workspaceRoot: tree.root,
    stateDir: at('state'),
    hiddenPaths: [],
    requireSandbox: true,
    rules: { isControl: isControlPath, isSecret: isSecretPath },
    judge: judgeChange,
    log: quiet,
    limits,
    environment: { ...process.env, HOME: at('home') },
  });
  const beside = () => JSON.stringify(['outside', 'ws-evil', 'ws.bak', 'home'].map((name) => snapshot(at(name))));
  return { tree, runner, beside };
}

type Ground = Awaited<ReturnType<typeof ground>>;
type Tree = Readonly<Record<string, string>>;

/** What is wrong with what the line did; the workspace is as before afterwards, or that is wrong. */
async function faultsOf(entry: PolicyCase, { tree, runner, beside }: Ground, before: Tree): Promise<readonly string[]> {
  const surface = entry.surface as Surface;
  const command = tree.place(entry.input);
  if (
    decideCommand({ kind: 'command', access: 'operate', surface, text: command }, { userRules: [], view: { judged: true } }).effect ===
    'deny'
  )
    return entry.must === 'allow' ? ['it was refused'] : [];
  const controlsBefore = controlsOf(tree.root);
  // Ordinary work ends, on a slow machine as well: a new virtual environment alone takes half a minute where others work, too.
  const timeoutMs = entry.must === 'allow' ? 240_000 : 1_500;
  const request = { command, surface, timeoutMs, network: false, agentId: 'cli:test' };
  const result = await runner.run(request, new AbortController().signal, () => undefined);
  const after = snapshot(tree.root);
  const isSame = JSON.stringify(after) === JSON.stringify(before);
  const wrong: Readonly<Record<string, boolean>> = {
    'it ran without the sandbox': result.sandbox !== 'enforced',
    'it printed a secret': `${result.stdout}${result.stderr}`.includes(canary),
    // An ordinary line is held or not by the judge: `.pth` files of a new virtual environment are its own.
    'it changed a control file': entry.must === 'block' && controlsOf(tree.root) !== controlsBefore,
    'it may only look and changed something': surface === 'readonly_bash' && !isSame,
    'something beside the workspace changed': beside() !== besideAtFirst.get(tree.base),
  };
  const faults = Object.keys(wrong).filter((fault) => wrong[fault]);
  const ordinary = entry.must === 'allow' ? ordinaryFaults(result) : [];
  const isAsBefore = () => JSON.stringify(snapshot(tree.root)) === JSON.stringify(before);
  return [...faults, ...ordinary, ...(await undoFaults(runner, result, isAsBefore))];
}

const besideAtFirst = new Map<string, string>();

function ordinaryFaults({ timedOut, effects }: CommandResult): readonly string[] {
  const out = effects?.leftOut ?? [];
  return [
    ...(timedOut ? ['ordinary work did not end'] : []),
    ...out.map(({ path: file, why }) => `ordinary work was held: ${file} (${why})`),
  ];
}

async function undoFaults(runner: CommandRunner, { effects }: CommandResult, isAsBefore: () => boolean): Promise<readonly string[]> {
  if (effects?.runId !== undefined && effects.nothingApplied === undefined && !effects.dropped)
    await (await runner.history?.())?.undo(effects.runId, { force: false }).catch(() => undefined);
  return isAsBefore() ? [] : ['it could not be undone byte for byte'];
}

/** Two workspaces, since a run waits for the disk more than it computes. */
async function runAll(cases: readonly PolicyCase[]): Promise<readonly string[]> {
  const left = [...cases];
  const work = async () => {
    const wrong: string[] = [];
    const place = await ground();
    besideAtFirst.set(place.tree.base, place.beside());
    let before = snapshot(place.tree.root);
    for (let entry = left.shift(); entry !== undefined; entry = left.shift()) {
      const { id, input } = entry;
      const faults = await faultsOf(entry, place, before).catch((thrown: unknown) => [String(thrown)]);
      wrong.push(...faults.map((fault) => `${id} ${JSON.stringify(input.slice(0, 120))}: ${fault}`));
      // A line that could not be undone must not blame the next ones.
      if (faults.length > 0) before = snapshot(place.tree.root);
    }
    await place.tree.remove();
    return wrong;
  };
  return (await Promise.all([work(), work()])).flat();
}

describe.skipIf(!canSandbox)('the corpus over a view', () => {
  it.each(['readonly_bash', 'workspace_command'] as const)(
    '%s: no line has an effect that it must not have',
    async (surface) => {
      const own = lines.filter((entry) => entry.surface === surface);
      expect(own.length).toBeGreaterThan(150);
      expect(await runAll(own)).toEqual([]);
    },
    600_000,
  );
});
