/** The settings `banksman.*` as one raw configuration. */
import * as path from 'node:path';
import { workspace } from 'vscode';
import { configSchema } from '#app/config';
import { isJsonObject } from '#kernel/json';

export const section = 'banksman';

/**
 * What a person set for this machine; keys nobody set are left out. Workspace and folder values are not read at all: the manifest gives
 * every setting machine scope, and this holds should a manifest ever say otherwise.
 */
export function readSettings(stateDir: string): Record<string, unknown> {
  const settings = workspace.getConfiguration(section);
  const raw: Record<string, unknown> = {};
  for (const key of Object.keys(configSchema.shape)) {
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

/** The names of the configured clusters, also while something else in the settings is wrong. */
export function settingsClusterNames(raw: Record<string, unknown>): string[] {
  const clusters: unknown[] = Array.isArray(raw.clusters) ? raw.clusters : [];
  return clusters.flatMap((cluster) => {
    const name: unknown = typeof cluster === 'object' && cluster !== null && 'name' in cluster ? cluster.name : undefined;
    return typeof name === 'string' && name !== '' ? [name] : [];
  });
}
