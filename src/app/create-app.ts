/** Composition: one App from one configuration, wired by hand. */
import { hostname } from 'node:os';
import { type AnswerDeps, standingNow } from '#approval/accept-grant';
import { type CallApprovals, createApprovals } from '#approval/approvals';
import type { ConsumeResult } from '#approval/consume-grant';
import { type Changes, createAnswerDesk, createChangeDesk } from '#approval/passkey-desk';
import { systemClock } from '#execution/deadline';
import { isForService } from '#files/folder-owner';
import { createStanding } from '#identity/standing';
import type { App, Approvals, AuditTrail, ConfigAgreement, HostConfig } from '#kernel/app';
import type { PasskeyDesk } from '#kernel/approval/passkey';
import type { RequestDecision, RequestRecord } from '#kernel/approval/request';
import type { AuditDraft } from '#kernel/audit-event';
import type { AuditLog } from '#kernel/ports/audit-log';
import type { Log } from '#kernel/ports/log';
import type { RequestStore } from '#kernel/ports/request-store';
import type { ToldElsewhere } from '#kernel/ports/sink';
import type { Store } from '#kernel/ports/store';
import type { SecurityLevel } from '#kernel/tiers';
import type { SharedSettings } from '#kernel/wire';
import type { PipelineDeps } from '#pipeline/deps';
import { explainCall } from '#pipeline/explain-call';
import { runCall } from '#pipeline/run-call';
import { alarms, createTrailWatch } from './alarms.ts';
import { announce } from './announce.ts';
import { type Attempts, openAttempts } from './attempts/attempts.ts';
import { allTools, catalog, describeTools } from './catalog.ts';
import { type ConnectedClusters, connectClusters } from './clusters/connect-clusters.ts';
import { createTaskFollower, type TaskFollower } from './clusters/follow-tasks.ts';
import { createClusterMonitor } from './clusters/monitor.ts';
import { createProtectionOffer, type ProtectionOffer, protectionSuggestions } from './clusters/suggestions.ts';
import type { ClusterConfig, Config } from './config/config.ts';
import { type AppAgreement, createApproving, createConfigAgreement, type Origin } from './config/config-agreement.ts';
import { createApproverReader } from './config/config-file.ts';
import { createLiveSettings, type LiveSettings, type LiveSettingsParts } from './config/live-settings.ts';
import { createPauseMemory } from './config/pause-memory.ts';
import { uselessTiers } from './config/policy-settings.ts';
import { doctor, laterPolicyView } from './load-later.ts';
import { createEnrolDesk } from './people/enrolments.ts';
import { createHeldAnswers, type HeldAnswers, type HeldDeps } from './people/held.ts';
import { limitPending } from './people/limit-pending.ts';
import { createOneTimeCodes } from './people/one-time-codes.ts';
import { createPageChanges } from './people/page-changes.ts';
import { byHand, describeAction, runApproved } from './people/run-approved.ts';
import { createPlans, type PlanHome, type Plans, type PlansDeps } from './plans/plans.ts';
import { createPlanResumes } from './plans/resume-plan.ts';
import type { PolicyViewParts } from './replay/policy-view.ts';
import { startSinks } from './sinks/start-sinks.ts';
import { auditTrail } from './store/audit-export.ts';
import { groupReads, type ReadGroups } from './store/group-reads.ts';
import { openStore } from './store/open-store.ts';
import type { LogKeyPlace } from './store/trail-log.ts';
import { rememberTrail, type TrailMemory } from './store/trail-memory.ts';
import { startWitnessing } from './witness/witnesses.ts';
import { type ConnectedWorkspace, connectWorkspace, createSandboxMemory, recordedAccess } from './workspace/connect-workspace.ts';

