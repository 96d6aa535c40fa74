/** Everything of one window, wired by hand. */

import { userInfo } from 'node:os';
import * as path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type ExtensionContext, env, type LogOutputChannel, window, workspace } from 'vscode';
import { describeTools } from '#app/catalog';
import { defaultConfigFile, defaultStateDir } from '#app/config/paths';
import { serviceSocket } from '#app/for-hosts';
import { createHandOver } from '#app/plans/hand-over';
import type { PlanHandOver } from '#app/plans/plans';
import type { App } from '#kernel/app';
import { type RequestRecord, requestLifeMs } from '#kernel/approval/request';
import { toFault } from '#kernel/errors';
import type { Log } from '#kernel/ports/log';
import { registerActivity } from './activity/activity-panel.ts';
import { AlarmFeed } from './alarm-feed.ts';
import { AppSession } from './app-session.ts';
import { readSigner } from './approval-key.ts';
import { PendingFeed } from './approvals-view/pending-feed.ts';
import { createApprovalsViews } from './approvals-view/request-list.ts';
import { tokenSecret } from './cluster-token.ts';
import { type ClusterSurfaceDeps, registerClusterView } from './cluster-view/register-cluster-view.ts';
import { createWriteDiff, registerApprovalCommands } from './commands/approval-commands.ts';
import { registerClusterActions, runByHand } from './commands/cluster-actions.ts';
import {
  registerClusterTokenCommand,
  registerCopyClientConfiguration,
  registerMaintenanceCommands,
} from './commands/maintenance-commands.ts';
import { openPage, registerOpenPage } from './commands/open-page.ts';
import { createResultDocuments } from './commands/result-documents.ts';
import { registerSeenAttempt } from './commands/seen-attempt.ts';
import { registerTestCommand } from './commands/test-command.ts';
import { createDetailsPanels, type DetailsPanels } from './details/details-panels.ts';
import { createDisposableBag, type Disposable } from './disposables.ts';
import { offerProtection } from './first-run/offer-protection.ts';
import { createModalQueue, type ModalQueue } from './gate/confirm-run.ts';
import type { Dialogs } from './gate/dialogs.ts';
import { createWindowGate, type WindowGate } from './gate/human-gate.ts';
import { reviewRequest } from './gate/review.ts';
import { createWindowDialogs } from './gate/window-dialogs.ts';
import { t } from './l10n.ts';
import { logRequests } from './log-requests.ts';
import { watchRequests } from './new-requests.ts';
import { reportProblems, watchTrail } from './notices.ts';
import { notify } from './notify.ts';
import { registerParticipant } from './participant/register-participant.ts';
import { type PlanCommandDeps, registerPlanCommands, tellPlanEnd } from './plans/plan-commands.ts';
import { PlanFeed } from './plans/plan-feed.ts';
import { registerPolicyPage } from './policy/policy-panel.ts';
import type { SaveDeps } from './policy/save-settings.ts';
import { registerUndoRun } from './runs/undo-run.ts';
import { LevelFeed } from './security/level-feed.ts';
import { registerSecurityCommands } from './security/security-commands.ts';
import { createStatusBar } from './status-bar.ts';
import { registerLanguageModelTools } from './tools/language-model-tools.ts';
import { changesConfig, readSettings, section, settingsClusterNames, settingsOf } from './window-settings.ts';

export interface WindowSession {
  end(): Promise<void>;
}

/**
 * Cheap: registers everything, and builds the App in the background.
 * @param dialogs the editor's own; only the in-host suite's build, which is never shipped, passes others
 */
export function startWindow(context: ExtensionContext, dialogs: Dialogs = createWindowDialogs()): WindowSession {
  const channel = createOutput();
  const log = channelLog(channel);
  const onError = (error: unknown) => log.error(`while closing: ${toFault(error).message}`);
  const bag = createDisposableBag(onError);
  bag.add(channel);
  const places = { stateDir: defaultStateDir(), configFile: defaultConfigFile() };
  const handOver: PlanHandOver = createHandOver();
  const session = new AppSession(() => startApp(context, { ...places, handOver }, log), onError, handOver);
  const core: Core = {
    context,
    places,
    channel,
    log,
    session,
    dialogs,
    queue: createModalQueue(() => pause(betweenDialogsMs)),
    osUser: userInfo().username,
  };
  for (const item of surfaces(core)) bag.add(item);
  session.reload();
  return {
    async end() {
      await session.close();
      bag.dispose();
    },
  };
}

interface Core {
  readonly context: ExtensionContext;
  readonly places: Places;
  readonly channel: LogOutputChannel;
  readonly log: Log;
  readonly session: AppSession;
  readonly dialogs: Dialogs;
  readonly queue: ModalQueue;
  readonly osUser: string;
}

/** A double click is over by then, whatever the first click closed. */
const betweenDialogsMs = 500;

/** Monotonic: a clock that is set back must not make an answer look slow. */
const now = () => performance.now();

