/**
 * The MCP server of `banksman mcp`, offered to the editor, for sessions that see MCP servers and none of an extension's tools. Off by itself: the chat of a
 * window has the extension's tools, and would have each of them twice.
 */
import path from 'node:path';
import { EventEmitter, type ExtensionContext, lm, McpStdioServerDefinition, type SecretStorage, workspace } from 'vscode';
import type { EditorSettings, EditorSettingsOffer } from '#app/clients/editor-settings';
import { type TokenPlace, tokenSecret } from '#app/clusters/bound-token';
import { reasonOf } from '#kernel/errors';
import type { Log } from '#kernel/ports/log';
import { mcpProviderId, mcpServerSetting } from './contributes/names.ts';
import type { Disposable } from './disposables.ts';

interface McpServerDeps {
  readonly context: Pick<ExtensionContext, 'extensionPath' | 'secrets' | 'extension'>;
  readonly log: Log;
  /** Of this window, as they are now. */
  settings(): Promise<EditorSettings['settings']>;
  places(): Promise<readonly TokenPlace[]>;
}

export function registerMcpServer({ context, log, settings, places }: McpServerDeps): Disposable {
  const { secrets } = context;
  const read = async (): Promise<EditorSettings> => {
    const names = (await places()).map(({ name }) => name);
    return { settings: await settings(), tokens: await tokensOf(names, secrets) };
  };
  const onError = (error: unknown) => log.warn(`an MCP server does not hear the settings: ${reasonOf(error)}`);
  // Most windows start none.
  let offer: EditorSettingsOffer | undefined;
  const changed = new EventEmitter<void>();
  const parts: Disposable[] = [
    { dispose: () => offer?.dispose() },
    changed,
    lm.registerMcpServerDefinitionProvider(mcpProviderId, {
      onDidChangeMcpServerDefinitions: changed.event,
      provideMcpServerDefinitions: () => (isAllowed() ? [definition(context)] : []),
      // Only here, when it starts: what is provided the editor keeps on its disk.
      resolveMcpServerDefinition: async (server) => {
        // The editor starts what it kept of an earlier window as well.
        if (!isAllowed() || !(server instanceof McpStdioServerDefinition)) return undefined;
        const { offerEditorSettings, ticketVariable } = await import('#app/clients/editor-settings');
        offer ??= offerEditorSettings(read, onError);
        server.env = { ...server.env, [ticketVariable]: await offer.ticket() };
        return server;
      },
    }),
    workspace.onDidGrantWorkspaceTrust(() => changed.fire()),
    workspace.onDidChangeWorkspaceFolders(() => {
      changed.fire();
      offer?.changed();
    }),
    workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration(mcpServerSetting)) changed.fire();
      // Of this one, too: a file of settings that is saved may have changed others with it.
      if (event.affectsConfiguration('banksman')) offer?.changed();
    }),
    secrets.onDidChange(({ key }) => {
      if (key.startsWith(tokenSecret(''))) offer?.changed();
    }),
  ];
  return { dispose: () => parts.toReversed().forEach((part) => void part.dispose()) };
}

/**
 * SECURITY: by the user's own value, for no repository turns it on; and in a folder that somebody trusts alone: in another the window's own tools only read,
 * and a server does not know of it.
 */
function isAllowed(): boolean {
  return workspace.isTrusted && workspace.getConfiguration().inspect(mcpServerSetting)?.globalValue === true;
}

function definition({ extensionPath, extension }: McpServerDeps['context']): McpStdioServerDefinition {
  const program = path.join(extensionPath, 'dist', 'cli.cjs');
  // The extension host's own program: Electron on a desktop, which is Node with this variable.
  const variables = { ELECTRON_RUN_AS_NODE: '1', NODE_OPTIONS: null };
  const version = String(extension.packageJSON.version);
  const server = new McpStdioServerDefinition('Banksman', process.execPath, [program, 'mcp'], variables, version);
  const folder = workspace.workspaceFolders?.find(({ uri }) => uri.scheme === 'file');
  if (folder !== undefined) server.cwd = folder.uri;
  return server;
}

/** SECURITY: as they are stored: the server, too, sends each where it was stored for, and nowhere else. */
async function tokensOf(names: readonly string[], secrets: SecretStorage): Promise<Record<string, string>> {
  const kept = await Promise.all(names.map(async (name) => [name, await secrets.get(tokenSecret(name))] as const));
  return Object.fromEntries(kept.flatMap(([name, stored]) => (stored === undefined ? [] : [[name, stored] as const])));
}
