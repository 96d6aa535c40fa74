/** Builds the App of this window. */
import * as path from 'node:path';
import { type ExtensionContext, env, workspace } from 'vscode';
import type { App } from '#app/app';
import { parseConfig } from '#app/config';
import type { Log } from '#kernel/ports/log';
import { tokenSecret } from './cluster-token.ts';
import { readSettings } from './settings.ts';

export interface Places {
  readonly stateDir: string;
  readonly configFile: string;
}

/** @throws {Fault} `bad_config` that names the setting; or what the store says when it cannot be opened */
export async function startApp(context: ExtensionContext, places: Places, log: Log): Promise<App> {
  const config = parseConfig(readSettings(places.stateDir), 'settings `banksman.*`');
  // Loaded on first need: it brings the connectors along, which a window that uses no tool never pays for.
  const { createApp } = await import('#app/create-app');
  const folder = workspace.workspaceFolders?.find((entry) => entry.uri.scheme === 'file');
  return createApp({
    config,
    ...places,
    // SECURITY: not the workspace. A repository could otherwise supply the token file, CA file or known hosts of a relative path.
    baseDir: path.dirname(places.configFile),
    log,
    via: 'editor',
    ...(folder === undefined ? {} : { workspaceBase: folder.uri.fsPath }),
    editorRoot: env.appRoot,
    version: String(context.extension.packageJSON.version),
    storeWorker: path.join(context.extensionPath, 'dist', 'store-worker.cjs'),
    clusterToken: async (name) => (await context.secrets.get(tokenSecret(name)))?.trim(),
  });
}
