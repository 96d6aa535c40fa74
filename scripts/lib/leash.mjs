// Plain JavaScript for Node 20.
//
// Runs a program for as long as its own stdin stays open: `node leash.mjs COMMAND [ARG…]`.
// Whoever started it holds the other end of that pipe, so when they stop, crash or are killed, the program
// and everything that it started go too. Ending stdin is also the polite way to stop it.
import { spawn } from 'node:child_process';

const GRACE_MS = 5000;
const POLL_MS = 50;

const [command, ...args] = process.argv.slice(2);
// A process group of its own: what the program starts is stopped with it, and a Ctrl-C in the terminal
// reaches it through us only. Its stdin stays open, some programs stop when it ends.
const child = spawn(command, args, { stdio: ['pipe', 'inherit', 'inherit'], detached: process.platform !== 'win32' });
child.stdin.on('error', () => undefined);

let stopping = false;
child.once('error', (error) => {
  process.stderr.write(`could not start ${command}: ${error.message}\n`);
  process.exit(127);
});
child.once('exit', (code, signal) => {
  const result = code ?? (signal === 'SIGTERM' && stopping ? 0 : 1);
  if (stopping) return void endGroup().then(() => process.exit(result));
  signalGroup('SIGKILL');
  process.exit(result);
});

process.stdin.on('end', stop).on('close', stop).on('error', stop).resume();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, stop);

function stop() {
  if (stopping) return;
  stopping = true;
  signalGroup('SIGTERM');
  setTimeout(() => signalGroup('SIGKILL'), GRACE_MS).unref();
}

/** The leader is gone; its group gets what is left of the grace time. */
async function endGroup() {
  const until = Date.now() + GRACE_MS;
  while (Date.now() < until && signalGroup(0)) await new Promise((done) => setTimeout(done, POLL_MS));
  signalGroup('SIGKILL');
}

/** False when nobody is left in the group. */
function signalGroup(signal) {
  try {
    return process.kill(process.platform === 'win32' ? child.pid : -child.pid, signal);
  } catch {
    return false;
  }
}
