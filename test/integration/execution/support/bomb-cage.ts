/**
 * A fork bomb whose sandbox is broken takes the machine with it. Tests that start one run in a control group with a limit of its own,
 * watched by a process outside it, or as another user than root, or not at all.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll } from 'vitest';

const most = 1_500;
const silentSeconds = 30;

/** Shell builtins only: nothing that must be started when it is needed. Waits for as long as it hears of this process. */
const watchdog = `while read -r -t ${silentSeconds} _; do :; done
echo 0 > "$1/pids.max"
for ((turn = 0; turn < 1000; turn++)); do
  found=
  while read -r pid; do found=1; kill -KILL "$pid" 2>/dev/null; done < "$1/cgroup.procs"
  [[ $found ]] || exit 0
done`;

function cage(): boolean {
  if (process.getuid?.() !== 0) return true;
  const root = ['/sys/fs/cgroup/pids', '/sys/fs/cgroup'].find((place) => existsSync(path.join(place, 'cgroup.procs')));
  if (root === undefined) return false;
  const group = path.join(root, `banksman-test-${process.pid}`);
  try {
    mkdirSync(group);
    writeFileSync(path.join(group, 'pids.max'), String(most));
    const guard = spawn('/bin/bash', ['-c', watchdog, 'bash', group], { stdio: ['pipe', 'ignore', 'inherit'], detached: true });
    // This process and all that it starts from now on.
    writeFileSync(path.join(group, 'cgroup.procs'), String(process.pid));
    const beat = setInterval(() => guard.stdin?.write('\n'), 1_000);
    afterAll(() => leave({ root, group, guard, beat }));
    return true;
  } catch {
    return false;
  }
}

interface Cage {
  readonly root: string;
  readonly group: string;
  readonly guard: ChildProcess;
  readonly beat: NodeJS.Timeout;
}

async function leave({ root, group, guard, beat }: Cage): Promise<void> {
  writeFileSync(path.join(root, 'cgroup.procs'), String(process.pid));
  clearInterval(beat);
  const ended = once(guard, 'exit');
  // Whatever is left in there ends now.
  guard.stdin?.end();
  await ended;
  for (let wait = 1; existsSync(group) && wait < 2_000; wait *= 2) {
    try {
      rmdirSync(group);
    } catch {
      // The last process was collected a moment ago.
      await delay(wait);
    }
  }
}

export const bombsAreCaged = cage();
if (!bombsAreCaged)
  console.warn('tests with fork bombs are skipped: run them as another user than root, or where /sys/fs/cgroup can be written');
