/** Composition: one App from one configuration, wired by hand. */
import { createApprovals } from '#approval/approvals';
import { systemClock } from '#execution/system-clock';
import { createStanding } from '#identity/standing';
import type { ApproverKey } from '#kernel/answer';
import type { Log } from '#kernel/ports/log';
import type { Store } from '#kernel/ports/store';
import type { RequestDecision } from '#kernel/request';
import type { SecurityLevel } from '#kernel/tiers';
import type { PipelineDeps } from '#pipeline/deps';
import { explainCall } from '#pipeline/explain-call';
import { runCall } from '#pipeline/run-call';
import { announce } from './announce.ts';
import type { App, CallRequest } from './app.ts';
import { auditTrail } from './audit-trail.ts';
import { callApprovals, describeAction } from './call-approvals.ts';
import { catalog, describeTools } from './catalog.ts';
import type { Config } from './config.ts';
import { addApprover, createApproverReader } from './config-file.ts';
import { type ConnectedClusters, connectClusters } from './connect-clusters.ts';
import { type ConnectedWorkspace, connectWorkspace, createSandboxMemory, recordedHistory } from './connect-workspace.ts';
import { doctor } from './doctor.ts';
import { createTaskFollower, type TaskFollower } from './follow-tasks.ts';
import { groupReads, type ReadGroups } from './group-reads.ts';
import { createLiveSettings, type LiveSettings } from './live-settings.ts';
import { openStore } from './open-store.ts';
import { byHand } from './run-approved.ts';
import { createTrailMemory, type TrailMemory } from './store-findings.ts';
import { uselessTiers } from './useless-tiers.ts';

export interface AppOptions {
  readonly config: Config;
  /** Relative paths in the configuration count from here. */
  readonly baseDir: string;
  /** Folder of the embedded store. */
  readonly stateDir: string;
  /** Where this machine's approver keys are pinned. */
  readonly configFile: string;
  /** The file that `config` was read from, where it is another. */
  readonly namedConfigFile?: string;
  readonly log: Log;
  /** The surface that people answer through. */
  readonly via: RequestDecision['via'];
  readonly version: string;
  /** Path of the bundled worker: the store then stays off this thread. */
  readonly storeWorker?: string;
  /** Where `workspace.root` counts from; absent: there is no workspace. */
  readonly workspaceBase?: string;
  /** The editor's own directory: it brings ripgrep along. */
  readonly editorRoot?: string;
  /** A cluster's API token from a secret store; asked before `tokenFile`. */
  clusterToken?(cluster: string): Promise<string | undefined>;
}

/** @throws {Fault} when the store cannot be opened or the configuration does not fit together */
export async function createApp(options: AppOptions): Promise<App> {
  // First: it opens nothing, and a setting that does not fit must not leave a store open.
  const clusters = connectClusters(options);
  const store = await openStore(options);
  const memory = await rememberTrail(options, store);
  const workspace = await connectWorkspace(options, store);
  const sandbox = createSandboxMemory(workspace);
  const trustedKeys = pinnedKeys(options);
  const live = createLiveSettings({ ...options, store: store.security, clock: systemClock, trustedKeys });
  await live.now();
  const reads = groupReads(store.audit, options.log);
  const tasks = createTaskFollower({ audit: reads.audit, log: options.log });
  const approvals = createApprovals({
    requests: store.requests,
    audit: reads.audit,
    clock: systemClock,
    trustedKeys,
    pinKey: (key) => addApprover(options.configFile, key),
    via: options.via,
    level: () => live.known().securityLevel,
    describe: describeAction,
  });
  const parts: Parts = { store, memory, reads, tasks, clusters, workspace, sandbox, live, approvals: callApprovals(store, approvals) };
  const deps = pipelineDeps(options, parts);
  if (options.via === 'editor') await settleEditor(workspace, sandbox);
  sayReady(options, clusters.configured.size, live.known().securityLevel);
  return {
    config: options.config,
    tools: describeTools(),
    get securityLevel() {
      return live.known().securityLevel;
    },
    sandboxState: () => sandbox.current(),
    storeLocation: store.location,
    call: (request) => runCall(incoming(request), deps),
    ...byHand(deps, options.config.defaultModelTier),
    announce: (tool, input) => announce(tool, input, { tools: catalog, settings: live.known() }),
    explain: (call) => explainCall(call, deps, AbortSignal.timeout(options.config.limits.callMs)),
    approvals,
    security: live.security,
    audit: auditTrail(store, reads.settle),
    live: clusters.live,
    runs: () => recordedHistory(workspace, reads.audit),
    doctor: (signal) => doctor({ ...options, ...parts, trustedKeys, standing: deps.standing }, signal),
    close: () => closeAll(parts),
  };
}

