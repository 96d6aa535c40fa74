/** Which server the tests start. `BANKSMAN_VALKEY_SERVER=/path/valkey-server` names one; else an installed one, or Debian's. */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';

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

/**
 * One that has `WAITAOF`. Debian 12's redis-server has none, but its backports have Valkey: that package is fetched into `.cache` and not installed.
 * undefined: there is none to be had here.
 */
export function programWithDisks(): string | undefined {
  const usual = serverProgram();
  if (hasDisks(usual)) return usual;
  const cached = join(cache, 'usr/bin/valkey-server');
  if (!isThere(cached)) fetchBackport();
  return isThere(cached) && hasDisks(cached) ? cached : undefined;
}

function hasDisks(program: string): boolean {
  const [, major = '0', minor = '0'] = /v=(\d+)\.(\d+)/.exec(spawnSync(program, ['--version'], { encoding: 'utf8' }).stdout) ?? [];
  const [wantedMajor = 0, wantedMinor = 0] = firstWithDisks;
  return Number(major) > wantedMajor || (Number(major) === wantedMajor && Number(minor) >= wantedMinor);
}

function isThere(program: string): boolean {
  return spawnSync(program, ['--version'], { stdio: 'ignore' }).status === 0;
}

// The package starts a server of its own otherwise.
const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };

function canUseApt(): boolean {
  return userInfo().uid === 0 && existsSync('/usr/bin/apt-get');
}

function apt(...words: string[]): boolean {
  try {
    execFileSync('apt-get', ['-o', 'DPkg::Lock::Timeout=120', ...words], { env, stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** As root on Debian only: a developer's machine is left alone. */
function install(name: string): boolean {
  if (!canUseApt()) return false;
  const wanted = ['install', '-y', '--no-install-recommends', name];
  return apt(...wanted) || (apt('update') && apt(...wanted));
}

const cache = join(import.meta.dirname, '../../../.cache/valkey');

/** With lists of its own, so that nothing else of the machine comes from there. */
function fetchBackport(): void {
  if (!canUseApt() || spawnSync('grep', ['-q', 'bookworm', '/etc/os-release']).status !== 0) return;
  mkdirSync(join(cache, '..'), { recursive: true });
  const folder = mkdtempSync(`${cache}-`);
  try {
    for (const name of ['lists/partial', 'cache/archives/partial', 'root']) mkdirSync(join(folder, name), { recursive: true });
    const list = join(folder, 'sources.list');
    writeFileSync(list, `deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${mirror} bookworm-backports main\n`);
    const own = [`Dir::Etc::sourcelist=${list}`, 'Dir::Etc::sourceparts=/dev/null', `Dir::State::lists=${folder}/lists`];
    const options = [...own, `Dir::Cache=${folder}/cache`, 'APT::Sandbox::User=root', 'Acquire::http::Timeout=20', 'Acquire::Retries=1'];
    const words = options.flatMap((option) => ['-o', option]);
    if (!apt(...words, 'update') || !apt(...words, '--download-only', '-y', '--no-install-recommends', 'install', 'valkey-server')) return;
    for (const file of readdirSync(join(folder, 'cache/archives')).filter((name) => /^valkey.*\.deb$/.test(name)))
      execFileSync('dpkg-deb', ['-x', join(folder, 'cache/archives', file), join(folder, 'root')]);
    // Another test process may have been faster.
    if (!existsSync(cache)) renameSync(join(folder, 'root'), cache);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const mirror = 'http://deb.debian.org/debian';
