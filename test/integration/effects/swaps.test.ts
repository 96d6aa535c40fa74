/**
 * Somebody outside puts a link in the place of a directory while a run is opened, read, applied, undone, rolled back or taken back by the next start:
 * at each change of the disk and each program once, and as a process that does nothing else. Whatever becomes of the run, nothing outside is changed.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, lstatSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Disk, disk } from '#execution/effects/disk';
import { programRunner } from '#execution/run-child';
import type { ProgramRunner } from '#kernel/ports/program-runner';
import { temporaryDirectory } from '../execution/support/temporary.ts';
import { openBench, snapshot } from './support/effects-bench.ts';
import { runApart } from './support/run-as.ts';

/** Outside is a twin: the files by the same inodes, the directories others, so that only the way to them tells. */
const fixture = `mkdir -p ws/a/b ws/a/gone ws/a/c; cd ws/a; echo one > f; echo two > g; echo x > gone/x; echo y > b/y; echo o > c/o; chmod 555 c
cd ../..; cp -al ws/a outside; rm -r outside/b; cp -a ws/a/b outside; touch -d 2001-02-03 outside/b outside`;
const command =
  'cd a; echo more >> f; echo new > n; rm g; rm -r gone; mkdir -p t/u; echo t > t/u/t; chmod 700 b; chmod 600 b/y; chmod 755 c; echo p > c/p; chmod 555 c; touch -d 1999-01-01 b/y; ln b/y l';

interface Ground {
  readonly root: string;
  readonly outside: () => unknown;
  readonly swap: () => void;
  readonly swapBack: () => void;
}

/** Without the top's times, which a swap in it changes, and without whether a file has other names: those of the twin come and go. */
function stateOf(directory: string): unknown {
  const entries = Object.entries(snapshot(directory)).filter(([name]) => name !== '.');
  return entries.map(([name, state]) => `${name} ${state.replace(/ +(?:linked)?$/, '')}`);
}

function renew({ root }: Pick<Ground, 'root'>): void {
  execFileSync('bash', ['-ec', `rm -rf ws outside; ${fixture}`], { cwd: root });
}

function openGround(root = temporaryDirectory('swaps-'), leads = path.join(root, 'outside')): Ground {
  renew({ root });
  const at = (name: string) => path.join(root, name);
  return {
    root,
    outside: () => stateOf(at('outside')),
    swap: () => {
      renameSync(at('ws/a'), at('away'));
      symlinkSync(leads, at('ws/a'));
    },
    swapBack: () => {
      unlinkSync(at('ws/a'));
      renameSync(at('away'), at('ws/a'));
    },
  };
}

interface Disturbed<Of> {
  readonly watched: Of;
  readonly count: () => number;
  /** From here on acts count. The command itself has no cage here, and would follow a link. */
  readonly arm: () => void;
}

/** Acts before the change of the disk, or the start of a program, of that number, counted from 1. */
function disturbed<Of extends Disk | ProgramRunner>(real: Of, acts: Readonly<Record<number, () => void>>, isArmed = true): Disturbed<Of> {
  let count = 0;
  let armed = isArmed;
  const wrap =
    <A extends unknown[], R>(act: (...args: A) => R) =>
    (...args: A): R => {
      if (armed) count += 1;
      if (armed) acts[count]?.();
      return act(...args);
    };
  const wrapped = Object.entries(real).map(([name, act]) => [name, wrap(act as (...args: unknown[]) => unknown)]);
  const arm = () => {
    armed = true;
  };
  return { watched: Object.fromEntries(wrapped) as Of, count: () => count, arm };
}

/** One run, disturbed once its command has ended. @returns what it says, and how many changes of the disk there were */
async function disturbedRun(ground: Ground, acts: Readonly<Record<number, () => void>> = {}) {
  const { watched, count, arm } = disturbed(disk, acts, false);
  const done = await openBench({ root: ground.root, disk: watched })
    .run(command, { meanwhile: arm })
    .catch(() => undefined);
  return { done, steps: count() };
}

/** The link leads elsewhere from the workspace than from where its entries are copied to in the journal: there it leads outside. */
function openLeading(): Ground {
  const root = path.join(temporaryDirectory('swaps-'), 'in/root');
  mkdirSync(root, { recursive: true });
  const ground = openGround(root, '../../../outside');
  execFileSync('bash', ['-ec', 'cp -a outside ../..; cd ../../outside; find . -type f -exec touch -d 1998-01-01 {} +; chmod -R g+w .'], {
    cwd: root,
  });
  return ground;
}

const timeout = 240_000;

