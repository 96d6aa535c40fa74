/**
 * From the editor's settings to an App, and what else of the core a window needs only then. Loaded by `loadParts` alone, after the window has started:
 * schemas, the catalog and what stands behind them are most of what the extension is.
 */
import * as path from 'node:path';
import { type ConfigurationChangeEvent, type ExtensionContext, env, workspace } from 'vscode';
import { type TokenPlace, tokenFor, tokenSecret } from '#app/clusters/bound-token';
import { type Config, clusterSchema, configSchema, parseConfig } from '#app/config/config';
import { createApproverReader } from '#app/config/config-file';
import { serviceSocket } from '#app/config/service-config';
import type { PlanHandOver } from '#app/plans/plans';
import type { App } from '#kernel/app';
import { isJsonObject } from '#kernel/json';
import type { Log } from '#kernel/ports/log';
import type { Demo } from './first-run/demo.ts';
import { t } from './l10n.ts';
import { notify } from './notify.ts';

export { describeTools } from '#app/catalog';
export { withProtected } from '#app/config/config-file';
export { createPolicyCheck } from '#app/workspace/policy-check';

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

// The settings `banksman.*`, as a person set them for this machine.

/** @throws {Fault} `bad_config` that names the setting */
export function settingsOf(stateDir: string): Config {
  return configOf(readSettings(stateDir));
}

/** @throws {Fault} as `settingsOf` */
function configOf(raw: Record<string, unknown>): Config {
  return parseConfig(raw, 'settings `banksman.*`');
}

/** How a person is told of requests is read whenever it matters, and means no new App. */
export function changesConfig(event: ConfigurationChangeEvent): boolean {
  return Object.keys(configSchema.shape).some((key) => event.affectsConfiguration(`${section}.${key}`));
}

/** The settings `banksman.*` as one raw configuration. */
const section = 'banksman';

/**
 * What a person set for this machine; keys nobody set are left out. Workspace and folder values are not read at all: the manifest gives
 * every setting machine scope, and this holds should a manifest ever say otherwise.
 */
export function readSettings(stateDir: string): Record<string, unknown> {
  const settings = workspace.getConfiguration(section);
  const raw: Record<string, unknown> = {};
  for (const key of Object.keys(configSchema.shape)) {
    // SECURITY: any extension can write a setting without a prompt; who approves stands in the machine's configuration file alone.
    if (key === 'approvers') continue;
    const value = settings.inspect(key)?.globalValue;
    if (value !== undefined) raw[key] = value;
  }
  raw.workspace = withRoot(raw.workspace, stateDir);
  return raw;
}

/** `workspace.root` counts from the first folder of this window. Anything but an object with a text there is left for the schema to name. */
function withRoot(value: unknown, stateDir: string): unknown {
  if (value !== undefined && !isJsonObject(value)) return value;
  const root = value?.root ?? '.';
  return typeof root === 'string' ? { ...value, root: path.resolve(firstFolder(stateDir), root) } : value;
}

/** Without a folder: a place that does not exist, never the current directory. */
function firstFolder(stateDir: string): string {
  const folder = workspace.workspaceFolders?.find((item) => item.uri.scheme === 'file');
  return folder?.uri.fsPath ?? path.join(stateDir, 'no-workspace');
}

/** Those of which enough is right to say where a token goes, also while something else in the settings is wrong. */
export function tokenPlaces(stateDir: string): readonly TokenPlace[] {
  const { clusters } = readSettings(stateDir);
  return (Array.isArray(clusters) ? clusters : []).flatMap((entry) => clusterSchema.safeParse(entry).data ?? []);
}
