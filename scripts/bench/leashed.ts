import { type ChildProcess, spawn } from 'node:child_process';
import path from 'node:path';
import { createInterface } from 'node:readline';

const LEASH = path.resolve(import.meta.dirname, '../lib/leash.mjs');
/** Longer than the leash's own two graces of 5 s. */
const STOP_MS = 12_000;
const KEPT_LINES = 200;

export interface LeashedOptions {
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** A child process that cannot outlive this one, and that takes its own children with it. */
export interface Leashed {
  /** The exit code; null when it had to be killed. Never rejects. */
  readonly exited: Promise<number | null>;
  /** The last 200 lines of stdout and stderr together. */
  output(): string;
  /** The first stdout line that fits, also one already printed; rejects when the process ends or time is up before. */
  waitForLine(pattern: RegExp, timeoutMs: number): Promise<string>;
  /** SIGTERM to its process group, SIGKILL after 5 s; resolves when it is gone. May be called twice. */
  stop(): Promise<number | null>;
}

/** Starts a program on a leash (scripts/lib/leash.mjs). */
export function spawnLeashed(command: string, args: readonly string[], options: LeashedOptions): Leashed {
  const child = spawn(process.execPath, [LEASH, command, ...args], {
    env: options.env,
    cwd: options.cwd,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  // A write into a pipe whose reader has gone is no fault here: its end is seen by `exited`.
  child.stdin.on('error', () => undefined);
  const exited = new Promise<number | null>((resolve) => {
    child.once('error', () => resolve(null));
    child.once('exit', (code) => resolve(code));
  });
  const lines = collectLines(child);
  return {
    exited,
    output: () => lines.all.join('\n'),
    waitForLine: (pattern, timeoutMs) => waitForLine({ lines, exited, pattern, timeoutMs, name: path.basename(args[0] ?? command) }),
    stop: () => stop(child, exited),
  };
}

interface Lines {
  readonly all: string[];
  readonly stdout: string[];
  readonly listeners: Set<(line: string) => void>;
}

function collectLines(child: ChildProcess): Lines {
  const lines: Lines = { all: [], stdout: [], listeners: new Set() };
  const keep = (list: string[], line: string): void => {
    list.push(line);
    if (list.length > KEPT_LINES) list.shift();
  };
  if (child.stdout) {
    createInterface({ input: child.stdout }).on('line', (line) => {
      keep(lines.all, line);
      keep(lines.stdout, line);
      for (const listener of lines.listeners) listener(line);
    });
  }
  if (child.stderr) createInterface({ input: child.stderr }).on('line', (line) => keep(lines.all, line));
  return lines;
}

interface Wait {
  readonly lines: Lines;
  readonly exited: Promise<number | null>;
  readonly pattern: RegExp;
  readonly timeoutMs: number;
  readonly name: string;
}

function waitForLine({ lines, exited, pattern, timeoutMs, name }: Wait): Promise<string> {
  const printed = lines.stdout.find((line) => pattern.test(line));
  if (printed !== undefined) return Promise.resolve(printed);
  return new Promise((resolve, reject) => {
    const end = (settle: () => void): void => {
      clearTimeout(timer);
      lines.listeners.delete(listener);
      settle();
    };
    const listener = (line: string): void => {
      if (pattern.test(line)) end(() => resolve(line));
    };
    const fault = (what: string): Error => new Error(`\`${name}\` ${what}; it printed:\n${lines.all.join('\n')}`);
    const timer = setTimeout(() => end(() => reject(fault(`said nothing like ${pattern} in ${timeoutMs} ms`))), timeoutMs);
    lines.listeners.add(listener);
    void exited.then((code) => end(() => reject(fault(`ended with code ${code}`))));
  });
}

async function stop(child: ChildProcess, exited: Promise<number | null>): Promise<number | null> {
  child.stdin?.end();
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
  try {
    return await exited;
  } finally {
    clearTimeout(timer);
  }
}
