/** One command in the sandbox: over a copy-on-write view, where its effects are judged afterwards, or on the workspace itself, guarded. */

import { chmodSync, realpathSync, statSync } from 'node:fs';
import type { RunBegun, RunEffects } from '#kernel/effects';
import { Fault } from '#kernel/errors';
import type { CommandRequest } from '#kernel/ports/command-runner';
import { showPlainly } from '#kernel/text/text';
import type { Ground } from './command-ground.ts';
import type { Effects, OpenOptions, OpenRun } from './effects/effects.ts';
import { isSmall } from './effects/lay-view.ts';
import { failWithoutRoom } from './effects/run-plan.ts';
import { look } from './effects/stamp.ts';
import { isPrivileged } from './effects/view.ts';
import { programRunner } from './run-child.ts';
import { launcherEnvironment, sandboxEnvironment, sandboxUser } from './sandbox/clean-environment.ts';
import { isInside, runsFolder } from './sandbox/entries.ts';
import { configuredPlaces } from './sandbox/git-directory.ts';
import { coverOwn, guardWorkspace, makeMasks } from './sandbox/guard-workspace.ts';
import { findHome, type GitSettings, hasInstalled, installedPrograms } from './sandbox/home.ts';
import { type LaunchOptions, type LaunchResult, launch } from './sandbox/launch.ts';
import type { SandboxParts } from './sandbox/probe-sandbox.ts';
import { deviceFolder, limitedCommand, resetModes, type SandboxPlan } from './sandbox/sandbox-arguments.ts';
import type { Scan } from './sandbox/scan-workspace.ts';
import type { WorkspaceIndex, WorkspaceLook } from './sandbox/workspace-index.ts';

interface ViewRun {
  readonly result: LaunchResult;
  readonly effects: RunEffects;
}

interface JudgedRun extends ContainedRun {
  readonly onApply: (begun: RunBegun) => void;
}

/** What is asked before each run over a view. */
export interface Looks {
  readonly index: WorkspaceIndex;
  readonly tracked: ReturnType<typeof createTrackedFiles>;
}

/** @throws {Fault} `sandbox_failed`, `workspace_not_seen`; the signal's reason */
export async function runOverView(
  run: JudgedRun & Looks & { readonly how: OpenOptions },
  effects: Effects,
  signal: AbortSignal,
): Promise<ViewRun> {
  const { workspaceRoot, limits } = run.ground;
  const seen = await run.index.look(limits.wholeScanMs, signal);
  if (seen === undefined) throw notSeen();
  const tracked = await run.tracked(seen, signal);
  const untracked = seen.secrets.filter((file) => !tracked.has(file));
  const names = await otherNames(untracked, workspaceRoot, signal);
  const inIndex = names.length === 0 ? tracked : await run.tracked({ ...seen, secrets: names }, signal);
  const hidden = [...new Set([...untracked, ...names.filter((file) => !inIndex.has(file))])];
  const once = (opened: OpenRun) => runOnce(run, { opened, seen, hidden }, signal);
  if (run.how.copy && !(await isSmall(workspaceRoot)))
    throw new Fault('sandbox_failed', 'the workspace has become too large to be copied for each command');
  const opened = await effects.open(hidden, { ...run.how, signal });
  const result = await once(opened);
  const again = mayCopy(run, result) && !opened.isCopy && (await isSmall(workspaceRoot)) ? await copyFor(effects, hidden) : undefined;
  if (again === undefined) {
    const said = withReason(run, withHiddenWords(result, hidden));
    const isGone = hasInstalled({ ...run.ground, git: run.git, command: run.request.command }, `${opened.upper}/../caches`);
    return settle(run, { opened, result: isGone ? withNote(said, goneWords) : said, seen, hidden }, signal);
  }
  await opened.discard();
  run.onOutput('\n[once more, on a copy of the workspace: over the view a directory cannot be given another name]\n');
  return settle(run, { opened: again, result: await once(again), seen, hidden }, signal);
}

/**
 * SECURITY: what a secret's other names (hard links) name is the same secret. They are looked for only where it has some, in the whole workspace.
 * @throws {Fault} `sandbox_failed`
 */
