/**
 * What the workers of guest actions do (`PVE/QemuServer.pm`, `PVE/LXC.pm`, `PVE/AbstractConfig.pm`): checks in PVE's order with PVE's
 * texts, then time, then the effect. A missing, locked or template guest fails here, in the task, after the request was answered 200.
 */
import type { Cluster } from './cluster.ts';
import { applyPending } from './operations/apply-config.ts';
import { type GuestKind, type GuestState, guestOn, isTemplate, lockOf } from './state.ts';
import { type TaskContext, TaskError, TaskInterrupted, type TaskPlan, type TaskSteps } from './task-engine.ts';

/** A guest as the request named it; whether it is there is for the worker to find out. */
export interface GuestTarget {
  readonly cluster: Cluster;
  readonly kind: GuestKind;
  readonly node: string;
  readonly vmid: number;
}

const lockWaitMs = 10_000;
const lockPollMs = 50;
const pingTimeoutMs = 3000;
const held = new WeakMap<Cluster, Set<string>>();

/** Runs steps under the guest's configuration lock; waits ten seconds for it. */
export function* locked(target: GuestTarget, task: TaskContext, steps: () => TaskSteps): TaskSteps {
  const locks = held.get(target.cluster) ?? new Set<string>();
  held.set(target.cluster, locks);
  const file = target.kind === 'qemu' ? `/var/lock/qemu-server/lock-${target.vmid}.conf` : `/run/lock/lxc/pve-config-${target.vmid}.lock`;
  const key = `${target.node}:${file}`;
  if (locks.has(key)) {
    task.log('trying to acquire lock...');
    yield* waitFor(() => !locks.has(key), lockWaitMs, `can't lock file '${file}' - got timeout`);
    task.log(' OK');
  }
  locks.add(key);
  try {
    return yield* steps();
  } finally {
    locks.delete(key);
  }
}

function* waitFor(done: () => boolean, limitMs: number, error: string): TaskSteps {
  for (let waited = 0; !done(); waited += lockPollMs) {
    if (waited >= limitMs) throw new TaskError(error);
    yield lockPollMs;
  }
}

/** @throws {TaskError} when the configuration file is not on that node */
export function load(target: GuestTarget): GuestState {
  const guest = guestOn(target.cluster.state, target.kind, target.node, target.vmid);
  if (guest === undefined) throw new TaskError(missingConfig(target));
  return guest;
}

/** PVE's text for a guest that is not there. */
export function missingConfig({ kind, node, vmid }: Omit<GuestTarget, 'cluster'>): string {
  return `Configuration file 'nodes/${node}/${kind === 'qemu' ? 'qemu-server' : 'lxc'}/${vmid}.conf' does not exist`;
}

type GuestSteps = (guest: GuestState, task: TaskContext) => TaskSteps;

/** Steps on a guest that is there, under its configuration lock. */
function loaded(target: GuestTarget, steps: GuestSteps): TaskPlan {
  return (task) => locked(target, task, () => steps(load(target), task));
}

/** The same, where the guest has no `lock` in its configuration. */
function unlocked(target: GuestTarget, steps: GuestSteps): TaskPlan {
  return loaded(target, (guest, task) => {
    checkLock(guest);
    return steps(guest, task);
  });
}

export function checkLock(guest: GuestState): void {
  const lock = lockOf(guest);
  if (lock !== undefined) throw new TaskError(`${guest.kind === 'qemu' ? 'VM' : 'CT'} is locked (${lock})`);
}

export function setRunning(guest: GuestState, task: TaskContext): void {
  guest.running = true;
  guest.paused = false;
  guest.startedAt = task.now();
  guest.pid += 211;
}

export function startPlan(target: GuestTarget): TaskPlan {
  return loaded(target, function* (guest, task) {
    if (isTemplate(guest))
      throw new TaskError(guest.kind === 'qemu' ? "you can't start a vm if it's a template" : "you can't start a CT if it's a template");
    checkLock(guest);
    if (guest.running) throw new TaskError(`${guest.kind === 'qemu' ? 'VM' : 'CT'} ${guest.vmid} already running`);
    yield* bringUp(target, guest, task);
  });
}

function* bringUp(target: GuestTarget, guest: GuestState, task: TaskContext): TaskSteps {
  yield target.cluster.taskDurationMs;
  for (const line of guest.startLog) task.log(line);
  takeOverPending(target.cluster, guest);
  setRunning(guest, task);
}

