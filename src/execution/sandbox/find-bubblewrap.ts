/** Where the sandbox's programs are on this machine, or why there is no sandbox. */

import { accessSync, constants, statSync } from 'node:fs';
import path from 'node:path';
import type { ProgramRunner } from '#kernel/ports/program-runner';
import { launcherEnvironment } from './clean-environment.ts';
import type { Architecture } from './seccomp-filter.ts';

export interface Bubblewrap {
  readonly program: string;
  readonly architecture: Architecture;
}

export type FoundBubblewrap = { readonly ok: true; readonly bubblewrap: Bubblewrap } | { readonly ok: false; readonly reason: string };

/** First where distributions put it: Ubuntu's AppArmor profile names this path and no other. */
const usualPath = '/usr/bin/bwrap';
const neededOptions = [
  ...[
    '--disable-userns',
    '--ro-bind-fd',
    '--bind-fd',
    '--seccomp',
    '--as-pid-1',
    '--json-status-fd',
    '--size',
    '--perms',
    '--cap-drop',
    '--die-with-parent',
  ],
  ...['--unshare-cgroup', '--new-session', '--remount-ro', '--file'],
];

export interface Machine {
  readonly platform: NodeJS.Platform;
  readonly architecture: string;
  /** The caller's `PATH`. */
  readonly searchPath: string;
}

export async function findBubblewrap(machine: Machine, programs: ProgramRunner, signal: AbortSignal): Promise<FoundBubblewrap> {
  const { platform, architecture, searchPath } = machine;
  if (platform !== 'linux') {
    const name = platform === 'darwin' ? 'macOS' : platform === 'win32' ? 'Windows' : platform;
    return no(`there is no sandbox for ${name} yet: each command asks; run on Linux (or in a Linux container) to contain commands`);
  }
  if (architecture !== 'x64' && architecture !== 'arm64') {
    return no(`there is no system call filter for ${architecture} yet: each command asks`);
  }
  const program = locate(searchPath);
  if (program === undefined) return no('bubblewrap is not installed: install the package `bubblewrap` (`apt install bubblewrap`)');
  if (!isExecutable('/bin/bash')) return no('`/bin/bash` is not there: install bash');
  const missing = await missingOptions(program, programs, signal);
  if (missing === undefined) return no(`\`${program}\` does not run: reinstall the package \`bubblewrap\``);
  if (missing.length > 0)
    return no(
      `\`${program}\` is too old (no ${missing.join(', ')}): update the package \`bubblewrap\` to 0.10, or 0.8 with its security updates`,
    );
  return { ok: true, bubblewrap: { program, architecture } };
}

function no(reason: string): FoundBubblewrap {
  return { ok: false, reason };
}

function locate(searchPath: string): string | undefined {
  const directories = searchPath.split(path.delimiter).filter((entry) => path.isAbsolute(entry));
  // Only where the usual directory is on the PATH: an administrator may have taken it off on purpose.
  const usual = directories.some((entry) => path.normalize(`${entry}/`) === '/usr/bin/' || path.normalize(`${entry}/`) === '/bin/');
  return [...(usual ? [usualPath] : []), ...directories.map((entry) => path.join(entry, 'bwrap'))].find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

/** undefined when it cannot even be asked. */
async function missingOptions(program: string, programs: ProgramRunner, signal: AbortSignal): Promise<readonly string[] | undefined> {
  const help = await programs
    .run({ program, args: ['--help'], cwd: '/', env: launcherEnvironment, timeoutMs: 10_000, keepBytes: 64_000 }, signal)
    .catch(() => undefined);
  signal.throwIfAborted();
  if (help === undefined || help.exitCode !== 0) return undefined;
  const offered = new Set(help.stdout.match(/--[a-z0-9-]+/g));
  return neededOptions.filter((option) => !offered.has(option));
}
