/** One run of bubblewrap: starts it, tells "the sandbox failed" from "the command failed", and waits until nothing of it is left. */

import { closeSync, openSync, readFileSync, readSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { Fault, toFault } from '#kernel/errors';
import type { OnProgramOutput } from '#kernel/ports/program-runner';
import { say } from '#kernel/text/message';
import type { ProgramLine } from '../effects/view.ts';
import { type ChildResult, runChild, type TreeLimit, type TreeLimits, watchTree } from '../run-child.ts';
import { launcherEnvironment } from './clean-environment.ts';
import type { ProcessCage, ProcessCages } from './process-cage.ts';
import { type SandboxPlan, sandboxArguments } from './sandbox-arguments.ts';

export interface LaunchOptions {
  /** Of bubblewrap. */
  readonly program: string;
  readonly timeoutMs: number;
  readonly keepBytes: number;
  readonly stopAfterBytes: number;
  readonly treeLimits: TreeLimits;
  /** Processes and threads in the sandbox, its own two included. */
  readonly tasks: number;
  /** What holds root to `tasks`; left out: nothing but RLIMIT_NPROC, which binds other users. */
  readonly cages?: ProcessCages | undefined;
  readonly onOutput?: OnProgramOutput;
  /** On the file system that fills; left out: the workspace. */
  readonly writesTo?: string | undefined;
  /** Starts the sandbox in a view of the workspace; it keeps its process id and descriptors. */
  readonly over?: ((line: ProgramLine) => ProgramLine) | undefined;
  /** Once the view is there and before the command starts: a process in its mount namespace. */
  readonly onMounted?: ((pid: number) => void) | undefined;
}

export interface LaunchResult extends ChildResult<TreeLimit> {
  /** Packets and connections that found no way out, of a run without network; 0 with it. */
  readonly networkTries: number;
}

/** How long the kernel may take to end a process namespace whose first process is dead, in ms. */
const goneWithinMs = 10_000;

/** @throws {Fault} `sandbox_failed` when the command was never started */
export async function launch(plan: SandboxPlan, options: LaunchOptions, signal: AbortSignal): Promise<LaunchResult> {
  const cage = openCage(options);
  const counters = networkCounters();
  try {
    return await launchInCage(plan, { ...options, cage, counters }, signal);
  } finally {
    counters.close();
    await cage?.remove();
  }
}

function openCage({ cages, tasks }: LaunchOptions): ProcessCage | undefined {
  try {
    return cages?.open(tasks);
  } catch (thrown) {
    throw notLaunched(`its processes cannot be limited (${toFault(thrown).message})`, thrown);
  }
}

interface CagedOptions extends LaunchOptions {
  readonly cage: ProcessCage | undefined;
  readonly counters: NetworkCounters;
}

async function launchInCage(plan: SandboxPlan, options: CagedOptions, signal: AbortSignal): Promise<LaunchResult> {
  const {
    treeLimits,
    onOutput,
    cage,
    counters,
    cages: _cages,
    tasks: _tasks,
    program,
    over = (line: ProgramLine) => line,
    writesTo = plan.workspaceRoot,
    onMounted,
    ...limits
  } = options;
  const start = Promise.withResolvers<Uint8Array>();
  let refusal: unknown;
  let launcher: number | undefined;
  const report = readReport(({ pid }) => {
    // SECURITY: of bubblewrap itself, which the command cannot reach.
    if (launcher !== undefined) onMounted?.(launcher);
    if (!plan.network) counters.open(pid);
    admit(pid, cage).then(start.resolve, (thrown: unknown) => {
      refusal = thrown;
      start.reject(thrown);
    });
  });
  // Standard input is a pipe at its end: the command opens the sandbox's own `/dev/null`.
  const { args, extra } = sandboxArguments(plan, { onStatus: report.add, start: start.promise });
  const result = await runChild<TreeLimit>(
    { ...limits, ...over({ program, args }), extra, input: '', cwd: '/', env: launcherEnvironment },
    signal,
    {
      onOutput,
      onStart: (pid, stop) => {
        launcher = pid;
        cage?.expect();
        return watchTree(() => report.init()?.pid, { workspaceRoot: writesTo, limits: treeLimits }, stop);
      },
    },
  ).catch((thrown: unknown) => {
    throw notLaunched(toFault(thrown).message, thrown);
  });
  const first = report.init();
  if (first !== undefined) await endNamespace(first);
  const ended = { ...result, networkTries: counters.tries() };
  if (result.end !== 'exit') return ended;
  if (refusal !== undefined) throw refused(refusal, result);
  // Only a command that was started has an exit code in bubblewrap's report.
  if (!report.hasExitCode()) throw failed(result);
  return ended;
}

interface NetworkCounters {
  open(pid: number): void;
  /** So far; 0 where nothing was opened. */
  tries(): number;
  close(): void;
}

const longestCounters = 65_536;

/**
 * The kernel's own counters of a sandbox's network, opened before the command starts: an open one can be read when all processes are gone. Only
 * what had no route out counts, so neither loopback nor a port there on which nobody listens. Source: RFC 4293 (`ipSystemStatsOutNoRoutes`).
 */
function networkCounters(): NetworkCounters {
  const descriptors: number[] = [];
  const read = (descriptor: number) => {
    const buffer = Buffer.alloc(longestCounters);
    return buffer.toString('latin1', 0, readSync(descriptor, buffer, 0, buffer.length, 0));
  };
  return {
    open: (pid) => {
      try {
        for (const name of ['snmp', 'snmp6']) descriptors.push(openSync(`/proc/${pid}/net/${name}`, 'r'));
      } catch {
        // A kernel without IPv6 has the first alone.
      }
    },
    tries: () => descriptors.reduce((sum, descriptor) => sum + outNoRoutes(read(descriptor)), 0),
    close: () => {
      for (const descriptor of descriptors.splice(0)) closeSync(descriptor);
    },
  };
}

/** `snmp` has a line of names and one of values, `snmp6` a line for each. */
function outNoRoutes(text: string): number {
  const six = /^Ip6OutNoRoutes\s+(\d+)$/m.exec(text)?.[1];
  if (six !== undefined) return Number(six);
  const [names = '', values = ''] = text.split('\n').filter((line) => line.startsWith('Ip:'));
  return Number(values.split(' ')[names.split(' ').indexOf('OutNoRoutes')] ?? 0);
}

/** Before there is a second process in there. @returns what opens the gate */
async function admit(pid: number, cage: ProcessCage | undefined): Promise<Uint8Array> {
  await cage?.hold(pid);
  try {
    // Where memory runs out the kernel ends a command before the editor.
    writeFileSync(`/proc/${pid}/oom_score_adj`, '800');
  } catch {
    // Some systems keep it to root; the limit on memory holds all the same.
  }
  return Buffer.from('.');
}

/** The first process of the sandbox's process namespace. Its start time tells it from a later process of the same number. */
interface FirstProcess {
  readonly pid: number;
  readonly startedAt: string;
}

/** @param onFirst called once, when the first process is there */
function readReport(onFirst: (first: FirstProcess) => void) {
  let text = '';
  let first: FirstProcess | undefined;
  return {
    add: (more: string) => {
      text += more;
      const pid = numberIn(text, 'child-pid');
      if (pid === undefined || first !== undefined) return;
      const startedAt = processStat(pid)?.startedAt;
      if (startedAt === undefined) return;
      first = { pid, startedAt };
      onFirst(first);
    },
    init: () => first,
    hasExitCode: () => numberIn(text, 'exit-code') !== undefined,
  };
}

/**
 * INVARIANT: the first process of a namespace is not reaped before all others are. It ends with bubblewrap (`--die-with-parent`); killing it,
 * too, costs nothing, and what is in there might multiply without end.
 */
async function endNamespace(first: FirstProcess): Promise<void> {
  const until = performance.now() + goneWithinMs;
  for (let wait = 1; isAlive(first); wait = Math.min(wait * 2, 50)) {
    if (performance.now() > until)
      throw new Fault('sandbox_failed', say`the sandbox was told to end and still runs (process ${first.pid})`, {
        effect: { state: 'sent' },
      });
    kill(first.pid);
    await delay(wait);
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It ended meanwhile.
  }
}

/** A zombie that nobody collects is dead. */
function isAlive({ pid, startedAt }: FirstProcess): boolean {
  const stat = processStat(pid);
  return stat !== undefined && stat.startedAt === startedAt && stat.state !== 'Z' && stat.state !== 'X';
}

/** `proc(5)`: behind the name, which ends in the last parenthesis, the state is the first field and the start time the 20th. */
function processStat(pid: number): { readonly state: string | undefined; readonly startedAt: string | undefined } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { state: fields[0], startedAt: fields[19] };
  } catch {
    return undefined;
  }
}

function numberIn(status: string, key: string): number | undefined {
  const found = new RegExp(`"${key}": ?(\\d+)`).exec(status)?.[1];
  return found === undefined ? undefined : Number(found);
}

function failed({ stderr, signal }: ChildResult<TreeLimit>): Fault {
  const said = stderr.split('\n').find((line) => line.startsWith('bwrap:')) ?? stderr.split('\n', 1)[0] ?? '';
  const why = said === '' ? `it ended${signal === undefined ? '' : ` by ${signal}`} without a word` : said;
  return notLaunched(why);
}

/** A process that ended before it could be limited (ESRCH) had a reason, which its launcher says. */
function refused(refusal: unknown, result: ChildResult<TreeLimit>): Fault {
  if ((refusal as NodeJS.ErrnoException).code === 'ESRCH') return failed(result);
  return notLaunched(`its processes could not be limited (${toFault(refusal).message})`, refusal);
}

function notLaunched(why: string, cause?: unknown): Fault {
  return new Fault('sandbox_failed', say`the sandbox did not start: ${why}`, { next: 'run `banksman doctor`', cause });
}
