/**
 * A fork bomb whose sandbox is broken takes the machine with it: RLIMIT_NPROC does not bind root. Tests that start one run in a control
 * group with a limit of its own, or as another user than root, or not at all.
 */
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll } from 'vitest';

const most = 1_500;

function cage(): boolean {
  if (process.getuid?.() !== 0) return true;
  const root = ['/sys/fs/cgroup/pids', '/sys/fs/cgroup'].find((place) => existsSync(path.join(place, 'cgroup.procs')));
  if (root === undefined) return false;
  const group = path.join(root, `banksman-test-${process.pid}`);
  try {
    mkdirSync(group);
    writeFileSync(path.join(group, 'pids.max'), String(most));
    // This process and all that it starts from now on.
    writeFileSync(path.join(group, 'cgroup.procs'), String(process.pid));
    afterAll(() => {
      writeFileSync(path.join(root, 'cgroup.procs'), String(process.pid));
      rmdirSync(group);
    });
    return true;
  } catch {
    return false;
  }
}

export const bombsAreCaged = cage();
if (!bombsAreCaged)
  console.warn('tests with fork bombs are skipped: run them as another user than root, or where /sys/fs/cgroup can be written');
