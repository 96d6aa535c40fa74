/** The tools that switch guests: start, stop, restart, shut down, reset, suspend, resume. They differ in a few words. */

import * as z from 'zod';
import { guestOperationShape } from '#kernel/arguments';
import { type Inverse, noWayBack } from '#kernel/guest-condition';
import type { JsonObject } from '#kernel/json';
import { followTaskWords } from '#kernel/known-effect';
import type { ActionParameters, GuestAction } from '#kernel/ports/cluster';
import { describeTarget, type GuestTarget, type GuestType, targetWords } from '#kernel/resource';
import { asListed, listed, type Message, say } from '#kernel/text/message';
import type { Impact } from '#kernel/tiers';
import { defineTool, type Tool, type ToolContext, type ToolResult } from '#kernel/tool';
import { ownCondition } from './condition.ts';
import { followTask, type LostTask, type TaskEnd } from './follow-task.ts';
import { guestRisk } from './guest-facts.ts';
import { type GuestState, haAdvice, isAsWanted, readState, settledState, stateWords, wantedState } from './guest-state.ts';
import { powerObstacle } from './obstacles.ts';
import { guestNamed, guestOf } from './targets.ts';

interface ActionWords {
  readonly impact: Impact;
  /** `Stop` as in `Stop VM 100 (web) on pve`. */
  readonly verb: string;
  headline(guest: Message): Message;
  /** `stopped` as in `VM 100 … stopped`. */
  readonly done: string;
  /** `vm` or `container` is added to a name that ends with `_`. */
  readonly back: { readonly tool: string; readonly loses?: string } | Extract<Inverse, { readonly none: string }>;
}

const memoryLost = listed('what its memory held does not come back');

const words: Readonly<Record<GuestAction, ActionWords>> = {
  start: { impact: 'reversible', verb: 'Start', headline: (guest) => say`Start ${guest}`, done: 'started', back: { tool: 'shutdown_' } },
  stop: {
    impact: 'disruptive',
    verb: 'Stop',
    headline: (guest) => say`Stop ${guest}`,
    done: 'stopped',
    back: { tool: 'start_', loses: memoryLost },
  },
  reboot: {
    impact: 'disruptive',
    verb: 'Restart',
    headline: (guest) => say`Restart ${guest}`,
    done: 'restarted',
    back: noWayBack(say`what ran inside is interrupted`),
  },
  shutdown: {
    impact: 'disruptive',
    verb: 'Shut down',
    headline: (guest) => say`Shut down ${guest}`,
    done: 'shut down',
    back: { tool: 'start_', loses: memoryLost },
  },
  reset: {
    impact: 'disruptive',
    verb: 'Reset',
    headline: (guest) => say`Reset ${guest}`,
    done: 'reset',
    back: noWayBack(asListed(memoryLost)),
  },
  suspend: {
    impact: 'reversible',
    verb: 'Suspend',
    headline: (guest) => say`Suspend ${guest}`,
    done: 'suspended',
    back: { tool: 'resume_' },
  },
  resume: { impact: 'reversible', verb: 'Resume', headline: (guest) => say`Resume ${guest}`, done: 'resumed', back: { tool: 'suspend_' } },
};

interface GuestLifecycle {
  readonly name: string;
  readonly title: string;
  readonly guestType: GuestType;
  readonly action: GuestAction;
  /** The start of the description. */
  readonly does: string;
  readonly notFor?: string;
  readonly rare?: true;
}

