/**
 * A process of its own that makes runs: `node run-as.ts JOB as JSON`. Tests start it as another user, or have it killed at a step of the disk.
 * Prints the outcomes as JSON.
 */
import { type Disk, disk } from '#execution/effects/disk';
import type { RunEffects } from '#kernel/effects';
import { holdMarked, openBench, type Way } from '../support/effects-bench.ts';

export interface Job {
  readonly root: string;
  readonly way?: Way;
  readonly commands: readonly string[];
  /** Undo this run afterwards; `last`: that of the last command. */
  readonly undo?: string;
  readonly hide?: readonly string[];
  /** Hold what the `holdMarked` judge holds; `apply`: and apply what the last command left held, the only changes of the disk that count then. */
  readonly hold?: 'keep' | 'apply';
  /** End at once before this change of the disk (counted from 1), those of the first `sparing` runs left out. */
  readonly killAt?: number;
  readonly sparing?: number;
}

const job = JSON.parse(process.argv[2] ?? '') as Job;
let count = 0;
let armed = false;

function counted(): Disk {
  const wrap =
    <A extends unknown[], R>(act: (...args: A) => R) =>
    (...args: A): R => {
      if (armed) count += 1;
      if (count === job.killAt) process.kill(process.pid, 'SIGKILL');
      return act(...args);
    };
  return Object.fromEntries(
    Object.entries(disk).map(([name, act]) => [name, wrap(act as (...args: unknown[]) => unknown)]),
  ) as unknown as Disk;
}

const bench = openBench({ root: job.root, way: job.way, disk: counted(), ...(job.hold === undefined ? {} : { judge: holdMarked }) });
const done: RunEffects[] = [];
for (const [index, command] of job.commands.entries()) {
  armed = job.hold !== 'apply' && index >= (job.sparing ?? 0);
  done.push(await bench.run(command, { hide: job.hide ?? [] }));
}
armed = true;
const heldId = done.at(-1)?.heldId;
if (job.hold === 'apply' && heldId !== undefined)
  done.push(await bench.effects.applyHeld(heldId, (await bench.effects.held(heldId))?.digest ?? ''));
const undone = job.undo === 'last' ? done.at(-1)?.runId : job.undo;
if (undone !== undefined) await bench.effects.undo(undone, { force: false });
process.stdout.write(JSON.stringify({ done, steps: count }));
