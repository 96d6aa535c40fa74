/**
 * Under a Node that is too old, starts itself again with a newer one that can be found, or names the remedy (docs/design.md#state-and-configuration). Nothing that
 * needs the newer Node may be loaded before this has been asked.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

const wanted = 24;
/** Tells the second start that it is one, and whose child it is. */
const parentVariable = 'BANKSMAN_STARTED_BY';
const forwarded = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Whether this process only stands in for a newer Node that does the work. */
export function standsIn(): boolean {
  const parent = process.env[parentVariable];
  if (majorOf(process.versions.node) >= wanted) {
    if (parent !== undefined) endWith(Number(parent));
    return false;
  }
  const newer = parent === undefined ? findNewer() : undefined;
  if (newer === undefined) {
    process.stderr.write(
      `banksman: needs Node ${wanted} or newer, this is ${process.versions.node}; install it, or name one in BANKSMAN_NODE\n`,
    );
    process.exitCode = 1;
    return true;
  }
  startAgain(newer);
  return true;
}

function startAgain(newer: string): void {
  const child = spawn(newer, process.argv.slice(1), { stdio: 'inherit', env: { ...process.env, [parentVariable]: String(process.pid) } });
  for (const signal of forwarded) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => {
    process.stderr.write(`banksman: ${newer} cannot be started: ${error.message}\n`);
    process.exitCode = 1;
  });
  child.on('exit', (status) => {
    process.exitCode = status ?? 1;
  });
}

/** The stand-in was killed in a way that it could not pass on: then nobody waits for this process any more. */
function endWith(parent: number): void {
  setInterval(() => {
    if (process.ppid !== parent) process.kill(process.pid, 'SIGTERM');
  }, 1_000).unref();
}

function majorOf(version: string): number {
  return Number.parseInt(version.replace(/^v/, ''), 10);
}

function findNewer(): string | undefined {
  return candidates().find((candidate) => {
    if (!existsSync(candidate)) return false;
    const asked = spawnSync(candidate, ['--version'], { encoding: 'utf8', timeout: 10_000 });
    return asked.status === 0 && majorOf(asked.stdout.trim()) >= wanted;
  });
}

/** A named one, then npm's `node` package beside this program, then the PATH, then nvm's. */
function candidates(): readonly string[] {
  const named = process.env['BANKSMAN_NODE'];
  // `npm link` puts a link on the PATH.
  const program = realpathSync(process.argv[1] ?? '.');
  const beside = [1, 2, 3, 4].map((up) => join(program, ...Array<string>(up).fill('..'), 'node_modules', 'node', 'bin', 'node'));
  const onPath = (process.env['PATH'] ?? '').split(':').map((folder) => join(folder, 'node'));
  return [...(named === undefined ? [] : [named]), ...beside, ...onPath, '/usr/local/bin/node', '/usr/bin/node', ...versionManager()];
}

function versionManager(): readonly string[] {
  const folder = join(process.env['NVM_DIR'] ?? join(homedir(), '.nvm'), 'versions', 'node');
  const versions = existsSync(folder) ? readdirSync(folder) : [];
  return versions.filter((name) => majorOf(name) >= wanted).map((name) => join(folder, name, 'bin', 'node'));
}
