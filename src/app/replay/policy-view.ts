/** The policy as people look at it: who may do what, and replays. */

import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { isChained, type ReadTrail, verifyTrail } from '#audit/verify-trail';
import { Fault, type FaultData, faultData, faultFrom, toFault } from '#kernel/errors';
import type { PolicyMatrix, ReplayOptions, ReplayReport, PolicyView as View } from '#kernel/policy-view';
import type { AuditLog } from '#kernel/ports/audit-log';
import type { ClusterPort } from '#kernel/ports/cluster';
import type { SandboxStatus, ViewStatus } from '#kernel/ports/command-runner';
import { say } from '#kernel/text/message';
import { securityLevels } from '#kernel/tiers';
import { decideTool } from '#pipeline/decide-call';
import type { PipelineDeps } from '#pipeline/deps';
import { limitsInWords, scopesOfTools } from '#pipeline/limits';
import { effectiveTier } from '#policy/classify';
import type { NodeAliases } from '#policy/protected-resources';
import { allTools, catalog } from '../catalog.ts';
import type { Config } from '../config/config.ts';
import { liveRules } from '../config/live-settings.ts';
import { policySettings } from '../config/policy-settings.ts';
import type { ReadGroups } from '../store/group-reads.ts';
import { ownPrograms } from '../workspace/own-tools.ts';
import { type Deciding, differing, editedSettings, loosened, settingsShown } from './edited-settings.ts';
import { type ClusterReads, createSharedAnswers, lastOnce, type Side, type World } from './recorded-world.ts';
import { replay } from './replay.ts';

/** What a replay is about, as it crosses to its thread. */
export interface ReplayTask {
  readonly before: Deciding;
  readonly after: Deciding;
  readonly version: string;
  readonly since?: number;
  readonly clusters: readonly { readonly name: string; readonly aliases: NodeAliases }[];
  readonly view: ViewStatus | undefined;
  readonly workspaceRoot: string;
  readonly ownPrograms: readonly (readonly string[])[];
  /** Where the thread finds the store. */
  readonly stateDir: string;
}

export interface PolicyViewParts {
  readonly config: Config;
  readonly deps: PipelineDeps;
  readonly reads: Pick<ReadGroups, 'audit' | 'settle'>;
  readonly sandbox: { refresh(): Promise<SandboxStatus> };
  readonly version: string;
  readonly stateDir: string;
  readonly workspaceBase?: string;
  /** As of the workspace. */
  readonly cliFile?: string;
  /** The bundled thread; absent: on this one, in chunks. */
  readonly replayWorker?: string;
}

export function createPolicyView(parts: PolicyViewParts): View {
  const { deps, reads, replayWorker } = parts;
  const deciding = async (): Promise<Deciding> => {
    const settings = await deps.settings();
    if (settings.unavailable !== undefined)
      throw new Fault('policy_unavailable', say`the security level cannot be read: ${settings.unavailable}`);
    const rules = (await settings.rules()).map(({ pattern, action }) => ({ pattern: pattern.text, action }));
    return { config: { ...parts.config, securityLevel: settings.securityLevel }, rules };
  };
  return {
    matrix: (agent) => matrixOf(agent, deps),
    settings: async () => settingsShown(await deciding()),
    replay: async (edited, options) => {
      const before = await deciding();
      const task = await taskOf(parts, { before, after: editedSettings(edited, before, 'the settings') }, options);
      const running = { ...options, reads: readsOf(deps.clusters, options.signal) };
      // What was only read is written together with others, a moment later.
      await reads.settle();
      return replayWorker === undefined ? runReplay(task, { ...running, audit: reads.audit }) : inWorker(replayWorker, task, running);
    },
  };
}

async function taskOf(
  { config, deps, sandbox, version, stateDir, workspaceBase = '/', cliFile }: PolicyViewParts,
  sides: Pick<ReplayTask, 'before' | 'after'>,
  { since }: ReplayOptions,
): Promise<ReplayTask> {
  return {
    ...{ ...sides, version, stateDir, view: (await sandbox.refresh()).view, ownPrograms: ownPrograms(cliFile) },
    workspaceRoot: path.resolve(workspaceBase, config.workspace.root),
    clusters: [...deps.clusters].map(([name, { aliases }]) => ({ name, aliases })),
    ...(since === undefined ? {} : { since }),
  };
}

async function matrixOf(agent: PolicyMatrix['agent'], deps: PipelineDeps): Promise<PolicyMatrix> {
  const settings = await deps.settings();
  const { scopes, answers } = await scopesOfTools(agent, { ...deps, settings });
  const rows = catalog.map((tool) => {
    const { name, title, group, impact, permission } = tool;
    const cells = securityLevels.map((level) => ({ level, ...decideTool(tool, agent, { ...settings, securityLevel: level }) }));
    return {
      tool: name,
      title,
      group,
      impact,
      permission,
      tier: effectiveTier(name, tool.tier, settings.tiers),
      cells,
      scopes: answers(tool),
    };
  });
  return { agent, level: settings.securityLevel, scopes, rows, limits: await limitsInWords(agent, { ...deps, settings }) };
}

interface Running extends ReplayOptions {
  readonly reads: ClusterReads;
}

