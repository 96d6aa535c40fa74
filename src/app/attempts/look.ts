/** What came of a call whose process is gone: found by looking, where there is something to look at. */
import { statSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { type AttemptEnd, argumentsFlaw, callOf, latestEnd } from '#kernel/attempt';
import type { AuditRecord } from '#kernel/audit-event';
import type { RunHistory, RunRecord } from '#kernel/effects';
import { isJsonObject, type JsonObject, textOf, wordOf } from '#kernel/json';
import { effectData, type KnownEffect, notSent } from '#kernel/known-effect';
import type { AuditLog } from '#kernel/ports/audit-log';
import type { ClusterPort } from '#kernel/ports/cluster';
import { showPlainly } from '#kernel/text/text';
import { lookAt } from '#tools/support/follow-task';

/** What was found. `status`, `code` and `message` as of an outcome; `next`: what to look at where it is not known. */
export interface Found {
  readonly end: AttemptEnd;
  readonly status?: 'ok' | 'error';
  readonly code: string;
  readonly message: string;
  readonly next?: string;
  readonly effect?: KnownEffect;
}

export interface LookDeps {
  /** The cluster's client and its API token's id; undefined: not configured here. */
  clusterOf(name: string): { readonly api: ClusterPort; readonly tokenId: string } | undefined;
  history(): Promise<RunHistory | undefined>;
  readonly audit: Pick<AuditLog, 'read'>;
  /** Which directory on which machine this process works in; absent: none. */
  readonly workspacePlace?: string;
}

/** `later`: it cannot be asked about now, or not from here. `goesOn`: it was found, and has no end yet. */
export type Look = Found | { readonly later: string; readonly goesOn?: true };

/** The tasks that a tool's request begins, by their types in a UPID. */
const taskTypes: Readonly<Record<string, RegExp>> = {
  backup_guest: /^vzdump$/,
  clone_guest: /^(?:qm|vz)clone$/,
  create_snapshot: /^(?:qm|vz)snapshot$/,
  delete_guest: /^(?:qm|vz)destroy$/,
  delete_snapshot: /^(?:qm|vz)delsnapshot$/,
  migrate_guest: /^(?:qmigrate|vzmigrate|hamigrate)$/,
  reset_vm: /^qmreset$/,
  resize_disk: /^resize$/,
  restart_container: /^vzreboot$/,
  restart_vm: /^qmreboot$/,
  restore_guest: /^(?:qm|vz)restore$/,
  resume_vm: /^qmresume$/,
  rollback_snapshot: /^(?:qm|vz)rollback$/,
  shutdown_container: /^(?:vzshutdown|hastop)$/,
  shutdown_vm: /^(?:qmshutdown|hastop)$/,
  start_container: /^(?:vzstart|hastart)$/,
  start_vm: /^(?:qmstart|hastart)$/,
  stop_container: /^(?:vzstop|hastop)$/,
  stop_vm: /^(?:qmstop|hastop)$/,
  suspend_vm: /^qmsuspend$/,
};

const lookAtTarget = 'look at the target before calling again, and tell the user';

/** @throws {Fault} what the cluster or the journal says: it can be asked again */
export async function lookFor(begun: AuditRecord, deps: LookDeps, signal: AbortSignal): Promise<Look> {
  const tool = textOf(begun.attributes['gen_ai.tool.name']) ?? '';
  const types = taskTypes[tool];
  if (types !== undefined) return lookForTask(begun, types, deps, signal);
  if (begun.attributes['workspace'] !== undefined) return lookInJournal(begun, tool, deps);
  const next = `nothing keeps a list of what ${showPlainly(tool, 60)} does: ${lookAtTarget}`;
  return unknownEnd('its process ended before it could say what came of it', next);
}

export function unknownEnd(message: string, next: string): Found {
  return { end: 'unknown', code: 'outcome_unknown', message, next };
}

function targetOf({ attributes }: AuditRecord): JsonObject | undefined {
  const { target } = attributes;
  const kinds = Array.isArray(target) ? target.filter(isJsonObject) : [];
  return kinds.find(({ kind }) => kind === 'new_guest') ?? kinds.find(({ kind }) => kind === 'guest');
}

// A task of the cluster: by its UPID, which holds the token, the guest, the type and the node's time.

/** Clocks of two machines that keep time differ by less than `near`; beyond `far` they are not looked at. In ms. */
const slack = { near: 2_000, after: 30_000, far: 600_000 } as const;

async function lookForTask(begun: AuditRecord, types: RegExp, deps: LookDeps, signal: AbortSignal): Promise<Look> {
  const target = targetOf(begun);
  const { node } = target ?? {};
  const [vmid, cluster] = [wordOf(target?.['vmid']), wordOf(target?.['cluster'])];
  const found = deps.clusterOf(cluster);
  if (found === undefined) return { later: `the cluster ${showPlainly(cluster, 60)} is not configured where it was looked for` };
  const { api, tokenId } = found;
  const time = Date.parse(begun.time);
  const tasks = await tasksOf(api, { vmid: Number(vmid), node: textOf(node), since: time - slack.far }, signal);
  const others = await tasksOfOthers(begun, deps);
  const own = tasks.flatMap((row) => {
    const task = readTask(row);
    return task !== undefined && isOwn(task, { types, vmid, tokenId }) && !others.has(task.upid) ? [task] : [];
  });
  const near = own.filter(({ startsAt }) => isBetween(startsAt, time - slack.near, latestEnd(begun) + slack.after));
  const [only] = near;
  if (only !== undefined && near.length === 1) return endOf(only.upid, api, signal);
  if (own.length > 0) {
    const named = own.map(({ upid }) => upid).join(', ');
    return unknownEnd(`which task is its own cannot be told: ${named}`, 'look at these tasks and at the guest before calling again');
  }
  if (node === undefined) return unknownEnd('no task of it shows in the cluster’s list, which is short', lookAtTarget);
  return notDone(`its process ended before the request reached the cluster: no task of ours for guest ${vmid} began then`);
}

/** So many records before and after it are looked at for tasks that other calls began. */
const looked = { before: 300, inAll: 1_000 } as const;

/** Of a trail of several chains it is not known which records are beside this one. */
async function tasksOfOthers(begun: AuditRecord, { audit }: LookDeps): Promise<ReadonlySet<unknown>> {
  if (begun.chain !== undefined) return new Set();
  const records = await audit.read(Math.max(0, begun.sequence - looked.before), looked.inAll);
  const ended = records.filter((record) => callOf(record) !== callOf(begun)).map(({ attributes }) => attributes['effect']);
  return new Set(ended.flatMap((effect) => (isJsonObject(effect) ? [effect['upid']] : [])));
}

function isBetween(time: number, from: number, to: number): boolean {
  return time >= from && time <= to;
}

async function tasksOf(
  api: ClusterPort,
  { vmid, node, since }: { readonly vmid: number; readonly node: string | undefined; readonly since: number },
  signal: AbortSignal,
): Promise<readonly JsonObject[]> {
  const recent = await api.recentTasks(signal);
  if (node === undefined) return recent;
  const ofNode = await api.rows({ rows: 'tasks', node, vmid, since: Math.floor(since / 1_000) }, signal);
  const known = new Set(ofNode.map(({ upid }) => upid));
  return [...ofNode, ...recent.filter(({ upid }) => !known.has(upid))];
}

interface OwnTask {
  readonly upid: string;
  /** ms since the epoch, by the node's clock. */
  readonly startsAt: number;
  readonly type: string;
  readonly id: string;
  readonly user: string;
}

/** `UPID:node:pid:pstart:starttime:type:id:user!token:` */
function readTask({ upid }: JsonObject): OwnTask | undefined {
  const [, , , , start = '', type = '', id = '', user = ''] = textOf(upid)?.split(':') ?? [];
  return typeof upid === 'string' && user !== '' ? { upid, startsAt: Number.parseInt(start, 16) * 1_000, type, id, user } : undefined;
}

function isOwn(
  task: OwnTask,
  { types, vmid, tokenId }: { readonly types: RegExp; readonly vmid: string; readonly tokenId: string },
): boolean {
  return types.test(task.type) && task.id === vmid && task.user === tokenId;
}

async function endOf(upid: string, api: ClusterPort, signal: AbortSignal): Promise<Look> {
  const seen = await lookAt(api, upid, signal);
  if ('code' in seen) throw seen;
  if (seen.running) return { later: `its task goes on: ${upid}`, goesOn: true };
  const exitStatus = seen.exitStatus ?? 'no exit status';
  const isOk = exitStatus === 'OK' || exitStatus.startsWith('WARNINGS:');
  return {
    end: 'done',
    status: isOk ? 'ok' : 'error',
    code: isOk ? 'ok' : 'task_failed',
    message: `its process ended before it could say so; its task ${isOk ? 'has ended' : 'failed'}: ${showPlainly(exitStatus, 300)}`,
    effect: { state: 'task', upid, lastSeen: 'ended', exitStatus },
  };
}

// Of a workspace: what came through the journal is there whole or not at all, and a start takes back what was half done.

async function lookInJournal(begun: AuditRecord, tool: string, deps: LookDeps): Promise<Look> {
  const { workspace } = begun.attributes;
  if (workspace !== deps.workspacePlace) return { later: 'the workspace that it worked in was not open where it was looked for' };
  const history = await deps.history();
  const next = 'look at the files before calling again, and tell the user';
  if (history === undefined) return unknownEnd('no journal of what it changed was kept', next);
  const then = (await history.list()).filter((run) => isOfThen(run, begun));
  const runs = then.filter((run) => isAbout(run, begun, tool));
  const [run] = runs;
  if (runs.length > 1) return unknownEnd(`several runs could be its own: ${runs.map(({ id }) => id).join(', ')}`, next);
  if (run !== undefined) {
    const held = run.state === 'held' ? 'what it would change is held for a person' : 'what it changed is in the workspace';
    return {
      end: 'done',
      status: 'ok',
      code: 'ok',
      message: `its process ended before it could say so; ${held}: run ${run.id} of the journal`,
    };
  }
  const why = tool === 'run_command' ? whyCommandOpen(begun, then) : whyFileOpen(begun);
  if (why !== undefined) return unknownEnd(why, next);
  const what = tool === 'run_command' ? 'its command may have run' : 'it was ended before it wrote';
  return notDone(`${what}, and nothing of it is in the workspace: the journal has no such run, or took it back`);
}

/** Why no run in the journal does not say that nothing was done; undefined: it does. */
function whyCommandOpen(begun: AuditRecord, then: readonly RunRecord[]): string | undefined {
  if (begun.attributes['sandbox'] !== 'enforced') return 'its command did not run in the sandbox';
  const flaw = argumentsFlaw(begun);
  return flaw === undefined || then.length === 0
    ? undefined
    : `${flaw}, and these runs could be its own: ${then.map(({ id }) => id).join(', ')}`;
}

/** A file that is older than the call is as it was. INVARIANT: what cannot be looked at counts as written. */
function whyFileOpen(begun: AuditRecord): string | undefined {
  const { target } = begun.attributes;
  const named = Array.isArray(target) ? target.filter(isJsonObject).map(({ real }) => textOf(real)) : [];
  const isOld = (real: string | undefined) =>
    real !== undefined && isAbsolute(real) && !changedSince(real, Date.parse(begun.time) - slack.near);
  return named.every(isOld) ? undefined : 'the file was written since, and not through the journal';
}

function changedSince(file: string, moment: number): boolean {
  try {
    return Math.max(statSync(file).mtimeMs, statSync(file).ctimeMs) >= moment;
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code !== 'ENOENT';
  }
}

export function notDone(message: string): Found {
  return { end: 'not_done', status: 'error', code: 'not_done', effect: notSent, message };
}

function isOfThen(run: RunRecord, begun: AuditRecord): boolean {
  const { agent } = begun.attributes;
  const agentId = isJsonObject(agent) ? agent['id'] : undefined;
  return run.agentId === agentId && isBetween(run.at, Date.parse(begun.time), latestEnd(begun));
}

function isAbout({ title, created, changed }: RunRecord, begun: AuditRecord, tool: string): boolean {
  const { target, 'gen_ai.tool.call.arguments': input } = begun.attributes;
  if (tool === 'run_command') return isJsonObject(input) && typeof input['command'] === 'string' && title.includes(input['command']);
  const paths = Array.isArray(target) ? target.filter(isJsonObject).map(({ path }) => path) : [];
  return [...created, ...changed].some((path) => paths.some((named) => typeof named === 'string' && named.replace(/^\.\//, '') === path));
}

/** As its record holds it. */
export function foundData({ end, status, code, message, next, effect }: Found): JsonObject {
  return {
    ...{ end, code, message: showPlainly(message, 1_000) },
    ...(status === undefined ? {} : { status }),
    ...(next === undefined ? {} : { next }),
    ...(effect === undefined ? {} : { effect: effectData(effect) }),
  };
}
