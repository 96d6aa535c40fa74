// Plain JavaScript for Node 20: this runs before the first `npm ci`.
import { spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { cleanEnv } from './clean-env.mjs';

/** Characters of output kept for an error message. */
const TAIL = 4000;
const TICK_MS = 30_000;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/**
 * Runs a program to its end and never throws for a failing one.
 * @param {string} command
 * @param {string[]} args
 * @param {{ cwd?: string, env?: Record<string, string>, logFile?: string, inherit?: boolean, label?: string }} [options]
 *   `inherit` shows its output; otherwise it goes to `logFile` (appended) and its end is returned;
 *   `label` says every 30 s that it still runs.
 * @returns {Promise<{ ok: boolean, code: number | null, output: string }>} code is null when it could not be started or was killed
 */
export function runCommand(command, args, options = {}) {
  const { cwd, env = cleanEnv(), logFile, inherit = false, label } = options;
  return new Promise((resolve) => {
    const startedAt = Date.now();
    const child = spawn(command, args, {
      cwd,
      env,
      stdio: inherit ? ['ignore', 'inherit', 'inherit'] : ['ignore', 'pipe', 'pipe'],
      // npm is a .cmd file on Windows, which only a shell can start.
      shell: process.platform === 'win32',
    });
    const log = logFile ? createWriteStream(logFile, { flags: 'a' }) : undefined;
    log?.write(`\n$ ${command} ${args.join(' ')}\n`);
    let output = '';
    const keep = (chunk) => {
      output = (output + chunk).slice(-TAIL);
      log?.write(chunk);
    };
    child.stdout?.on('data', keep);
    child.stderr?.on('data', keep);
    const tick = label ? setInterval(() => say(`  ${label}: ${seconds(startedAt)} so far`), TICK_MS) : undefined;
    // Whoever stops us stops what we wait for, too: it would go on installing with nobody to tell.
    const interrupt = () => child.kill('SIGTERM');
    for (const signal of SIGNALS) process.on(signal, interrupt);
    const end = (code, text = output) => {
      clearInterval(tick);
      for (const signal of SIGNALS) process.off(signal, interrupt);
      log?.end();
      resolve({ ok: code === 0, code, output: text });
    };
    child.once('error', (error) => end(null, error.message));
    child.once('close', (code) => end(code));
  });
}

/** A line for the person who waits; stderr stays free for faults. */
export function say(text) {
  process.stdout.write(`${text}\n`);
}

/** Whole seconds since `startedAt` (milliseconds), as `12 s`. */
export function seconds(startedAt) {
  return `${Math.round((Date.now() - startedAt) / 1000)} s`;
}
