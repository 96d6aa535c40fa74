/** Whether the sandbox holds on this machine: found by trying to get out, never by the presence of a program. */

import { randomBytes } from 'node:crypto';
import {
  accessSync,
  chmodSync,
  constants,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { toFault } from '#kernel/errors';
import type { SandboxStatus } from '#kernel/ports/command-runner';
import type { ProgramRunner } from '#kernel/ports/program-runner';
import { showPlainly } from '#kernel/text/text';
import { launcherEnvironment, sandboxEnvironment, sandboxUser } from './clean-environment.ts';
import { type Etc, followEtc } from './follow-etc.ts';
import { fallbackHome, homeDirectory } from './home.ts';
import { launch } from './launch.ts';
import type { ProcessCages } from './process-cage.ts';
import { type DeviceNode, deviceNodes, limitedCommand } from './sandbox-arguments.ts';
import type { Architecture } from './seccomp-filter.ts';

interface ProbeOptions {
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
    const etc = followEtc(options.stateDir, sandboxUser(), { home: homeDirectory(options.home), freshMs: 2_000 });
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

/**
 * A program that tries to get out. It runs inside the very sandbox that commands get and prints one `name=answer` line per attempt:
 * `held`, `escaped` or `untried` (the tool for it is not installed; then the facts about the process must hold). `control` must escape.
 */

interface CanaryBait {
  /** A file of the host that anybody may read and write, outside the workspace, and what is in it. */
  readonly outside: string;
  readonly secret: string;
  /** The host's `/dev/full`: file system and inode, `5:7`. */
  readonly device: string;
  /** Processes that it may have at once. */
  readonly tasks: number;
  /** Namespaces of this process: `net` → `net:[4026531840]`. */
  readonly namespaces: Readonly<Record<string, string>>;
  /** Printed last, so that output which was cut short is no pass. */
  readonly nonce: string;
  /** Names that may be in the environment. */
  readonly environment: readonly string[];
}

/** Attempts that must be held for the sandbox to count as enforced. */
export const attempts = {
  write_outside: 'a file outside was written',
  read_outside: 'a file outside could be read',
  write_system: 'the system could be written',
  write_kernel: 'settings of the kernel could be written',
  devices: "the host's devices could be changed",
  launcher: "a program of the host's could be changed through /proc",
  remount: 'a read-only mount was made writable',
  network: 'a network was reachable',
  user_namespace: 'a new user namespace was made',
  capabilities: 'capabilities were left',
  no_new_privileges: 'privileges could be gained',
  system_call_filter: 'no system call filter was in force',
  foreign_memory: 'memory of another process could be read by a call',
  vsock: 'a socket to the hypervisor could be made',
  set_id: 'a set-user-id file could be made',
  environment: "the caller's environment was visible",
  processes: "the host's processes were visible",
  namespaces: "a namespace was the host's own",
  process_limit: 'nothing limited the number of processes',
} as const;

type Attempt = keyof typeof attempts;

// Perl is on nearly every system, and makes system calls by number.
const readMemory = { x64: 310, arm64: 270 };

// oxlint-disable-next-line max-lines-per-function -- one script, an attempt a line
function canaryScript(bait: CanaryBait, architecture: 'x64' | 'arm64'): string {
  const quote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
  const names = bait.environment.join('|');
  return `
say() { echo "$1=$2"; }
held() { if "\${@:2}" >/dev/null 2>&1; then say "$1" escaped; else say "$1" held; fi; }
control() { echo x > control && [[ $(cat control) == x ]] && grep -q x control && chmod 600 control && : > /tmp/control && [[ -r /proc/self/status && -r /proc/1/environ && -r /proc/net/dev ]]; }
held control control
have() { "$1" --version >/dev/null 2>&1; }
write() { echo escaped > "$1"; }
held read_outside grep -q ${quote(bait.secret)} ${quote(bait.outside)}
write ${quote(bait.outside)} >/dev/null 2>&1
say write_outside held # what the host sees of it decides
system() { write /usr/banksman-canary || write /etc/banksman-canary || write /banksman-canary || write /dev/banksman-canary; }
held write_system system
# Opened and not written: where it works it must do no harm.
kernel() { (exec 8>>/proc/sys/kernel/core_pattern) || (exec 8>>/proc/sysrq-trigger); }
held write_kernel kernel
# The mode that it has already: where it works it must do no harm.
devices() { [[ $(stat -c %d:%i /dev/full) == ${quote(bait.device)} ]] && chmod --reference=/dev/full /dev/full || input; }
input() { [[ $(stat -L -c %d /proc/self/fd/0) == ${quote(bait.device.split(':', 1)[0] ?? '')} ]] && chmod --reference=/proc/self/fd/0 /proc/self/fd/0; }
held devices devices
launcher() { local link; for link in /proc/[0-9]*/exe; do chmod --reference="$link" "$link" && return 0; done; return 1; }
held launcher launcher
remount() { mount -o remount,rw,bind /usr || mount -o remount,rw /usr || mount -t tmpfs none /usr; }
if have mount; then held remount remount; else say remount untried; fi
reach() { exec 9<>/dev/tcp/192.0.2.1/9; }
interfaces() { local line; while read -r line; do case $line in lo:*|*'|'*) ;; *:*) [[ $line == sit*:* || $line == tunl*:* || $line == ip6tnl*:* || $line == gre*:* || $line == erspan*:* || $line == ip_vti*:* || $line == ip6_vti*:* || $line == ip6gre*:* ]] || return 0;; esac; done < /proc/net/dev; return 1; }
network() { interfaces || (reach); }
held network network
if have unshare; then held user_namespace unshare -U true; else say user_namespace untried; fi
fact() { local key value; while read -r key value; do [[ $key == "$1:" ]] && { echo "$value"; return; }; done < /proc/self/status; }
nonzero() { [[ "$(fact CapEff)$(fact CapPrm)$(fact CapBnd)$(fact CapInh)$(fact CapAmb)" =~ [1-9a-f] ]]; }
held capabilities nonzero
gains() { [[ $(fact NoNewPrivs) != 1 ]]; }
held no_new_privileges gains
unfiltered() { [[ $(fact Seccomp) != 2 ]]; }
held system_call_filter unfiltered
if have perl; then
held foreign_memory perl -e 'exit(syscall(${readMemory[architecture]}, $$, 0, 0, 0, 0, 0) == 0 ? 0 : 1)'
held vsock perl -e 'exit(socket(my $s, 40, 1, 0) ? 0 : 1)'
else say foreign_memory untried; say vsock untried; fi
setid() { : > /tmp/canary-set-id && chmod 4755 /tmp/canary-set-id; }
held set_id setid
leak() { local entry; while IFS= read -r -d '' entry; do [[ "\${entry%%=*}" =~ ^(${names})$ ]] || return 0; done < "$1"; return 1; }
environment() { leak /proc/self/environ || leak /proc/1/environ; }
held environment environment
foreign() { local count=0 entry; for entry in /proc/[0-9]*; do count=$((count + 1)); done; (( count > 8 )); }
held processes foreign
shared() { ${Object.entries(bait.namespaces)
    .map(([name, inode]) => `[[ $(readlink /proc/self/ns/${name}) == ${quote(inode)} ]]`)
    .join(' || ')}; }
held namespaces shared
# The last one: after it there may be no process left to start. Bash tries for long, and says so at once.
many() { local i; for ((i = 0; i < ${bait.tasks}; i++)); do sleep 60 & done; echo all; }
unlimited() { local line; read -r line < <(many 2>&1); [[ $line == all ]]; }
held process_limit unlimited
echo done=${bait.nonce}
`;
}

// Where the sandbox's programs are on this machine, or why there is no sandbox.
export interface Bubblewrap {
  readonly program: string;
  readonly architecture: Architecture;
}

type FoundBubblewrap = { readonly ok: true; readonly bubblewrap: Bubblewrap } | { readonly ok: false; readonly reason: string };

/** First where distributions put it: Ubuntu's AppArmor profile names this path and no other. */
const usualPath = '/usr/bin/bwrap';
const neededOptions = [
  ...[
    '--disable-userns',
    '--ro-bind-fd',
    '--bind-fd',
    '--seccomp',
    '--as-pid-1',
    '--json-status-fd',
    '--size',
    '--perms',
    '--cap-drop',
    '--die-with-parent',
  ],
  ...['--unshare-cgroup', '--new-session', '--remount-ro', '--file'],
];

export interface Machine {
  readonly platform: NodeJS.Platform;
  readonly architecture: string;
  /** The caller's `PATH`. */
  readonly searchPath: string;
}

async function findBubblewrap(machine: Machine, programs: ProgramRunner, signal: AbortSignal): Promise<FoundBubblewrap> {
  const { platform, architecture, searchPath } = machine;
  if (platform !== 'linux') {
    const name = platform === 'darwin' ? 'macOS' : platform === 'win32' ? 'Windows' : platform;
    return no(`there is no sandbox for ${name} yet: each command asks; run on Linux (or in a Linux container) to contain commands`);
  }
  if (architecture !== 'x64' && architecture !== 'arm64') {
    return no(`there is no system call filter for ${architecture} yet: each command asks`);
  }
  const program = locate(searchPath);
  if (program === undefined) return no('bubblewrap is not installed: install the package `bubblewrap` (`apt install bubblewrap`)');
  if (!isExecutable('/bin/bash')) return no('`/bin/bash` is not there: install bash');
  const missing = await missingOptions(program, programs, signal);
  if (missing === undefined) return no(`\`${program}\` does not run: reinstall the package \`bubblewrap\``);
  if (missing.length > 0)
    return no(
      `\`${program}\` is too old (no ${missing.join(', ')}): update the package \`bubblewrap\` to 0.10, or 0.8 with its security updates`,
    );
  return { ok: true, bubblewrap: { program, architecture } };
}

function no(reason: string): FoundBubblewrap {
  return { ok: false, reason };
}

function locate(searchPath: string): string | undefined {
  const directories = searchPath.split(path.delimiter).filter((entry) => path.isAbsolute(entry));
  // Only where the usual directory is on the PATH: an administrator may have taken it off on purpose.
  const usual = directories.some((entry) => path.normalize(`${entry}/`) === '/usr/bin/' || path.normalize(`${entry}/`) === '/bin/');
  return [...(usual ? [usualPath] : []), ...directories.map((entry) => path.join(entry, 'bwrap'))].find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

/** undefined when it cannot even be asked. */
async function missingOptions(program: string, programs: ProgramRunner, signal: AbortSignal): Promise<readonly string[] | undefined> {
  const help = await programs
    .run({ program, args: ['--help'], cwd: '/', env: launcherEnvironment, timeoutMs: 10_000, keepBytes: 64_000 }, signal)
    .catch(() => undefined);
  signal.throwIfAborted();
  if (help === undefined || help.exitCode !== 0) return undefined;
  const offered = new Set(help.stdout.match(/--[a-z0-9-]+/g));
  return neededOptions.filter((option) => !offered.has(option));
}
