/** One child process from start to the end of everything that it started. The one place that spawns. */

import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { readdirSync, readFileSync, statfsSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { Fault } from '#kernel/errors';
import type { OnProgramOutput, ProgramRequest, ProgramRunner } from '#kernel/ports/program-runner';
import { createCappedOutput } from '#kernel/text/capped-output';
import { say } from '#kernel/text/message';

/** What the child gets beyond its three streams, as descriptors 3, 4, … in this order. */
export type ExtraDescriptor =
  | { readonly kind: 'feed'; readonly bytes: Uint8Array }
  /** Fed once there is something to feed, and closed when there will be nothing. */
  | { readonly kind: 'feed-later'; readonly bytes: Promise<Uint8Array> }
  | { readonly kind: 'collect'; readonly onText: (text: string) => void }
  | { readonly kind: 'inherit'; readonly descriptor: number };

export interface ChildSpec extends ProgramRequest {
  readonly extra?: readonly ExtraDescriptor[];
}

/** Why it ended: by itself, or stopped by us. `stop` of the hooks brings reasons of its own. */
export type ChildEnd<Reason extends string> = 'exit' | 'timeout' | 'abort' | 'output' | Reason;

export interface ChildHooks<Reason extends string> {
  readonly onOutput?: OnProgramOutput | undefined;
  /** Called once it runs; what it returns is called when it has ended. */
  readonly onStart?: (pid: number, stop: (reason: Reason) => void) => () => void;
}

export interface ChildResult<Reason extends string> {
  readonly stdout: string;
  readonly stderr: string;
  readonly truncated: boolean;
  readonly exitCode: number | undefined;
  readonly signal: string | undefined;
  readonly end: ChildEnd<Reason>;
}

/** How long output may still come in after the child and its group are gone, in ms: somebody who left the group holds the pipe. */
const drainMs = 500;

/** @throws {Fault} `program_not_started` */
export async function runChild<Reason extends string = never>(
  spec: ChildSpec,
  signal: AbortSignal,
  hooks: ChildHooks<Reason> = {},
): Promise<ChildResult<Reason>> {
  const child = start(spec);
  const streams = { stdout: createCappedOutput(spec.keepBytes), stderr: createCappedOutput(spec.keepBytes) };
  let end: ChildEnd<Reason> = 'exit';
  const stop = (reason: ChildEnd<Reason>) => {
    if (end === 'exit') end = reason;
    killGroup(child);
  };
  const onAbort = () => stop('abort');
  const ended = endOf(child);
  const onEnd = child.pid === undefined ? undefined : hooks.onStart?.(child.pid, stop);
  // After `onStart`, so that whoever watches for the abort there hears of it, too.
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort, { once: true });
  const timer = setTimeout(() => stop('timeout'), spec.timeoutMs);
  collectOutput(child, streams, { spec, onOutput: hooks.onOutput, onFlood: () => stop('output') });
  feedExtras(child, spec.extra ?? []);
  try {
    const { code, signal: by } = await ended;
    return {
      stdout: streams.stdout.text(),
      stderr: streams.stderr.text(),
      truncated: streams.stdout.truncated || streams.stderr.truncated,
      exitCode: code ?? undefined,
      signal: by ?? undefined,
      end,
    };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
    onEnd?.();
  }
}

function start(spec: ChildSpec): ChildProcess {
  const stdio: StdioOptions = [
    spec.input === undefined ? 'ignore' : 'pipe',
    'pipe',
    'pipe',
    ...(spec.extra ?? []).map((extra) => (extra.kind === 'inherit' ? extra.descriptor : 'pipe')),
  ];
  try {
    const child = spawn(spec.program, spec.args, {
      cwd: spec.cwd,
      env: spec.env,
      stdio,
      // A process group of its own: what it starts is stopped with it.
      detached: process.platform !== 'win32',
      windowsHide: true,
    });
    if (spec.input !== undefined) feed(child.stdin, Buffer.from(spec.input));
    return child;
  } catch (thrown) {
    throw notStarted(thrown);
  }
}

/** The exit of the child, once its group is gone and its output is read. */
function endOf(child: ChildProcess): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
  return new Promise((resolve, reject) => {
    let drain: NodeJS.Timeout | undefined;
    child.once('error', (error) => {
      if (child.pid === undefined) reject(notStarted(error));
    });
    child.once('exit', () => {
      killGroup(child);
      drain = setTimeout(() => {
        for (const stream of child.stdio) stream?.destroy();
      }, drainMs);
    });
    child.once('close', (code, signal) => {
      clearTimeout(drain);
      resolve({ code, signal });
    });
  });
}

interface OutputOptions {
  readonly spec: ChildSpec;
  readonly onOutput: OnProgramOutput | undefined;
  readonly onFlood: () => void;
}

function collectOutput(
  child: ChildProcess,
  streams: Readonly<Record<'stdout' | 'stderr', ReturnType<typeof createCappedOutput>>>,
  options: OutputOptions,
): void {
  const most = options.spec.stopAfterBytes ?? Number.POSITIVE_INFINITY;
  let total = 0;
  for (const name of ['stdout', 'stderr'] as const) {
    const decoder = new StringDecoder('utf8');
    child[name]?.on('data', (chunk: Buffer) => {
      // What is still in the pipe after the limit is dropped: the child is being killed.
      if (total > most) return;
      total += chunk.length;
      streams[name].push(chunk);
      const text = decoder.write(chunk);
      if (text !== '') options.onOutput?.(text, name);
      if (total > most) options.onFlood();
    });
  }
}

