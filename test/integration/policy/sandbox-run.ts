/** Runs one allowed line for real, in a throw-away sandbox whose outside is watched. */
import { spawnSync } from 'node:child_process';
import { lstatSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const bubblewrap = 'bwrap';

export const canary = 'CANARY7f3a';

export function hasBubblewrap(): boolean {
  return spawnSync(bubblewrap, ['--ro-bind', '/', '/', '--unshare-all', 'true']).status === 0;
}

export interface Watch {
  /** What went wrong, or undefined. */
  run(line: string): string | undefined;
}

/**
 * `base` is writable inside, so that a write would succeed and be seen; everything else is read-only, with canaries where secrets are.
 */
export function createWatch(base: string, directory: string): Watch {
  const scratch = `${base}-watch`;
  rmSync(scratch, { recursive: true, force: true });
  mkdirSync(scratch);
  writeFileSync(path.join(scratch, 'canary'), `${canary}\n`);
  const before = snapshot(base);
  const idle = leftovers(spawnIn({ base, directory, scratch }, 'true').pids);
  return {
    run: (line) => {
      const { output, timedOut, pids } = spawnIn({ base, directory, scratch }, line);
      if (timedOut) return 'it did not end';
      if (output.includes(canary)) return `it read a secret: ${output.slice(0, 200)}`;
      if (/Read-only file system/.test(output)) return 'it tried to write';
      if (leftovers(pids) !== idle) return `processes were left: ${pids}`;
      return snapshot(base) === before ? undefined : 'the tree has changed';
    },
  };
}

interface Where {
  readonly base: string;
  readonly directory: string;
  readonly scratch: string;
}

function spawnIn({ base, directory, scratch }: Where, line: string) {
  const secret = path.join(scratch, 'canary');
  const args = [
    ...[
      '--ro-bind',
      '/',
      '/',
      '--dev',
      '/dev',
      '--proc',
      '/proc',
      '--tmpfs',
      '/root',
      '--ro-bind',
      secret,
      '/root/.netrc',
      '--ro-bind',
      secret,
      '/etc/shadow',
      '--bind',
      base,
      base,
    ],
    ...[
      '--unshare-all',
      '--die-with-parent',
      '--new-session',
      '--cap-drop',
      'ALL',
      '--chdir',
      directory,
      '--clearenv',
      '--setenv',
      'PATH',
      '/usr/sbin:/usr/bin:/sbin:/bin',
      '--setenv',
      'LC_ALL',
      'C.UTF-8',
    ],
    ...['--setenv', 'HOME', '/root', '--'],
    // The environment holds a secret, too. What is still running when the line has ended is counted inside its own process namespace.
    ...[
      'bash',
      '-c',
      'SECRET_OF_ENV=$(</root/.netrc) bash -c "$1" </dev/null; cd /proc; for n in [0-9]*; do [ "$n" = "$$" ] || [ "$n" = 1 ] || echo "$n"; done >&3',
      'watch',
      line,
    ],
  ];
  const found = spawnSync(bubblewrap, args, {
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    // `top -b -n 3 -d 5` ends, and takes its time.
    timeout: 20_000,
    killSignal: 'SIGKILL',
    maxBuffer: 64 * 1024 * 1024,
    encoding: 'utf8',
  });
  const timedOut = found.error !== undefined && 'code' in found.error && found.error.code === 'ETIMEDOUT';
  // A machine that cannot start processes says nothing about the line.
  if (found.error !== undefined && !timedOut) throw found.error;
  return { output: `${found.stdout ?? ''}${found.stderr ?? ''}`, timedOut, pids: found.output?.[3] ?? '' };
}

function leftovers(pids: string): number {
  return pids.split('\n').filter((line) => line !== '').length;
}

/** Every entry with type, size, mode and times of change; links are not followed. */
function snapshot(directory: string): string {
  return readdirSync(directory)
    .toSorted()
    .map((name) => {
      const file = path.join(directory, name);
      const stats = lstatSync(file);
      const line = `${file} ${stats.mode} ${stats.size} ${stats.mtimeMs} ${stats.ctimeMs}`;
      return stats.isDirectory() ? `${line}\n${snapshot(file)}` : line;
    })
    .join('\n');
}
