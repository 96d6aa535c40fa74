/** Everything of one window, wired by hand. */
import { userInfo } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { type ExtensionContext, type LogOutputChannel, workspace } from 'vscode';
import { describeTools } from '#app/catalog';
import { defaultConfigFile, defaultStateDir } from '#app/paths';
import { toFault } from '#kernel/errors';
import type { Log } from '#kernel/ports/log';
import type { RequestRecord } from '#kernel/request';
import { AppSession } from './app-session.ts';
import { readSigner } from './approval-key.ts';
import { createApprovalsViews } from './approvals-view/approvals-view.ts';
import { PendingFeed } from './approvals-view/pending-feed.ts';
import { tokenSecret } from './cluster-token.ts';
import { registerApprovalCommands } from './commands/approval-commands.ts';
import { registerClusterActions } from './commands/cluster-actions.ts';
import { registerClusterTokenCommand } from './commands/cluster-token-command.ts';
import { registerMaintenanceCommands } from './commands/maintenance-commands.ts';
import { createResultDocuments } from './commands/result-documents.ts';
import { registerTestCommand } from './commands/test-command.ts';
import { createDetailsPanels, type DetailsPanels } from './details/details-panels.ts';
import { createWriteDiff } from './details/write-diff.ts';
import { createDisposableBag, type Disposable } from './disposables.ts';
import type { Dialogs } from './gate/dialogs.ts';
import { createWindowGate, type WindowGate } from './gate/human-gate.ts';
import { createModalQueue, type ModalQueue } from './gate/modal-queue.ts';
import { reviewRequest } from './gate/review.ts';
import { runByHand } from './gate/run-by-hand.ts';
import { createWindowDialogs } from './gate/window-dialogs.ts';
import { logRequests } from './log-requests.ts';
import { registerCopyClientConfiguration } from './mcp/copy-client-configuration.ts';
import { channelLog, createOutput } from './output.ts';
import { reportProblems } from './report-problems.ts';
import { LevelFeed } from './security/level-feed.ts';
import { registerSecurityCommands } from './security/security-commands.ts';
import { readSettings, section, settingsClusterNames } from './settings.ts';
import { type Places, startApp } from './start-app.ts';
import { createStatusBar } from './status-bar.ts';
import { registerLanguageModelTools } from './tools/language-model-tools.ts';
import { watchTrail } from './watch-trail.ts';

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
  const session = new AppSession(() => startApp(context, places, log), onError);
  const core: Core = { context, places, channel, log, session, dialogs, queue: createModalQueue(), osUser: userInfo().username };
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

/** Monotonic: a clock that is set back must not make an answer look slow. */
const now = () => performance.now();

function surfaces(core: Core): Disposable[] {
  const { context, session, log } = core;
  const tools = describeTools();
  const person = `user:${core.osUser}`;
  const cannotRead = (what: string) => (error: unknown) => log.warn(`${what} cannot be read: ${toFault(error).message}`);
  const details = createDetailsPanels(session, cannotRead('a request'));
  const documents = createResultDocuments();
  const review = (id: string): Promise<unknown> => gate.review(id);
  const byHand = (record: RequestRecord) => void runByHand(record, { session, tools, person, documents, review });
  const gate = windowGate(core, { person, details, runByHand: byHand });
  const runner = { session, gate, log };
  const feed = new PendingFeed(session, cannotRead('the number of pending approvals'));
  const levels = new LevelFeed(session, cannotRead('the security level'));
  const diff = createWriteDiff(session);
  const confirm = { queue: core.queue, dialogs: core.dialogs, now };
  const { configFile } = core.places;
  return [
    documents,
    details,
    diff,
    feed,
    levels,
    ...registerLanguageModelTools(tools, runner),
    ...registerClusterActions(tools, { runner, confirm, documents, osUser: core.osUser, review }),
    ...registerApprovalCommands({ session, person, review, confirm, showDetails: details.show, showDiff: diff.show }),
    ...registerSecurityCommands({ session, confirm, configFile, signer: () => readSigner(context.secrets, person) }),
    registerTestCommand(session),
    ...registerMaintenanceCommands({ session, channel: core.channel, documents, secrets: context.secrets }),
    registerClusterTokenCommand(context.secrets, () => settingsClusterNames(readSettings(core.places.stateDir))),
    registerCopyClientConfiguration({
      extensionPath: context.extensionPath,
      configFile,
      settings: () => readSettings(core.places.stateDir),
    }),
    createApprovalsViews(session, feed, cannotRead('the requests')),
    createStatusBar(session, feed, levels),
    reportProblems(session, log),
    logRequests(session, log),
    watchTrail(session, context.secrets, log),
    ...reloadTriggers(core),
  ];
}

interface GateParts {
  readonly person: string;
  readonly details: DetailsPanels;
  runByHand(record: RequestRecord): void;
}

function windowGate({ context, places, session, dialogs, queue }: Core, { person, details, runByHand: run }: GateParts): WindowGate {
  const { configFile } = places;
  const signer = () => readSigner(context.secrets, person);
  return createWindowGate({
    queue,
    dialogs,
    review: (id) =>
      session.use(({ approvals, whyNotHere }) =>
        reviewRequest(id, {
          approvals,
          dialogs,
          signer,
          now,
          person,
          configFile,
          showDetails: details.show,
          whyNotHere,
          runByHand: run,
          pause,
        }),
      ),
  });
}

/** Settings and tokens are read when an App is built, so a change of either means a new one. */
function reloadTriggers({ context, session, log }: Core): Disposable[] {
  const reloadWhen = (changed: boolean, what: string) => {
    if (!changed) return;
    log.info(`${what} changed: starting again with the new ones`);
    session.reload();
  };
  return [
    workspace.onDidChangeConfiguration((event) => reloadWhen(event.affectsConfiguration(section), 'the settings')),
    workspace.onDidChangeWorkspaceFolders(() => reloadWhen(true, 'the folders')),
    context.secrets.onDidChange(({ key }) => reloadWhen(key.startsWith(tokenSecret('')), 'the API tokens')),
  ];
}