async function otherNames(secrets: readonly string[], root: string, signal: AbortSignal): Promise<readonly string[]> {
  const linked = secrets.map((file) => statSync(`${root}/${file}`, { throwIfNoEntry: false })).filter((stats) => (stats?.nlink ?? 1) > 1);
  if (linked.length === 0) return [];
  const numbers = linked.flatMap((stats, index) => [...(index === 0 ? [] : ['-o']), '-inum', String(stats?.ino)]);
  const args = ['.', '-xdev', '-path', `./${runsFolder}`, '-prune', '-o', '-type', 'f', '(', ...numbers, ')', '-print0'];
  const line = { program: 'find', args, cwd: root, env: launcherEnvironment, timeoutMs: 60_000, keepBytes: 16_000_000 };
  const { stdout, truncated } = await programRunner.run(line, signal);
  if (truncated) throw new Fault('sandbox_failed', 'secrets of the workspace have more names than can be hidden');
  return stdout.split('\0').flatMap((name) => (name === '' ? [] : [name.slice('./'.length)]));
}

interface Once {
  readonly opened: OpenRun;
  readonly seen: WorkspaceLook;
  readonly hidden: readonly string[];
}

async function runOnce(run: ContainedRun, { opened, seen, hidden }: Once, signal: AbortSignal): Promise<LaunchResult> {
  try {
    const covered = seen.closed.map((directory) => `${run.ground.workspaceRoot}/${directory}`);
    const git = withIgnored(withOwnNumbers(run, opened.isCopy), hidden);
    const result = await runContained({ ...run, git, view: { ...opened, covered } }, signal);
    signal.throwIfAborted();
    return result;
  } catch (thrown) {
    await opened.discard();
    return failWithoutRoom(thrown);
  }
}

/**
 * What programs say of EXDEV and EOVERFLOW (`rename(2)`, `open(2)`), `mv` where it copies an access list that names others instead, and git of a second name that has another inode number, as over an overlay
 * without root. With a network somebody outside may have noticed the first run.
 */
const refusedByView =
  /cross-device link|\bEXDEV\b|\bEOVERFLOW\b|too large for defined data type|\b(?:os error|errno) 18\b|hardlink different from source|^mv: preserving permissions/im;

/** Nothing of the first run is kept, so one that only says so gains nothing but a second one. Some swallow the error, and end well. */
function mayCopy({ request }: ContainedRun, { end, exitCode, stdout, stderr }: LaunchResult): boolean {
  if (isPrivileged() || request.network || end !== 'exit') return false;
  return refusedByView.test(stderr) || (exitCode !== 0 && refusedByView.test(stdout));
}

/** The kernel's own words for it lead nowhere. */
function withReason(run: ContainedRun, result: LaunchResult): LaunchResult {
  if (!mayCopy(run, result)) return result;
  const why =
    'over the view a directory cannot be given another name, nor a file of another user be changed, and this workspace cannot be copied for it: copy and delete instead';
  return withNote(result, why);
}

function withNote(result: LaunchResult, note: string): LaunchResult {
  const { stderr } = result;
  return { ...result, stderr: `${stderr}${stderr.endsWith('\n') || stderr === '' ? '' : '\n'}[${note}]\n` };
}

/** A shell says no more than that it may not write there. */
function withHiddenWords(result: LaunchResult, hidden: readonly string[]): LaunchResult {
  const denied = result.stderr.split('\n').filter((line) => /permission denied|\bEACCES\b|not writable/i.test(line));
  const met = hidden.find((file) => denied.some((line) => line.includes(file.slice(file.lastIndexOf('/') + 1))));
  if (met === undefined) return result;
  const what = `\`${showPlainly(met, 200)}\` holds secrets: commands see a comment in its place and cannot write to it`;
  return withNote(result, `${what}; write_file and edit_file can, once a person agrees`);
}

const goneWords =
  'what it installed outside of the workspace, for all projects, went with this run: install it in the project, or link it by its path (`npm link ../package`)';

