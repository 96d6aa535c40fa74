/** The six tools that start, stop and restart guests: they differ in a few words. */
import * as z from 'zod';
import { clusterArgument, nodeArgument, reasonArgument, vmidArgument } from '#kernel/arguments';
import type { JsonObject } from '#kernel/json';
import { followTaskWords } from '#kernel/known-effect';
import type { GuestAction } from '#kernel/ports/cluster';
import { describeTarget, type GuestTarget, type GuestType } from '#kernel/resource';
import type { Impact } from '#kernel/tiers';
import { defineTool, type Tool, type ToolContext, type ToolResult } from '#kernel/tool';
import { followTask, type LostTask, type TaskEnd } from './follow-task.ts';
import { guestObstacle, guestRisk } from './guest-facts.ts';
import { type GuestState, haAdvice, isAsWanted, readState, settledState, stateWords, statusAfter } from './guest-state.ts';
import { guestOf } from './targets.ts';

interface ActionWords {
  readonly impact: Impact;
  /** `Stop` as in `Stop VM 100 (web) on pve`. */
  readonly verb: string;
  /** `stopped` as in `VM 100 … stopped`. */
  readonly done: string;
}

const words: Readonly<Record<GuestAction, ActionWords>> = {
  start: { impact: 'reversible', verb: 'Start', done: 'started' },
  stop: { impact: 'disruptive', verb: 'Stop', done: 'stopped' },
  reboot: { impact: 'disruptive', verb: 'Restart', done: 'restarted' },
};

interface GuestLifecycle {
  readonly name: string;
  readonly title: string;
  readonly guestType: GuestType;
  readonly action: GuestAction;
  /** The start of the description. */
  readonly does: string;
  readonly notFor?: string;
}

const lifecycles: readonly GuestLifecycle[] = [
  { name: 'start_vm', title: 'Start VM', guestType: 'qemu', action: 'start', does: 'Start a Proxmox VE virtual machine (qemu)' },
  {
    name: 'stop_vm',
    title: 'Stop VM',
    guestType: 'qemu',
    action: 'stop',
    does: 'Hard-stop a Proxmox VE virtual machine (qemu), like pulling the plug,',
    notFor: 'Not for containers: use stop_container. ',
  },
  {
    name: 'restart_vm',
    title: 'Restart VM',
    guestType: 'qemu',
    action: 'reboot',
    does: 'Reboot a running Proxmox VE virtual machine (qemu)',
  },
  { name: 'start_container', title: 'Start container', guestType: 'lxc', action: 'start', does: 'Start a Proxmox VE container (lxc)' },
  {
    name: 'stop_container',
    title: 'Stop container',
    guestType: 'lxc',
    action: 'stop',
    does: 'Hard-stop a Proxmox VE container (lxc)',
    notFor: 'Not for VMs: use stop_vm. ',
  },
  {
    name: 'restart_container',
    title: 'Restart container',
    guestType: 'lxc',
    action: 'reboot',
    does: 'Reboot a running Proxmox VE container (lxc)',
  },
];

const lifecycleInput = z.strictObject({
  vmid: vmidArgument,
  node: nodeArgument.optional(),
  cluster: clusterArgument,
  reason: reasonArgument,
});

export const guestLifecycleTools: readonly Tool[] = lifecycles.map((lifecycle) => {
  const { name, title, guestType, action, does, notFor = '' } = lifecycle;
  return defineTool({
    name,
    title,
    description: `${does} and wait for the task to end. Returns the task exit status and the new state. ${notFor}A person approves each call first: it may answer pending with a request id; then call check_request_status and, once approved, repeat the same call.`,
    group: 'cluster',
    tier: 'red',
    impact: words[action].impact,
    permission: 'cluster:operate',
    outsideText: ['log'],
    input: lifecycleInput,
    touches: ({ vmid, node }) => [{ kind: 'guest', access: 'operate', vmid, guestType, ...(node === undefined ? {} : { node }) }],
    headline: (_input, targets) => `${words[action].verb} ${describeTarget(guestOf(targets))}`,
    precheck: async (_input, context) => guestObstacle(context.cluster().api, guestOf(context.targets), action, context.signal),
    preview: async (_input, context) => guestRisk(context.cluster().api, guestOf(context.targets), action, context.signal),
    run: (_input, context) => runAction(action, context),
  });
});

/** What is left after PVE's own verdict on a shutdown, in ms, or a quarter of the time where that is short. */
const verdictMs = 10_000;

/** The HA manager's tasks only note the request; it acts some time later. */
const haTaskTypes: ReadonlySet<string> = new Set(['hastart', 'hastop']);

