/** `run_command`'s port: in the sandbox where it holds, otherwise only with a person's explicit leave for this one run. */

import type { RunBegun } from '#kernel/effects';
import { Fault, reasonOf } from '#kernel/errors';
import type { CommandRequest, CommandResult, CommandRunner, SandboxStatus } from '#kernel/ports/command-runner';
import { say } from '#kernel/text/message';
import { type CommandRunnerOptions, type Ground, settleGround, unfitWorkspace } from './command-ground.ts';
import { createEffects, type Effects, type OpenOptions } from './effects/effects.ts';
import { findJournal, findWay } from './effects/find-place.ts';
import { failWithoutRoom } from './effects/run-plan.ts';
import { type ChildResult, programRunner, runChild, type TreeLimit, watchTree } from './run-child.ts';
import { createTrackedFiles, type Looks, needsNetwork, runContained, runOverView } from './run-contained.ts';
import { plainEnvironment } from './sandbox/clean-environment.ts';
import { followGitSettings, type GitSettings } from './sandbox/home.ts';
import type { LaunchResult } from './sandbox/launch.ts';
import { type ProbedSandbox, probeSandbox } from './sandbox/probe-sandbox.ts';
import { findProcessCages } from './sandbox/process-cage.ts';
import { findPlanted, scanWorkspace } from './sandbox/scan-workspace.ts';
import { createWorkspaceIndex } from './sandbox/workspace-index.ts';

export function createCommandRunner(options: CommandRunnerOptions): CommandRunner {
  const ground = settleGround(options);
  const { workspaceRoot: root, rules } = ground;
  const looks: Looks = { index: createWorkspaceIndex({ root, rules }), tracked: createTrackedFiles(root) };
  const git = followGitSettings(ground.workspaceRoot, ground.environment, programRunner);
  let probed: Promise<Probed> | undefined;
  let againAt = Number.POSITIVE_INFINITY;
  const probe = (fresh = false) => {
    if (fresh || Date.now() >= againAt) [probed, againAt] = [undefined, Number.POSITIVE_INFINITY];
    // Not under a caller's signal: the answer is everybody's.
    probed ??= probeAll(ground, journal).then(
      (sandbox) => {
        ground.log.info(`sandbox ${sandbox.status.state}: ${sandbox.status.reason}`);
        if (isForWantOfRoom(sandbox.status)) probed = undefined;
        if (sandbox.status.state !== 'enforced' || sandbox.status.view?.judged === false) againAt = Date.now() + failedForMs;
        return sandbox;
      },
      (thrown: unknown) => {
        probed = undefined;
        return failWithoutRoom(thrown);
      },
    );
    return probed;
  };
  const journal = openJournal(ground);
  return {
    status: async (again) => (await probe(again?.fresh)).status,
    history: async () => {
      const effects = journal();
      return typeof effects === 'string' ? undefined : effects;
    },
    journal: async () => journal(),
    run: async (request, signal, onOutput, onApply = () => undefined) => {
      try {
        signal.throwIfAborted();
        return await runDecided({ request, sandbox: await probe(), ground, looks, git, onOutput, onApply }, signal);
      } catch (thrown) {
        if (thrown instanceof Fault && thrown.code === 'sandbox_failed') probed = undefined;
        throw signal.aborted ? cancelled(signal) : thrown;
      }
    },
  };
}

/** So long, in ms, what a probe failed at counts: a busy machine, at which one ends at its limit, gets quiet again. */
const failedForMs = 60_000;

const wantOfRoom = /\bENOSPC\b|\bEDQUOT\b|no space left|quota exceeded/i;

/** A full disk passes: what it kept us from is tried anew at the next command. */
function isForWantOfRoom({ state, reason, view }: SandboxStatus): boolean {
  return (state !== 'enforced' && wantOfRoom.test(reason)) || (view?.judged === false && wantOfRoom.test(view.reason));
}

interface Probed extends ProbedSandbox {
  /** Present where commands run over a view. */
  readonly effects?: Effects;
  readonly how?: OpenOptions;
}

/** Found at the first use; why not, where there is none. INVARIANT: one for all of this process, which knows its own runs by it. */
function openJournal({ judge, workspaceRoot, stateDir, log, limits, undo }: Ground): () => Effects | string {
  let opened: Effects | string | undefined;
  return () => {
    if (opened !== undefined || judge === undefined) return opened ?? 'nobody judges changes here';
    try {
      const found = findJournal({ workspaceRoot, stateDir, programs: programRunner });
      const options = { workspaceRoot, programs: programRunner, judge, log, limits: { bytes: limits.diskBytes, ...undo } };
      opened = found.kind === 'none' ? found.reason : createEffects({ ...options, journal: found.journal });
    } catch (thrown) {
      const why = `the journal cannot be opened: ${reasonOf(thrown)}`;
      if (wantOfRoom.test(why)) return why;
      opened = why;
    }
    return opened;
  };
}

