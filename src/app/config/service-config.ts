/** The service's configuration: root's own, or none. */

import { lstatSync, readFileSync, realpathSync, type Stats, statSync } from 'node:fs';
import { userInfo } from 'node:os';
import * as path from 'node:path';
import { type Node, parseTree } from 'jsonc-parser';
import { Fault } from '#kernel/errors';
import { type Message, say } from '#kernel/text/message';
import { secretsOfSink, withSecretsAt } from '../sinks/sink-schema.ts';
import { type Config, parseConfig } from './config.ts';
import { parseJson } from './config-file.ts';
import { expandPath } from './paths.ts';

export { serviceConfigFile, serviceStateDir } from './paths.ts';

export const serviceSockets = '/run/banksman';
/** In the configuration's folder, as root keeps them; systemd hands the service copies of them. */
export const secretsFolder = 'secrets';

/**
 * This user's socket; undefined: root has made none, and Banksman runs embedded. Root needs none: what is the service's lies open to root.
 * `BANKSMAN_SERVICE` names another directory of sockets; `off`: none is looked for.
 */
export function serviceSocket(): string | undefined {
  const { BANKSMAN_SERVICE: folder = serviceSockets } = process.env;
  if (folder === 'off' || process.platform !== 'linux') return undefined;
  const file = path.join(folder, `${userName()}.sock`);
  try {
    return lstatSync(file, { throwIfNoEntry: false })?.isSocket() === true ? file : undefined;
  } catch {
    // A folder that nobody may look into is that of a service which starts just now.
    return file;
  }
}

/** A user without an entry goes by their number. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.());
  }
}

/** @throws {Fault} `bad_config` with file, line and key; `config_not_safe` */
export function loadServiceConfig(file: string): Config {
  requireRootOwned(file);
  const text = readFileSync(file, 'utf8').replace(/^\uFEFF/, '');
  const raw = parseJson(text, file);
  const lines = jsonLines(text);
  if (lines.twice !== undefined)
    throw new Fault('bad_config', say`${file}: line ${lines.twice.line}: \`${lines.twice.path.join('.')}\` is there twice; take one out`);
  const config = fromCredentials(parseConfig(raw, file, lines.of), path.dirname(file));
  if (config.page !== undefined && 'demo' in config.page)
    throw new Fault('bad_config', say`${file}: \`page.demo\`: the service serves no demo’s page`, { next: 'take `demo` out' });
  for (const secret of secretsOf(config)) requireSecret(expandPath(secret, path.dirname(file)));
  return config;
}

interface JsonLines {
  /** Of a key or an element, by its path; of the nearest one above where there is none. */
  of(path: readonly PropertyKey[]): number | undefined;
  /** The first key that is twice in one object: the parser would take the later one, and say nothing. */
  readonly twice?: { readonly path: readonly string[]; readonly line: number };
}

/**
 * On which line of a JSON text something stands.
 * @param text what `JSON.parse` takes
 */
export function jsonLines(text: string): JsonLines {
  const lines = new Map<string, number>();
  let twice: JsonLines['twice'];
  const note = ({ offset }: Node, at: readonly string[]): void => {
    const line = text.slice(0, offset).split('\n').length;
    const place = JSON.stringify(at);
    if (lines.has(place)) twice ??= { path: at, line };
    lines.set(place, line);
  };
  const read = ({ type, children = [] }: Node, at: readonly string[]): void => {
    for (const [index, child] of children.entries()) {
      const [key, value] = type === 'object' ? (child.children ?? []) : [child, child];
      const own = [...at, type === 'object' ? String(key?.value) : String(index)];
      note(key ?? child, own);
      if (value !== undefined) read(value, own);
    }
  };
  const root = parseTree(text);
  if (root !== undefined) read(root, []);
  const lineOf = (at: readonly string[]): number | undefined =>
    at.length === 0 ? undefined : (lines.get(JSON.stringify(at)) ?? lineOf(at.slice(0, -1)));
  return { of: (at) => lineOf(at.map(String)), ...(twice === undefined ? {} : { twice }) };
}

