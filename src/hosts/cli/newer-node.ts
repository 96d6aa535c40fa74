/**
 * Under a Node that is too old, starts itself again with a newer one that can be found, or names the remedy. Imported first: nothing
 * that needs the newer Node may be loaded before. (design §8)
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';

const wanted = 24;

if (majorOf(process.versions.node) < wanted) {
  const newer = process.env['BANKSMAN_REEXEC'] === undefined ? findNewer() : undefined;
  if (newer === undefined) {
    process.stderr.write(
      `banksman: needs Node ${wanted} or newer, this is ${process.versions.node}; install it, or name one in BANKSMAN_NODE\n`,
    );
    process.exit(1);
  }
  // SIGINT reaches the child by the terminal's process group; this process only has to outlive it.
  process.on('SIGINT', () => undefined);
  process.on('SIGTERM', () => undefined);
  const ran = spawnSync(newer, process.argv.slice(1), { stdio: 'inherit', env: { ...process.env, BANKSMAN_REEXEC: '1' } });
  process.exit(ran.status ?? 1);
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

/** A named one, then those beside this program (npm's `node` package), then the usual places. */
function candidates(): readonly string[] {
  const named = process.env['BANKSMAN_NODE'];
  const program = resolve(process.argv[1] ?? '.');
  const beside = [1, 2, 3, 4].map((up) => join(program, ...Array<string>(up).fill('..'), 'node_modules', 'node', 'bin', 'node'));
  const onPath = (process.env['PATH'] ?? '').split(':').map((folder) => join(folder, 'node'));
  const versions = ['/usr/local/bin/node', '/usr/bin/node24', '/opt/node24/bin/node'];
  return [...(named === undefined ? [] : [named]), ...beside, ...onPath, ...versions];
}
