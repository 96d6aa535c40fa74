/** Whether the sandbox holds on this machine: found by trying to get out, never by the presence of a program. */
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, readlinkSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { toFault } from '#kernel/errors';
import type { SandboxStatus } from '#kernel/ports/command-runner';
import type { ProgramRunner } from '#kernel/ports/program-runner';
import { showPlainly } from '#kernel/text';
import { type Attempt, attempts, canaryScript } from './canary.ts';
import { launcherEnvironment, sandboxEnvironment } from './clean-environment.ts';
import { deviceNodes } from './device-nodes.ts';
import { type Bubblewrap, findBubblewrap, type Machine } from './find-bubblewrap.ts';
import { type Etc, followEtc } from './follow-etc.ts';
import { fallbackHome, homeDirectory } from './home.ts';
import { launch } from './launch.ts';
import { limitedCommand } from './limited-command.ts';
import type { ProcessCages } from './process-cage.ts';
import { sandboxUser } from './sandbox-user.ts';
import type { DeviceNode } from './system-root.ts';

export interface ProbeOptions {
  readonly machine: Machine;
  readonly programs: ProgramRunner;
  /** The person's home directory. */
  readonly home: string;
  /** The layer's own directory; the canary's bait is made and removed in it. */
  readonly stateDir: string;
  /** Undefined: nothing holds root to a number of processes, and the probe says so. */
  readonly cages: ProcessCages | undefined;
}

/** What a run in the sandbox is made of. */
export interface SandboxParts {
  readonly bubblewrap: Bubblewrap;
  readonly devices: readonly DeviceNode[];
  readonly cages: ProcessCages | undefined;
  readonly etc: () => Etc;
}

export interface ProbedSandbox {
  readonly status: SandboxStatus;
  /** Present unless `unavailable`. */
  readonly parts?: SandboxParts;
}

const limits = { timeoutMs: 20_000, keepBytes: 64_000, stopAfterBytes: 1_000_000 };
/** Few, so that trying to start more takes little time; the looks from outside must not end the probe before. */
const tasks = 48;
const processLimits = { tasks, fileBytes: 16_777_216, openFiles: 256, cpuSeconds: 30 };
const treeLimits = { processes: 256, memoryBytes: 1_000_000_000, diskBytes: 1_000_000_000 };
const namespaceNames = ['net', 'pid', 'mnt', 'user', 'ipc', 'uts', 'cgroup'];

/** @throws only the signal's reason: every failure is a status */
export async function probeSandbox(options: ProbeOptions, signal: AbortSignal): Promise<ProbedSandbox> {
  const found = await findBubblewrap(options.machine, options.programs, signal);
  if (!found.ok) return { status: { state: 'unavailable', reason: found.reason } };
  try {
    return await tryToEscape(found.bubblewrap, options, signal);
  } catch (thrown) {
    signal.throwIfAborted();
    const { message } = toFault(thrown);
    return { status: { state: 'unavailable', reason: `${showPlainly(message)}; ${remedy(message)}` } };
  }
}

/** What usually stands behind bubblewrap's own messages. */
function remedy(message: string): string {
  const { uid, apparmor, limit, clone } = kernelSettings();
  if (!/namespace|user|permission|operation not permitted|setting up uid map/i.test(message)) return 'run `banksman doctor` for more';
  if (clone === '0') return 'user namespaces are switched off: `sysctl kernel.unprivileged_userns_clone=1`';
  if (limit === '0') return 'user namespaces are limited to none: raise `sysctl user.max_user_namespaces`';
  if (apparmor === '1')
    return 'AppArmor restricts user namespaces: install the distribution’s `bubblewrap` and its profile for /usr/bin/bwrap';
  return uid === 0
    ? 'in a container: start it with a seccomp profile that allows user namespaces (`--security-opt seccomp=unconfined`)'
    : 'this system does not let its users make namespaces: ask its administrator, or run elsewhere';
}

function kernelSettings() {
  const setting = (name: string) => {
    try {
      return readFileSync(`/proc/sys/${name}`, 'utf8').trim();
    } catch {
      return undefined;
    }
  };
  return {
    uid: process.getuid?.(),
    apparmor: setting('kernel/apparmor_restrict_unprivileged_userns'),
    limit: setting('user/max_user_namespaces'),
    clone: setting('kernel/unprivileged_userns_clone'),
  };
}

