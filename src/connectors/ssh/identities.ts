/** What this side can prove who it is with: private keys from files, then the agent. Never a password. */
import { readFile } from 'node:fs/promises';
import ssh2, { type AnyAuthMethod } from 'ssh2';

export interface IdentityOptions {
  readonly user: string;
  readonly identityFiles: readonly string[];
  /** Socket (or pipe) of a running ssh agent; undefined: none is used. */
  readonly agentSocket?: string;
}

export interface Identities {
  /** In the order they are tried. */
  readonly methods: readonly AnyAuthMethod[];
  /** Files that are left out because they need a passphrase: those keys are usable through the agent only. */
  readonly encrypted: readonly string[];
  /** Files that are left out for another reason, each with it. */
  readonly unusable: readonly string[];
}

/** Files are read anew for each connection, so that a replaced key counts. */
export async function loadIdentities({ user, identityFiles, agentSocket }: IdentityOptions): Promise<Identities> {
  const keys = await Promise.all(identityFiles.map(readIdentity));
  const methods: AnyAuthMethod[] = keys.flatMap((one) =>
    one.state === 'usable' ? [{ type: 'publickey', username: user, key: one.key }] : [],
  );
  if (agentSocket !== undefined) methods.push({ type: 'agent', username: user, agent: agentSocket });
  return {
    methods,
    encrypted: keys.flatMap((one) => (one.state === 'encrypted' ? [one.path] : [])),
    unusable: keys.flatMap((one) => (one.state === 'unusable' ? [`\`${one.path}\` (${one.why})`] : [])),
  };
}

type Identity =
  | { readonly state: 'usable'; readonly key: Buffer }
  | { readonly state: 'encrypted'; readonly path: string }
  | { readonly state: 'unusable'; readonly path: string; readonly why: string };

async function readIdentity(path: string): Promise<Identity> {
  let key: Buffer;
  try {
    key = await readFile(path);
  } catch (thrown) {
    return { state: 'unusable', path, why: (thrown as NodeJS.ErrnoException).code ?? 'cannot be read' };
  }
  const parsed = ssh2.utils.parseKey(key);
  if (parsed instanceof Error) {
    return /encrypted|passphrase/i.test(parsed.message)
      ? { state: 'encrypted', path }
      : { state: 'unusable', path, why: 'no private key in a known format' };
  }
  const [first] = Array.isArray(parsed) ? parsed : [parsed];
  return first?.isPrivateKey() ? { state: 'usable', key } : { state: 'unusable', path, why: 'a public key' };
}
