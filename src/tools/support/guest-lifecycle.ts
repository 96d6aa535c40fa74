/** The six lifecycle tools differ in three words; this is what they share. */
import * as z from 'zod';
import { clusterArgument, nodeArgument, reasonArgument, vmidArgument } from '#kernel/arguments';
import type { JsonObject } from '#kernel/json';
import { followTaskWords } from '#kernel/known-effect';
import type { GuestAction } from '#kernel/ports/cluster';
import { describeTarget, type GuestTarget, type GuestType } from '#kernel/resource';
import type { Impact } from '#kernel/tiers';
import { defineTool, type Tool, type ToolContext, type ToolResult } from '#kernel/tool';
import { followTask, type LostTask, type TaskEnd } from './follow-task.ts';
import { guestObstacle } from './guest-obstacle.ts';
import { guestRisk } from './guest-risk.ts';
import { type GuestState, haAdvice, isAsWanted, readState, settledState, stateWords, statusAfter } from './guest-state.ts';
import { guestOf } from './targets.ts';

export interface GuestLifecycle {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly guestType: GuestType;
  readonly action: GuestAction;
  readonly impact: Impact;
  /** `Stop` as in `Stop VM 100 (web) on pve`. */
  readonly verb: string;
  /** `stopped` as in `VM 100 … stopped`. */
  readonly done: string;
}

const lifecycleInput = z.strictObject({
  vmid: vmidArgument,
  node: nodeArgument.optional(),
  cluster: clusterArgument,
  reason: reasonArgument,
});

export function defineGuestLifecycle(lifecycle: GuestLifecycle): Tool {
  return defineTool({
    name: lifecycle.name,
    title: lifecycle.title,
    description: lifecycle.description,
    group: 'cluster',
    tier: 'red',
    impact: lifecycle.impact,
    permission: 'cluster:operate',
    timeoutMs: 60_000,
    outsideText: ['log'],
    input: lifecycleInput,
    touches: ({ vmid, node }) => [
      { kind: 'guest', access: 'operate', vmid, guestType: lifecycle.guestType, ...(node === undefined ? {} : { node }) },
    ],
    headline: (_input, targets) => `${lifecycle.verb} ${describeTarget(guestOf(targets))}`,
    precheck: async (_input, context) => guestObstacle(context.cluster().api, guestOf(context.targets), lifecycle.action, context.signal),
    preview: async (_input, context) => guestRisk(context.cluster().api, guestOf(context.targets), lifecycle.action, context.signal),
    run: (_input, context) => runLifecycle(lifecycle, context),
  });
}

/** What is left after PVE's own verdict on a shutdown, in ms, or a quarter of the time where that is short. */
const verdictMs = 10_000;

/** The HA manager's tasks only note the request; it acts some time later. */
const haTaskTypes: ReadonlySet<string> = new Set(['hastart', 'hastop']);

async function runLifecycle(lifecycle: GuestLifecycle, context: ToolContext): Promise<ToolResult> {
  const guest = guestOf(context.targets);
  const { action } = lifecycle;
  const { api } = context.cluster();
  context.progress(`${lifecycle.verb} ${describeTarget(guest)}: asking the cluster`);
  // Until the UPID is known nobody can tell whether the cluster took the request.
  context.noteEffect({ state: 'sent', what: `the ${action} of ${describeTarget(guest)} may have been started` });
  const parameters = action === 'reboot' ? { timeoutSeconds: shutdownSeconds(context.leftMs()) } : {};
  const upid = await api.changeGuest(guest, action, context.signal, parameters);
  const end = await followTask(api, upid, context);
  if ('lost' in end) return lostResult(lifecycle, guest, end);
  const byHa = haTaskTypes.has(upid.split(':')[5] ?? '');
  const now = end.succeeded ? await settledState(guest, action, byHa, context) : await readState(api, guest, context.signal);
  const ended: EndedAction = { lifecycle, guest, end, now, result: resultOf(guest, end, now) };
  if (!end.succeeded) return failedResult(ended, parameters.timeoutSeconds);
  return isReached(ended, byHa) ? reachedResult(ended) : notReachedResult(ended, byHa);
}

/** The word of a task of the guest's own counts where nothing else can be seen; the HA manager's only says that it was asked. */
function isReached({ lifecycle, now }: EndedAction, byHa: boolean): boolean {
  return isAsWanted(now, lifecycle.action, byHa) || (now.status === undefined && !byHa);
}

function reachedResult({ lifecycle, guest, end, now, result }: EndedAction): ToolResult {
  const warned = end.warnings ? ` with ${end.exitStatus}` : '';
  const state = now.status === undefined ? stateWords(now) : `${stateWords(now)} now`;
  return {
    ok: true,
    message: `${describeTarget(guest)} ${lifecycle.done}${warned} (task exit status ${end.exitStatus}); ${state}`,
    result,
  };
}

/** The guest's time to shut down, in whole seconds, so that PVE says how it went before our own limit does. */
function shutdownSeconds(leftMs: number): number {
  return Math.max(1, Math.floor((leftMs - Math.min(verdictMs, leftMs / 4)) / 1_000));
}

interface EndedAction {
  readonly lifecycle: GuestLifecycle;
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

function lostResult({ verb }: GuestLifecycle, guest: GuestTarget, { upid, lost }: LostTask): ToolResult {
  return {
    ok: false,
    code: 'task_end_unknown',
    message: `${verb} ${describeTarget(guest)}: the cluster took it on as task ${upid}; how it ended is not known: ${lost.message}`,
    result: { vmid: guest.vmid, node: guest.node, type: guest.guestType, task: { upid } },
    next: [lost.next, followTaskWords(upid)].filter((part) => part !== undefined).join('; then: '),
  };
}

/** PVE's words for a guest that did not do what ACPI, its agent or init was told. */
const ignoredShutdown = /got timeout|did not stop/;

function failedResult({ lifecycle, guest, end, now, result }: EndedAction, timeoutSeconds: number | undefined): ToolResult {
  const failed = `${lifecycle.verb} ${describeTarget(guest)} failed: ${end.exitStatus}`;
  if (lifecycle.action === 'reboot' && ignoredShutdown.test(end.exitStatus) && !end.exitStatus.includes('lock')) {
    const kind = guest.guestType === 'qemu' ? 'vm' : 'container';
    return {
      ok: false,
      code: 'guest_ignored_shutdown',
      message: `${failed}; the guest did not shut down within ${timeoutSeconds ?? 0} s and was left as it was; ${stateWords(now)}`,
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

function notReachedResult({ lifecycle, guest, end, now, result }: EndedAction, byHa: boolean): ToolResult {
  const wanted = statusAfter[lifecycle.action];
  const asked = byHa
    ? `the HA manager was asked to ${lifecycle.action} ${describeTarget(guest)}`
    : `the ${lifecycle.action} of ${describeTarget(guest)} ended`;
  const list = guest.guestType === 'qemu' ? 'get_vms' : 'get_containers';
  const look = `look again in a minute with ${list} and \`filter\` \`${guest.vmid}\`; do not repeat the call before`;
  const advice = haAdvice(guest, now.haState);
  const seen = now.status === wanted ? 'the manager has not carried that out' : `it is not seen ${wanted}`;
  return {
    ok: false,
    code: 'state_not_reached',
    message: `${asked} (task exit status ${end.exitStatus}), but ${seen}: ${stateWords(now)}`,
    result: { ...result, requested: lifecycle.action, wanted },
    next: advice === undefined ? look : `${advice}; ${look}`,
  };
}
