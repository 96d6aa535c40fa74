/** What a command runner is made from, and the place it works in. */

import { realpathSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { EffectJudge } from '#kernel/effects';
import type { Log } from '#kernel/ports/log';
import type { TreeLimits } from './run-child.ts';
import { isInside } from './sandbox/entries.ts';
import type { ProcessLimits } from './sandbox/sandbox-arguments.ts';
import type { NameRules } from './sandbox/scan-workspace.ts';

export interface CommandLimits extends Omit<ProcessLimits, 'cpuSeconds'>, TreeLimits {
  /** Kept of stdout and of stderr. */
  readonly outputBytes: number;
  /** Written by both together before the run is stopped. */
  readonly floodBytes: number;
  /** Size of `/tmp` and of the home directory, each, in memory. */
  readonly memoryDiskBytes: number;
  /** For the looks at the workspace before and after a run on itself. */
  readonly scanMs: number;
  /** For the look before a run over a view, which must see all; the next one goes on from there. */
  readonly wholeScanMs: number;
}

export const defaultLimits: CommandLimits = {
  processes: 512,
  tasks: 1_024,
  memoryBytes: 8 * 2 ** 30,
  diskBytes: 20 * 2 ** 30,
  fileBytes: 4 * 2 ** 30,
  openFiles: 4_096,
  outputBytes: 256 * 1_024,
  floodBytes: 64 * 2 ** 20,
  memoryDiskBytes: 2 ** 30,
  scanMs: 1_500,
  wholeScanMs: 60_000,
};

export interface CommandRunnerOptions {
  readonly workspaceRoot: string;
  /** The layer's own directory: never visible inside. */
  readonly stateDir: string;
  /** More that must not be seen where it lies in the workspace (the configuration's directory, persona sandboxes). */
  readonly hiddenPaths: readonly string[];
  /** Refuse, instead of asking, where the sandbox is not enforced. */
  readonly requireSandbox: boolean;
  /** The policy's lists of names. */
  readonly rules: NameRules;
  /** The policy's judge of what a command changed; left out: commands run on the workspace itself, guarded. */
  readonly judge?: EffectJudge;
  readonly log: Log;
  /** What the journal keeps for undo; left out: as much as `defaultEffectsLimits` says. */
  readonly undo?: { readonly journalBytes: number; readonly journalMs: number };
  /** Left out: `defaultLimits`. */
  readonly limits?: Partial<CommandLimits>;
  /** The caller's environment, for `PATH` and `HOME`; left out: this process's. */
  readonly environment?: NodeJS.ProcessEnv;
}

/** What a run needs to know, resolved once. */
export interface Ground extends Omit<CommandRunnerOptions, 'limits' | 'environment'> {
  readonly limits: CommandLimits;
  readonly environment: NodeJS.ProcessEnv;
  readonly home: string;
}

/** @throws when the workspace does not exist */
export function settleGround({ limits, environment = process.env, ...options }: CommandRunnerOptions): Ground {
  return {
    ...options,
    workspaceRoot: realpathSync(options.workspaceRoot),
    stateDir: path.resolve(options.stateDir),
    limits: { ...defaultLimits, ...limits },
    environment,
    home: environment['HOME'] ?? os.homedir(),
  };
}

/** A workspace that holds the home directory or the system leaves nothing to keep a command out of. */
export function unfitWorkspace({ workspaceRoot, home, stateDir }: Ground): string | undefined {
  const held = [home, '/usr', '/etc', '/tmp', '/var/tmp', '/run', '/dev', '/proc'].find((place) =>
    isInside(path.resolve(place), workspaceRoot),
  );
  if (held !== undefined) return `the workspace \`${workspaceRoot}\` holds \`${held}\`: open a project's folder instead`;
  const system = ['/usr', '/etc', '/dev', '/proc', '/sys'].find((place) => isInside(workspaceRoot, place));
  if (system !== undefined) return `the workspace \`${workspaceRoot}\` is part of the system: open a project's folder instead`;
  if (isInside(workspaceRoot, stateDir))
    return `the workspace \`${workspaceRoot}\` is inside Banksman's own directory: open another folder`;
  return undefined;
}