const lifecycles: readonly GuestLifecycle[] = [
  { name: 'start_vm', title: 'Start VM', guestType: 'qemu', action: 'start', does: 'Start a Proxmox VE VM (qemu)' },
  {
    name: 'stop_vm',
    title: 'Stop VM',
    guestType: 'qemu',
    action: 'stop',
    does: 'Hard-stop a Proxmox VE VM (qemu), like pulling the plug',
    notFor: 'Not for containers: use stop_container. Prefer shutdown_vm. ',
  },
  {
    name: 'restart_vm',
    title: 'Restart VM',
    guestType: 'qemu',
    action: 'reboot',
    does: 'Reboot a running Proxmox VE VM (qemu)',
  },
  {
    name: 'shutdown_vm',
    title: 'Shut down VM',
    guestType: 'qemu',
    action: 'shutdown',
    does: 'Shut a Proxmox VE VM (qemu) down cleanly, by its guest agent or ACPI',
  },
  {
    name: 'reset_vm',
    title: 'Reset VM',
    guestType: 'qemu',
    action: 'reset',
    rare: true,
    does: 'Reset a running Proxmox VE VM (qemu), like the reset button',
    notFor: 'Unsaved work inside is lost: prefer restart_vm. ',
  },
  {
    name: 'suspend_vm',
    title: 'Suspend VM',
    guestType: 'qemu',
    action: 'suspend',
    rare: true,
    does: 'Pause a running Proxmox VE VM (qemu), its memory kept',
    notFor: 'Containers cannot be suspended. ',
  },
  {
    name: 'resume_vm',
    title: 'Resume VM',
    guestType: 'qemu',
    action: 'resume',
    rare: true,
    does: 'Let a paused or suspended Proxmox VE VM (qemu) go on',
  },
  { name: 'start_container', title: 'Start container', guestType: 'lxc', action: 'start', does: 'Start a Proxmox VE container (lxc)' },
  {
    name: 'stop_container',
    title: 'Stop container',
    guestType: 'lxc',
    action: 'stop',
    does: 'Hard-stop a Proxmox VE container (lxc)',
    notFor: 'Not for VMs: use stop_vm. Prefer shutdown_container. ',
  },
  {
    name: 'restart_container',
    title: 'Restart container',
    guestType: 'lxc',
    action: 'reboot',
    does: 'Reboot a running Proxmox VE container (lxc)',
  },
  {
    name: 'shutdown_container',
    title: 'Shut down container',
    guestType: 'lxc',
    action: 'shutdown',
    does: 'Shut a Proxmox VE container (lxc) down cleanly, by its init',
  },
];

const lifecycleShape = guestOperationShape;

const shutdownShape = {
  timeout: z.number().int().min(5).max(600).default(40).meta({ description: 'Seconds the guest may take.' }),
  on_timeout: z
    .enum(['leave', 'stop'])
    .default('leave')
    .meta({ description: 'If it is still up then: leave it running, or stop it the hard way.' }),
};

type LifecycleInput = z.output<z.ZodObject<typeof lifecycleShape>> & Partial<z.output<z.ZodObject<typeof shutdownShape>>>;

export const guestLifecycleTools: readonly Tool[] = lifecycles.map((lifecycle) => {
  const { name, title, guestType, action, does, notFor = '', rare } = lifecycle;
  const declared = {
    name,
    title,
    description: `${does}. Waits for the task to end; returns its exit status and the new state. ${notFor}A person approves each call first.`,
    group: 'cluster',
    tier: 'red',
    impact: words[action].impact,
    permission: 'cluster:operate',
    outsideText: ['log'],
    ...(rare === undefined ? {} : { rare }),
    touches: (input: LifecycleInput) => [{ ...guestNamed('operate', input), guestType }],
    headline: (input: LifecycleInput, targets: ToolContext['targets']) => {
      const asked = words[action].headline(targetWords(guestOf(targets)));
      return input.on_timeout === 'stop' ? say`${asked}, the hard way after ${input.timeout ?? ''} s` : asked;
    },
    precondition: ownCondition,
    takes: (_input: LifecycleInput, targets: ToolContext['targets']) =>
      action === 'start' || action === 'resume' ? [] : [{ kind: 'guest', vmid: guestOf(targets).vmid } as const],
    inverse: ({ vmid }: LifecycleInput) => inverseOf(action, guestType, vmid),
    precheck: async (_input: LifecycleInput, context: Pick<ToolContext, 'cluster' | 'targets' | 'signal'>) =>
      powerObstacle(context.cluster().api, guestOf(context.targets), action, context.signal),
    preview: async (_input: LifecycleInput, context: ToolContext) =>
      guestRisk(context.cluster().api, guestOf(context.targets), action, context.signal),
    run: (input: LifecycleInput, context: ToolContext) => runAction(action, input, context),
  } as const;
  const isShutdown = action === 'shutdown';
  return defineTool<z.ZodObject<typeof lifecycleShape & Partial<typeof shutdownShape>>>({
    ...declared,
    input: isShutdown ? z.strictObject({ ...lifecycleShape, ...shutdownShape }) : z.strictObject(lifecycleShape),
    ...(isShutdown ? { limitMs: ({ timeout }) => Number(timeout) * 1_000 + 2 * verdictMs } : {}),
  });
});

