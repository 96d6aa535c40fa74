/** Commands that multiply. All of it runs in the cage: a limit that does not hold must not cost the machine. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { findProcessCages } from '#execution/sandbox/process-cage';
import { bombsAreCaged } from './support/bomb-cage.ts';
import { canSandbox } from './support/bubblewrap.ts';
import { processesMarked } from './support/processes.ts';
import { openWorkbench } from './support/workbench.ts';

const isRoot = process.getuid?.() === 0;
const bomb = 'bomb() { bomb | bomb & }; bomb; sleep 600';
const limits = { processes: 64, tasks: 128 };
/** So many that the looks from outside never end the run. */
const unwatched = { processes: 100_000, tasks: 128 };

const child = path.join(import.meta.dirname, 'children/run-and-wait.ts');
const nobody = { uid: 65_534, gid: 65_534 };
/** Whether another user may read the sources and run this Node. */
const othersMayRun = isRoot && spawnSync(process.execPath, ['--check', child], nobody).status === 0;
/** Starts more than the limit allows; `all` is there when it could, `refused` says so when it could not. */
const fill = 'fill() { for ((i = 0; i < 300; i++)); do sleep 60 & done; touch all; }; fill 2> refused &';
const count = `until [[ -s refused || -e all ]]; do :; done; all=(/proc/[0-9]*); echo \${#all[@]}`;

/** Control groups of runs below this process's own, whoever started them. */
function cagesHere(): readonly string[] {
  const own = /^\d+:(?:[^:]*,)?pids(?:,[^:]*)?:(.*)$/m.exec(readFileSync('/proc/self/cgroup', 'utf8'))?.[1];
  const directory = own === undefined ? undefined : path.join('/sys/fs/cgroup/pids', own);
  if (directory === undefined || !existsSync(directory)) return [];
  return readdirSync(directory).flatMap((name) => (/^banksman-\d+-\d+$/.test(name) ? [path.join(directory, name)] : []));
}

/** Prints how many of its threads could not be started. */
const threads = `import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
let refused = 0;
for (let n = 0; n < 30; n += 1) {
  try {
    await once(new Worker('setInterval(() => 0, 1000)', { eval: true }), 'online');
  } catch {
    refused += 1;
  }
}
console.log(refused);
process.exit(0);`;

describe.skipIf(!canSandbox || !bombsAreCaged)('a command that multiplies', () => {
  it('is stopped, however it does it', async () => {
    const result = await openWorkbench({ limits }).run(bomb);
    expect(result.stoppedBy).toBe('processes');
  });

  it('never has more processes than the limit, though nobody looks', async () => {
    const bench = openWorkbench({ limits: unwatched });
    const result = await bench.run(`${fill} ${count}`);
    expect(existsSync(path.join(bench.workspace, 'all'))).toBe(false);
    expect(Number(result.stdout)).toBeGreaterThan(unwatched.tasks / 2);
    expect(Number(result.stdout)).toBeLessThanOrEqual(unwatched.tasks);
  });

  it('counts threads, too', async () => {
    const bench = openWorkbench({ limits: { processes: 1_000, tasks: 24 } });
    bench.files({ 'threads.mjs': threads });
    const result = await bench.run('node threads.mjs');
    // Node may end for want of a thread before it can say so.
    expect(result.exitCode === 0 ? Number(result.stdout) : 'ended').not.toBe(0);
    await expect(openWorkbench().run(`cat > t.mjs <<'END'\n${threads}\nEND\nnode t.mjs`)).resolves.toMatchObject({ stdout: '0\n' });
  });

  it('ends with its time, at the limit', async () => {
    const result = await openWorkbench({ limits: unwatched }).run(bomb, { timeoutMs: 3_000 });
    expect(result.timedOut).toBe(true);
    expect(result.stderr).toContain('fork');
  });

  it('leaves no process, and the next command runs', async () => {
    const bench = openWorkbench({ limits });
    const mark = `banksman-${randomUUID()}`;
    await bench.run(`bomb() { bash -c 'exec -a ${mark} sleep 600' & bomb | bomb & }; bomb; sleep 600`);
    expect(processesMarked(mark)).toEqual([]);
    await expect(bench.run('echo next')).resolves.toMatchObject({ stdout: 'next\n' });
  });

  it.skipIf(!isRoot)('dies with a process that stood still meanwhile, and never got beyond the limit', async () => {
    const bench = openWorkbench();
    const runner = startRunner(bench.workspace, bench.state);
    const cage = await cageOf(runner);
    await vi.waitFor(() => expect(existsSync(path.join(bench.workspace, 'ready'))).toBe(true), { timeout: 20_000, interval: 2 });
    // As a machine that is out of breath has it.
    runner.kill('SIGSTOP');
    await vi.waitFor(() => expect(tasksIn(cage)).toBeGreaterThan(100), { timeout: 20_000, interval: 5 });
    expect(tasksIn(cage)).toBeLessThanOrEqual(unwatched.tasks);
    runner.kill('SIGKILL');
    await vi.waitFor(() => expect(tasksIn(cage)).toBe(0), { timeout: 20_000, interval: 20 });
    // The next that looks for a place removes what the dead one left, a moment after the last of its processes was collected.
    const collected = () => {
      findProcessCages();
      expect(cagesHere()).not.toContain(cage);
    };
    await vi.waitFor(collected, { timeout: 20_000, interval: 20 });
  });

  it.skipIf(!othersMayRun)('is held without a control group where it is not root’s', () => {
    const bench = openWorkbench();
    mkdirSync(bench.state);
    for (const directory of [bench.root, bench.workspace, bench.state]) chownSync(directory, nobody.uid, nobody.gid);
    const run = spawnSync(process.execPath, [child, bench.workspace, bench.state, `${fill} ${count} > count`, JSON.stringify(unwatched)], {
      ...nobody,
      env: { PATH: '/usr/bin:/bin', HOME: '/nonexistent' },
      timeout: 60_000,
    });
    expect(run.stderr.toString()).toBe('');
    expect(existsSync(path.join(bench.workspace, 'all'))).toBe(false);
    const most = Number(readFileSync(path.join(bench.workspace, 'count'), 'utf8'));
    expect(most).toBeGreaterThan(unwatched.tasks / 2);
    expect(most).toBeLessThanOrEqual(unwatched.tasks);
  });

  it.skipIf(!isRoot)('leaves no control group behind', async () => {
    const before = cagesHere();
    const bench = openWorkbench({ limits });
    await bench.run(bomb);
    await bench.run('true');
    await bench.run('sleep 600', { timeoutMs: 100 });
    expect(cagesHere()).toEqual(before);
  });
});

function startRunner(workspace: string, state: string): ChildProcess {
  // Loading a grammar is nothing for a process that must hurry: the command says when it is there.
  return spawn(process.execPath, [child, workspace, state, `touch ready; ${bomb}`, JSON.stringify(unwatched)], { stdio: 'ignore' });
}

/** The probe's own cage comes and goes before. */
async function cageOf(runner: ChildProcess): Promise<string> {
  return vi.waitFor(
    () => {
      const [cage] = cagesHere().filter((group) => group.includes(`banksman-${runner.pid}-`));
      if (cage === undefined || readFileSync(path.join(cage, 'pids.max'), 'utf8').trim() !== String(unwatched.tasks))
        throw new Error('not yet');
      return cage;
    },
    { timeout: 20_000, interval: 2 },
  );
}

function tasksIn(cage: string): number {
  return Number(readFileSync(path.join(cage, 'pids.current'), 'utf8'));
}