describe('a directory that becomes a link at each step', () => {
  it('of applying leads nothing outside, and what it met is a conflict that says so', { timeout }, async () => {
    const { steps } = await disturbedRun(openGround());
    const said = new Set<string>();
    for (let step = 1; step <= steps; step += 1) {
      const ground = openGround();
      const before = ground.outside();
      const { done } = await disturbedRun(ground, { [step]: ground.swap });
      for (const { reason, why } of done?.leftOut ?? []) said.add(`${reason}: ${why}`);
      expect(ground.outside(), `swapped at ${step} of ${steps}`).toEqual(before);
    }
    expect([...said].join('\n')).toContain('conflict: a directory on the way to it is a link');
  });

  it('of the programs that read what changed leads nothing outside', { timeout }, async () => {
    const swappedAt = async (step: number) => {
      const ground = openLeading();
      const before = ground.outside();
      const { watched, count, arm } = disturbed(programRunner, { [step]: ground.swap }, false);
      await openBench({ root: ground.root, programs: watched })
        .run(command, { meanwhile: arm, apply: false })
        .catch(() => undefined);
      expect(ground.outside(), `swapped at ${step}`).toEqual(before);
      return count();
    };
    const steps = await swappedAt(0);
    expect(steps).toBeGreaterThan(4);
    for (let step = 1; step <= steps; step += 1) await swappedAt(step);
  });

  it.each(['overlay', 'copy'])('of opening leads nothing outside: %s', { timeout }, async (way) => {
    const { root, outside, swap } = openGround();
    const before = outside();
    const { watched, count } = disturbed(programRunner, { 1: swap });
    const opened = openBench({ root, programs: watched }).effects.open(['a/c/o', 'a/b/y'], { copy: way === 'copy' });
    await opened.then(
      (run) => run.discard(),
      (thrown: { readonly code?: string }) => expect(thrown.code).toBe('PATH_CHANGED'),
    );
    expect(count()).toBeGreaterThan(0);
    expect(outside()).toEqual(before);
  });

  it('of opening, where it was a secret and is the directory of one, leads nothing outside', async () => {
    const { root, outside } = openLeading();
    const before = outside();
    execFileSync('bash', ['-ec', 'mv b away; ln -s ../../../../outside b; echo s > ../../../../outside/s'], {
      cwd: path.join(root, 'ws/a'),
    });
    const fault = await openBench({ root })
      .effects.open(['a/b', 'a/b/s'])
      .catch((thrown: unknown) => thrown);
    expect(outside()).toEqual(before);
    expect(fault).toMatchObject({ code: 'PATH_CHANGED' });
  });

  it('of undoing leads nothing outside; it stops there, and can be carried on once the directory is back', { timeout }, async () => {
    const undone = async (acts: Readonly<Record<number, () => void>>, ground: Ground) => {
      const before = stateOf(path.join(ground.root, 'ws'));
      const { runId = '' } = await openBench({ root: ground.root }).run(command);
      const untouched = ground.outside();
      const { watched, count } = disturbed(disk, acts);
      const { effects } = openBench({ root: ground.root, disk: watched });
      const fault = await effects.undo(runId, { force: false }).then(
        () => undefined,
        (thrown: { readonly code?: string; readonly message?: string }) => thrown,
      );
      expect(ground.outside()).toEqual(untouched);
      return { before, runId, fault, count: count() };
    };
    const { count: steps } = await undone({}, openGround());
    const codes = new Set<string | undefined>();
    for (let step = 1; step <= steps; step += 1) {
      const ground = openGround();
      const { before, runId, fault } = await undone({ [step]: ground.swap }, ground);
      codes.add(fault?.code);
      if (lstatSync(path.join(ground.root, 'ws/a')).isSymbolicLink()) ground.swapBack();
      const { effects } = openBench({ root: ground.root });
      const [record] = await effects.list();
      if (record?.state !== 'undone') await effects.undo(runId, { force: false });
      expect(stateOf(path.join(ground.root, 'ws')), `swapped at ${step} of ${steps}`).toEqual(before);
    }
    expect(codes).toContain('undo_in_the_way');
  });

  it('of a rollback leads nothing outside', { timeout }, async () => {
    const { steps } = await disturbedRun(openGround());
    const fail = () => {
      throw Object.assign(new Error('no'), { code: 'EIO' });
    };
    for (let at = Math.ceil(steps / 2); at < steps; at += 3) {
      for (const later of [1, 4]) {
        const ground = openGround();
        const before = ground.outside();
        await disturbedRun(ground, { [at]: fail, [at + later]: ground.swap });
        expect(ground.outside(), `failed at ${at} of ${steps}, swapped ${later} later`).toEqual(before);
      }
    }
  });

  it('of what the next start takes back leads nothing outside', { timeout }, async () => {
    const { steps: all = 0 } = runApart({ root: openGround().root, commands: [command] }) ?? {};
    const killAt = all - 12;
    const killed = () => {
      const ground = openGround();
      const before = ground.outside();
      runApart({ root: ground.root, commands: [command], killAt });
      expect(ground.outside()).toEqual(before);
      return { ...ground, before };
    };
    const counting = disturbed(disk, {});
    await openBench({ root: killed().root, disk: counting.watched }).effects.list();
    const steps = counting.count();
    expect(steps).toBeGreaterThan(8);
    for (let step = 0; step <= steps; step += 1) {
      const { root, outside, swap, before } = killed();
      if (step === 0) swap();
      await openBench({ root, disk: disturbed(disk, { [step]: swap }).watched }).effects.list();
      expect(outside(), `swapped at ${step} of ${steps}`).toEqual(before);
    }
  });
});

