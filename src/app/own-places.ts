/** What is this layer's own: no tool reads or writes it, wherever it lies (docs/design.md#the-promises). */
import { mkdirSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { keyFolderOf } from './approver-key-file.ts';
import type { Config } from './config.ts';
import { learnedCertificatesFolder } from './connect-clusters.ts';
import { mcpTokensFolder } from './mcp-tokens.ts';
import { oneTimeCodesFolder } from './one-time-codes.ts';
import { storeFilesOf } from './open-store.ts';
import { expandPath } from './paths.ts';
import { personaBase } from './persona-control.ts';
import { seenTrailsFolder } from './store-findings.ts';

export interface OwnPlacesParts {
  readonly config: Config;
  /** Relative paths in the configuration count from here. */
  readonly baseDir: string;
  readonly stateDir: string;
  /** Where this machine's approvers are pinned. */
  readonly configFile: string;
  /** The file that `config` was read from, where it is another. */
  readonly namedConfigFile?: string;
}

/**
 * Those in the workspace: the state directory, the directory of the machine's configuration, and every file that the configuration names.
 * Of a directory that is or holds the workspace only what is known to lie in it.
 * SECURITY: who could write these could pin a key and answer for a person; who could read them, use the cluster without being asked.
 * @param root the workspace, links resolved
 * @returns absolute paths below `root`, links resolved, none within another
 */
export function ownPlaces(parts: OwnPlacesParts, root: string): readonly string[] {
  const { stateDir, configFile, namedConfigFile } = parts;
  const inState = [mcpTokensFolder, oneTimeCodesFolder, learnedCertificatesFolder, 'sandbox'].map((name) => path.join(stateDir, name));
  const places = [
    ...directory(stateDir, [...inState, personaBase(stateDir)], root),
    ...directory(path.dirname(configFile), [configFile, keyFolderOf(configFile), seenTrailsFolder(configFile)], root),
    ...(namedConfigFile === undefined ? [] : [namedConfigFile]),
    ...storeFilesOf(parts),
    ...clusterFiles(parts),
  ];
  const real = [...new Set(places.map(realPlace))].filter((place) => isBelow(place, root));
  return real.filter((place) => !real.some((outer) => isBelow(place, outer)));
}

/** SECURITY: only what is there can be hidden from commands; else one could be the first to write the configuration. */
export function makeConfigDirectory(configFile: string, root: string): void {
  const place = realPlace(path.dirname(configFile));
  if (!isBelow(place, root)) return;
  try {
    mkdirSync(place, { recursive: true, mode: 0o700 });
  } catch {
    // Then no command of the same user can make it either.
  }
}

function directory(whole: string, known: readonly string[], root: string): readonly string[] {
  const real = realPlace(whole);
  return real === root || isBelow(root, real) ? known : [whole];
}

function clusterFiles({ config, baseDir }: OwnPlacesParts): readonly string[] {
  const named = config.clusters.flatMap(({ tokenFile, tls, ssh }) => [
    tokenFile,
    tls !== undefined && 'caFile' in tls ? tls.caFile : undefined,
    ...(ssh === undefined ? [] : [ssh.knownHosts, ...ssh.identityFiles]),
  ]);
  return named.flatMap((file) => (file === undefined ? [] : [expandPath(file, baseDir)]));
}

/** Also of what is not there yet: it must not be put there. */
function realPlace(place: string): string {
  const absolute = path.resolve(place);
  const parent = path.dirname(absolute);
  try {
    return realpathSync(absolute);
  } catch {
    return parent === absolute ? absolute : path.join(realPlace(parent), path.basename(absolute));
  }
}

function isBelow(place: string, root: string): boolean {
  const way = path.relative(root, place);
  return way !== '' && way.split(path.sep)[0] !== '..' && !path.isAbsolute(way);
}
