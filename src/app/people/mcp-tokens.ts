/**
 * Bearer tokens of MCP clients over HTTP. One file per token in the state directory, so that making and revoking one never rewrites
 * another, and a revoked one is gone at once for every process.
 */

import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { Fault, reasonOf } from '#kernel/errors';
import { say } from '#kernel/text/message';
import { type ModelTier, modelTiers } from '#kernel/tiers';
import { hasErrorCode, writePrivateFile } from '../config/private-file.ts';

export interface McpToken {
  /** The agent id without `mcp:`. */
  readonly name: string;
  /** The most that a model behind this client may use. */
  readonly modelTier: ModelTier;
  /** ISO 8601, UTC. */
  readonly createdAt: string;
  /** ISO 8601, UTC; null: until it is revoked. */
  readonly expiresAt: string | null;
}

export interface NewMcpToken {
  readonly name: string;
  readonly modelTier: ModelTier;
  /** In ms; null: until it is revoked. */
  readonly lifeMs: number | null;
}

/** In the state directory. */
export const mcpTokensFolder = 'mcp-tokens';

/** Also a file name: no dot, no separator, nothing that a file system folds except case, and there is none. */
const namePattern = /^[a-z0-9][a-z0-9_-]{0,62}$/;

const fileSchema = z.strictObject({
  version: z.literal(1),
  name: z.string().regex(namePattern),
  modelTier: z.enum(modelTiers),
  createdAt: z.iso.datetime(),
  expiresAt: z.iso.datetime().nullable(),
  /** SHA-256 of the whole token, hex. The secret has 256 random bits, so a plain hash cannot be searched. */
  hash: z.string().regex(/^[a-f0-9]{64}$/),
});
type TokenFile = z.output<typeof fileSchema>;

/** `bkm.NAME.SECRET`: a prefix that secret scanners can find, the name to look it up by, 32 random bytes. */
const tokenPattern = /^bkm\.([a-z0-9][a-z0-9_-]{0,62})\.[A-Za-z0-9_-]{43}$/;

/** @returns the token's text, which is not stored anywhere. @throws {Fault} `bad_token_name`, `token_exists`, `tokens_not_writable` */
export async function createMcpToken(stateDir: string, draft: NewMcpToken): Promise<{ readonly token: string; readonly entry: McpToken }> {
  const name = tokenName(draft.name);
  const token = `bkm.${name}.${randomBytes(32).toString('base64url')}`;
  const now = Date.now();
  const entry = {
    name,
    modelTier: draft.modelTier,
    createdAt: new Date(now).toISOString(),
    expiresAt: draft.lifeMs === null ? null : new Date(now + draft.lifeMs).toISOString(),
  };
  await writeNew(folderOf(stateDir), name, { version: 1, ...entry, hash: hashOf(token) });
  return { token, entry };
}

/** By name. Files that cannot be read as tokens are named in `unreadable`; they let nobody in. */
export async function listMcpTokens(
  stateDir: string,
): Promise<{ readonly tokens: readonly McpToken[]; readonly unreadable: readonly string[] }> {
  const folder = folderOf(stateDir);
  const names = (await filesIn(folder)).filter((file) => file.endsWith('.json')).toSorted();
  const read = await Promise.all(names.map(async (file) => ({ file, stored: await readToken(folder, file.slice(0, -'.json'.length)) })));
  return {
    tokens: read.flatMap(({ stored }) => (stored === undefined ? [] : [entryOf(stored)])),
    unreadable: read.flatMap(({ file, stored }) => (stored === undefined ? [join(folder, file)] : [])),
  };
}

/** Whether there was one. @throws {Fault} `bad_token_name` */
export async function revokeMcpToken(stateDir: string, name: string): Promise<boolean> {
  const file = join(folderOf(stateDir), `${tokenName(name)}.json`);
  try {
    await rm(file);
    return true;
  } catch (thrown) {
    if (hasErrorCode(thrown, 'ENOENT')) return false;
    throw notWritable(file, thrown);
  }
}

/** The token that `presented` is, if it is one and has not expired. Reads the file each time: what is revoked stops counting at once. */
export async function checkMcpToken(stateDir: string, presented: string): Promise<McpToken | undefined> {
  const name = tokenPattern.exec(presented)?.[1];
  if (name === undefined) return undefined;
  const stored = await readToken(folderOf(stateDir), name);
  // SECURITY: compared in constant time. That a name exists may show; names are no secret.
  const matches = timingSafeEqual(Buffer.from(hashOf(presented), 'hex'), Buffer.from(stored?.hash ?? '0'.repeat(64), 'hex'));
  return matches && stored !== undefined && isLive(stored) ? entryOf(stored) : undefined;
}

/** Whether a token of that name still counts: for sessions that outlive the request that was checked. */
export async function isMcpTokenLive(stateDir: string, token: McpToken): Promise<boolean> {
  const stored = await readToken(folderOf(stateDir), token.name);
  // One that was revoked and made again under the same name is another token.
  return stored !== undefined && isLive(stored) && stored.createdAt === token.createdAt;
}

function folderOf(stateDir: string): string {
  return join(stateDir, mcpTokensFolder);
}

function tokenName(name: string): string {
  if (namePattern.test(name)) return name;
  throw new Fault(
    'bad_token_name',
    say`\`${name}\` is no token name: 1 to 63 lower-case letters, digits, \`-\` or \`_\`, a letter or digit first`,
    {
      audience: 'user',
    },
  );
}

function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

function isLive({ expiresAt }: TokenFile): boolean {
  return expiresAt === null || Date.parse(expiresAt) > Date.now();
}

function entryOf({ name, modelTier, createdAt, expiresAt }: TokenFile): McpToken {
  return { name, modelTier, createdAt, expiresAt };
}

/** undefined for one that is not there or is no token; that lets nobody in. */
async function readToken(folder: string, name: string): Promise<TokenFile | undefined> {
  try {
    const parsed = fileSchema.safeParse(JSON.parse(await readFile(join(folder, `${name}.json`), 'utf8')));
    return parsed.success && parsed.data.name === name ? parsed.data : undefined;
  } catch {
    return undefined;
  }
}

async function filesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (thrown) {
    if (hasErrorCode(thrown, 'ENOENT')) return [];
    throw new Fault('tokens_not_readable', say`${folder}: cannot be read: ${reasonOf(thrown)}`, { cause: thrown });
  }
}

async function writeNew(folder: string, name: string, content: TokenFile): Promise<void> {
  const isNew = await writePrivateFile(folder, `${name}.json`, `${JSON.stringify(content, null, 2)}\n`).catch((thrown: unknown) => {
    throw notWritable(folder, thrown);
  });
  if (isNew) return;
  throw new Fault('token_exists', say`a token named \`${name}\` exists already`, {
    audience: 'user',
    next: say`revoke it first: banksman tokens revoke ${name}`,
  });
}

function notWritable(place: string, thrown: unknown): Fault {
  return new Fault('tokens_not_writable', say`${place}: cannot be changed: ${reasonOf(thrown)}`, { cause: thrown });
}