async function copyFor(effects: Effects, hide: readonly string[]): Promise<OpenRun | undefined> {
  return effects.open(hide, { copy: true }).catch(() => undefined);
}

async function settle(
  run: JudgedRun,
  { opened, seen, hidden, result }: Once & Pick<ViewRun, 'result'>,
  signal: AbortSignal,
): Promise<ViewRun> {
  const { workspaceRoot } = run.ground;
  const tracksSecret = droppedFor(result) === undefined && (await tracksHidden(workspaceRoot, opened.upper, hidden));
  const dropped = tracksSecret ? secretTracked : droppedFor(result);
  if (dropped !== undefined) {
    await opened.discard();
    return { result, effects: { ...nothing, nothingApplied: dropped, ...(tracksSecret ? { instead: leaveSecretOut } : {}) } };
  }
  const { command, surface, agentId } = run.request;
  const programs = installedPrograms(run.ground).map(realOrSame);
  const places = { own: ownPlaces(run), obeyed: obeyedPlaces(workspaceRoot, seen), programs };
  const how = { title: command, agentId, apply: surface !== 'readonly_bash', onApply: run.onApply, ...places };
  return { result, effects: await opened.settle(how, signal) };
}

const secretTracked = 'nothing of it was applied: it made git track a secret that is hidden from it, or broke the index that tells';

const leaveSecretOut =
  'run it again without that file: what is secret is in no commit; where git must track it, ask the user to add it themselves';

function droppedFor({ end }: LaunchResult): string | undefined {
  return end === 'disk' ? 'the command went over the limit for the disk; nothing of it was kept' : undefined;
}

/** `getaddrinfo(3)`, `connect(2)`, and what curl, git, npm, pip and cargo make of them. */
const unreachable = [
  /ENOTFOUND|EAI_AGAIN|ENETUNREACH|EHOSTUNREACH|FetchError|fetch failed|dial tcp|NewConnectionError|UnknownHost/,
  /(?:could not|couldn't|unable to|cannot|can't|failed to) (?:resolve|connect|reach|look ?up|fetch|download)/i,
  /name resolution|failure resolving|name or service not known|no address associated|unknown host/i,
  /network is unreachable|no route to host|(?:connection|network|lookup) (?:error|timed out|timeout)/i,
];

/** It failed, the kernel counted tries to reach what is outside, and the command says that it failed for them: no check for updates. */
export function needsNetwork({ end, exitCode, networkTries, stdout, stderr }: LaunchResult): boolean {
  const failed = end === 'timeout' || (end === 'exit' && exitCode !== 0);
  return failed && networkTries > 0 && unreachable.some((words) => words.test(stderr) || words.test(stdout.slice(-4_000)));
}

/** What is hidden, git leaves alone (`add -A`, `stash -u`, `clean -fd`): a place holder in a commit would stand for the secret from then on. */
function withIgnored(files: GitSettings['files'], hidden: readonly string[]): GitSettings {
  if (hidden.length === 0) return { files };
  const patterns = hidden.map((file) => `/${file.replace(/[\\*?[\]!# ]/g, '\\$&')}\n`);
  const name = '.config/git/ignore';
  return { files: new Map([...files, [name, `${files.get(name) ?? ''}\n${patterns.join('')}`]]) };
}

/**
 * Root, owners and groups other than one's own have other numbers in a run, and so has a copy: git would take every file for changed. It goes by size
 * and time of change there, and misses a change that keeps both. Source: `git-config(1)`, `core.checkStat`.
 */
function withOwnNumbers({ git: { files }, ground }: ContainedRun, isCopy: boolean): GitSettings['files'] {
  const { uid, gid } = sandboxUser();
  const owned = ['', '/.git/index'].flatMap((place) => look(`${ground.workspaceRoot}${place}`) ?? []);
  if (!isCopy && !isPrivileged() && owned.every((stats) => Number(stats.uid) === uid && Number(stats.gid) === gid)) return files;
  return new Map([...files, ['.gitconfig', `${files.get('.gitconfig') ?? ''}[core]\n\tcheckStat = minimal\n`]]);
}

