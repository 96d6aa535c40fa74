// Plain JavaScript for Node 20: this runs before the first `npm ci`.
//
// Installs the editor that `npm start` and `npm test` drive: code-server, which is the real VS Code
// workbench and extension host, with a Node 24 of its own, into an ignored folder.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { cacheFolder } from '../lib/cache-folder.mjs';
import { cleanEnv } from '../lib/clean-env.mjs';
import { withInstallLock } from '../lib/install-lock.mjs';
import { runCommand, say, seconds } from '../lib/run-command.mjs';
import { canInstallPackages, findProgram, installPackages, missingPackages } from './system-packages.mjs';

const NODE_VERSION = '24.21.0';
const CODE_SERVER_VERSION = '4.139.1';

/**
 * @typedef {{ node: string, entry: string }} EditorPaths the Node 24 executable and code-server's entry script
 * @typedef {{ editor?: EditorPaths, browser?: string, skipped: string[] }} Bench what is there, and for
 *   each part that is not, a sentence with the reason and the remedy; [] means that nothing is missing
 */

/**
 * Installs what is missing and says so before it does. A second call finds everything in milliseconds.
 * @param {{ browser?: boolean }} [options] `browser`: Chromium too, for the tests that act as a person
 * @returns {Promise<Bench>}
 */
export async function installBench(options = {}) {
  const folder = path.join(cacheFolder(), 'editor');
  const found = findBench(folder, options);
  if (found.editor && (found.browser || !options.browser)) return { ...found, skipped: [] };
  return withInstallLock(path.join(folder, 'install.lock'), async () => {
    const skipped = [];
    const logFile = path.join(folder, 'install.log');
    await addPackages(options, { logFile, skipped });
    if (!findBench(folder, options).editor) await addEditor(folder, { logFile, skipped });
    return { ...findBench(folder, options), skipped };
  });
}

function findBench(folder, options) {
  const paths = editorPaths(folder);
  const installed = readStamp(folder) === stampText() && existsSync(paths.entry) && existsSync(paths.node);
  return {
    editor: installed ? paths : undefined,
    browser: options.browser ? findBrowser() : undefined,
  };
}

/** BANKSMAN_BROWSER names another Chromium or Chrome where the distribution has no `chromium`. */
function findBrowser() {
  return process.env.BANKSMAN_BROWSER ?? findProgram('chromium');
}

async function addPackages(options, { logFile, skipped }) {
  const parts = options.browser && !findBrowser() ? ['editor', 'browser'] : ['editor'];
  const names = parts.flatMap((part) => missingPackages(part));
  const failure = await addSystemPackages(names, logFile);
  if (failure) skipped.push(failure);
}

/**
 * The real servers and programs that the integration tests start: sshd, Redis or Valkey, bubblewrap.
 * @returns {Promise<string | undefined>} why some are missing, with the remedy; undefined where all are there
 */
export async function installTestServers() {
  return addSystemPackages(missingPackages('servers'), path.join(cacheFolder(), 'packages.log'));
}

async function addSystemPackages(names, logFile) {
  if (names.length === 0) return undefined;
  const list = names.join(' ');
  if (!canInstallPackages())
    return `these system packages are missing and only an administrator can add them: \`sudo apt-get install ${list}\``;
  const startedAt = Date.now();
  say(`Installing system packages: ${list} (apt-get, about 1 minute)`);
  mkdirSync(path.dirname(logFile), { recursive: true });
  const result = await installPackages(names, logFile);
  if (!result.ok) return `\`apt-get install ${list}\` failed; see ${logFile}\n${result.output.trimEnd()}`;
  say(`  done in ${seconds(startedAt)}`);
  return undefined;
}

