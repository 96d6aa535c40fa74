// Plain JavaScript for Node 20: this runs before the first `npm ci`.
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { cacheFolder, ROOT } from './cache-folder.mjs';
import { withInstallLock } from './install-lock.mjs';
import { runCommand, say, seconds } from './run-command.mjs';

/** The Node 24 that the package `node` brings; scripts in TypeScript run on it wherever the system's is older. */
export const NODE_24 = path.join(ROOT, 'node_modules', 'node', 'bin', process.platform === 'win32' ? 'node.exe' : 'node');

/**
 * Runs `npm ci` when node_modules is missing, was left half done, or is not what package-lock.json says.
 * @returns {Promise<boolean>} false when it failed; the reason has been printed
 */
export async function ensureDependencies() {
  if (areInstalled()) return true;
  return withInstallLock(path.join(cacheFolder(), 'npm-ci.lock'), async () => areInstalled() || installDependencies());
}

async function installDependencies() {
  const startedAt = Date.now();
  const logFile = path.join(cacheFolder(), 'npm-ci.log');
  mkdirSync(cacheFolder(), { recursive: true });
  rmSync(logFile, { force: true });
  say('Installing the packages of package-lock.json into node_modules (npm ci, about 1 minute)');
  const result = await runCommand('npm', ['ci', '--no-audit', '--no-fund'], { cwd: ROOT, logFile, label: 'npm ci' });
  if (result.ok && areInstalled()) {
    say(`  done in ${seconds(startedAt)}`);
    return true;
  }
  say(`npm ci failed; see ${logFile}\n${errorLines(logFile)}`);
  return false;
}

/** npm prints the reason first and its whole usage after it. */
function errorLines(logFile) {
  const lines = readFileSync(logFile, 'utf8')
    .split('\n')
    .filter((line) => /^npm error \S/.test(line));
  return lines.slice(0, 12).join('\n');
}

function areInstalled() {
  // npm writes the second file when it has finished, so an interrupted install has none.
  const wanted = packagesOf(path.join(ROOT, 'package-lock.json'));
  const found = packagesOf(path.join(ROOT, 'node_modules', '.package-lock.json'));
  if (!wanted || !found || !existsSync(NODE_24)) return false;
  return Object.entries(wanted).every(([place, item]) => place === '' || item.optional || found[place]?.version === item.version);
}

function packagesOf(lockFile) {
  try {
    return JSON.parse(readFileSync(lockFile, 'utf8')).packages;
  } catch {
    return undefined;
  }
}
