/** Everything of one window, wired by hand. */

import { userInfo } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { type ExtensionContext, type LogOutputChannel, type Uri, window, workspace } from 'vscode';
import { tokenSecret } from '#app/clusters/bound-token';
import { defaultConfigFile, defaultStateDir } from '#app/config/paths';
import { createHandOver } from '#app/plans/hand-over';
import type { PlanHandOver } from '#app/plans/plans';
import { type RequestRecord, requestLifeMs } from '#kernel/approval/request';
import { toFault } from '#kernel/errors';
import type { Log } from '#kernel/ports/log';
import { AlarmFeed } from './alarm-feed.ts';
import { AppSession } from './app-session.ts';
import { readSigner } from './approval-key.ts';
import { PendingFeed } from './approvals-view/pending-feed.ts';
import { createApprovalsViews } from './approvals-view/request-list.ts';
import { RowFocus } from './approvals-view/row-focus.ts';
import { registerClusterView } from './cluster-view/register-cluster-view.ts';
import { createWriteDiff, registerApprovalCommands } from './commands/approval-commands.ts';
import { type ClusterActionDeps, registerClusterActions, runByHand } from './commands/cluster-actions.ts';
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
import { createDemo } from './first-run/demo.ts';
import { registerFirstRun } from './first-run/register-first-run.ts';
import { type ConfirmDeps, createModalQueue, type ModalQueue } from './gate/confirm-run.ts';
import type { Dialogs } from './gate/dialogs.ts';
import { createWindowGate, type WindowGate } from './gate/human-gate.ts';
import { reviewRequest } from './gate/review.ts';
import { createWindowDialogs } from './gate/window-dialogs.ts';
import { registerHookAnswers } from './hooks/answer-hooks.ts';
import { registerGovernAgents } from './hooks/govern-agents.ts';
import { loadParts } from './load-parts.ts';
import { logRequests } from './log-requests.ts';
import { registerMcpServer } from './mcp-servers.ts';
import { watchRequests } from './new-requests.ts';
import { reportProblems, watchTrail } from './notices.ts';
import { registerOnlyPage } from './only-page.ts';
import { registerParticipant } from './participant/register-participant.ts';
import { type PlanCommandDeps, registerPlanCommands, tellPlanEnd } from './plans/plan-commands.ts';
import { PlanFeed } from './plans/plan-feed.ts';
import type { SaveDeps } from './policy/save-settings.ts';
import { registerUndoRun } from './runs/undo-run.ts';
import { LevelFeed } from './security/level-feed.ts';
import { registerSecurityCommands } from './security/security-commands.ts';
import type { Places } from './start-app.ts';
import { createStatusBar } from './status-bar.ts';
import { registerLanguageModelTools } from './tools/language-model-tools.ts';

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
  const demo = bag.add(createDemo(context.extensionPath, () => session));
  const handOver: PlanHandOver = createHandOver();
  const build = async () => (await loadParts()).startApp(context, { ...places, handOver, demo }, log);
  const session = new AppSession(build, onError, handOver);
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
  // In a turn of its own: the editor waits for this function, and the other extensions with it.
  const start = setImmediate(() => session.reload());
  bag.add({ dispose: () => clearImmediate(start) });
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
  const person = `user:${core.osUser}`;
  const cannotRead = (what: string) => (error: unknown) => log.warn(`${what} cannot be read: ${toFault(error).message}`);
  const details = createDetailsPanels({ session, extensionUri: context.extensionUri, onError: cannotRead('a request') });
  const documents = createResultDocuments();
  const review = (id: string): Promise<unknown> => gate.review(id);
  const byHand = (record: RequestRecord) => void runByHand(record, { session, person, documents, review });
  const gate = windowGate(core, { person, details, runByHand: byHand, alarms: () => alarms.look() });
  const runner = { session, gate, log };
  const feed = new PendingFeed(session, cannotRead('the number of pending approvals'));
  const alarms = new AlarmFeed(session, log);
  const levels = new LevelFeed(session, cannotRead('the security level'));
  const diff = createWriteDiff(session);
  const confirm = { queue: core.queue, dialogs: core.dialogs, now };
  const focus = new RowFocus();
  const acting = { runner, confirm, documents, osUser: core.osUser, review };
  const { configFile } = core.places;
  const settings = { session, confirm, configFile, signer: () => readSigner(context.secrets, person) };
  return [
    documents,
    details,
    diff,
    feed,
    levels,
    alarms,
    ...toolSurfaces(core, acting, settings),
    ...registerApprovalCommands({ session, person, review, confirm, focus, showDetails: details.show, showDiff: diff.show }),
    ...registerSecurityCommands(settings),
    registerTestCommand(session, core.places),
    ...registerOpenPage(session),
    ...registerMaintenanceCommands({ session, channel: core.channel, secrets: context.secrets }),
    registerUndoRun({ session, confirm }),
    ...governing(core, confirm),
    registerSeenAttempt(session, confirm, person, () => feed.reread()),
    ...forOtherPrograms(core),
    ...lists({ session, feed, cannotRead, context, focus }, { ...settings, osUser: core.osUser, review, showDetails: details.show }),
    createStatusBar(session, feed, levels, alarms),
    ...notices(core, confirm),
    ...reloadTriggers(core),
    ...[followAgreement(session), retryService(session)],
  ];
}