export interface AppOptions extends Pick<PlanHome, 'handOver'>, Pick<PolicyViewParts, 'replayWorker'> {
  readonly config: Config;
  /** Relative paths in the configuration count from here. */
  readonly baseDir: string;
  /** Folder of the embedded store. */
  readonly stateDir: string;
  /** Where this machine's approver keys are pinned. */
  readonly configFile: string;
  /** The file that `config` was read from: absent where that was text, or an editor's settings. */
  readonly namedConfigFile?: string;
  /** Looked at each time before the approvers in `configFile` are read anew. @throws {Fault} where others could have written it */
  checkConfigFile?(file: string): void;
  readonly log: Log;
  /** Whose values `config` holds, where programs of the user's account can write them: what loosens them counts only once a person agreed. Absent: all count. */
  readonly origin?: Origin;
  /** The store was named for this one call. */
  readonly ownStore?: boolean;
  /** The surface that people answer through. */
  readonly via: RequestDecision['via'];
  readonly version: string;
  /** The process lasts longer than one call: it follows what earlier ones left behind. */
  readonly stays?: boolean;
  /** It only looks: where there is no store, root makes none for a service. */
  readonly looks?: boolean;
  /** Path of the bundled worker: the store then stays off this thread. */
  readonly storeWorker?: string;
  /** Where `workspace.root` counts from; absent: there is no workspace. */
  readonly workspaceBase?: string;
  /** The editor's own directory: it brings ripgrep along. */
  readonly editorRoot?: string;
  /** The file of the command line, where this process was not started with it. */
  readonly cliFile?: string;
  /** A cluster's API token from a secret store; asked before `tokenFile`. */
  clusterToken?(cluster: ClusterConfig): Promise<string | undefined>;
  /** Where the key that signs checkpoints of the trail is kept; absent: a file in `stateDir`. */
  readonly logKey?: LogKeyPlace;
  /** In a user's process where there is a service: what the service holds. */
  readonly service?: SharedParts;
}

/** What the service holds for the tools that run in the user's own process. */
export interface SharedParts {
  readonly store: Store;
  readonly live: LiveSettings;
  readonly approvals: Approvals & CallApprovals;
}

/** What a user's own process may ask of the service about its workspace tools; whose it is, the service's host has checked. */
export interface WorkspaceRecords extends Pick<RequestStore, 'open' | 'noteWait' | 'waitOf'>, Pick<AuditLog, 'ofRequest' | 'endAttempt'> {
  settings(): Promise<SharedSettings>;
  consume(id: string, digest: string, by: string): Promise<ConsumeResult>;
  append(drafts: readonly AuditDraft[]): Promise<void>;
}

/** The App of a process that holds the store. */
export interface LocalApp extends App {
  readonly records: WorkspaceRecords;
  /** For the page at this origin. INVARIANT: no socket of a user's carries it. @throws {Fault} `bad_origin` */
  passkeyDesk(origin: string): PasskeyDesk;
  /** In Prometheus' text form. */
  metrics(): Promise<string>;
}

