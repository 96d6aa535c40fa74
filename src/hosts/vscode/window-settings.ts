/** The settings `banksman.*`, as a person set them for this machine. */
import * as path from 'node:path';
import { type ConfigurationChangeEvent, workspace } from 'vscode';
import type { TokenPlace } from '#app/clusters/bound-token';
import { type Config, clusterSchema, configSchema, parseConfig } from '#app/config/config';
import { isJsonObject } from '#kernel/json';

/** @throws {Fault} `bad_config` that names the setting */
export function settingsOf(stateDir: string): Config {
  return configOf(readSettings(stateDir));
}

/** @throws {Fault} as `settingsOf` */
export function configOf(raw: Record<string, unknown>): Config {
  return parseConfig(raw, 'settings `banksman.*`');
}

/** How a person is told of requests is read whenever it matters, and means no new App. */
export function changesConfig(event: ConfigurationChangeEvent): boolean {
  return Object.keys(configSchema.shape).some((key) => event.affectsConfiguration(`${section}.${key}`));
}

/** The settings `banksman.*` as one raw configuration. */
export const section = 'banksman';

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