/** Coding agents' own tools. */
function governing({ context, session, log, places: { stateDir } }: Core, confirm: ConfirmDeps): Disposable[] {
  const { extensionPath, extension } = context;
  return [registerGovernAgents({ confirm, extensionPath, stateDir }), registerHookAnswers({ session, log, extension, stateDir })];
}

/** The settings and tokens of this window, for the programs outside of it. */
function forOtherPrograms({ context, session, log, places: { stateDir, configFile } }: Core): Disposable[] {
  const settings = async () => (await loadParts()).readSettings(stateDir);
  const places = async () => (await loadParts()).tokenPlaces(stateDir);
  return [
    registerClusterTokenCommand(context.secrets, session, places),
    registerCopyClientConfiguration({ extensionPath: context.extensionPath, configFile, settings }),
    registerMcpServer({ context, log, settings, places }),
  ];
}

/** What the manifest says of itself: the catalog, which it was made from, is loaded later. */
interface Contributed {
  readonly languageModelTools: readonly { readonly name: string }[];
  readonly commands: readonly { readonly command: string }[];
}

/** The tools for models and at the palette, `@banksman`, the clusters, what agents did to them, and what they may do. */
function toolSurfaces(
  { session, context: { extensionUri, extension } }: Core,
  acting: ClusterActionDeps,
  settings: SaveDeps,
): Disposable[] {
  const { languageModelTools, commands } = extension.packageJSON.contributes as Contributed;
  const tools = () => (session.state.kind === 'ready' ? session.state.app.tools : []);
  const names = languageModelTools.map(({ name }) => name);
  const palette = commands.map(({ command }) => command);
  return [
    ...registerLanguageModelTools(names, acting.runner),
    registerParticipant({ runner: acting.runner }),
    ...registerClusterActions(palette, acting),
    registerOnlyPage('banksman.showActivity', async (ended) => {
      const { ActivityPanel } = await import('./activity/activity-panel.ts');
      return new ActivityPanel(session, extensionUri, ended);
    }),
    registerClusterView({ ...acting, tools, session, extensionUri }),
    registerOnlyPage('banksman.showPolicy', async (ended) => {
      const { PolicyPanel } = await import('./policy/policy-panel.ts');
      return new PolicyPanel({ ...settings, extensionUri, tools: () => tools().map(({ name }) => name) }, ended);
    }),
  ];
}

function notices(core: Core, confirm: ConfirmDeps): Disposable[] {
  const { context, session, log } = core;
  const { secrets } = context;
  return [...firstRun(core, confirm), reportProblems(session, log), logRequests(session, log), watchTrail(session, secrets, log)];
}

function firstRun({ context, session, log, places }: Core, confirm: ConfirmDeps): Disposable[] {
  const { secrets, globalState: memory } = context;
  return [
    ...doctorPage(session, context.extensionUri, places.stateDir),
    ...registerFirstRun({ session, secrets, memory, log, confirm, ...places }),
  ];
}

/** Looks anew at settings that changed. */
function doctorPage(session: AppSession, extensionUri: Uri, stateDir: string): Disposable[] {
  const pages = registerOnlyPage('banksman.doctor', async (ended) => {
    const { DoctorPanel, findingsHere } = await import('./first-run/doctor-panel.ts');
    return new DoctorPanel(findingsHere(session, stateDir), extensionUri, ended);
  });
  const stop = session.onChange(() => {
    if (session.state.kind === 'ready') void pages.page?.look();
  });
  return [pages, { dispose: stop }];
}

interface ListParts {
  readonly session: AppSession;
  readonly feed: PendingFeed;
  readonly context: ExtensionContext;
  readonly focus: RowFocus;
  cannotRead(what: string): (error: unknown) => void;
}

/** The lists of requests and plans, a person's hand on the latter, and that they are told of what is new. */
function lists({ session, feed, context, focus, cannotRead }: ListParts, deps: Omit<PlanCommandDeps, 'changed'>): Disposable[] {
  const plans = new PlanFeed({ session, onError: cannotRead('plans'), onEnd: (plan) => void tellPlanEnd(plan) });
  const changed = () => plans.again();
  const acts = { session, person: `user:${deps.osUser}`, confirm: deps.confirm, memory: context.globalState, focus };
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
    workspace.onDidChangeConfiguration(async (event) =>
      reloadWhen(event.affectsConfiguration('banksman') && (await loadParts()).changesConfig(event), 'the settings'),
    ),
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