/** @throws {Fault} when the store cannot be opened or the configuration does not fit together */
export async function createApp(given: AppOptions): Promise<LocalApp> {
  const isRoots = given.checkConfigFile !== undefined || isForService(given.stateDir);
  const agreement = createConfigAgreement({ ...given, isRoots });
  const options = { ...given, config: { ...agreement.config, ...machineOnly({ ...given, config: agreement.config }) } };
  // First: it opens nothing, and a setting that does not fit must not leave a store open.
  const clusters = connectClusters(options);
  const store = await openPlace(options);
  const memory = await rememberTrail(options, store);
  const workspace = await connectWorkspace(options, store);
  const sandbox = createSandboxMemory(workspace);
  const { trustedKeys, rules } = createApproving(options, agreement);
  const live = options.service?.live ?? ownSettings(options, store, trustedKeys);
  await live.now();
  const trail = createTrailWatch(store.audit);
  const reads = groupReads(store.audit, options.log);
  const tasks = createTaskFollower({ audit: reads.audit, log: options.log });
  const answers = { requests: store.requests, clock: systemClock, trustedKeys, rules, describe: describeAction };
  const resumes = createPlanResumes({ ...answers, audit: reads.audit });
  const changes = createPageChanges({ ...options, live, agreement, trustedKeys, audit: store.audit, resumes });
  const approvals = options.service?.approvals ?? ownApprovals(options, { store, reads, live, answers, agreement });
  const history = async () => recordedAccess(workspace?.access, reads.audit)?.runner.history?.();
  const attempts = openAttempts(options, { audit: reads.audit, clusters, workspacePlace: workspace?.place, history });
  const sinks = await startSinks(options, store);
  const parts: Parts = { store, memory, reads, tasks, attempts, clusters, workspace, sandbox, live, approvals, sinks };
  const held = openHeld(options, { history, store, pipeline: () => deps });
  const plans = openPlans(options, parts, { pipeline: () => deps, answers });
  const deps: PipelineDeps = { ...pipelineDeps(options, parts, held), plans };
  await settleEditor(options, parts, held);
  const around = watchAround(options, parts, offerOf(options, clusters, isRoots));
  sayReady(options, clusters.configured.size, live.known().securityLevel);
  return {
    get securityLevel() {
      return live.known().securityLevel;
    },
    ...{ config: hostConfig(options.config), tools: describeTools(), sandboxState: () => sandbox.current(), storeLocation: store.location },
    call: (request) => runCall(request, deps),
    ...byHand(deps, options.config.defaultModelTier, held),
    announce: (tool, input) => announce(tool, input, { tools: catalog, settings: live.known() }),
    explain: (call) => explainCall(call, deps, AbortSignal.timeout(options.config.limits.callMs)),
    passkeyDesk: (origin) => passkeyDesk(origin, { answers, changes, stateDir: options.stateDir }),
    ...(store.codes === undefined ? {} : { oneTimeCodes: createOneTimeCodes(store.codes) }),
    ...{ approvals, security: live.security, audit: around.audit, live: clusters.live, ...around.offer },
    policy: laterPolicyView({ ...options, deps, reads, sandbox }),
    ...{ plans: plans.ofPeople, attempts: attempts.ofPeople, metrics: parts.sinks.metrics, runs: history },
    records: workspaceRecords(parts, options),
    doctor: (signal) => doctor({ ...options, ...parts, history, trustedKeys, agreement, trail, standing: deps.standing }, signal),
    ...(options.origin === undefined ? {} : forOwner(clusters, agreement.forPeople(store.audit, trustedKeys))),
    alarms: () => alarms({ ...options, trustedKeys, agreement, trail, memory, attempts }),
    close: () => around.close().then(() => closeAll(parts, held, plans)),
  };
}

/** The editor asks by itself, and a configuration that was named for one call has its author. */
function ownSettings(options: AppOptions, { security: store, location }: Store, trustedKeys: LiveSettingsParts['trustedKeys']) {
  return createLiveSettings({ ...options, store, clock: systemClock, trustedKeys, pauses: createPauseMemory({ ...options, location }) });
}

function offerOf({ origin, stateDir, log }: AppOptions, clusters: ConnectedClusters, isRoots: boolean): ProtectionOffer | undefined {
  if (origin !== 'machine' && !isRoots) return undefined;
  const remedy = isRoots ? 'root writes it into `protected`, see the findings of `banksman doctor`' : 'see `banksman config protect`';
  return createProtectionOffer(clusters, { stateDir, log, remedy });
}

/** Whoever may write the configuration is asked about it, and told what is missing in it. */
function forOwner(clusters: ConnectedClusters, agreement: ConfigAgreement): Pick<App, 'agreement' | 'suggestions'> {
  return { agreement, suggestions: (signal) => protectionSuggestions(clusters, signal) };
}

function passkeyDesk(
  origin: string,
  { answers, changes, stateDir }: { readonly answers: Answers; readonly changes: Changes } & Pick<AppOptions, 'stateDir'>,
): PasskeyDesk {
  return {
    ...createAnswerDesk(origin, { ...answers, via: 'page' }),
    ...createChangeDesk(origin, { ...answers, changes }),
    ...createEnrolDesk(stateDir, origin),
  };
}

type Answers = Omit<AnswerDeps, 'via' | 'requests'> & Pick<Store, 'requests'>;

function ownApprovals(
  { via }: AppOptions,
  {
    store,
    reads,
    live,
    answers,
    agreement,
  }: Pick<Parts, 'store' | 'reads' | 'live'> & { readonly answers: Answers; readonly agreement: AppAgreement },
): Parts['approvals'] {
  return createApprovals({
    ...{ ...answers, clock: systemClock, audit: reads.audit, via },
    ...{ mayPin: agreement.mayPin, pinKey: (key, signer) => agreement.pin(key, signer, store.audit) },
    level: () => live.known().securityLevel,
  });
}