/** What waited for the guest to be off. */
function takeOverPending(cluster: Cluster, guest: GuestState): void {
  if (guest.pending.size > 0) applyPending(cluster, guest);
}

/** A VM takes over what is pending once it is off, a container when it starts. */
function switchOff({ cluster, kind }: GuestTarget, guest: GuestState): void {
  guest.running = false;
  if (kind === 'qemu') takeOverPending(cluster, guest);
}

export interface StopOptions {
  /** Abort running shutdown tasks of the guest first. */
  readonly overrule: boolean;
}

export function stopPlan(target: GuestTarget, options: StopOptions): TaskPlan {
  return function* (task) {
    if (options.overrule && overruleShutdowns(target, task) && target.kind === 'lxc') yield* waitForContainer(target, task);
    return yield* locked(target, task, function* () {
      const guest = target.kind === 'qemu' ? requireOnNode(target) : load(target);
      if (!guest.running) return;
      checkLock(guest);
      yield target.cluster.taskDurationMs;
      switchOff(target, guest);
    });
  };
}

/** `qm stop` and `qm shutdown` look for the file before anything else, with a text of their own. */
function requireOnNode(target: GuestTarget): GuestState {
  const guest = guestOn(target.cluster.state, target.kind, target.node, target.vmid);
  if (guest === undefined) throw new TaskError(notOnNode(target));
  return guest;
}

export function notOnNode({ node, vmid }: Pick<GuestTarget, 'node' | 'vmid'>): string {
  return `unable to find configuration file for VM ${vmid} on node '${node}'`;
}

/** The worker is gone at once, its `lxc-stop` a little later, and with it the lock. */
function* waitForContainer({ cluster }: GuestTarget, task: TaskContext): TaskSteps {
  task.log('trying to acquire lock...');
  yield cluster.taskDurationMs;
  task.log(' OK');
}

/** @returns whether there was any */
function overruleShutdowns(target: GuestTarget, task: TaskContext): boolean {
  const type = target.kind === 'qemu' ? 'qmshutdown' : 'vzshutdown';
  const { tasks } = target.cluster;
  const running = tasks.list().filter((one) => one.type === type && one.id === String(target.vmid) && one.exitstatus === undefined);
  for (const one of running) tasks.interrupt(one.upid);
  if (running.length > 0) task.log(`overruled ${type} tasks: ${running.map((one) => one.upid).join(', ')}`);
  return running.length > 0;
}

export interface ShutdownOptions {
  /** How long the guest may take, in seconds; 60 where the caller does not say. */
  readonly timeoutSeconds: number;
  /** Kill it after that. */
  readonly force: boolean;
}

export function shutdownPlan(target: GuestTarget, options: ShutdownOptions): TaskPlan {
  return (task) =>
    locked(target, task, function* () {
      const guest = target.kind === 'qemu' ? requireOnNode(target) : load(target);
      if (target.kind === 'qemu' && !guest.running) return;
      checkLock(guest);
      yield* powerDown(target, guest, options, task);
    });
}

/** A clean shutdown: by the guest agent where it is configured and answers, by ACPI (or init) otherwise. */
function* powerDown(target: GuestTarget, guest: GuestState, options: ShutdownOptions, task: TaskContext): TaskSteps {
  if (hasAgent(guest) && !guest.agentAnswers) yield* pingInVain(guest, task);
  if (guest.obeysShutdown) {
    yield target.cluster.taskDurationMs;
    switchOff(target, guest);
    return;
  }
  yield options.timeoutSeconds * 1000;
  if (!options.force) throw new TaskError(refusedShutdown(guest, options, task));
  if (guest.kind === 'qemu') task.log('VM quit/powerdown failed - terminating now with SIGTERM');
  switchOff(target, guest);
}

function refusedShutdown(guest: GuestState, { timeoutSeconds }: ShutdownOptions, task: TaskContext): string {
  if (guest.kind === 'qemu') return 'VM quit/powerdown failed - got timeout';
  task.log(`command 'lxc-stop -n ${guest.vmid} --nokill --timeout ${timeoutSeconds}' failed: exit code 1`);
  return 'container did not stop';
}

/** Whether the configuration has the guest agent enabled. */
export function hasAgent(guest: GuestState): boolean {
  return guest.kind === 'qemu' && /^(?:enabled=)?1(?:,|$)|,enabled=1/.test(String(guest.config.get('agent') ?? ''));
}

