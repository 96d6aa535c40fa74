/** The credentials of the roles that this machine's user may take, in a file of their own. */
import { type FileHandle, open } from 'node:fs/promises';
import * as z from 'zod';
import { Fault } from '#kernel/errors';
import { issueWords } from '#kernel/issue-words';
import { type CredentialSource, defaultUsers, type ValkeyRole, valkeyRoles } from './roles.ts';

const entry = z.strictObject({ user: z.string().min(1).optional(), password: z.string().min(1) });
const schema = z.strictObject(
  Object.fromEntries(valkeyRoles.map((role) => [role, entry.optional()])) as Record<ValkeyRole, z.ZodOptional<typeof entry>>,
);

/**
 * Reads `{ "agent": { "user": "mcp-agent", "password": "…" }, … }`; `user` may be left out, and so may roles. Read anew at every
 * connection, so that a changed password needs no restart.
 * @throws {Fault} (the source, when it is asked) `bad_credentials` where the file is missing, open to others, or not like that
 */
export function credentialsFile(file: string): CredentialSource {
  return async (role) => {
    const found = (await readCredentials(file))[role];
    return found && { user: found.user ?? defaultUsers[role], password: found.password };
  };
}

async function readCredentials(file: string): Promise<z.output<typeof schema>> {
  const text = await readPrivate(file);
  const parsed = schema.safeParse(parseJson(text, file), { error: issueWords });
  if (parsed.success) return parsed.data;
  // SECURITY: the issue's own text is not shown where it could quote a value; keys are names of roles or typing errors.
  const issue = parsed.error.issues[0];
  throw bad(
    file,
    `\`${issue?.path.join('.') || '(top level)'}\`: ${issue?.message ?? 'not as expected'}; allowed: ${valkeyRoles.join(', ')}`,
  );
}

/** Checked on the open file, so that it cannot be swapped in between. */
async function readPrivate(file: string): Promise<string> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(file, 'r');
    const { mode } = await handle.stat();
    if (process.platform !== 'win32' && (mode & 0o077) !== 0) {
      throw new Fault('bad_credentials', `the store's credentials file \`${file}\` is open to other users`, { next: `chmod 600 ${file}` });
    }
    return await handle.readFile('utf8');
  } catch (thrown) {
    if (thrown instanceof Fault) throw thrown;
    throw bad(file, `it cannot be read (${thrown instanceof Error && 'code' in thrown ? String(thrown.code) : 'unknown error'})`);
  } finally {
    await handle?.close();
  }
}

function parseJson(text: string, file: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's message quotes the text around the place, which may be a password.
    throw bad(file, 'it is not valid JSON');
  }
}

function bad(file: string, what: string): Fault {
  return new Fault('bad_credentials', `the store's credentials file \`${file}\` cannot be used: ${what}`, {
    next: 'write it like `{ "agent": { "password": "…" }, "exec": { "password": "…" }, "log-writer": { "password": "…" } }`, mode 0600',
  });
}
