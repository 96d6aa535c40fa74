/** Commands that look after Banksman itself. */
import { commands, type Disposable, env, type LogOutputChannel, ProgressLocation, window } from 'vscode';
import type { App } from '#app/app';
import { toFault } from '#kernel/errors';
import type { AppSession } from '../app-session.ts';
import type { SecretStore } from '../approval-key.ts';
import { abortOnCancel } from '../tools/abort-on-cancel.ts';
import { seenPoint } from '../trail-memory.ts';
import type { ResultDocuments } from './result-documents.ts';
import { doctorPage } from './result-page.ts';

export interface MaintenanceDeps {
  readonly session: AppSession;
  readonly channel: LogOutputChannel;
  readonly documents: ResultDocuments;
  readonly secrets: SecretStore;
}

export function registerMaintenanceCommands({ session, channel, documents, secrets }: MaintenanceDeps): Disposable[] {
  return [
    commands.registerCommand('banksman.showLog', () => channel.show(true)),
    commands.registerCommand('banksman.openSettings', openSettings),
    commands.registerCommand('banksman.openWalkthrough', () =>
      commands.executeCommand('workbench.action.openWalkthrough', 'banksman.banksman#banksman.start', false),
    ),
    commands.registerCommand('banksman.reload', () => session.reload()),
    commands.registerCommand('banksman.doctor', () =>
      withApp(session, 'Banksman: looking', async (app, signal) => documents.show('Banksman Doctor', doctorPage(await app.doctor(signal)))),
    ),
    commands.registerCommand('banksman.verifyAudit', () =>
      withApp(session, 'Banksman: verifying the audit trail', (app) => verifyAudit(app, channel, secrets)),
    ),
  ];
}

/** Settings of machine scope are those of the machine that runs the extension: with a remote, the user's own page does not show them. */
async function openSettings(): Promise<void> {
  const query = '@ext:banksman.banksman';
  if (env.remoteName === undefined) await commands.executeCommand('workbench.action.openSettings', query);
  else await commands.executeCommand('workbench.action.openRemoteSettings', { query });
}

async function verifyAudit(app: App, channel: LogOutputChannel, secrets: SecretStore): Promise<void> {
  const { ok, message } = await app.audit.verify(await seenPoint(secrets, app));
  channel[ok ? 'info' : 'error'](`audit: ${message}`);
  if (ok) void window.showInformationMessage(`Audit trail: ${message}`);
  // Too important for a notification that fades.
  else void window.showErrorMessage('The audit trail is broken', { modal: true, detail: message });
}

async function withApp(session: AppSession, title: string, work: (app: App, signal: AbortSignal) => Promise<void>): Promise<void> {
  await window.withProgress({ location: ProgressLocation.Notification, title, cancellable: true }, async (_progress, token) => {
    const call = abortOnCancel(token);
    try {
      await session.use((app) => work(app, call.signal));
    } catch (thrown) {
      void window.showErrorMessage(`Banksman: ${toFault(thrown).message}`);
    } finally {
      call.dispose();
    }
  });
}
