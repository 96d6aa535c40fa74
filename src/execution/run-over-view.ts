/** One command in the sandbox over a copy-on-write view: afterwards its effects are judged, and applied, held or dropped. */

import type { RunEffects } from '#kernel/effects';
import { Fault } from '#kernel/errors';
import type { Effects } from './effects/effects.ts';
import type { ChildResult } from './run-child.ts';
import { programRunner } from './run-program.ts';
import { launcherEnvironment } from './sandbox/clean-environment.ts';
import { configuredPlaces } from './sandbox/git-directory.ts';
import { isInside } from './sandbox/is-inside.ts';
import { type ContainedRun, runContained } from './sandbox/run-contained.ts';
import type { Scan } from './sandbox/scan-workspace.ts';
import type { TreeLimit } from './watch-tree.ts';

export interface ViewRun {
  readonly result: ChildResult<TreeLimit>;
  readonly effects: RunEffects;
}

/** @throws {Fault} `sandbox_failed`, `workspace_not_seen`; the signal's reason */
export async function runOverView(run: Omit<ContainedRun, 'over'>, effects: Effects, signal: AbortSignal): Promise<ViewRun> {
  if (!run.scan.complete) throw notSeen();
  const opened = await effects.open(await hiddenSecrets(run.ground.workspaceRoot, run.scan, signal));
  let result: ChildResult<TreeLimit>;
  try {
    result = await runContained({ ...run, over: opened.over }, signal);
    signal.throwIfAborted();
  } catch (thrown) {
    await opened.discard();
    throw thrown;
  }
  if (result.end === 'disk') {
    await opened.discard();
    return { result, effects: { ...nothing, nothingApplied: 'the command went over the limit for the disk; nothing of it was kept' } };
  }
  const { command, surface, agentId } = run.request;
  const places = { own: ownPlaces(run), obeyed: obeyedPlaces(run.ground.workspaceRoot, run.scan) };
  return { result, effects: await opened.settle({ title: command, agentId, apply: surface !== 'readonly_bash', ...places }, signal) };
}

/** As the repositories name them before they are changed: a name that a command adds is held with the configuration. */
function obeyedPlaces(root: string, { findings }: Scan): readonly string[] {
  const repositories = findings.filter(({ kind }) => kind === 'git_directory').map(({ path }) => path.split('/'));
  return repositories.flatMap((repository) => configuredPlaces(root, repository)).map((segments) => segments.join('/'));
}

/** As names below the workspace. */
function ownPlaces({ ground: { workspaceRoot, stateDir, hiddenPaths } }: Omit<ContainedRun, 'over'>): readonly string[] {
  const inside = [stateDir, ...hiddenPaths].filter((place) => place !== workspaceRoot && isInside(place, workspaceRoot));
  return inside.map((place) => place.slice(workspaceRoot.length + 1));
}

const nothing: RunEffects = { created: [], changed: [], deleted: [], leftOut: [], dropped: false };

/** SECURITY: of a workspace that was not looked through nobody knows where its secrets are. */
function notSeen(): Fault {
  return new Fault('workspace_not_seen', 'the workspace is too large to find its secrets in time, so the command did not run', {
    next: 'open a smaller folder, or take folders with very many directories out of it',
  });
}

/**
 * What git tracks stays readable: it is in every clone and in the object database, and hiding it breaks `git diff`, `add -A` and `stash`.
 * A repository that cannot be asked tracks nothing.
 */
async function hiddenSecrets(root: string, { findings }: Scan, signal: AbortSignal): Promise<readonly string[]> {
  const secrets = findings.filter(({ kind, link, directory }) => kind === 'secret' && !link && !directory).map(({ path }) => path);
  if (secrets.length === 0 || !findings.some(({ kind, path }) => kind === 'git_directory' && path === '.git')) return secrets;
  const safe = ['-c', 'core.fsmonitor=false', '-c', 'safe.directory=*', '--literal-pathspecs', '--no-optional-locks'];
  const args = [...safe, 'ls-files', '-z', '--cached', '--', ...secrets];
  const options = { cwd: root, env: { ...launcherEnvironment, ...quiet }, timeoutMs: 20_000, keepBytes: 1_000_000 };
  const listed = await programRunner.run({ program: 'git', args, ...options }, signal).catch(() => undefined);
  signal.throwIfAborted();
  const tracked = new Set(listed?.exitCode === 0 && !listed.truncated ? listed.stdout.split('\0') : []);
  return secrets.filter((path) => !tracked.has(path));
}

/** SECURITY: of this repository git reads what tells it where the index is, and nothing of a person's or the machine's. */
const quiet = { GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null', GIT_TERMINAL_PROMPT: '0' };
