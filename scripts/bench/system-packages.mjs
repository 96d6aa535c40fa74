// Plain JavaScript for Node 20: this runs before the first `npm ci`.
import { accessSync, constants, existsSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { cleanEnv } from '../lib/clean-env.mjs';
import { runCommand, say } from '../lib/run-command.mjs';

/**
 * What the editor and the tests need from Debian (or Ubuntu) and how to see that it is there.
 * Programs are looked up on the PATH (one of them is enough with `any`), `header` is a file; `for` says who needs it.
 */
const PACKAGES = [
  { name: 'make', for: 'editor', programs: ['make'] },
  { name: 'g++', for: 'editor', programs: ['g++'] },
  { name: 'python3', for: 'editor', programs: ['python3'] },
  { name: 'libkrb5-dev', for: 'editor', header: '/usr/include/gssapi/gssapi.h' },
  { name: 'chromium', for: 'browser', programs: ['chromium'] },
  { name: 'fonts-liberation', for: 'browser', header: '/usr/share/fonts/truetype/liberation' },
  { name: 'git', for: 'servers', programs: ['git'] },
  { name: 'bubblewrap', for: 'servers', programs: ['bwrap'] },
  { name: 'openssh-server', for: 'servers', programs: ['sshd'] },
  { name: 'openssh-client', for: 'servers', programs: ['ssh-keygen', 'ssh-keyscan', 'ssh-agent', 'ssh-add'] },
  { name: 'redis-server', for: 'servers', programs: ['redis-server', 'valkey-server'], any: true },
  { name: 'iproute2', for: 'servers', programs: ['ip'] },
  { name: 'perl', for: 'servers', programs: ['perl'] },
  { name: 'bsdutils', for: 'servers', programs: ['script'] },
  { name: 'zsh', for: 'servers', programs: ['zsh'] },
  { name: 'fish', for: 'servers', programs: ['fish'] },
];

const LOCK_TRIES = 6;
const LOCK_WAIT_MS = 20_000;
const LOCKED = /could not get lock|unable to (?:acquire|lock)|resource temporarily unavailable/i;

/**
 * @param {'editor' | 'browser' | 'servers'} part
 * @returns {string[]} names of the Debian packages that are not there; [] where nothing is missing or not on Linux
 */
export function missingPackages(part) {
  if (process.platform !== 'linux') return [];
  return PACKAGES.filter((item) => item.for === part && !isThere(item)).map((item) => item.name);
}

/** Whether this process may run apt-get itself. */
export function canInstallPackages() {
  return process.getuid?.() === 0 && findProgram('apt-get') !== undefined;
}

/**
 * Installs Debian packages; waits for another apt that holds the lock.
 * @param {string[]} names
 * @param {string} logFile
 * @returns {Promise<{ ok: boolean, output: string }>}
 */
export async function installPackages(names, logFile) {
  const updated = await aptGet(['update'], logFile);
  if (!updated.ok) say('  apt-get update failed; trying with the package lists that are there.');
  return aptGet(['install', '-y', '--no-install-recommends', ...names], logFile);
}

async function aptGet(args, logFile) {
  const env = cleanEnv({ DEBIAN_FRONTEND: 'noninteractive' });
  for (let attempt = 1; ; attempt += 1) {
    const result = await runCommand('apt-get', ['-o', 'DPkg::Lock::Timeout=120', ...args], {
      env,
      logFile,
      label: `apt-get ${args[0]}`,
    });
    if (result.ok || attempt === LOCK_TRIES || !LOCKED.test(result.output)) return result;
    say(`  Another package manager holds the lock; trying again in ${LOCK_WAIT_MS / 1000} s.`);
    await sleep(LOCK_WAIT_MS);
  }
}

function isThere(item) {
  if (item.header) return existsSync(item.header);
  const found = item.programs.map((program) => findProgram(program, serverPath()) !== undefined);
  return item.any ? found.includes(true) : !found.includes(false);
}

/** An ordinary user's PATH leaves out where servers are. */
function serverPath() {
  return [cleanEnv().PATH, '/usr/sbin', '/usr/local/sbin', '/sbin'].join(path.delimiter);
}

/**
 * @param {string} name
 * @param {string} [searchPath] PATH to search, without npm's own additions by default
 * @returns {string | undefined} the absolute path of an executable
 */
export function findProgram(name, searchPath = cleanEnv().PATH) {
  return searchPath
    .split(path.delimiter)
    .map((folder) => path.join(folder, name))
    .find(isExecutable);
}

function isExecutable(file) {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
