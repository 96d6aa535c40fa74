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

const walkthroughId = 'banksman.banksman#banksman.start';

export interface MaintenanceDeps {
  readonly session: AppSession;
  readonly channel: LogOutputChannel;
  readonly documents: ResultDocuments;
  readonly secrets: SecretStore;
}

export function registerMaintenanceCommands({ session, channel, documents, secrets }: MaintenanceDeps): Disposable[] {
  void learnWalkthroughs();
  return [
    commands.registerCommand('banksman.showLog', () => channel.show(true)),
    commands.registerCommand('banksman.openSettings', openSettings),
    commands.registerCommand('banksman.openWalkthrough', () =>
      commands.executeCommand('workbench.action.openWalkthrough', walkthroughId, false),
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

/**
 * The editor learns of walkthroughs when something first needs them, and then only of those in the latest change of the set of
 * extensions: once another extension was installed or enabled, ours is missing until the window is reloaded, and the editor's own Welcome
 * page opens in its place (VS Code 1.139: an extension point whose handler is set late is given the last delta alone). So they are needed
 * at once: a step that does not exist is marked, which changes nothing.
 */
async function learnWalkthroughs(): Promise<void> {
  try {
    await commands.executeCommand('welcome.markStepIncomplete', `${walkthroughId}#none`);
  } catch {
    // No such step, which is why it can be marked; an editor without this command has another way of learning.
  }
}

/**
 * Settings of machine scope are those of the machine that runs the extension: with a remote, the user's own page does not show them.
 * @param setting one of ours, by its last name; anything else shows them all
 */
async function openSettings(setting: unknown): Promise<void> {
  const query = typeof setting === 'string' && /^[a-z]+$/i.test(setting) ? `@id:banksman.${setting}` : '@ext:banksman.banksman';
  if (env.remoteName === undefined) await commands.executeCommand('workbench.action.openSettings', query);
  else await commands.executeCommand('workbench.action.openRemoteSettings', { query });
}

async function verifyAudit(app: App, channel: LogOutputChannel, secrets: SecretStore): Promise<void> {
  const seen = await seenPoint(secrets, app);
  // The first thing a newcomer presses: an empty trail is a fault only where this editor has seen another one.
  if (seen === undefined && (await app.audit.tail(1)).length === 0)
    return void window.showInformationMessage('Audit trail: nothing has been recorded yet, as far as this editor has seen.');
  const { ok, message } = await app.audit.verify(seen);
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
