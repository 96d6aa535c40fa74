/** `run_command`'s port: in the sandbox where it holds, otherwise only with a person's explicit leave for this one run. */
import { Fault } from '#kernel/errors';
import type { CommandRequest, CommandResult, CommandRunner, SandboxStatus } from '#kernel/ports/command-runner';
import { type CommandRunnerOptions, type Ground, settleGround, unfitWorkspace } from './command-ground.ts';
import { createEffects, type Effects } from './effects/effects.ts';
import { findWay } from './effects/find-place.ts';
import type { ChildResult } from './run-child.ts';
import { runOverView } from './run-over-view.ts';
import { runPlain } from './run-plain.ts';
import { programRunner } from './run-program.ts';
import { createDirectoryMemory } from './sandbox/directory-memory.ts';
import { findPlanted } from './sandbox/find-planted.ts';
import { followGitSettings, type GitSettings } from './sandbox/home.ts';
import { type ProbedSandbox, probeSandbox } from './sandbox/probe-sandbox.ts';
import { findProcessCages } from './sandbox/process-cage.ts';
import { runContained } from './sandbox/run-contained.ts';
import { type ScanMemory, scanWorkspace } from './sandbox/scan-workspace.ts';
import type { TreeLimit } from './watch-tree.ts';

export function createCommandRunner(options: CommandRunnerOptions): CommandRunner {
  const ground = settleGround(options);
  const memory: ScanMemory = createDirectoryMemory({ root: ground.workspaceRoot });
  const git = followGitSettings(ground.workspaceRoot, ground.environment, programRunner);
  let probed: Promise<Probed> | undefined;
  const probe = (fresh = false) => {
    if (fresh) probed = undefined;
    // Not under a caller's signal: the answer is everybody's.
    probed ??= probeAll(ground).then((sandbox) => {
      ground.log.info(`sandbox ${sandbox.status.state}: ${sandbox.status.reason}`);
      return sandbox;
    });
    return probed;
  };
  return {
    status: async (again) => (await probe(again?.fresh)).status,
    history: async () => (await probe()).effects,
    run: async (request, signal, onOutput) => {
      try {
        signal.throwIfAborted();
        return await runDecided({ request, sandbox: await probe(), ground, memory, git, onOutput }, signal);
      } catch (thrown) {
        if (thrown instanceof Fault && thrown.code === 'sandbox_failed') probed = undefined;
        throw signal.aborted ? cancelled(signal) : thrown;
      }
    },
  };
}

interface Probed extends ProbedSandbox {
  /** Present where commands run over a view. */
  readonly effects?: Effects;
}

async function probeAll(ground: Ground): Promise<Probed> {
  const sandbox = await probeGround(ground);
  const { judge, workspaceRoot, stateDir, log, limits } = ground;
  if (judge === undefined || sandbox.status.state !== 'enforced') return sandbox;
  const way = await findWay({ workspaceRoot, stateDir, programs: programRunner }, new AbortController().signal);
  if (way.kind === 'none') {
    const view = { judged: false, reason: way.reason, better: way.better } as const;
    return { ...sandbox, status: { ...sandbox.status, view } };
  }
  const bytes = { bytes: limits.diskBytes };
  const effects = createEffects({ workspaceRoot, journal: way.journal, programs: programRunner, judge, log, limits: bytes });
  const view = { judged: true, ...(way.note === undefined ? {} : { note: way.note }) } as const;
  return { ...sandbox, status: { ...sandbox.status, view }, effects };
}

async function probeGround(ground: Ground): Promise<ProbedSandbox> {
  const unfit = unfitWorkspace(ground);
  if (unfit !== undefined) return { status: { state: 'unavailable', reason: unfit } };
  const machine = { platform: process.platform, architecture: process.arch, searchPath: ground.environment['PATH'] ?? '' };
  const cages = findProcessCages();
  return probeSandbox(
    { machine, programs: programRunner, stateDir: ground.stateDir, home: ground.home, cages },
    new AbortController().signal,
  );
}

interface Run {
  readonly request: CommandRequest;
  readonly sandbox: Probed;
  readonly ground: Ground;
  readonly memory: ScanMemory;
  readonly git: (signal: AbortSignal) => Promise<GitSettings>;
  readonly onOutput: (chunk: string) => void;
}

async function runDecided(run: Run, signal: AbortSignal): Promise<CommandResult> {
  const { request, sandbox, ground, memory } = run;
  requireLeave(sandbox.status, request, ground);
  sandbox.parts?.cages?.expect();
  if (sandbox.effects !== undefined && sandbox.parts !== undefined)
    return runJudged(run, { ...sandbox, parts: sandbox.parts, effects: sandbox.effects }, signal);
  const look = (thorough: boolean) =>
    scanWorkspace({ root: ground.workspaceRoot, rules: ground.rules, limitMs: ground.limits.scanMs, thorough, memory }, signal);
  const before = await look(false);
  // The kernel's stamps are of the system's clock: an injected one would not compare with them.
  const startedAt = Date.now();
  const { parts } = sandbox;
  const contained = parts !== undefined;
  const result = contained
    ? await runContained({ request, ground, scan: before, parts, git: await run.git(signal), onOutput: run.onOutput }, signal)
    : await runPlain({ request, ground, onOutput: run.onOutput }, signal);
  if (result.end === 'abort') throw cancelled(signal);
  const after = contained && request.surface === 'readonly_bash' ? before : await look(true);
  return {
    ...outcome(result),
    sandbox: sandbox.status.state,
    planted: findPlanted(before, after, startedAt),
    scanIncomplete: !before.complete || !after.complete,
  };
}

async function runJudged(run: Run, { parts, effects, status }: Required<Probed>, signal: AbortSignal): Promise<CommandResult> {
  const { ground, memory } = run;
  const limitMs = ground.limits.wholeScanMs;
  const scan = await scanWorkspace({ root: ground.workspaceRoot, rules: ground.rules, limitMs, thorough: false, memory }, signal);
  const ended = await runOverView({ ...run, scan, parts, git: await run.git(signal) }, effects, signal);
  return { ...outcome(ended.result), sandbox: status.state, planted: [], scanIncomplete: false, effects: ended.effects };
}

/** @throws {Fault} `sandbox_required` */
function requireLeave(status: SandboxStatus, request: CommandRequest, { requireSandbox }: Ground): void {
  if (status.state === 'enforced') return;
  if (!requireSandbox && request.allowUnsandboxed === true) return;
  throw new Fault('sandbox_required', `the sandbox is ${status.state}, so the command did not run: ${status.reason}`, {
    next: requireSandbox ? 'repair the sandbox (`banksman doctor`)' : 'a person can let this one command run without it',
  });
}

function outcome({ end, exitCode, signal, ...output }: ChildResult<TreeLimit>) {
  const stoppedBy = end === 'exit' || end === 'timeout' || end === 'abort' ? undefined : end;
  return {
    ...output,
    ...(exitCode === undefined ? {} : { exitCode }),
    ...(signal === undefined ? {} : { signal }),
    ...(stoppedBy === undefined ? {} : { stoppedBy }),
    timedOut: end === 'timeout',
  };
}

function cancelled(signal: AbortSignal): unknown {
  return signal.reason instanceof Fault ? signal.reason : new Fault('cancelled', 'the command was stopped', { audience: 'user' });
}
