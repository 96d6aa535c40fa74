/** Everything of one window, wired by hand. */
import { userInfo } from 'node:os';
import { type ExtensionContext, ExtensionMode, workspace } from 'vscode';
import { describeTools } from '#app/catalog';
import { defaultConfigFile, defaultStateDir } from '#app/paths';
import { toFault } from '#kernel/errors';
import { createAppSession } from './app-session.ts';
import { readSigner } from './approval-key.ts';
import { createApprovalsView } from './approvals-view/approvals-view.ts';
import { createPendingFeed } from './approvals-view/pending-feed.ts';
import { registerApprovalCommands } from './commands/approval-commands.ts';
import { registerClusterActions } from './commands/cluster-actions.ts';
import { registerClusterTokenCommand } from './commands/cluster-token-command.ts';
import { registerMaintenanceCommands } from './commands/maintenance-commands.ts';
import { createResultDocuments } from './commands/result-documents.ts';
import { createDisposableBag } from './disposables.ts';
import { createWindowGate } from './gate/human-gate.ts';
import { createModalQueue } from './gate/modal-queue.ts';
import { reviewRequest } from './gate/review.ts';
import { createWindowDialogs } from './gate/window-dialogs.ts';
import { channelLog, createOutput } from './output.ts';
import { reportProblems } from './report-problems.ts';
import { readSettings, section, settingsClusterNames } from './settings.ts';
import { startApp } from './start-app.ts';
import { createStatusBar } from './status-bar.ts';
import { createTestSeam, type TestSeam } from './test-seam.ts';
import { registerLanguageModelTools } from './tools/language-model-tools.ts';

export interface WindowSession {
  readonly seam: TestSeam | undefined;
  end(): Promise<void>;
}

export function startWindow(context: ExtensionContext): WindowSession {
  const channel = createOutput();
  const log = channelLog(channel);
  const bag = createDisposableBag((error) => log.error(`while closing: ${toFault(error).message}`));
  bag.add(channel);
  const places = { stateDir: defaultStateDir(), configFile: defaultConfigFile() };
  const tools = describeTools();
  const osUser = userInfo().username;
  const person = `user:${osUser}`;

  const session = createAppSession(
    () => startApp(context, places, log),
    (error) => log.error(`while closing: ${toFault(error).message}`),
  );
  const { seam, dialogs } = createTestSeam(createWindowDialogs());
  const queue = createModalQueue();
  const now = () => performance.now();
  const gate = createWindowGate({
    queue,
    dialogs,
    review: (id) =>
      session.use(({ approvals }) =>
        reviewRequest(id, {
          approvals,
          dialogs,
          now,
          person,
          configFile: places.configFile,
          signer: () => readSigner(context.secrets, person),
        }),
      ),
  });
  const runner = { session, gate, log };
  const documents = bag.add(createResultDocuments());
  const feed = bag.add(createPendingFeed(session, (error) => log.warn(`the pending approvals cannot be read: ${toFault(error).message}`)));
  const review = (id: string) => gate.review(id);

  for (const item of [
    ...registerLanguageModelTools(tools, runner),
    ...registerClusterActions(tools, { runner, confirm: { queue, dialogs, now }, documents, osUser, review }),
    ...registerApprovalCommands({ session, person, review }),
    ...registerMaintenanceCommands({ session, channel, documents }),
    registerClusterTokenCommand(context.secrets, () => settingsClusterNames(readSettings(places.stateDir))),
    createApprovalsView(feed),
    createStatusBar(session, feed),
    reportProblems(session, log),
    workspace.onDidChangeConfiguration((event) => event.affectsConfiguration(section) && session.reload()),
    workspace.onDidChangeWorkspaceFolders(() => session.reload()),
    context.secrets.onDidChange(({ key }) => key.startsWith('clusterToken:') && session.reload()),
  ]) {
    bag.add(item);
  }
  log.info(`${tools.length} tools are ready`);
  session.reload();

  return {
    seam: context.extensionMode === ExtensionMode.Test ? seam : undefined,
    async end() {
      await session.close();
      bag.dispose();
    },
  };
}