async function runAction(action: GuestAction, context: ToolContext): Promise<ToolResult> {
  const guest = guestOf(context.targets);
  const { api } = context.cluster();
  context.progress(`${words[action].verb} ${describeTarget(guest)}: asking the cluster`);
  // Until the UPID is known nobody can tell whether the cluster took the request.
  context.noteEffect({ state: 'sent', what: `the ${action} of ${describeTarget(guest)} may have been started` });
  const parameters = action === 'reboot' ? { timeoutSeconds: shutdownSeconds(context.leftMs()) } : {};
  const upid = await api.changeGuest(guest, action, context.signal, parameters);
  const end = await followTask(api, upid, context);
  if ('lost' in end) return lostResult(action, guest, end);
  const byHa = haTaskTypes.has(upid.split(':')[5] ?? '');
  const now = end.succeeded ? await settledState(guest, action, byHa, context) : await readState(api, guest, context.signal);
  const ended: EndedAction = { action, guest, end, now, result: resultOf(guest, end, now) };
  if (!end.succeeded) return failedResult(ended, parameters.timeoutSeconds);
  return isReached(ended, byHa) ? reachedResult(ended) : notReachedResult(ended, byHa);
}

/** The word of a task of the guest's own counts where nothing else can be seen; the HA manager's only says that it was asked. */
function isReached({ action, now }: EndedAction, byHa: boolean): boolean {
  return isAsWanted(now, action, byHa) || (now.status === undefined && !byHa);
}

function reachedResult({ action, guest, end, now, result }: EndedAction): ToolResult {
  const warned = end.warnings ? ` with ${end.exitStatus}` : '';
  const state = now.status === undefined ? stateWords(now, guest.node) : `${stateWords(now, guest.node)} now`;
  return {
    ok: true,
    message: `${describeTarget(guest)} ${words[action].done}${warned} (task exit status ${end.exitStatus}); ${state}`,
    result,
  };
}

/** The guest's time to shut down, in whole seconds, so that PVE says how it went before our own limit does. */
function shutdownSeconds(leftMs: number): number {
  return Math.max(1, Math.floor((leftMs - Math.min(verdictMs, leftMs / 4)) / 1_000));
}

interface EndedAction {
  readonly action: GuestAction;
  readonly guest: GuestTarget;
  readonly end: TaskEnd;
  readonly now: GuestState;
  readonly result: JsonObject;
}

function resultOf(guest: GuestTarget, end: TaskEnd, { node, status, haState }: GuestState): JsonObject {
  return {
    vmid: guest.vmid,
    node,
    type: guest.guestType,
    ...(guest.name === undefined ? {} : { name: guest.name }),
    ...(status === undefined ? {} : { status }),
    ...(haState === undefined ? {} : { ha_state: haState }),
    task: { upid: end.upid, exitstatus: end.exitStatus, log: end.log },
  };
}

function lostResult(action: GuestAction, guest: GuestTarget, { upid, lost }: LostTask): ToolResult {
  return {
    ok: false,
    code: 'task_end_unknown',
    message: `${words[action].verb} ${describeTarget(guest)}: the cluster took it on as task ${upid}; how it ended is not known: ${lost.message}`,
    result: { vmid: guest.vmid, node: guest.node, type: guest.guestType, task: { upid } },
    next: [lost.next, followTaskWords(upid)].filter((part) => part !== undefined).join('; then: '),
  };
}

/** PVE's words for a guest that did not do what ACPI, its agent or init was told. */
const ignoredShutdown = /got timeout|did not stop/;

function failedResult({ action, guest, end, now, result }: EndedAction, timeoutSeconds: number | undefined): ToolResult {
  const failed = `${words[action].verb} ${describeTarget(guest)} failed: ${end.exitStatus}`;
  if (action === 'reboot' && ignoredShutdown.test(end.exitStatus) && !end.exitStatus.includes('lock')) {
    const kind = guest.guestType === 'qemu' ? 'vm' : 'container';
    return {
      ok: false,
      code: 'guest_ignored_shutdown',
      message: `${failed}; the guest did not shut down within ${timeoutSeconds ?? 0} s and was left as it was; ${stateWords(now, guest.node)}`,
      result,
      next: `a person can look at its console or shut it down from inside (it needs a running guest agent, or ACPI); stop_${kind} and then start_${kind} restart it the hard way, and what is unsaved inside is lost`,
    };
  }
  return {
    ok: false,
    code: 'task_failed',
    message: failed,
    result,
    next: 'read the task log in the result; repeating the call asks a person again',
  };
}

function notReachedResult({ action, guest, end, now, result }: EndedAction, byHa: boolean): ToolResult {
  const wanted = statusAfter[action];
  const asked = byHa ? `the HA manager was asked to ${action} ${describeTarget(guest)}` : `the ${action} of ${describeTarget(guest)} ended`;
  const list = guest.guestType === 'qemu' ? 'get_vms' : 'get_containers';
  const look = `look again in a minute with ${list} and \`filter\` \`${guest.vmid}\`; do not repeat the call before`;
  const advice = haAdvice(guest, now.haState);
  const seen = now.status === wanted ? 'the manager has not carried that out' : `it is not seen ${wanted}`;
  return {
    ok: false,
    code: 'state_not_reached',
    message: `${asked} (task exit status ${end.exitStatus}), but ${seen}: ${stateWords(now, guest.node)}`,
    result: { ...result, requested: action, wanted },
    next: advice === undefined ? look : `${advice}; ${look}`,
  };
}