export async function runReplay(
  task: ReplayTask,
  { audit, reads, ...options }: Running & { readonly audit: AuditLog },
): Promise<ReplayReport> {
  const { before, after, clusters, view, workspaceRoot, ownPrograms: own, since } = task;
  const world: World = { tools: allTools, clusters, reads, view, workspaceRoot, ownPrograms: own, shared: createSharedAnswers() };
  const head = await audit.head();
  return replay({
    ...{ ...options, ...sidesOf(before, after, task.version), world },
    ...{ differs: differing(before, after), loosens: loosened(before, after) },
    ...(since === undefined ? {} : { since }),
    ...(head === undefined ? {} : { size: head.sequence }),
    readTrail: (reader) => verifyTrail(withoutTree(audit), [], reader),
  });
}

/** Holding each record against the tree, too, would read the trail twice: `banksman audit verify` does that. */
function withoutTree(audit: AuditLog): ReadTrail {
  return isChained(audit) ? audit : { read: audit.read, head: audit.head };
}

/** What both say of a command is asked for once, where both have the same rules for it. */
function sidesOf(before: Deciding, after: Deciding, version: string): { readonly before: Side; readonly after: Side } {
  const [one, two] = [sideOf(before, version), sideOf(after, version)];
  const { commandRules } = before.config;
  if (JSON.stringify(commandRules) !== JSON.stringify(after.config.commandRules)) return { before: one, after: two };
  const decideSsh = lastOnce(one.settings.decideSsh);
  const withOnce = ({ config, settings }: Side): Side => ({ config: { ...config, commandRules }, settings: { ...settings, decideSsh } });
  return { before: withOnce(one), after: withOnce(two) };
}

function sideOf({ config, rules }: Deciding, version: string): Side {
  const counting = liveRules(rules.map(({ pattern, action }) => ({ pattern, counts: action })));
  return { config, settings: { ...policySettings(config, version), rules: async () => counting } };
}

/** Reads that deciding needs, and no others. */
const reads = [
  ...['guests', 'nodes', 'clusterStatus', 'resources', 'permissions', 'guestConfig', 'snapshots', 'record', 'rows', 'guestBackups'],
  'archivedConfig',
] as const satisfies readonly (keyof ClusterPort)[];

/** So many different things are asked of clusters for one replay. */
const mostReads = 2_000;

/** Each thing is asked for once: a replay sees one moment. */
function readsOf(clusters: PipelineDeps['clusters'], signal: AbortSignal): ClusterReads {
  const known = new Map<string, Promise<unknown>>();
  return (cluster, method, values) => {
    const key = JSON.stringify([cluster, method, values]);
    const found = known.get(key) ?? (known.size < mostReads ? readOnce(clusters, { cluster, method, values }, signal) : tooMany());
    known.set(key, found);
    found.catch(() => undefined);
    return found;
  };
}

interface Read {
  readonly cluster: string;
  readonly method: string;
  readonly values: readonly unknown[];
}

async function readOnce(clusters: PipelineDeps['clusters'], { cluster, method, values }: Read, signal: AbortSignal): Promise<unknown> {
  const api = clusters.get(cluster)?.access.api;
  const name = reads.find((one) => one === method);
  if (api === undefined || name === undefined)
    throw new Fault('not_recorded', say`\`${method}\` of cluster \`${cluster}\` cannot be known now`);
  // Sound: `values` are what the stages handed to the same method, its signal left out.
  return (api[name] as (...given: readonly unknown[]) => Promise<unknown>)(...values, signal);
}

function tooMany(): Promise<never> {
  return Promise.reject(new Fault('not_recorded', 'too many things of clusters would have to be read'));
}

export type FromReplay =
  | { readonly kind: 'progress'; readonly records: number; readonly of?: number }
  | { readonly kind: 'read'; readonly id: number; readonly cluster: string; readonly method: string; readonly values: readonly unknown[] }
  | { readonly kind: 'done'; readonly report: ReplayReport }
  | { readonly kind: 'failed'; readonly fault: FaultData };

export type ToReplay = { readonly id: number } & ({ readonly value: unknown } | { readonly fault: FaultData });

/** A replay that nobody waits for any more ends with its thread: it only reads. */
function inWorker(file: string, task: ReplayTask, { signal, onProgress, reads: read }: Running): Promise<ReplayReport> {
  const worker = new Worker(file, { workerData: task });
  const { promise, resolve, reject } = Promise.withResolvers<ReplayReport>();
  const cancel = () => reject(cancelled());
  signal.addEventListener('abort', cancel, { once: true });
  worker.on('error', (thrown) => reject(toFault(thrown)));
  worker.on('exit', () => reject(new Fault('replay_lost', 'the replay ended before it had an answer', { next: 'try again' })));
  worker.on('message', (message: FromReplay) => {
    if (message.kind === 'done') resolve(message.report);
    else if (message.kind === 'failed') reject(faultFrom(message.fault));
    else if (message.kind === 'progress') onProgress?.(message);
    else void answer(message);
  });
  const answer = async ({ id, cluster, method, values }: Extract<FromReplay, { kind: 'read' }>) => {
    const said: ToReplay = await read(cluster, method, values).then(
      (value) => ({ id, value }),
      (thrown: unknown) => ({ id, fault: faultData(toFault(thrown)) }),
    );
    worker.postMessage(said);
  };
  if (signal.aborted) cancel();
  return promise.finally(() => {
    signal.removeEventListener('abort', cancel);
    void worker.terminate();
  });
}

function cancelled(): Fault {
  return new Fault('cancelled', 'the replay was cancelled; nothing was changed', { audience: 'user' });
}