const processName = `${hostname()} pid ${process.pid}`;

function openHeld(
  { log, config }: AppOptions,
  { history, store, pipeline }: Pick<HeldDeps, 'history'> & Pick<Parts, 'store'> & Pick<PlansDeps, 'pipeline'>,
): HeldAnswers {
  return createHeldAnswers({
    ...{ history, requests: store.requests, clock: systemClock, log },
    run: (record, run) => runApproved(record, run, { deps: pipeline(), defaultTier: config.defaultModelTier }),
  });
}

function openPlans(
  { log, stays = false, config, handOver }: AppOptions,
  { store, reads }: Parts,
  { pipeline, answers }: Pick<PlansDeps, 'pipeline'> & { readonly answers: Answers },
): Plans {
  const deps: PlansDeps = {
    ...{ requests: store.requests, audit: reads.audit, clock: systemClock, log, consumer: processName, pipeline },
    ...{ trustedKeys: answers.trustedKeys, defaultTier: config.defaultModelTier },
    stands: (record) => standsBehind(record, answers),
  };
  return createPlans(deps, { stays, ...(handOver === undefined ? {} : { handOver }) });
}

/** As it was when it was consumed: what counts now are the keys and the rules. */
async function standsBehind(record: RequestRecord, answers: Answers): Promise<boolean> {
  const then = { now: () => record.consumedAt ?? 0, sleep: systemClock.sleep };
  return (await standingNow(record, { ...answers, clock: then })).isEnough;
}

/** So many requests of one OS user may wait, where a service knows whose they are. */
const pendingPerUser = 50;

async function openPlace(options: AppOptions): Promise<Store> {
  if (options.service !== undefined) return options.service.store;
  const store = await openStore(options);
  return { ...store, requests: limitPending(store.requests, pendingPerUser) };
}

function workspaceRecords({ store, approvals, reads, live }: Parts, { config }: AppOptions): WorkspaceRecords {
  const { open, noteWait, waitOf } = store.requests;
  return {
    ...{ open, noteWait, waitOf },
    consume: (id, digest, by) => approvals.consume(id, digest, by),
    append: (drafts) => reads.audit.appendAll(drafts),
    ofRequest: (id, since) => reads.audit.ofRequest(id, since),
    endAttempt: (draft) => reads.audit.endAttempt(draft),
    settings: async () => {
      const { securityLevel: level, unavailable, paused, rules } = await live.now();
      const counting = await rules();
      return {
        ...{ level, tiers: config.tiers, rules: counting.map(({ pattern, action }) => ({ pattern: pattern.text, action })) },
        ...(unavailable === undefined ? {} : { unavailable }),
        ...(paused === undefined ? {} : { paused }),
      };
    },
  };
}

/** Only a process that stays takes up what others left, sees what changes, and sends checkpoints to witnesses. */
function watchAround(
  options: AppOptions,
  parts: Parts,
  offer: ProtectionOffer | undefined,
): { readonly audit: AuditTrail; readonly offer: Pick<App, 'offerProtection'>; close(): Promise<void> } {
  const { stays = false, service, log, stateDir } = options;
  const { store, clusters, tasks, attempts, reads } = parts;
  const audit = auditTrail(store, reads.settle, options);
  const monitor = createClusterMonitor({ ...store, clusters: clusters.clients, audit: reads.audit, log, stateDir });
  const witnessing = startWitnessing({ ...options, audit: store.audit, checkpoint: audit.checkpoint });
  if (stays && service === undefined) attempts.start();
  else void attempts.spool.drain();
  if (stays && clusters.configured.size > 0) {
    void tasks.resume((name) => clusters.configured.get(name)?.access.api);
    monitor.start();
  }
  const closing = new AbortController();
  const offered = stays && service === undefined ? offer?.tell(closing.signal) : undefined;
  const close = async () => {
    closing.abort();
    await Promise.all([monitor.close(), witnessing.close(), offered]);
  };
  return { audit, close, offer: offer === undefined ? {} : { offerProtection: offer.tell } };
}

