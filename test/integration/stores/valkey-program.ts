/** Which server the tests start. `BANKSMAN_VALKEY_SERVER=/path/valkey-server` names one; else an installed one is taken. */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { userInfo } from 'node:os';

const programs = ['valkey-server', 'redis-server'];
/** The first with `WAITAOF`. */
const firstWithDisks = [7, 2];

/** `npm test` installs nothing by itself except here, as root on Debian. */
export function serverProgram(): string {
  const named = process.env['BANKSMAN_VALKEY_SERVER'];
  if (named) return named;
  const found = programs.find(isThere) ?? (install('redis-server') ? programs.find(isThere) : undefined);
  if (found !== undefined) return found;
  throw new Error(
    'these tests need a real server: install valkey-server or redis-server 7 or newer (Debian: apt-get install redis-server)',
  );
}

/** One that has `WAITAOF`, which Debian 12's has not. undefined: there is none here. */
export function programWithDisks(): string | undefined {
  const program = serverProgram();
  return hasDisks(program) ? program : undefined;
}

function hasDisks(program: string): boolean {
  const [, major = '0', minor = '0'] = /v=(\d+)\.(\d+)/.exec(spawnSync(program, ['--version'], { encoding: 'utf8' }).stdout) ?? [];
  const [wantedMajor = 0, wantedMinor = 0] = firstWithDisks;
  return Number(major) > wantedMajor || (Number(major) === wantedMajor && Number(minor) >= wantedMinor);
}

function isThere(program: string): boolean {
  return spawnSync(program, ['--version'], { stdio: 'ignore' }).status === 0;
}

/** As root on Debian only: a developer's machine is left alone. */
function install(name: string): boolean {
  if (userInfo().uid !== 0 || !existsSync('/usr/bin/apt-get')) return false;
  // The package starts a server of its own otherwise.
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
  const apt = (...words: string[]): boolean => {
    try {
      execFileSync('apt-get', ['-o', 'DPkg::Lock::Timeout=120', ...words], { env, stdio: 'ignore' });
      return true;
    } catch {
      return false;
    }
  };
  const wanted = ['install', '-y', '--no-install-recommends', name];
  return apt(...wanted) || (apt('update') && apt(...wanted));
}