function surfaces(core: Core): Disposable[] {
  const { context, session, log } = core;
  const tools = describeTools();
  const person = `user:${core.osUser}`;
  const cannotRead = (what: string) => (error: unknown) => log.warn(`${what} cannot be read: ${toFault(error).message}`);
  const details = createDetailsPanels({ session, extensionUri: context.extensionUri, onError: cannotRead('a request') });
  const documents = createResultDocuments();
  const review = (id: string): Promise<unknown> => gate.review(id);
  const byHand = (record: RequestRecord) => void runByHand(record, { session, tools, person, documents, review });
  const gate = windowGate(core, { person, details, runByHand: byHand, alarms: () => alarms.look() });
  const runner = { session, gate, log };
  const feed = new PendingFeed(session, cannotRead('the number of pending approvals'));
  const alarms = new AlarmFeed(session, log);
  const levels = new LevelFeed(session, cannotRead('the security level'));
  const diff = createWriteDiff(session);
  const confirm = { queue: core.queue, dialogs: core.dialogs, now };
  const acting = { runner, confirm, documents, osUser: core.osUser, review };
  const { configFile, stateDir } = core.places;
  const settings = { session, confirm, configFile, signer: () => readSigner(context.secrets, person) };
  return [
    documents,
    details,
    diff,
    feed,
    levels,
    alarms,
    ...registerLanguageModelTools(tools, runner),
    registerParticipant({ tools, runner }),
    ...registerClusterActions(tools, acting),
    ...looks(core, { ...acting, tools }, settings),
    ...registerApprovalCommands({ session, person, review, confirm, showDetails: details.show, showDiff: diff.show }),
    ...registerSecurityCommands(settings),
    registerTestCommand(session, () => settingsOf(stateDir).commandRules),
    ...registerOpenPage(session),
    ...registerMaintenanceCommands({ session, channel: core.channel, documents, secrets: context.secrets }),
    registerUndoRun({ session, confirm }),
    registerSeenAttempt(session, confirm, person, () => feed.reread()),
    registerClusterTokenCommand(context.secrets, session, () => settingsClusterNames(readSettings(stateDir))),
    registerCopyClientConfiguration({ extensionPath: context.extensionPath, configFile, settings: () => readSettings(stateDir) }),
    ...lists({ session, feed, cannotRead, context }, { ...settings, osUser: core.osUser, review, showDetails: details.show }),
    createStatusBar(session, feed, levels, alarms),
    ...notices(core),
    ...reloadTriggers(core),
    ...[followAgreement(session), retryService(session)],
  ];
}

/** The clusters, what agents did to them, and what they may do. */
function looks(
  { session, context: { extensionUri } }: Core,
  acting: Omit<ClusterSurfaceDeps, 'session' | 'extensionUri'>,
  settings: SaveDeps,
): Disposable[] {
  return [
    registerActivity(session, extensionUri),
    registerClusterView({ ...acting, session, extensionUri }),
    registerPolicyPage({ ...settings, extensionUri, tools: acting.tools.map(({ name }) => name) }),
  ];
}

function notices({ context, session, log }: Core): Disposable[] {
  const { secrets, globalState: memory } = context;
  return [
    reportProblems(session, log),
    logRequests(session, log),
    watchTrail(session, secrets, log),
    offerProtection({ session, secrets, memory, log }),
  ];
}

interface ListParts {
  readonly session: AppSession;
  readonly feed: PendingFeed;
  readonly context: ExtensionContext;
  cannotRead(what: string): (error: unknown) => void;
}

/** The lists of requests and plans, a person's hand on the latter, and that they are told of what is new. */
function lists({ session, feed, context, cannotRead }: ListParts, deps: Omit<PlanCommandDeps, 'changed'>): Disposable[] {
  const plans = new PlanFeed({ session, onError: cannotRead('plans'), onEnd: (plan) => void tellPlanEnd(plan) });
  const changed = () => plans.again();
  const acts = { session, person: `user:${deps.osUser}`, confirm: deps.confirm, memory: context.globalState };
  return [
    plans,
    ...registerPlanCommands({ ...deps, changed }),
    watchRequests({ session, review: deps.review, onError: cannotRead('what is new') }),
    createApprovalsViews(session, { state: feed, plans, acts }, cannotRead('the requests')),
  ];
}

interface GateParts {
  readonly person: string;
  readonly details: DetailsPanels;
  runByHand(record: RequestRecord): void;
  alarms(): Promise<readonly string[]>;
}