/** In the order in which one still needs the next. */
async function closeAll({ tasks, workspace, clusters, reads, memory, store }: Parts): Promise<void> {
  await tasks.close();
  await workspace?.close();
  await clusters.close();
  await reads.settle();
  await memory.keep();
  await store.close();
}

async function rememberTrail({ configFile }: AppOptions, store: Store): Promise<TrailMemory> {
  const memory = createTrailMemory(configFile, store);
  await memory.keep();
  return memory;
}

/** What a person should know of the configuration before the first call, and that there can be one now. */
function sayReady({ config, log }: AppOptions, clusters: number, level: SecurityLevel): void {
  for (const { message, remedy } of uselessTiers(config)) log.warn(`${message}; ${remedy}`);
  log.info(`${catalog.length} tools ready, ${clusters} cluster${clusters === 1 ? '' : 's'}, security level ${level}`);
}

interface Parts {
  readonly store: Store;
  readonly memory: TrailMemory;
  readonly reads: ReadGroups;
  readonly tasks: TaskFollower;
  readonly clusters: ConnectedClusters;
  readonly workspace: ConnectedWorkspace | undefined;
  readonly sandbox: ReturnType<typeof createSandboxMemory>;
  readonly live: LiveSettings;
  readonly approvals: PipelineDeps['approvals'];
}

function pipelineDeps(options: AppOptions, { store, reads, tasks, clusters, workspace, sandbox, live, approvals }: Parts): PipelineDeps {
  return {
    tools: catalog,
    clusters: clusters.configured,
    settings: live.now,
    approvals,
    requests: store.requests,
    audit: reads.audit,
    noteRead: reads.note,
    followTask: (task) => tasks.follow(task),
    standing: createStanding(),
    clock: systemClock,
    log: options.log,
    limits: options.config.limits,
    knownSecrets: clusters.knownSecrets,
    ...(workspace?.access === undefined ? {} : { workspace: workspace.access }),
    ...(workspace?.place === undefined ? {} : { workspacePlace: workspace.place }),
    ...(workspace === undefined ? {} : { judge: rememberingJudge(workspace, sandbox) }),
    sandboxState: () => sandbox.word(),
  };
}

/** What a call finds out about the sandbox is what its record says. */
function rememberingJudge({ judge }: ConnectedWorkspace, sandbox: Parts['sandbox']): NonNullable<PipelineDeps['judge']> {
  return { ...judge, sandbox: () => sandbox.refresh() };
}

/** A window shows the sandbox's state from the start, and stays long enough to clean up after agents. */
async function settleEditor(workspace: ConnectedWorkspace | undefined, sandbox: Parts['sandbox']): Promise<void> {
  workspace?.startCleaning();
  await sandbox.refresh();
}

function incoming(request: CallRequest) {
  const { gate, onProgress, ...call } = request;
  return {
    ...call,
    ...(gate === undefined ? {} : { ask: gate.ask.bind(gate) }),
    ...(onProgress === undefined ? {} : { onProgress: onProgress.bind(request) }),
  };
}

/** Read anew each time: a key taken out of the file stops counting at once. */
function pinnedKeys({ config, configFile }: AppOptions): () => Promise<readonly ApproverKey[]> {
  const inFile = createApproverReader(configFile);
  return async () => [...config.approvers, ...inFile()];
}
