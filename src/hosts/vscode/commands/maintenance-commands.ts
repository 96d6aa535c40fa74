/** Commands that look after Banksman itself. */
import { homedir } from 'node:os';
import * as path from 'node:path';
import { commands, type Disposable, env, type LogOutputChannel, ProgressLocation, type SecretStorage, window } from 'vscode';
import { entryText, homeOf, mcpClients, otherClients, type ServerCommand } from '#app/clients/mcp-clients';
import { boundToken, type TokenPlace, tokenFromInput, tokenSecret } from '#app/clusters/bound-token';
import type { App } from '#kernel/app';
import type { AppSession } from '../app-session.ts';
import type { SecretStore } from '../approval-key.ts';
import { saidWords } from '../fault-words.ts';
import { t } from '../l10n.ts';
import { tellFault } from '../notices.ts';
import { notify } from '../notify.ts';
import { abortOnCancel } from '../tools/call-progress.ts';
import { seenPoint } from '../trail-memory.ts';
import { toldCommand } from './told-command.ts';

/** What a secret looks like. */
const secretPattern = 'xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx';
const walkthroughId = 'banksman.banksman#banksman.start';

interface MaintenanceDeps {
  readonly session: AppSession;
  readonly channel: LogOutputChannel;
  readonly secrets: SecretStore;
}

export function registerMaintenanceCommands({ session, channel, secrets }: MaintenanceDeps): Disposable[] {
  void learnWalkthroughs();
  return [
    toldCommand('banksman.showLog', () => channel.show(true)),
    toldCommand('banksman.openSettings', openSettings),
    toldCommand('banksman.openWalkthrough', () => commands.executeCommand('workbench.action.openWalkthrough', walkthroughId, false)),
    toldCommand('banksman.reload', async () => {
      session.reload();
      // What still keeps it from working is told again: who pressed has to see that nothing became better.
      await session.use(() => Promise.resolve());
      notify.status(t('Banksman: settings and store are read again'));
    }),
    commands.registerCommand('banksman.verifyAudit', () =>
      withApp(session, t('Banksman: verifying the audit trail'), (app) => verifyAudit(app, channel, secrets)),
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
    return void notify.info(t('Audit trail: nothing has been recorded yet, as far as this editor has seen.'));
  const { ok, message } = await app.audit.verify(seen);
  channel[ok ? 'info' : 'error'](`audit: ${message}`);
  if (ok) void notify.info(t('Audit trail: {0}', saidWords(message)));
  else void showBroken(saidWords(message));
}

/** Too important for a notification that fades. */
async function showBroken(detail: string): Promise<void> {
  const title = t('The audit trail is broken');
  await window.showErrorMessage(title, { modal: true, detail });
}

async function withApp(session: AppSession, title: string, work: (app: App, signal: AbortSignal) => Promise<void>): Promise<void> {
  await window.withProgress({ location: ProgressLocation.Notification, title, cancellable: true }, async (_progress, token) => {
    const call = abortOnCancel(token);
    try {
      await session.use((app) => work(app, call.signal));
    } catch (thrown) {
      void tellFault(thrown);
    } finally {
      call.dispose();
    }
  });
}

/** @param places the configured clusters, as the settings have them now. @throws {Fault} `bad_config` */
export function registerClusterTokenCommand(
  secrets: SecretStorage,
  session: AppSession,
  places: () => Promise<readonly TokenPlace[]>,
): Disposable {
  return toldCommand('banksman.setClusterToken', async () => {
    const { state } = session;
    if (state.kind === 'ready' && state.app.config.answersAt !== undefined)
      return void notify.info(
        t('The service holds the clusters’ tokens, and none of this editor counts: root puts them into `/etc/banksman/secrets`.'),
      );
    const place = await chooseCluster(await places());
    if (place === undefined) return;
    const typed = await window.showInputBox({
      title: t('API Token of {0}', place.name),
      // SECURITY: where it goes is said where it is typed; the settings that name the place may be anybody's.
      prompt: t(
        'The secret of {0}, a UUID that Proxmox VE showed once. It is kept in the editor’s secret storage, and goes to {1} alone.',
        place.tokenId,
        place.endpoints.join(', '),
      ),
      placeHolder: secretPattern,
      password: true,
      ignoreFocusOut: true,
      validateInput: (text) =>
        text !== '' && tokenFromInput(text) === undefined ? t('not a token secret: a UUID, or `user@realm!name=UUID`') : undefined,
    });
    const secret = tokenFromInput(typed ?? '');
    if (secret === undefined) return;
    await secrets.store(tokenSecret(place.name), boundToken(secret, place));
    void notify.info(t('The API token of {0} is stored.', place.name));
  });
}

async function chooseCluster(places: readonly TokenPlace[]): Promise<TokenPlace | undefined> {
  if (places.length === 1) return places[0];
  if (places.length > 1) {
    const rows = places.map((place) => ({ label: place.name, description: place.endpoints.join(', '), place }));
    return (await window.showQuickPick(rows, { title: t('Set API Token'), placeHolder: t('Cluster') }))?.place;
  }
  const button = t('Connect a Cluster…');
  if ((await notify.info(t('No cluster is configured yet.'), button)) === button) await commands.executeCommand('banksman.connectCluster');
  return undefined;
}

/** `Banksman: Copy MCP Client Configuration…`: for Claude Code, Codex, Cursor and others, which then ask the same person here. */
interface CopyDeps {
  readonly extensionPath: string;
  /** The file that programs outside the editor read instead of the settings. */
  readonly configFile: string;
  /** The settings as that file would hold them. */
  settings(): Promise<Readonly<Record<string, unknown>>>;
}

export function registerCopyClientConfiguration(deps: CopyDeps): Disposable {
  return toldCommand('banksman.copyMcpConfiguration', () => copy(deps));
}

async function copy({ extensionPath, configFile, settings }: CopyDeps): Promise<void> {
  const server: ServerCommand = { command: 'node', args: [path.join(extensionPath, 'dist', 'cli.cjs'), 'mcp'] };
  const home = homeOf(process.env, process.platform, homedir());
  const items = [
    ...mcpClients.map((client) => ({ label: client.name, description: client.user(home), text: entryText(client, server) })),
    ...otherClients(server),
  ];
  const chosen = await window.showQuickPick(items, { title: t('Copy MCP Client Configuration'), placeHolder: t('Client') });
  if (chosen === undefined) return;
  await env.clipboard.writeText(chosen.text);
  const button = t('Copy Settings for That File');
  const pressed = await notify.info(
    t(
      'Copied for {0} ({1}). The server reads {2}, not the editor’s settings; red calls are asked for in this editor.',
      chosen.label,
      chosen.description,
      configFile,
    ),
    button,
  );
  if (pressed === button) await env.clipboard.writeText(`${JSON.stringify(await settings(), null, 2)}\n`);
}
