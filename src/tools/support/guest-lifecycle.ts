/** The six lifecycle tools differ in three words; this is what they share. */
import * as z from 'zod';
import { clusterArgument, nodeArgument, reasonArgument, vmidArgument } from '#kernel/arguments';
import type { JsonObject } from '#kernel/json';
import type { ClusterPort, GuestAction } from '#kernel/ports/cluster';
import { describeTarget, type GuestTarget, type GuestType } from '#kernel/resource';
import type { Impact } from '#kernel/tiers';
import { defineTool, type Tool, type ToolContext, type ToolResult } from '#kernel/tool';
import { followTask, type TaskEnd } from './follow-task.ts';
import { guestRisk } from './guest-risk.ts';
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
    preview: async (_input, context) => guestRisk(context.cluster().api, guestOf(context.targets), lifecycle.action, context.signal),
    run: (_input, context) => runLifecycle(lifecycle, context),
  });
}

async function runLifecycle(lifecycle: GuestLifecycle, context: ToolContext): Promise<ToolResult> {
  const guest = guestOf(context.targets);
  const { api } = context.cluster();
  context.progress(`${lifecycle.verb} ${describeTarget(guest)}: asking the cluster`);
  // Until the UPID is known nobody can tell whether the cluster took the request.
  context.stillRunning(`the ${lifecycle.action} of ${describeTarget(guest)} may have been started`);
  const upid = await api.changeGuest(guest, lifecycle.action, context.signal);
  const end = await followTask(api, upid, context);
  const now = end.succeeded ? await settledStatus(lifecycle, guest, context) : await statusNow(api, guest, context.signal);
  return lifecycleResult(lifecycle, guest, end, now);
}

function lifecycleResult(lifecycle: GuestLifecycle, guest: GuestTarget, end: TaskEnd, now: string | undefined): ToolResult {
  const result: JsonObject = {
    vmid: guest.vmid,
    node: guest.node,
    type: guest.guestType,
    ...(guest.name === undefined ? {} : { name: guest.name }),
    ...(now === undefined ? {} : { status: now }),
    task: { upid: end.upid, exitstatus: end.exitStatus, log: end.log },
  };
  const what = describeTarget(guest);
  if (!end.succeeded) {
    return {
      ok: false,
      code: 'task_failed',
      message: `${lifecycle.verb} ${what} failed: ${end.exitStatus}`,
      result,
      next: 'read the task log in the result; repeating the call asks a person again',
    };
  }
  const state = now === undefined ? '' : `; it is ${now} now`;
  const warned = end.warnings ? ` with ${end.exitStatus}` : '';
  return { ok: true, message: `${what} ${lifecycle.done}${warned} (task exit status ${end.exitStatus})${state}`, result };
}

/** A VM's reboot task ends when the guest is down; another task starts it again about two seconds later. In ms. */
const settleMs = 10_000;
const settlePollMs = 500;

const statusAfter: Readonly<Record<GuestAction, string>> = { start: 'running', stop: 'stopped', reboot: 'running' };

/** The status once it is what the action leads to, or as it is after a while. */
async function settledStatus(lifecycle: GuestLifecycle, guest: GuestTarget, context: ToolContext): Promise<string | undefined> {
  const { api } = context.cluster();
  const until = context.clock.now() + settleMs;
  context.stillRunning('the task itself has ended with success; only the new state was not seen in time');
  for (;;) {
    const now = await statusNow(api, guest, context.signal);
    if (now === undefined || now === statusAfter[lifecycle.action] || context.clock.now() >= until) return now;
    await context.clock.sleep(settlePollMs, context.signal);
  }
}

async function statusNow(api: ClusterPort, guest: GuestTarget, signal: AbortSignal): Promise<string | undefined> {
  // The task's exit status is the answer; this only adds to it.
  const status = await api.guestStatus(guest, signal).catch(() => undefined);
  return typeof status?.['status'] === 'string' ? status['status'] : undefined;
}