/** In the order in which one still needs the next. */
async function closeAll(
  { tasks, attempts, workspace, clusters, reads, memory, store, sinks }: Parts,
  held: HeldAnswers,
  plans: Plans,
): Promise<void> {
  await plans.close();
  await held.close();
  await tasks.close();
  await attempts.close();
  await workspace?.close();
  await clusters.close();
  await reads.settle();
  await memory.keep();
  await sinks.close();
  await store.close();
}

/** What a person should know of the configuration before the first call, and that there can be one now. */
function sayReady({ config, log }: AppOptions, clusters: number, level: SecurityLevel): void {
  for (const { message, remedy = '' } of uselessTiers(config)) log.warn(`${message}; ${remedy}`);
  log.info(`${catalog.length} tools ready, ${clusters} cluster${clusters === 1 ? '' : 's'}, security level ${level}`);
}

interface Parts {
  readonly store: Store;
  readonly memory: TrailMemory;
  readonly reads: ReadGroups;
  readonly tasks: TaskFollower;
  readonly attempts: Attempts;
  readonly clusters: ConnectedClusters;
  readonly workspace: ConnectedWorkspace | undefined;
  readonly sandbox: ReturnType<typeof createSandboxMemory>;
  readonly live: LiveSettings;
  readonly approvals: Approvals & CallApprovals;
  readonly sinks: ToldElsewhere;
}

function pipelineDeps(options: AppOptions, parts: Parts, held: HeldAnswers): PipelineDeps {
  const { store, reads, tasks, attempts, clusters, workspace, sandbox, live, approvals, sinks } = parts;
  return {
    tools: allTools,
    clusters: clusters.configured,
    settings: live.now,
    approvals,
    consumer: processName,
    ...{ process: attempts.process, attemptNow: attempts.now, keepOutcome: attempts.spool.keep, ownCalls: attempts.calls },
    ...{ requests: store.requests, audit: reads.audit, noteRead: reads.note },
    followTask: (task) => tasks.follow(task),
    ...{ standing: createStanding(), timesStages: sinks.wantsStages },
    clock: systemClock,
    log: options.log,
    limits: options.config.limits,
    knownSecrets: clusters.knownSecrets,
    ...(workspace?.access === undefined ? {} : { workspace: recordedAccess(workspace.access, reads.audit) }),
    ...(workspace?.place === undefined ? {} : { workspacePlace: workspace.place }),
    ...(workspace === undefined ? {} : { judge: rememberingJudge(workspace, sandbox, held) }),
    sandboxState: () => sandbox.word(),
  };
}

/** What a call finds out about the sandbox is what its record says; what it holds has an answer to come. */
function rememberingJudge({ judge }: ConnectedWorkspace, sandbox: Parts['sandbox'], held: HeldAnswers): NonNullable<PipelineDeps['judge']> {
  return {
    ...judge,
    sandbox: () => sandbox.refresh(),
    held: (id) => {
      held.follow();
      return judge.held(id);
    },
  };
}

/** A window shows the sandbox's state from the start, and stays long enough to clean up after agents and to apply what people approve. */
async function settleEditor({ via }: AppOptions, { workspace, sandbox }: Parts, held: HeldAnswers): Promise<void> {
  if (via !== 'editor') return;
  workspace?.startCleaning();
  held.follow();
  await sandbox.refresh();
}

function hostConfig({ approvalWait, defaultModelTier, hooks, workspace, page }: Config): HostConfig {
  const tiers = { defaultModelTier, hookModelTier: hooks.modelTier ?? defaultModelTier };
  return { approvalWait, ...tiers, workspaceRoot: workspace.root, ...(page === undefined ? {} : { page: page.origin }) };
}

/** SECURITY: for an editor the machine's own file says where the page is. Settings are anybody's: a link to another page would be easily made. */
function machineOnly({ config, configFile, via }: AppOptions): Pick<Config, 'page' | 'witnesses'> {
  const { page, witnesses } = via === 'editor' ? createApproverReader(configFile)() : config;
  return { page, witnesses };
}
