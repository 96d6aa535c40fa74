import { realpathSync } from 'node:fs';
import type { CommandRequest } from '#kernel/ports/command-runner';
import type { Ground } from '../command-ground.ts';
import type { ProgramLine } from '../effects/view.ts';
import type { ChildResult } from '../run-child.ts';
import type { TreeLimit } from '../watch-tree.ts';
import { sandboxEnvironment } from './clean-environment.ts';
import { resetModes } from './device-nodes.ts';
import { coverOwn, guardWorkspace } from './guard-workspace.ts';
import { findHome, type GitSettings } from './home.ts';
import { launch } from './launch.ts';
import { limitedCommand } from './limited-command.ts';
import { openMasks } from './masks.ts';
import type { SandboxParts } from './probe-sandbox.ts';
import type { SandboxPlan } from './sandbox-arguments.ts';
import { sandboxUser } from './sandbox-user.ts';
import type { Scan } from './scan-workspace.ts';

export interface ContainedRun {
  readonly request: CommandRequest;
  readonly ground: Ground;
  /** The workspace as it is now. */
  readonly scan: Scan;
  readonly parts: SandboxParts;
  readonly git: GitSettings;
  readonly onOutput: (chunk: string) => void;
  /** Left out: the workspace itself is mounted, and guarded. */
  readonly over?: (line: ProgramLine) => ProgramLine;
}

/** One command in the sandbox. @throws {Fault} `sandbox_failed` */
export async function runContained(run: ContainedRun, signal: AbortSignal): Promise<ChildResult<TreeLimit>> {
  const { request, ground, scan } = run;
  const { limits } = ground;
  // A view may be written: what was written to it is dropped.
  const readonly = request.surface === 'readonly_bash' && run.over === undefined;
  resetModes(run.parts.devices);
  const masks = openMasks(ground.stateDir);
  const hidden = [ground.stateDir, ...ground.hiddenPaths].map(realOrSame);
  try {
    const place = { root: ground.workspaceRoot, masks, hidden };
    const guard =
      run.over === undefined ? guardWorkspace({ ...place, scan, readonly }) : { mounts: coverOwn(place), release: () => undefined };
    try {
      const options = { program: run.parts.bubblewrap.program, timeoutMs: request.timeoutMs, keepBytes: limits.outputBytes };
      const more = {
        stopAfterBytes: limits.floodBytes,
        treeLimits: limits,
        tasks: limits.tasks,
        cages: run.parts.cages,
        onOutput: run.onOutput,
        over: run.over,
      };
      return await launch(planOf(run, readonly, guard.mounts), { ...options, ...more }, signal);
    } finally {
      guard.release();
    }
  } finally {
    masks.release();
  }
}

function planOf({ request, ground, parts, git }: ContainedRun, readonly: boolean, mounts: SandboxPlan['mounts']): SandboxPlan {
  const home = findHome({ home: ground.home, environment: ground.environment, git });
  return {
    architecture: parts.bubblewrap.architecture,
    workspaceRoot: ground.workspaceRoot,
    readonly,
    network: request.network,
    home,
    etc: parts.etc(),
    devices: parts.devices,
    mounts,
    memoryDiskBytes: ground.limits.memoryDiskBytes,
    user: sandboxUser(),
    env: sandboxEnvironment(home, ground.environment, request.network),
    command: limitedCommand(request.command, { ...ground.limits, cpuSeconds: cpuSeconds(request.timeoutMs) }),
  };
}

/** Of one process, all its threads together: more than the wall clock allows on one core, and an end if nobody is left to stop it. */
export function cpuSeconds(timeoutMs: number): number {
  return Math.ceil(timeoutMs / 1_000) * 4 + 1;
}

function realOrSame(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
}
