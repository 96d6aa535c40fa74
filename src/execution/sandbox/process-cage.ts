/**
 * A control group for each run, with an exact limit on its tasks: for root, whom RLIMIT_NPROC does not bind. It lies below this process's own
 * group, so that limits further out still hold. Source: the kernel's `cgroup-v2.rst`, `cgroup-v1/pids.rst` and `proc(5)`, mountinfo.
 */
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, rmdirSync, write, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

export interface ProcessCages {
  /** A run is near: makes its group, and has the processors wait while the run is prepared. INVARIANT: in this order, for no group is made meanwhile. */
  prepare(): void;
  /** @param tasks processes and threads. @throws where the system no longer lets us */
  open(tasks: number): ProcessCage;
}

export interface ProcessCage {
  /**
   * A move is near. The first one into a group after a while waits for all processors (10 to 20 ms), those within some 10 ms after it do not.
   * This one moves nothing, and waits in the place of one that does.
   */
  expect(): void;
  /** What the process starts from now on is held with it. @throws when it is gone, or the system does not let us */
  hold(pid: number): Promise<void>;
  /** Once all its processes are gone. What cannot be removed now is removed by the next `findProcessCages`. */
  remove(): Promise<void>;
}

/** The group that this process is in, where its children can be given a limit on tasks. */
interface Place {
  readonly directory: string;
  readonly version: 1 | 2;
}

const groupName = /^banksman-(\d+)-\d+$/;
let made = 0;

/** @returns undefined for other users than root, who need none, and where no group can be made */
export function findProcessCages(): ProcessCages | undefined {
  if (process.getuid?.() !== 0) return undefined;
  try {
    const place = followOwnPlace();
    removeLeft(place().directory);
    rmdirSync(makeGroup(place(), 1));
    return createCages(place);
  } catch {
    return undefined;
  }
}

function createCages(place: () => Place): ProcessCages {
  let ready: { readonly group: string; readonly directory: string } | undefined;
  return {
    prepare: () => {
      try {
        const now = place();
        ready ??= { group: makeGroup(now, 1), directory: now.directory };
        waitForProcessors(now);
      } catch {
        // `open` says what is wrong.
      }
    },
    open: (tasks) => {
      const now = place();
      const spare = ready;
      ready = undefined;
      if (spare?.directory !== now.directory) return cageOf(makeGroup(now, tasks), now);
      writeFileSync(path.join(spare.group, 'pids.max'), String(tasks));
      return cageOf(spare.group, now);
    },
  };
}

function cageOf(group: string, place: Place): ProcessCage {
  return {
    expect: () => waitForProcessors(place),
    hold: (pid) => move(group, pid),
    remove: () => remove(group, place.version),
  };
}

function waitForProcessors({ directory }: Place): void {
  try {
    move(directory, process.pid).catch(() => undefined);
  } catch {
    // `hold` says what is wrong.
  }
}

/** The write alone may wait, so it alone is left to another thread. */
function move(group: string, pid: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const descriptor = openSync(path.join(group, 'cgroup.procs'), 'w');
    write(descriptor, String(pid), (error) => {
      closeSync(descriptor);
      if (error === null) resolve();
      else reject(error);
    });
  });
}

function makeGroup({ directory, version }: Place, tasks: number): string {
  // Tasks are counted in a group that has processes of its own, too: such children must be threaded ones.
  if (version === 2) writeFileSync(path.join(directory, 'cgroup.subtree_control'), '+pids');
  made += 1;
  const group = path.join(directory, `banksman-${process.pid}-${made}`);
  mkdirSync(group);
  try {
    if (version === 2) writeFileSync(path.join(group, 'cgroup.type'), 'threaded');
    writeFileSync(path.join(group, 'pids.max'), String(tasks));
    return group;
  } catch (thrown) {
    rmdirSync(group);
    throw thrown;
  }
}

/** A group counts as empty a moment after its last process was collected. */
async function remove(group: string, version: 1 | 2): Promise<void> {
  for (let wait = 1; wait <= 256; wait *= 2) {
    try {
      rmdirSync(group);
      return;
    } catch {
      killAll(group, version);
      await delay(wait);
    }
  }
}

/** Nobody is left where the process namespace held; where it did not, nothing outlives the run either. */
function killAll(group: string, version: 1 | 2): void {
  try {
    const list = readFileSync(path.join(group, version === 2 ? 'cgroup.threads' : 'cgroup.procs'), 'utf8');
    for (const pid of list.split('\n')) if (pid !== '') process.kill(Number(pid), 'SIGKILL');
  } catch {
    // Some ended meanwhile; the next turn sees the others.
  }
}

/** Groups of processes that ended without removing them; one with a process in it cannot be removed. */
function removeLeft(directory: string): void {
  for (const name of readdirSync(directory)) {
    const owner = groupName.exec(name)?.[1];
    if (owner === undefined || isAlive(Number(owner))) continue;
    try {
      rmdirSync(path.join(directory, name));
    } catch {
      // Still in use.
    }
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

/** Looked up for each run, for this process may have been moved; the mounts only when it was. @throws where no group can be made */
function followOwnPlace(): () => Place {
  let last: { readonly groups: string; readonly place: Place } | undefined;
  return () => {
    const groups = readFileSync('/proc/self/cgroup', 'utf8');
    if (last?.groups !== groups) last = { groups, place: ownPlace(groups.split('\n')) };
    return last.place;
  };
}

function ownPlace(groups: readonly string[]): Place {
  const mounts = readFileSync('/proc/self/mountinfo', 'utf8').split('\n').map(controlMount);
  for (const version of [1, 2] as const) {
    const own = ownGroup(groups, version);
    const mount = mounts.find((found) => found?.version === version);
    if (own === undefined || mount === undefined) continue;
    // In a container only the part below its own group is mounted.
    const below = path.posix.relative(mount.root, own);
    if (!below.startsWith('..')) return { version, directory: path.join(mount.at, below) };
  }
  throw new Error('no control group of this process can be reached');
}

/** Lines are `number:controllers:path`; version 2 has the number 0 and no controllers. */
function ownGroup(lines: readonly string[], version: 1 | 2): string | undefined {
  const rows = lines.map((line) => /^(\d+):([^:]*):(.*)$/.exec(line));
  const row = rows.find((found) => (version === 2 ? found?.[1] === '0' : found?.[2]?.split(',').includes('pids')));
  return row?.[3];
}

/** `id parent major:minor root mount-point options … - type source super-options`; blanks in paths are octal escapes. */
function controlMount(line: string): { readonly version: 1 | 2; readonly root: string; readonly at: string } | undefined {
  const [own = '', kind = ''] = line.split(' - ');
  const [, , , root = '', at = ''] = own.split(' ');
  const [type, , options = ''] = kind.split(' ');
  if (type === 'cgroup2') return { version: 2, root, at };
  return type === 'cgroup' && options.split(',').includes('pids') ? { version: 1, root, at } : undefined;
}
