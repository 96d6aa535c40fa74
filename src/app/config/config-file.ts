/** Reading and changing the machine's configuration file. */

import { randomBytes } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { open, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { makeFolder } from '#files/make-folder';
import type { ProtectionSuggestion } from '#kernel/app';
import type { ApproverKey } from '#kernel/approval/answer';
import { Fault } from '#kernel/errors';
import { isJsonObject, type JsonObject } from '#kernel/json';
import { english, say } from '#kernel/text/message';
import { type Config, parseConfig } from './config.ts';

/**
 * The configuration in `file`. A missing file counts as an empty configuration only where `optional` says so.
 * @throws {Fault} `bad_config`
 */
export async function loadConfigFile(file: string, optional: boolean): Promise<Config> {
  return parseConfig((await readObject(file, optional)) ?? {}, file);
}

/** The keys pinned in `file` now; none where there is no such file. @throws {Fault} `bad_config` */
export async function readApprovers(file: string): Promise<readonly ApproverKey[]> {
  return (await loadConfigFile(file, true)).approvers;
}

/**
 * As `readApprovers`, for who asks at every call. The file is read each time, so a key taken out of it stops counting at once; only what its
 * text means is kept for as long as the text is the same. At once and not in turns: it is a small file, and each turn costs ten such reads.
 */
export function createApproverReader(file: string): () => Config {
  let known: { readonly text: string | undefined; readonly config: Config } | undefined;
  return () => {
    const text = readTextNow(file, true);
    if (known === undefined || known.text !== text) known = { text, config: parseConfig(objectIn(text, file) ?? {}, file) };
    return known.config;
  };
}

/** Adds a key to `approvers` in `file`, leaving everything else as it is. Atomic; a new file is 0600. @throws {Fault} `bad_config` */
export async function addApprover(file: string, key: ApproverKey): Promise<void> {
  const present = (await readObject(file, true)) ?? {};
  const approvers = parseConfig(present, file).approvers;
  if (approvers.some((entry) => entry.key === key.key)) return;
  const next = { ...present, approvers: [...approvers, key] };
  parseConfig(next, file);
  await writeWhole(file, `${JSON.stringify(next, null, 2)}\n`);
}

/** Takes a key out of `approvers` in `file`. False: it is not there. Atomic, as `addApprover`. @throws {Fault} `bad_config` */
export async function removeApprover(file: string, key: string): Promise<boolean> {
  const present = (await readObject(file, true)) ?? {};
  const approvers = parseConfig(present, file).approvers;
  const rest = approvers.filter((entry) => entry.key !== key);
  if (rest.length === approvers.length) return false;
  await writeWhole(file, `${JSON.stringify({ ...present, approvers: rest }, null, 2)}\n`);
  return true;
}

/** Adds a cluster to `clusters` in `file`; none of that name may be there. Atomic, as `addApprover`. @throws {Fault} `bad_config` */
export async function addCluster(file: string, cluster: JsonObject): Promise<void> {
  const present = (await readObject(file, true)) ?? {};
  const clusters = Array.isArray(present['clusters']) ? present['clusters'] : [];
  const next = { ...present, clusters: [...clusters, cluster] };
  parseConfig(next, file);
  await writeWhole(file, `${JSON.stringify(next, null, 2)}\n`);
}

/** Adds these to `protected` in `file`, each with its reason. What is stricter counts at once. Atomic, as `addApprover`. @throws {Fault} `bad_config` */
export async function addProtected(file: string, chosen: readonly ProtectionSuggestion[]): Promise<void> {
  const present = (await readObject(file, true)) ?? {};
  const next = { ...present, protected: withProtected(isJsonObject(present['protected']) ? present['protected'] : {}, chosen) };
  parseConfig(next, file);
  await writeWhole(file, `${JSON.stringify(next, null, 2)}\n`);
}

/** `protected` with these entries added. */
export function withProtected(before: JsonObject, chosen: readonly ProtectionSuggestion[]): JsonObject {
  const listOf = (key: string) => (Array.isArray(before[key]) ? before[key] : []);
  const added = (kind: ProtectionSuggestion['kind']) =>
    chosen
      .filter((one) => one.kind === kind)
      .map(({ name, why }) => ({ ...(kind === 'guest' ? { vmid: Number(name) } : { name }), reason: english(why).slice(0, 200) }));
  return { ...before, guests: [...listOf('guests'), ...added('guest')], nodes: [...listOf('nodes'), ...added('node')] };
}

async function readObject(file: string, optional: boolean): Promise<JsonObject | undefined> {
  return objectIn(await readText(file, optional), file);
}

function objectIn(text: string | undefined, file: string): JsonObject | undefined {
  if (text === undefined) return undefined;
  const value = parseJson(text, file);
  if (!isJsonObject(value)) throw new Fault('bad_config', say`${file}: must hold a JSON object`);
  return value;
}

async function readText(file: string, optional: boolean): Promise<string | undefined> {
  try {
    return withoutMark(await readFile(file, 'utf8'));
  } catch (thrown) {
    return missingText(thrown, file, optional);
  }
}

function readTextNow(file: string, optional: boolean): string | undefined {
  // There usually is none, and that it is missing costs seven times as much to hear as an error.
  if (optional && statSync(file, { throwIfNoEntry: false }) === undefined) return undefined;
  try {
    return withoutMark(readFileSync(file, 'utf8'));
  } catch (thrown) {
    return missingText(thrown, file, optional);
  }
}

function withoutMark(text: string): string {
  return text.replace(/^\uFEFF/, '');
}

function missingText(thrown: unknown, file: string, optional: boolean): undefined {
  if (optional && isMissing(thrown)) return undefined;
  throw new Fault('bad_config', say`${file}: cannot be read: ${thrown instanceof Error ? thrown.message : 'unknown error'}`, {
    cause: thrown,
  });
}

/** @throws {Fault} `bad_config` with the parser's place */
export function parseJson(text: string, origin: string): unknown {
  try {
    return JSON.parse(text);
  } catch (thrown) {
    throw new Fault(
      'bad_config',
      say`${origin}: not valid JSON: ${thrown instanceof Error ? withoutExcerpt(thrown.message) : 'unknown error'}`,
      {
        cause: thrown,
      },
    );
  }
}

/** V8 quotes the text around the place, which may be part of a secret: `Unexpected token 'x', ..."oken": x"... is not valid JSON`. */
function withoutExcerpt(message: string): string {
  return message.replace(/, (?:\.\.\.)?".*"(?:\.\.\.)? is not valid JSON$/s, '');
}

/**
 * Written beside and renamed over, so that a full disk or a crash leaves the old file. Who could read that one (a service's user) still can;
 * nobody but its owner writes it.
 * @param like the file whose readers and owner it gets
 */
export async function writeWhole(file: string, text: string, like = file): Promise<void> {
  makeFolder(dirname(file));
  const temporary = join(dirname(file), `.config-${randomBytes(6).toString('hex')}.tmp`);
  try {
    const old = await stat(like).catch(() => undefined);
    const handle = await open(temporary, 'wx', 0o600);
    try {
      await handle.writeFile(text);
      if (old !== undefined) await handle.chmod(0o600 | (old.mode & 0o044));
      if (old !== undefined && process.getuid?.() === 0) await handle.chown(old.uid, old.gid);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, file);
  } catch (thrown) {
    await rm(temporary, { force: true });
    throw new Fault('config_not_writable', say`${file}: cannot be written: ${thrown instanceof Error ? thrown.message : 'unknown error'}`, {
      cause: thrown,
    });
  }
}

function isMissing(thrown: unknown): boolean {
  return thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT';
}