/**
 * SECURITY: what git tracks can be read by the next run (`createTrackedFiles`), so no command makes git track what was hidden from it, with
 * whatever content. An index that cannot be read may do that.
 */
async function tracksHidden(root: string, upper: string, hidden: readonly string[]): Promise<boolean> {
  if (hidden.length === 0) return false;
  const index = `${upper}/.git/index`;
  const closed: (readonly [string, number])[] = [];
  try {
    for (const entry of [upper, `${upper}/.git`, index]) closed.push(...openForUs(entry));
    const written = look(index);
    if (written === undefined || written.isCharacterDevice()) return false;
    if (!written.isFile()) return true;
    const listed = await listFiles(root, hidden, { GIT_INDEX_FILE: index });
    return listed === undefined || listed.length > 0;
  } finally {
    for (const [entry, mode] of closed.toReversed()) chmodSync(entry, mode);
  }
}

/** A command may have taken away its own right to look (`chmod -R 0 .`). @returns what is to be closed again */
function openForUs(entry: string): readonly (readonly [string, number])[] {
  const stats = look(entry);
  if (stats === undefined || !(stats.isDirectory() || stats.isFile())) return [];
  const mode = Number(stats.mode & 0o7777n);
  const wanted = mode | (stats.isDirectory() ? 0o700 : 0o400);
  if (wanted === mode) return [];
  chmodSync(entry, wanted);
  return [[entry, mode]];
}

/** As the repositories name them before they are changed: a name that a command adds is held with the configuration. */
function obeyedPlaces(root: string, { repositories }: WorkspaceLook): readonly string[] {
  return repositories.flatMap((repository) => configuredPlaces(root, repository.split('/'))).map((segments) => segments.join('/'));
}

/** As names below the workspace. */
function ownPlaces({ ground: { workspaceRoot, stateDir, hiddenPaths } }: ContainedRun): readonly string[] {
  const inside = [stateDir, ...hiddenPaths, `${workspaceRoot}/${runsFolder}`].filter(
    (place) => place !== workspaceRoot && isInside(place, workspaceRoot),
  );
  return inside.map((place) => place.slice(workspaceRoot.length + 1));
}

const nothing: RunEffects = { created: [], changed: [], deleted: [], leftOut: [], dropped: false };

/** SECURITY: of a workspace that was not looked through nobody knows where its secrets are. */
function notSeen(): Fault {
  return new Fault(
    'workspace_not_seen',
    'the workspace is large, and is still being looked through for secrets, so the command did not run',
    {
      next: 'run it again in a minute; if that goes on, open a smaller folder, or take folders with very many directories out of it',
      retryable: true,
    },
  );
}

/**
 * What git tracks stays readable: it is in every clone and in the object database, and hiding it breaks `git diff`, `add -A` and `stash`.
 * A repository that cannot be asked tracks nothing.
 */
export function createTrackedFiles(root: string): (look: WorkspaceLook, signal: AbortSignal) => Promise<ReadonlySet<string>> {
  let last: { readonly stamp: string; readonly tracked: ReadonlySet<string> } | undefined;
  return async ({ secrets, repositories }, signal) => {
    if (secrets.length === 0 || !repositories.includes('.git')) return new Set();
    // SECURITY: looked at before it is read, so that a later change has another stamp.
    const stamp = `${indexStamp(root)} ${secrets.join('\0')}`;
    if (last?.stamp !== stamp) last = { stamp, tracked: await listTracked(root, secrets, signal) };
    return last.tracked;
  };
}

/** The kernel's: a program cannot set a change time back. */
function indexStamp(root: string): string {
  const stats = look(`${root}/.git/index`);
  return stats === undefined ? '' : [stats.ino, stats.ctimeNs, stats.size].join(':');
}

async function listTracked(root: string, secrets: readonly string[], signal: AbortSignal): Promise<ReadonlySet<string>> {
  const listed = await listFiles(root, secrets);
  signal.throwIfAborted();
  return new Set(listed);
}

