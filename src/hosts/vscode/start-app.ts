/**
 * From the editor's settings to an App, and what else of the core a window needs only then. Loaded by `loadParts` alone, after the window has started:
 * schemas, the catalog and what stands behind them are most of what the extension is.
 */
import * as path from 'node:path';
import { type ExtensionContext, env, workspace } from 'vscode';
import { type TokenPlace, tokenFor, tokenSecret } from '#app/clusters/bound-token';
import { createApproverReader } from '#app/config/config-file';
import { serviceSocket } from '#app/config/service-config';
import type { PlanHandOver } from '#app/plans/plans';
import type { App } from '#kernel/app';
import type { Log } from '#kernel/ports/log';
import type { Demo } from './first-run/demo.ts';
import { t } from './l10n.ts';
import { notify } from './notify.ts';
import { configOf, readSettings, section } from './window-settings.ts';

export { describeTools } from '#app/catalog';
export { withProtected } from '#app/config/config-file';
export { createPolicyCheck } from '#app/workspace/policy-check';
export { changesConfig, readSettings, settingsOf, tokenPlaces } from './window-settings.ts';

export interface Places {
  readonly stateDir: string;
  readonly configFile: string;
}

interface AppPlaces extends Places {
  readonly handOver: PlanHandOver;
  readonly demo: Pick<Demo, 'over'>;
}

/** @throws {Fault} `bad_config` that names the setting; or what the store says when it cannot be opened */
export async function startApp(context: ExtensionContext, { demo, ...places }: AppPlaces, log: Log): Promise<App> {
  // What agents may do in shells of their own stands in the machine's configuration file, for all of them.
  const { hooks } = createApproverReader(places.configFile)();
  const config = configOf({ ...demo.over(readSettings(places.stateDir)), hooks });
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
    cliFile: path.join(context.extensionPath, 'dist', 'cli.cjs'),
    version: String(context.extension.packageJSON.version),
    storeWorker: path.join(context.extensionPath, 'dist', 'store-worker.cjs'),
    replayWorker: path.join(context.extensionPath, 'dist', 'replay-worker.cjs'),
  };
  if (socket !== undefined) return connectApp({ ...parts, socket });
  const clusterToken = async (cluster: TokenPlace) => {
    const stored = await context.secrets.get(tokenSecret(cluster.name));
    return stored === undefined ? undefined : tokenFor(stored, cluster);
  };
  return createApp({ ...parts, origin: 'editor', clusterToken });
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