/** Two folders, never one: npm would move Node's headers away while it compiles code-server's native modules. */
async function addEditor(folder, { logFile, skipped }) {
  if (process.platform === 'win32') {
    skipped.push('the editor bench does not run on Windows: install VS Code and put `code` on the PATH');
    return;
  }
  if (missingPackages('editor').length > 0) {
    skipped.push('the editor (code-server) was not installed: it compiles native modules and needs the packages above');
    return;
  }
  const startedAt = Date.now();
  say(`Installing the editor: code-server ${CODE_SERVER_VERSION} with Node ${NODE_VERSION} into ${folder} (npm, about 3 minutes, 810 MB)`);
  const failure = await npmInstallEditor(folder, logFile);
  if (failure) skipped.push(`the editor (code-server) could not be installed: ${failure}; see ${logFile}`);
  else say(`  done in ${seconds(startedAt)}`);
}

async function npmInstallEditor(folder, logFile) {
  // A folder that an interrupted install left half full makes npm fail in ways that name something else.
  for (const name of ['node24', 'cs', 'installed.json']) rmSync(path.join(folder, name), { recursive: true, force: true });
  mkdirSync(path.join(folder, 'node24'), { recursive: true });
  mkdirSync(path.join(folder, 'cs'), { recursive: true });
  const node = await npmInstall(path.join(folder, 'node24'), `node@${NODE_VERSION}`, { logFile });
  if (!node.ok) return `npm install node@${NODE_VERSION} failed: ${lastLines(node.output)}`;
  const env = node24Env(folder);
  if (!env) return 'the node package came without its headers';
  const server = await npmInstall(path.join(folder, 'cs'), `code-server@${CODE_SERVER_VERSION}`, { logFile, env });
  if (!server.ok) return `npm install code-server@${CODE_SERVER_VERSION} failed: ${lastLines(server.output)}`;
  const paths = editorPaths(folder);
  const version = await runCommand(paths.node, [paths.entry, '--version'], { env: cleanEnv({ HOME: folder }), logFile });
  if (!version.ok || !version.output.includes(CODE_SERVER_VERSION)) return `\`code-server --version\` said: ${lastLines(version.output)}`;
  writeFileSync(stampFile(folder), stampText());
  return undefined;
}

function npmInstall(prefix, packageSpec, { logFile, env }) {
  const args = ['install', '--prefix', prefix, '--no-audit', '--no-fund', packageSpec];
  return runCommand('npm', args, { cwd: prefix, env, logFile, label: `npm install ${packageSpec}` });
}

/** npm's environment for the second folder: Node 24 first, and its own headers for node-gyp, which has no other source offline. */
function node24Env(folder) {
  const nodePackage = path.join(folder, 'node24', 'node_modules', 'node');
  const platforms = path.join(nodePackage, 'node_modules');
  const name = readdirSync(platforms).find((entry) => existsSync(path.join(platforms, entry, 'include', 'node', 'node_version.h')));
  if (!name) return undefined;
  return cleanEnv({
    PATH: `${path.join(nodePackage, 'bin')}${path.delimiter}${cleanEnv().PATH}`,
    npm_config_nodedir: path.join(platforms, name),
  });
}

/** @returns {EditorPaths} */
function editorPaths(folder) {
  return {
    node: path.join(folder, 'node24', 'node_modules', 'node', 'bin', 'node'),
    entry: path.join(folder, 'cs', 'node_modules', 'code-server', 'out', 'node', 'entry.js'),
  };
}

/** Written last, after the version was seen: an interrupted install has none. */
function stampFile(folder) {
  return path.join(folder, 'installed.json');
}

function stampText() {
  return `${JSON.stringify({ node: NODE_VERSION, codeServer: CODE_SERVER_VERSION })}\n`;
}

function readStamp(folder) {
  try {
    return readFileSync(stampFile(folder), 'utf8');
  } catch {
    return undefined;
  }
}

function lastLines(output) {
  return output.trim().split('\n').slice(-8).join('\n');
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const bench = await installBench({ browser: true });
  for (const reason of bench.skipped) say(`Skipped: ${reason}`);
  say(bench.editor && bench.browser ? 'The editor bench is installed.' : 'The editor bench is not complete.');
  process.exitCode = bench.editor && bench.browser ? 0 : 1;
}