/** Those of the files that are in the index; undefined where git cannot say. */
async function listFiles(
  root: string,
  files: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<readonly string[] | undefined> {
  const safe = ['-c', 'core.fsmonitor=false', '-c', 'safe.directory=*', '--literal-pathspecs', '--no-optional-locks'];
  const args = [...safe, 'ls-files', '-z', '--cached', '--', ...files];
  const options = { cwd: root, env: { ...launcherEnvironment, ...quiet, ...env }, timeoutMs: 20_000, keepBytes: 1_000_000 };
  const listed = await programRunner.run({ program: 'git', args, ...options }, new AbortController().signal).catch(() => undefined);
  return listed?.exitCode === 0 && !listed.truncated ? listed.stdout.split('\0').slice(0, -1) : undefined;
}

/** SECURITY: of this repository git reads what tells it where the index is, and nothing of a person's or the machine's. */
const quiet = { GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null', GIT_TERMINAL_PROMPT: '0' };

interface ContainedRun {
  readonly request: CommandRequest;
  readonly ground: Ground;
  readonly parts: SandboxParts;
  readonly git: GitSettings;
  readonly onOutput: (chunk: string) => void;
}

interface RunView extends Pick<OpenRun, 'over' | 'hold' | 'upper' | 'isCopy'> {
  /** Absolute; nobody may look into them. */
  readonly covered: readonly string[];
}

/** Where it runs: over a view, or on the workspace itself, guarded as it is now. */
type RunGround = { readonly scan: Scan; readonly view?: never } | { readonly view: RunView; readonly scan?: never };

/** One command in the sandbox. @throws {Fault} `sandbox_failed` */
export async function runContained(run: ContainedRun & RunGround, signal: AbortSignal): Promise<LaunchResult> {
  const { request, ground, scan, view } = run;
  const { limits } = ground;
  // A view may be written: what was written to it is dropped.
  const readonly = request.surface === 'readonly_bash' && view === undefined;
  resetModes(run.parts.devices);
  const runs = `${ground.workspaceRoot}/${runsFolder}`;
  const hidden = [ground.stateDir, ...ground.hiddenPaths, ...(view?.covered ?? []), runs]
    .map(realOrSame)
    // In a view there is nothing at that place.
    .filter((place) => view === undefined || place !== runs);
  const place = { root: ground.workspaceRoot, masks: () => makeMasks(ground.stateDir), hidden };
  const guard = scan === undefined ? { mounts: coverOwn(place), release: () => undefined } : guardWorkspace({ ...place, scan, readonly });
  try {
    const plan = planOf(run, readonly, guard.mounts);
    const options = { program: run.parts.bubblewrap.program, timeoutMs: request.timeoutMs, keepBytes: limits.outputBytes };
    const more = {
      stopAfterBytes: limits.floodBytes,
      treeLimits: limits,
      tasks: limits.tasks,
      cages: run.parts.cages,
      onOutput: run.onOutput,
      ...placeOf(view, plan),
    };
    // Over an overlay they are laid over `/dev` before bubblewrap starts, which takes a mount instead of six.
    const over = view?.isCopy === false ? { devices: [] } : { workspaceSource: view?.upper };
    return await launch({ ...plan, ...over }, { ...options, ...more }, signal);
  } finally {
    guard.release();
  }
}

/** SECURITY: only an overlay has a mount namespace of its own to mount in. */
function placeOf(view: RunView | undefined, { home, devices }: SandboxPlan): Pick<LaunchOptions, 'over' | 'onMounted' | 'writesTo'> {
  if (view === undefined || view.isCopy) return { writesTo: view?.upper };
  const host = { caches: home.caches, devices: deviceFolder(devices) };
  return { over: (line) => view.over(line, host), onMounted: view.hold, writesTo: view.upper };
}

function planOf(
  { request, ground, parts, git, view }: ContainedRun & RunGround,
  readonly: boolean,
  mounts: SandboxPlan['mounts'],
): SandboxPlan {
  const home = findHome({ home: ground.home, environment: ground.environment, git, command: request.command });
  return {
    architecture: parts.bubblewrap.architecture,
    workspaceRoot: ground.workspaceRoot,
    readonly,
    network: request.network,
    home,
    ownCaches: view?.isCopy === false,
    groupId: view !== undefined,
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