async function probeAll(ground: Ground, journal: () => Effects | string): Promise<Probed> {
  const sandbox = await probeGround(ground);
  const { judge, workspaceRoot, stateDir } = ground;
  if (judge === undefined || sandbox.status.state !== 'enforced') return sandbox;
  const way = await findWay({ workspaceRoot, stateDir, programs: programRunner }, new AbortController().signal);
  const effects = journal();
  const without = (reason: string, better: string) => ({
    ...sandbox,
    status: { ...sandbox.status, view: { judged: false as const, reason, better } },
  });
  if (way.kind === 'none') return without(way.reason, way.better);
  if (typeof effects === 'string') return without(effects, 'make its directory writable');
  const view = { judged: true, ...(way.note === undefined ? {} : { note: way.note }) } as const;
  return { ...sandbox, status: { ...sandbox.status, view }, effects, how: { copy: way.kind === 'copy', scratch: way.scratch } };
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
  readonly looks: Looks;
  readonly git: (signal: AbortSignal) => Promise<GitSettings>;
  readonly onOutput: (chunk: string) => void;
  readonly onApply: (begun: RunBegun) => void;
}

async function runDecided(run: Run, signal: AbortSignal): Promise<CommandResult> {
  const { request, sandbox, ground } = run;
  requireLeave(sandbox.status, request, ground);
  sandbox.parts?.cages?.prepare();
  if (sandbox.effects !== undefined && sandbox.parts !== undefined)
    return runJudged(run, { how: {}, ...sandbox, parts: sandbox.parts, effects: sandbox.effects }, signal);
  const look = (thorough: boolean) =>
    scanWorkspace({ root: ground.workspaceRoot, rules: ground.rules, limitMs: ground.limits.scanMs, thorough }, signal);
  const before = await look(false);
  // The kernel's stamps are of the system's clock: an injected one would not compare with them.
  const startedAt = Date.now();
  const { parts } = sandbox;
  const contained = parts !== undefined;
  const result = contained
    ? await runContained({ request, ground, scan: before, parts, git: await run.git(signal), onOutput: run.onOutput }, signal)
    : { ...(await runPlain({ request, ground, onOutput: run.onOutput }, signal)), networkTries: 0 };
  if (result.end === 'abort') throw cancelled(signal);
  const after = contained && request.surface === 'readonly_bash' ? before : await look(true);
  return {
    ...outcome(result),
    sandbox: sandbox.status.state,
    planted: findPlanted(before, after, startedAt),
    scanIncomplete: !before.complete || !after.complete,
  };
}

async function runJudged(run: Run, { parts, effects, how, status }: Required<Probed>, signal: AbortSignal): Promise<CommandResult> {
  const { request, ground, looks, onOutput, onApply } = run;
  const ended = await runOverView(
    { request, ground, ...looks, how, parts, git: await run.git(signal), onOutput, onApply },
    effects,
    signal,
  );
  const { result, effects: changes } = ended;
  const wants = needsNetwork(result) ? { needsNetwork: true } : {};
  return { ...outcome(result), ...wants, sandbox: status.state, planted: [], scanIncomplete: false, effects: changes };
}

/** @throws {Fault} `sandbox_required` */
function requireLeave(status: SandboxStatus, request: CommandRequest, { requireSandbox }: Ground): void {
  if (status.state === 'enforced') return;
  if (!requireSandbox && request.allowUnsandboxed === true) return;
  throw new Fault('sandbox_required', say`the sandbox is ${status.state}, so the command did not run: ${status.reason}`, {
    next: requireSandbox ? 'repair the sandbox (`banksman doctor`)' : 'a person can let this one command run without it',
  });
}

function outcome({ end, exitCode, signal, ...output }: LaunchResult) {
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

/**
 * One command without a sandbox, which a person allowed for this run. Its environment is clean, its process group is killed and the
 * limits of a tree hold; a process that leaves the group outlives it.
 */
async function runPlain(
  { request, ground, onOutput }: Pick<Run, 'request' | 'ground' | 'onOutput'>,
  signal: AbortSignal,
): Promise<ChildResult<TreeLimit>> {
  const { limits, workspaceRoot } = ground;
  return runChild<TreeLimit>(
    {
      program: process.platform === 'win32' ? 'bash' : '/bin/bash',
      args: ['--noprofile', '--norc', '-c', request.command],
      cwd: workspaceRoot,
      env: plainEnvironment(ground.environment),
      timeoutMs: request.timeoutMs,
      keepBytes: limits.outputBytes,
      stopAfterBytes: limits.floodBytes,
    },
    signal,
    { onOutput, onStart: (pid, stop) => watchTree(() => pid, { workspaceRoot, limits }, stop) },
  );
}