function secretsOf({ clusters, page, sinks }: Config): readonly string[] {
  const named = [
    ...clusters.flatMap(({ tokenFile, ssh }) => [tokenFile, ...(ssh?.identityFiles ?? [])]),
    page !== undefined && 'keyFile' in page ? page.keyFile : undefined,
    ...sinks.flatMap(secretsOfSink),
  ];
  return named.filter((file) => file !== undefined);
}

/** SECURITY: with what agents read for themselves they need neither this service nor a person. A folder that they cannot enter is enough. */
function requireSecret(file: string): void {
  // What systemd hands over, it hands to this service alone.
  if (path.dirname(file) === process.env['CREDENTIALS_DIRECTORY'] || (modeOf(file) & 0o004) === 0) return;
  for (let place = path.dirname(realpathSync(file)); ; place = path.dirname(place)) {
    if ((modeOf(place) & 0o001) === 0) return;
    if (place === path.dirname(place)) break;
  }
  throw new Fault('secret_not_private', say`${file} can be read by every user of this machine, so the service does not start with it`, {
    next: say`as root: \`chmod 0600 ${file}\`, and make it the service's own, or keep it in \`${secretsFolder}\` beside the configuration`,
  });
}

/** SECURITY: who can write the file, or a folder on the way to it, decides what is protected and whose keys count. */
export function requireRootOwned(file: string): void {
  for (let place = path.resolve(file); ; place = path.dirname(place)) {
    const found = lstatSync(place, { throwIfNoEntry: false });
    const flaw = found === undefined ? say`is not there` : flawOf(found);
    if (flaw !== undefined)
      throw new Fault('config_not_safe', say`${place} ${flaw}, so the service does not start with ${path.resolve(file)}`, {
        next: say`as root: \`chown root: ${place} && chmod go-w ${place}\``,
      });
    if (place === path.dirname(place)) return;
  }
}

function flawOf(found: Stats): Message | undefined {
  if (found.isSymbolicLink()) return say`is a link`;
  if (found.uid !== 0) return say`belongs to another user (${found.uid})`;
  return (found.mode & 0o022) === 0 ? undefined : say`can be written by others`;
}

/** 0: it is not there, or not to be seen. */
function modeOf(file: string): number {
  try {
    return statSync(file).mode;
  } catch {
    return 0;
  }
}

/** What systemd handed over (`LoadCredential=secret:…`) stands in for the file that root keeps. */
function fromCredentials(config: Config, folder: string): Config {
  const handed = process.env['CREDENTIALS_DIRECTORY'];
  if (handed === undefined) return config;
  const secrets = path.join(folder, secretsFolder);
  const moved = (file: string): string => {
    const whole = path.resolve(folder, file);
    return path.dirname(whole) === secrets ? path.join(handed, `secret_${path.basename(whole)}`) : file;
  };
  return {
    ...config,
    sinks: withSecretsAt(config.sinks, moved),
    clusters: config.clusters.map(({ tokenFile, ssh, ...cluster }) => ({
      ...cluster,
      ...(tokenFile === undefined ? {} : { tokenFile: moved(tokenFile) }),
      ...(ssh === undefined ? {} : { ssh: { ...ssh, identityFiles: ssh.identityFiles.map(moved) } }),
    })),
  };
}

/** Handed over by systemd: it belongs to root, and this service alone may read it. */
export async function credentialOf({ clusters }: Config, name: string): Promise<string | undefined> {
  const handed = process.env['CREDENTIALS_DIRECTORY'];
  const file = clusters.find((cluster) => cluster.name === name)?.tokenFile;
  if (handed === undefined || file === undefined || path.dirname(file) !== handed) return undefined;
  return readFileSync(file, 'utf8').trim();
}

/** What a person may believe to have set: the service has its own. The rest is the workspace's, whose tools run as this user. */
const servicesKeys = [
  'clusters',
  'securityLevel',
  'defaultModelTier',
  'tiers',
  'approvals',
  'approvers',
  'approvalWait',
  'store',
  'page',
  'sinks',
  'witnesses',
] as const;

export function unusedKeys(config: Config): readonly string[] {
  const usual = parseConfig({}, 'the defaults');
  return servicesKeys.filter((key) => JSON.stringify(config[key]) !== JSON.stringify(usual[key]));
}
