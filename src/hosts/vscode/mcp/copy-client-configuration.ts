/** `Banksman: Copy MCP Client Configuration…`: for Claude Code, Codex, Cursor and others, which then ask the same person here. */
import * as path from 'node:path';
import { commands, type Disposable, env, window } from 'vscode';
import { clientConfigurations, type ServerCommand } from './client-configuration.ts';

export interface CopyDeps {
  readonly extensionPath: string;
  /** The file that programs outside the editor read instead of the settings. */
  readonly configFile: string;
  /** The settings as that file would hold them. */
  settings(): Readonly<Record<string, unknown>>;
}

export function registerCopyClientConfiguration(deps: CopyDeps): Disposable {
  return commands.registerCommand('banksman.copyMcpConfiguration', () => copy(deps));
}

async function copy({ extensionPath, configFile, settings }: CopyDeps): Promise<void> {
  const items = clientConfigurations.map((configuration) => ({
    label: configuration.client,
    description: configuration.place,
    configuration,
  }));
  const chosen = await window.showQuickPick(items, { title: 'Copy MCP Client Configuration', placeHolder: 'Client' });
  if (chosen === undefined) return;
  const server: ServerCommand = { command: 'node', args: [path.join(extensionPath, 'dist', 'cli.cjs'), 'mcp'] };
  await env.clipboard.writeText(chosen.configuration.text(server));
  const button = 'Copy Settings for That File';
  const pressed = await window.showInformationMessage(
    `Copied for ${chosen.label} (${chosen.description}). The server reads ${configFile}, not the editor’s settings; red calls are asked for in this editor.`,
    button,
  );
  if (pressed === button) await env.clipboard.writeText(`${JSON.stringify(settings(), null, 2)}\n`);
}
