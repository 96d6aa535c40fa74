// Plain JavaScript for Node 20: `npm start` on a fresh clone runs this before anything is installed.
//
// Installs what is missing and says so, builds, and hands over to scripts/bench/demo-session.ts, which runs
// on the Node 24 of node_modules. Ends when that does; stopping this stops everything.
import { spawn } from 'node:child_process';
import net from 'node:net';
import path from 'node:path';
import { findDesktopEditor } from './bench/find-desktop-editor.mjs';
import { installBench } from './bench/install.mjs';
import { ROOT } from './lib/cache-folder.mjs';
import { cleanEnv } from './lib/clean-env.mjs';
import { ensureDependencies, NODE_24 } from './lib/dependencies.mjs';
import { onlyHelp } from './lib/only-help.mjs';
import { buildAndPackage, VSIX } from './lib/package-extension.mjs';
import { whenOrphaned } from './lib/when-orphaned.mjs';

const SESSION = path.join(ROOT, 'scripts', 'bench', 'demo-session.ts');

const usage = `npm start: an editor with Banksman and a demo cluster, until Ctrl+C. Installs what is missing; the last line is \`Ready: URL\`.

  BANKSMAN_PORT     the port of the editor in a browser; default: a free one
  BANKSMAN_CACHE    where installs and profiles are kept; default: .cache
`;

process.exitCode = onlyHelp('npm start', usage) ?? (await main());

async function main() {
  const port = await wantedPort(process.env.BANKSMAN_PORT);
  if (typeof port === 'string') return fail(port);
  if (!(await ensureDependencies())) return 1;
  const editor = await chooseEditor();
  if (typeof editor === 'string') return fail(editor);
  const fault = await buildAndPackage();
  if (fault) return fail(fault);
  return runSession({ ...editor, port, vsix: VSIX });
}

/** @returns the port, 0 for any free one, or what is wrong with it */
async function wantedPort(text) {
  if (text === undefined || text === '') return 0;
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (port < 1 || port > 65_535) return `BANKSMAN_PORT must be a port from 1 to 65535, but it is \`${text}\``;
  if (await isFree(port)) return port;
  return `port ${port} on 127.0.0.1 is taken (or not allowed); set BANKSMAN_PORT to another one, or unset it to take a free one`;
}

function isFree(port) {
  return new Promise((resolve) => {
    const probe = net.createServer();
    probe.once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}

async function chooseEditor() {
  const desktop = findDesktopEditor();
  if (desktop) return { desktop };
  const bench = await installBench();
  if (bench.editor) return { server: bench.editor };
  return `there is no editor to start:\n${bench.skipped.map((reason) => `- ${reason}`).join('\n')}\nOr install desktop VS Code, so that \`code\` is on the PATH.`;
}

/** The child stops when its stdin ends, which also happens when this process is killed. */
function runSession(options) {
  const child = spawn(NODE_24, ['--disable-warning=ExperimentalWarning', SESSION, JSON.stringify(options)], {
    cwd: ROOT,
    env: cleanEnv(),
    stdio: ['pipe', 'inherit', 'inherit'],
  });
  child.stdin.on('error', () => undefined);
  const stop = () => child.stdin.end();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, stop);
  const unwatch = whenOrphaned(stop);
  return new Promise((resolve) => {
    const end = (code) => {
      unwatch();
      resolve(code);
    };
    child.once('error', (error) => end(fail(error.message)));
    child.once('exit', (code) => end(code ?? 1));
  });
}

function fail(message) {
  process.stderr.write(`npm start: ${message}\n`);
  return 1;
}