describe('somebody who is faster', () => {
  it.each(['mkdir "$0"; echo theirs > "$0/x"', 'echo theirs > "$0"'])(
    'at the place of a new directory is a conflict: %s',
    async (theirs) => {
      const { root } = openGround();
      const make = (to: string) => to.endsWith('/./new') && execFileSync('bash', ['-c', theirs, path.join(root, 'ws/new')]);
      const rename = (from: string, to: string) => {
        make(to);
        disk.rename(from, to);
      };
      const { run } = openBench({ root, disk: { ...disk, rename } });
      const done = await run('mkdir -p new/deep; echo ours > new/deep/o; chmod 555 new; echo n > n');
      expect(done).toMatchObject({ created: ['n'], leftOut: [{ path: 'new', reason: 'conflict' }] });
      expect(execFileSync('bash', ['-c', 'cat new new/* 2> /dev/null || true'], { cwd: path.join(root, 'ws'), encoding: 'utf8' })).toBe(
        'theirs\n',
      );
    },
  );
});

interface Adversary {
  readonly ground: Ground;
  readonly start: () => Promise<void>;
  /** The directory is in its place then. */
  readonly stop: () => Promise<void>;
  /** So far. */
  readonly swaps: () => number;
}

async function openAdversary(): Promise<Adversary> {
  const ground = openGround();
  const [go, parked] = [path.join(ground.root, 'go'), path.join(ground.root, 'parked')];
  const child = spawn(process.execPath, [path.join(import.meta.dirname, 'children/swap-parent.ts'), ground.root], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const closed = once(child, 'close');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await closed;
  });
  const until = async (isThere: boolean) => {
    while (existsSync(parked) !== isThere) {
      if (child.exitCode !== null) throw new Error('the adversary ended');
      await delay(2);
    }
  };
  await until(true);
  const swaps = () => Number(readFileSync(parked, 'utf8'));
  return {
    ground,
    swaps,
    start: async () => {
      writeFileSync(go, '');
      await until(false);
    },
    stop: async () => {
      rmSync(go, { force: true });
      await until(true);
    },
  };
}

/** More of them by hand: `BANKSMAN_RACE_ROUNDS=200`. */
const rounds = Number(process.env['BANKSMAN_RACE_ROUNDS'] ?? 5);

describe('a process that swaps a directory and a link all the time', () => {
  it('gets nothing outside changed by applying, undoing and taking back after a kill', { timeout: timeout + rounds * 10_000 }, async () => {
    const { ground, start, stop, swaps } = await openAdversary();
    const seen: Record<string, number> = {};
    const count = (name: string) => {
      seen[name] = (seen[name] ?? 0) + 1;
    };
    const { steps = 0 } = runApart({ root: openGround().root, commands: [command] }) ?? {};
    for (let round = 0; round < rounds; round += 1) {
      renew(ground);
      const before = ground.outside();
      const { effects, run } = openBench({ root: ground.root });
      // By turns from the end of the command on, and from the undo on.
      const done = await run(command, round % 2 === 0 ? { meanwhile: start } : {}).catch(() => undefined);
      if (round % 2 === 1) await start();
      count(done === undefined ? 'apply failed' : `applied with ${Math.sign(done.leftOut.length)} conflicts`);
      if (done?.runId !== undefined) count(`undo ${await effects.undo(done.runId, { force: false }).then(() => 'done', codeOf)}`);
      await stop();
      expect(ground.outside(), `round ${round}`).toEqual(before);
      renew(ground);
      const fresh = ground.outside();
      runApart({ root: ground.root, commands: [command], killAt: steps - 8 - (round % 10) });
      await start();
      count(
        `recovery ${await openBench({ root: ground.root })
          .effects.list()
          .then(() => 'done', codeOf)}`,
      );
      await stop();
      expect(ground.outside(), `round ${round}`).toEqual(fresh);
    }
    if (rounds > 10) console.log(JSON.stringify({ rounds, swaps: swaps(), ...seen }));
    expect(swaps()).toBeGreaterThan(0);
  });
});

function codeOf(thrown: { readonly code?: string }): string {
  return String(thrown.code);
}