async function tryToEscape(bubblewrap: Bubblewrap, options: ProbeOptions, signal: AbortSignal): Promise<ProbedSandbox> {
  const { cages } = options;
  mkdirSync(options.stateDir, { recursive: true, mode: 0o700 });
  const directory = mkdtempSync(path.join(options.stateDir, 'sandbox-probe-'));
  try {
    const outside = path.join(directory, 'outside');
    const workspaceRoot = path.join(directory, 'workspace');
    const secret = randomBytes(16).toString('hex');
    writeFileSync(outside, secret);
    chmodSync(outside, 0o666);
    mkdirSync(workspaceRoot);
    const home = { directory: fallbackHome, visible: [], files: new Map<string, string>(), env: {} };
    const env = sandboxEnvironment(home, {}, false);
    const nonce = randomBytes(16).toString('hex');
    const full = statSync('/dev/full');
    const device = `${full.dev}:${full.ino}`;
    const bait = { outside, secret, nonce, device, tasks, namespaces: ownNamespaces(), environment: allowedNames(env) };
    const command = limitedCommand(canaryScript(bait, bubblewrap.architecture), processLimits);
    const devices = await deviceNodes(options.stateDir, options.programs, signal);
    const etc = followEtc(options.stateDir, sandboxUser(), { home: homeDirectory(options.home) });
    const plan = {
      ...bubblewrap,
      etc: etc(),
      devices,
      workspaceRoot,
      home,
      env,
      command,
      mounts: [],
      readonly: false,
      network: false,
    };
    const size = { memoryDiskBytes: 16_777_216, user: sandboxUser() };
    const { stdout } = await launch({ ...plan, ...size }, { ...limits, treeLimits, tasks, cages, program: bubblewrap.program }, signal);
    signal.throwIfAborted();
    const touched = readFileSync(outside, 'utf8') !== secret;
    return { parts: { bubblewrap, etc, devices, cages }, status: judge(stdout, nonce, touched) };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function ownNamespaces(): Readonly<Record<string, string>> {
  return Object.fromEntries(namespaceNames.map((name) => [name, readlinkSync(`/proc/self/ns/${name}`)]));
}

/** Bash adds the last three itself. */
function allowedNames(env: Readonly<Record<string, string>>): readonly string[] {
  return [...new Set([...Object.keys(env), ...Object.keys(launcherEnvironment), 'PWD', 'OLDPWD', 'SHLVL', '_'])];
}

/** Exported for its tests: `output` is the canary's, `touched` what the host saw. */
export function judge(output: string, nonce: string, touched: boolean): SandboxStatus {
  const lines = output.split('\n').filter((line) => line !== '');
  if (lines.at(-1) !== `done=${nonce}`) return degraded('the probe inside the sandbox did not come to its end');
  const answers = new Map(lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]));
  // An attempt that could not fail or succeed proves nothing: one that must succeed shows that the others were made.
  if (answers.get('control') !== 'escaped') return degraded('the probe inside the sandbox could not make its attempts');
  const names = Object.keys(attempts) as Attempt[];
  const failed = names.filter((name) => !['held', 'untried'].includes(answers.get(name) ?? 'missing'));
  if (touched && !failed.includes('write_outside')) failed.unshift('write_outside');
  if (failed.length > 0) return degraded(failed.map((name) => attempts[name]).join('; '));
  const untried = names.filter((name) => answers.get(name) === 'untried');
  const note = untried.length === 0 ? '' : `; not tried for want of tools: ${untried.join(', ')}`;
  return { state: 'enforced', reason: `bubblewrap holds: ${names.length - untried.length} attempts to get out failed${note}` };
}

function degraded(what: string): SandboxStatus {
  const help = what.includes(attempts.process_limit) ? '; as root this needs a writable /sys/fs/cgroup: run as another user' : '';
  return {
    state: 'degraded',
    reason: `the sandbox does not hold: ${what}${help}; each command asks; see \`banksman doctor\` and docs/threat-model.md`,
  };
}