function windowGate(
  { context, places, session, dialogs, queue }: Core,
  { person, details, runByHand: run, alarms }: GateParts,
): WindowGate {
  const { configFile } = places;
  const signer = () => readSigner(context.secrets, person);
  return createWindowGate({
    queue,
    dialogs,
    review: (id) =>
      session.use(({ approvals, config, whyNotHere }) =>
        reviewRequest(id, {
          approvals,
          dialogs,
          signer,
          now,
          person,
          configFile,
          showDetails: details.show,
          ...(config.page === undefined ? {} : { openPage: (request) => openPage(session, `r/${request}`) }),
          ...(config.answersAt === undefined ? {} : { answersAt: config.answersAt }),
          whyNotHere,
          runByHand: run,
          pause,
          at,
          alarms,
        }),
      ),
  });
}

/** No request lives longer than an hour. */
function at(time: number, act: () => void): () => void {
  const timer = setTimeout(act, Math.min(Math.max(0, time - Date.now()), requestLifeMs) + momentMs).unref();
  return () => clearTimeout(timer);
}

const momentMs = 500;

/** Settings and tokens are read when an App is built, so a change of either means a new one. */
function reloadTriggers({ context, session, log }: Core): Disposable[] {
  const reloadWhen = (changed: boolean, what: string) => {
    if (!changed) return;
    log.info(`${what} changed: starting again with the new ones`);
    session.reload();
  };
  return [
    workspace.onDidChangeConfiguration((event) => reloadWhen(changesConfig(event), 'the settings')),
    workspace.onDidChangeWorkspaceFolders(() => reloadWhen(true, 'the folders')),
    context.secrets.onDidChange(({ key }) => reloadWhen(key.startsWith(tokenSecret('')), 'the API tokens')),
  ];
}

/** Agreed to elsewhere (a terminal, the approval page, another window): it counts here from the next App on. */
function followAgreement(session: AppSession): Disposable {
  let unfollow: (() => void) | undefined;
  const stop = session.onChange(() => {
    unfollow?.();
    const { state } = session;
    unfollow = state.kind === 'ready' ? state.app.agreement?.onChange(() => session.reload()) : undefined;
  });
  return {
    dispose: () => {
      unfollow?.();
      stop();
    },
  };
}

/** A service that did not answer when the window opened is asked again; one that goes away later is connected to again by the App itself. */
function retryService(session: AppSession): Disposable {
  let timer: NodeJS.Timeout | undefined;
  const stop = session.onChange(() => {
    clearTimeout(timer);
    if (session.state.kind === 'problem' && session.state.fault.code === 'service_unavailable')
      timer = setTimeout(() => session.reload(), serviceRetryMs).unref();
  });
  return {
    dispose: () => {
      clearTimeout(timer);
      stop();
    },
  };
}

const serviceRetryMs = 5_000;

/** The output channel `Banksman`: the trail as a person reads it. The record is the store. */
function createOutput(): LogOutputChannel {
  return window.createOutputChannel('Banksman', { log: true });
}

function channelLog(channel: LogOutputChannel): Log {
  return {
    debug: (line) => channel.debug(line),
    info: (line) => channel.info(line),
    warn: (line) => channel.warn(line),
    error: (line) => channel.error(line),
  };
}

interface Places {
  readonly stateDir: string;
  readonly configFile: string;
}

/** @throws {Fault} `bad_config` that names the setting; or what the store says when it cannot be opened */
async function startApp(context: ExtensionContext, places: Places & { readonly handOver: PlanHandOver }, log: Log): Promise<App> {
  const config = settingsOf(places.stateDir);
  warnOfApprovers(log);
  // Loaded on first need: it brings the connectors along, which a window that uses no tool never pays for.
  const { createApp } = await import('#app/create-app');
  const { connectApp } = await import('#app/remote-app');
  const folder = workspace.workspaceFolders?.find((entry) => entry.uri.scheme === 'file');
  const socket = serviceSocket();
  const parts = {
    config,
    ...places,
    // SECURITY: not the workspace. A repository could otherwise supply the token file, CA file or known hosts of a relative path.
    baseDir: path.dirname(places.configFile),
    log,
    via: 'editor' as const,
    stays: true,
    ...(folder === undefined ? {} : { workspaceBase: folder.uri.fsPath }),
    editorRoot: env.appRoot,
    version: String(context.extension.packageJSON.version),
    storeWorker: path.join(context.extensionPath, 'dist', 'store-worker.cjs'),
    replayWorker: path.join(context.extensionPath, 'dist', 'replay-worker.cjs'),
  };
  if (socket !== undefined) return connectApp({ ...parts, socket });
  return createApp({ ...parts, origin: 'editor', clusterToken: async (name) => (await context.secrets.get(tokenSecret(name)))?.trim() });
}

/** It counts for nothing; whoever wrote it wanted it to. */
function warnOfApprovers(log: Log): void {
  if (workspace.getConfiguration(section).inspect('approvers')?.globalValue === undefined) return;
  log.error('the setting `banksman.approvers` names approvers, and counts for nothing: only the configuration file does');
  void notify.error(
    t(
      'Banksman: the setting {0} names approvers, and counts for nothing: only the configuration file does. If you did not write it, an extension or a program did; remove it.',
      '`banksman.approvers`',
    ),
  );
}