function feedExtras(child: ChildProcess, extras: readonly ExtraDescriptor[]): void {
  extras.forEach((extra, index) => {
    const stream = child.stdio[index + 3];
    if (extra.kind === 'feed') feed(stream as Writable | null, extra.bytes);
    if (extra.kind === 'feed-later') feedLater(stream as Writable | null, extra.bytes);
    if (extra.kind === 'collect') {
      const decoder = new StringDecoder('utf8');
      (stream as Readable | null)?.on('data', (chunk: Buffer) => extra.onText(decoder.write(chunk)));
    }
  });
}

/** A child that ends without reading is no fault of the feeding. */
function feed(stream: Writable | null, bytes: Uint8Array): void {
  stream?.on('error', () => undefined);
  stream?.end(bytes);
}

function feedLater(stream: Writable | null, later: Promise<Uint8Array>): void {
  stream?.on('error', () => undefined);
  later.then(
    (bytes) => stream?.end(bytes),
    () => stream?.destroy(),
  );
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    if (process.platform === 'win32') child.kill('SIGKILL');
    else process.kill(-child.pid, 'SIGKILL');
  } catch {
    // Nobody is left in the group.
  }
}

function notStarted(thrown: unknown): Fault {
  const why = thrown instanceof Error ? thrown.message : String(thrown);
  return new Fault('program_not_started', say`the program could not be started: ${why}`, { cause: thrown });
}

/** Programs of the host, started as they are named: for what is no command of a model (ripgrep, the probe of the sandbox). */
export const programRunner: ProgramRunner = {
  run: async (request, signal, onOutput) => {
    signal.throwIfAborted();
    const extra = (request.descriptors ?? []).map((descriptor) => ({ kind: 'inherit', descriptor }) as const);
    const { end, exitCode, signal: by, ...output } = await runChild({ ...request, extra }, signal, { onOutput });
    if (end === 'abort') throw signal.reason;
    return {
      ...output,
      ...(exitCode === undefined ? {} : { exitCode }),
      ...(by === undefined ? {} : { signal: by }),
      timedOut: end === 'timeout',
      flooded: end === 'output',
    };
  },
};

/**
 * Limits that no rlimit can hold for a whole tree: how many processes, how much memory together, how much of the disk. Looked at
 * every few hundred ms, from outside. RLIMIT_NPROC does not bind root, and no rlimit counts memory over several processes.
 */
export interface TreeLimits {
  readonly processes: number;
  readonly memoryBytes: number;
  /** How much the free space of the workspace's file system may shrink. */
  readonly diskBytes: number;
}

export type TreeLimit = 'processes' | 'memory' | 'disk';

const intervalMs = 150;
const pageBytes = 4_096;

interface TreeUse {
  readonly processes: number;
  readonly memoryBytes: number;
}

/** @param root pid of the tree's first process, once it is known. @returns the end of watching */
export function watchTree(
  root: () => number | undefined,
  place: { readonly workspaceRoot: string; readonly limits: TreeLimits },
  onOver: (limit: TreeLimit) => void,
): () => void {
  const { workspaceRoot, limits } = place;
  const freeAtStart = freeBytes(workspaceRoot);
  const timer = setInterval(() => {
    const pid = root();
    const use = pid === undefined ? undefined : treeUse(pid, limits.processes);
    if (use !== undefined && use.processes > limits.processes) onOver('processes');
    else if (use !== undefined && use.memoryBytes > limits.memoryBytes) onOver('memory');
    else if (freeAtStart - freeBytes(workspaceRoot) > limits.diskBytes) onOver('disk');
  }, intervalMs);
  return () => clearInterval(timer);
}

/** Counts from the parent's list of children; ends as soon as there are more than `most`. Linux only: elsewhere the tree is empty. */
export function treeUse(root: number, most: number): TreeUse {
  const open = [root];
  let processes = 0;
  let memoryBytes = 0;
  for (let pid = open.pop(); pid !== undefined && processes <= most; pid = open.pop()) {
    processes += 1;
    memoryBytes += privateBytes(pid);
    open.push(...childrenOf(pid));
  }
  return { processes, memoryBytes };
}

function childrenOf(pid: number): readonly number[] {
  return names(`/proc/${pid}/task`).flatMap((thread) =>
    read(`/proc/${pid}/task/${thread}/children`)
      .split(' ')
      .filter((child) => child !== '')
      .map(Number),
  );
}

/** Resident minus shared: what would be free without it. `proc(5)`, statm, in pages. */
function privateBytes(pid: number): number {
  const [, resident = 0, shared = 0] = read(`/proc/${pid}/statm`).split(' ').map(Number);
  return Math.max(0, resident - shared) * pageBytes;
}

function freeBytes(path: string): number {
  try {
    const { bavail, bsize } = statfsSync(path);
    return bavail * bsize;
  } catch {
    return 0;
  }
}

// A process may end between its listing and the look at it.
function names(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