/** The agent is asked and says nothing for three seconds. */
export function* agentSilent(guest: GuestState, task: TaskContext): TaskSteps {
  yield pingTimeoutMs;
  task.log(`QEMU Guest Agent is not running - VM ${guest.vmid} qga command 'guest-ping' failed - got timeout`);
}

/** PVE catches whatever interrupts the ping, even the signal to stop, and goes on: such a worker has to be killed. */
function* pingInVain(guest: GuestState, task: TaskContext): TaskSteps {
  try {
    yield* agentSilent(guest, task);
  } catch (thrown) {
    if (!(thrown instanceof TaskInterrupted)) throw thrown;
    task.log(`QEMU Guest Agent is not running - ${thrown.message}`);
    yield Number.POSITIVE_INFINITY;
  }
}

export function rebootPlan(target: GuestTarget, timeoutSeconds: number): TaskPlan {
  return loaded(target, function* (guest, task) {
    if (!guest.running) return;
    // A container is killed when it takes too long, a VM is not.
    yield* powerDown(target, guest, { timeoutSeconds, force: target.kind === 'lxc' }, task);
    if (target.kind === 'lxc') yield* bringUp(target, guest, task);
    else startAgainLater(target);
  });
}

/** The VM's end is noticed by `qmeventd`, which starts it again in a task of its own, as root. So a reboot is over before the VM is up. */
function startAgainLater(target: GuestTarget): void {
  const { cluster, node, vmid } = target;
  cluster.tasks.background(function* () {
    yield Math.ceil(cluster.taskDurationMs / 4);
    cluster.tasks.start({ node, type: 'qmstart', id: String(vmid), user: 'root@pam' }, startPlan(target));
  });
}

/** Stops a VM's processors. A container would have to be checkpointed, which the lab's and the demo's nodes cannot. */
export function suspendPlan(target: GuestTarget): TaskPlan {
  return unlocked(target, function* (guest, task) {
    yield Math.ceil(target.cluster.taskDurationMs / 4);
    if (guest.kind === 'qemu') guest.paused = true;
    else throw new TaskError(checkpointFailed(guest, task));
  });
}

function checkpointFailed({ vmid }: GuestState, task: TaskContext): string {
  task.log(
    `lxc-checkpoint: ${vmid}: ../src/lxc/criu.c: criu_version_ok: 767 No such file or directory - execing criu failed, is it installed?`,
  );
  task.log(`lxc-checkpoint: ${vmid}: ../src/lxc/tools/lxc_checkpoint.c: checkpoint: 182 Checkpointing ${vmid} failed`);
  return `command 'lxc-checkpoint -n ${vmid} -s -D /var/lib/vz/dump' failed: exit code 1`;
}

/** Saves memory to a volume and stops; the lock `suspended` and the volume stay in the configuration. */
export function hibernatePlan(target: GuestTarget): TaskPlan {
  return unlocked(target, function* (guest, task) {
    const file = `vm-${guest.vmid}-state-suspend-${new Date(task.now()).toISOString().slice(0, 10)}.raw`;
    task.log(`Formatting '/var/lib/vz/images/${guest.vmid}/${file}', fmt=raw size=658505728 preallocation=off`);
    yield target.cluster.taskDurationMs;
    task.log('State saved, quitting');
    guest.config.set('lock', 'suspended').set('vmstate', `local:${guest.vmid}/${file}`);
    guest.running = false;
  });
}

export function resumePlan(target: GuestTarget): TaskPlan {
  return loaded(target, function* (guest, task) {
    const state = guest.config.get('vmstate');
    if (lockOf(guest) === 'suspended') yield* wake(target, guest, task);
    else {
      checkLock(guest);
      yield Math.ceil(target.cluster.taskDurationMs / 4);
    }
    if (state !== undefined) task.log('Resumed VM, removing state');
    guest.paused = false;
  });
}

function* wake(target: GuestTarget, guest: GuestState, task: TaskContext): TaskSteps {
  task.log('Resuming suspended VM');
  task.log(`activating and using '${guest.config.get('vmstate')}' as vmstate`);
  yield target.cluster.taskDurationMs;
  for (const name of ['lock', 'vmstate', 'runningmachine', 'runningcpu']) guest.config.delete(name);
  setRunning(guest, task);
}

export function resetPlan(target: GuestTarget): TaskPlan {
  return unlocked(target, function* () {
    yield Math.ceil(target.cluster.taskDurationMs / 4);
  });
}
