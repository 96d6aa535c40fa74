/**
 * One-time codes in the state directory: one 0600 file per request, hashed. Taking a code away and looking at it are one step, so that it
 * can be tried by one process at a time and used once.
 */
import { randomBytes } from 'node:crypto';
import { readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import {
  type CodePurpose,
  hashOneTimeCode,
  isOneTimeCode,
  makeOneTimeCode,
  mostWrongCodes,
  oneTimeCodeLifeMs,
  oneTimeCodePattern,
} from '#approval/one-time-code';
import { requestIdPattern } from '#kernel/approval/request';
import { Fault, reasonOf } from '#kernel/errors';
import { hasErrorCode, writePrivateFile } from '../config/private-file.ts';

/** In the state directory. */
export const oneTimeCodesFolder = 'one-time-codes';

const fileSchema = z.strictObject({
  version: z.literal(1),
  salt: z.string().min(1),
  hash: z.string().min(1),
  /** ms since the epoch. */
  expiresAt: z.number(),
  wrong: z.number().int().min(0),
});
type CodeFile = z.output<typeof fileSchema>;

export type CodeVerdict =
  | { readonly ok: true }
  | { readonly ok: false; readonly why: 'none' | 'expired' | 'void'; readonly triesLeft?: never }
  | { readonly ok: false; readonly why: 'wrong'; readonly triesLeft: number };

/** A fresh code; a former one of the same request stops counting. @throws {Fault} `codes_not_writable` */
export async function issueOneTimeCode(
  stateDir: string,
  purpose: CodePurpose,
): Promise<{ readonly code: string; readonly expiresAt: number }> {
  const folder = folderOf(stateDir);
  const name = fileName(purpose);
  const code = makeOneTimeCode();
  const expiresAt = Date.now() + oneTimeCodeLifeMs;
  const content: CodeFile = { version: 1, ...(await hashOneTimeCode(code, purpose)), expiresAt, wrong: 0 };
  try {
    await removeOld(folder);
    await rm(join(folder, name), { force: true });
    if (!(await write(folder, name, content))) throw new Error('another process shows the same request at this moment');
  } catch (thrown) {
    throw notWritable(folder, thrown);
  }
  return { code, expiresAt };
}

/** Uses a code up where it is the right one. @throws {Fault} `codes_not_writable` */
export async function redeemOneTimeCode(stateDir: string, purpose: CodePurpose, code: string): Promise<CodeVerdict> {
  const folder = folderOf(stateDir);
  const name = fileName(purpose);
  const taken = join(folder, `.${name}-${randomBytes(6).toString('hex')}.taken`);
  try {
    await rename(join(folder, name), taken);
  } catch (thrown) {
    if (hasErrorCode(thrown, 'ENOENT')) return { ok: false, why: 'none' };
    throw notWritable(folder, thrown);
  }
  try {
    const stored = await read(taken);
    if (stored === undefined) return { ok: false, why: 'none' };
    const verdict = await judge(stored, purpose, code);
    // A code that was shown meanwhile stands; this one is gone then.
    if (!verdict.ok && verdict.why === 'wrong') await write(folder, name, { ...stored, wrong: stored.wrong + 1 });
    return verdict;
  } finally {
    await rm(taken, { force: true });
  }
}

async function judge(stored: CodeFile, purpose: CodePurpose, code: string): Promise<CodeVerdict> {
  const now = Date.now();
  // A time beyond a whole life was not written by this program, or the clock was put back.
  if (now >= stored.expiresAt || stored.expiresAt > now + oneTimeCodeLifeMs) return { ok: false, why: 'expired' };
  if (oneTimeCodePattern.test(code) && (await isOneTimeCode(code, stored, purpose))) return { ok: true };
  const triesLeft = mostWrongCodes - stored.wrong - 1;
  return triesLeft <= 0 ? { ok: false, why: 'void' } : { ok: false, why: 'wrong', triesLeft };
}

async function read(file: string): Promise<CodeFile | undefined> {
  try {
    return fileSchema.safeParse(JSON.parse(await readFile(file, 'utf8'))).data;
  } catch {
    return undefined;
  }
}

function write(folder: string, name: string, content: CodeFile): Promise<boolean> {
  return writePrivateFile(folder, name, `${JSON.stringify(content)}\n`);
}

/** What nobody used, and what a crash left behind. */
async function removeOld(folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  const before = Date.now() - oneTimeCodeLifeMs;
  for (const file of names.map((name) => join(folder, name))) {
    const entry = await stat(file).catch(() => undefined);
    if (entry !== undefined && entry.mtimeMs < before) await rm(file, { force: true });
  }
}

function folderOf(stateDir: string): string {
  return join(stateDir, oneTimeCodesFolder);
}

/** INVARIANT: an id becomes part of a path only after it was checked. */
function fileName({ requestId }: CodePurpose): string {
  if (!requestIdPattern.test(requestId))
    throw new Fault('bad_request_id', 'a request’s id is `req-` and 8 hex digits', { audience: 'user' });
  return `${requestId}.json`;
}

function notWritable(place: string, thrown: unknown): Fault {
  return new Fault('codes_not_writable', `${place}: cannot be changed: ${reasonOf(thrown)}`, { cause: thrown });
}