function inverseOf(action: GuestAction, guestType: GuestType, vmid: number): Inverse {
  const { back } = words[action];
  if ('none' in back) return back;
  return { ...back, tool: `${back.tool}${guestType === 'qemu' ? 'vm' : 'container'}`, input: { vmid } };
}

/** What is left after PVE's own verdict on a shutdown, in ms, or a quarter of the time where that is short. */
const verdictMs = 10_000;

/** The HA manager's tasks only note the request; it acts some time later. */
const haTaskTypes: ReadonlySet<string> = new Set(['hastart', 'hastop']);

async function runAction(action: GuestAction, input: LifecycleInput, context: ToolContext): Promise<ToolResult> {
  const guest = guestOf(context.targets);
  const { api } = context.cluster();
  context.progress(`${words[action].verb} ${describeTarget(guest)}: asking the cluster`);
  // Until the UPID is known nobody can tell whether the cluster took the request.
  context.noteEffect({ state: 'sent', what: `the ${action} of ${describeTarget(guest)} may have been started` });
  const parameters = parametersOf(action, input, context.leftMs());
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

function parametersOf(action: GuestAction, { timeout, on_timeout: onTimeout }: LifecycleInput, leftMs: number): ActionParameters {
  if (action === 'reboot') return { timeoutSeconds: shutdownSeconds(leftMs) };
  if (action !== 'shutdown' || timeout === undefined) return {};
  return { timeoutSeconds: timeout, ...(onTimeout === 'stop' ? { forceStop: true } : {}) };
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

/** A worker that was killed, or whose log ends without a verdict: how far it came is not known. */
const noVerdict = /^(?:unexpected status|unknown|no exit status)$/;

/** PVE's words for a guest that did not do what ACPI, its agent or init was told. */
const ignoredShutdown = /got timeout|did not stop/;

function failedResult(ended: EndedAction, timeoutSeconds: number | undefined): ToolResult {
  const { action, guest, end, now, result } = ended;
  const what = `${words[action].verb} ${describeTarget(guest)}`;
  const failed = `${what} failed: ${end.exitStatus}`;
  if (timeoutSeconds !== undefined && ignoredShutdown.test(end.exitStatus) && !end.exitStatus.includes('lock')) {
    return {
      ok: false,
      code: 'guest_ignored_shutdown',
      message: `${failed}; the guest did not shut down within ${timeoutSeconds} s and was not forced; ${stateWords(now, guest.node)}`,
      result,
      next: afterIgnored(ended),
    };
  }
  const said = noVerdict.test(end.exitStatus) ? `${what}: its task ended without a word on how it went (${end.exitStatus})` : failed;
  return {
    ok: false,
    code: 'task_failed',
    message: `${said}; ${stateWords(now, guest.node)}`,
    result,
    next: 'read the task log in the result; repeating the call asks a person again',
  };
}

/** It has been told to, and takes it late or never: PVE starts one again only within its time. */
function afterIgnored({ action, guest }: EndedAction): string {
  const kind = guest.guestType === 'qemu' ? 'vm' : 'container';
  const [late, hard] = action === 'reboot' ? [', and then stays down', ` and then start_${kind} restart it`] : ['', ' stops it'];
  const look = `look again with get_${kind}s and \`filter\` \`${guest.vmid}\` in a minute`;
  return `it may still go down${late}: ${look}; a person can look at its console or shut it down from inside (it needs a running guest agent, or ACPI); stop_${kind}${hard} the hard way, and what is unsaved inside is lost`;
}

function notReachedResult({ action, guest, end, now, result }: EndedAction, byHa: boolean): ToolResult {
  const wanted = wantedState(action);
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
