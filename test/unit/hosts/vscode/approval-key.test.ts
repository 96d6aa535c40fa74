import { verify } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { importPublicKey } from '#approval/keys';
import { readSigner, type SecretStore } from '#hosts/vscode/approval-key';

function secretStore(initial?: string): SecretStore & { readonly kept: Map<string, string> } {
  const kept = new Map<string, string>(initial === undefined ? [] : [['approvalKey', initial]]);
  return { kept, get: async (key) => kept.get(key), store: async (key, value) => void kept.set(key, value) };
}

describe('readSigner', () => {
  it('makes a key once and signs with it', async () => {
    const secrets = secretStore();
    const [first, second] = [await readSigner(secrets, 'user:alice'), await readSigner(secrets, 'user:alice')];
    expect(second.publicKey).toBe(first.publicKey);
    expect(first.approver).toBe('user:alice');
    const message = new TextEncoder().encode('hello');
    const key = importPublicKey(first.publicKey);
    if (!key) throw new Error('not a key');
    expect(verify(null, message, key, await second.sign(message))).toBe(true);
    expect(secrets.kept.get('approvalKey')).not.toContain(first.publicKey.slice('ed25519:'.length));
  });

  it('takes what another window stored last', async () => {
    const mine = secretStore();
    const other = secretStore();
    const signer = await readSigner(other, 'user:alice');
    const racing: SecretStore = {
      get: (key) => mine.get(key),
      // The other window's write lands right after ours.
      store: async (key) => void mine.kept.set(key, other.kept.get(key) ?? ''),
    };
    expect((await readSigner(racing, 'user:alice')).publicKey).toBe(signer.publicKey);
  });

  it.each(['', 'rubbish', 'ed25519-private:AAAA'])('replaces an unreadable key (%j)', async (stored) => {
    const secrets = secretStore(stored);
    expect((await readSigner(secrets, 'user:alice')).publicKey).toMatch(/^ed25519:/);
    expect(secrets.kept.get('approvalKey')).not.toBe(stored);
  });

  it('says so where no secrets are kept', async () => {
    await expect(readSigner({ get: async () => undefined, store: async () => {} }, 'user:alice')).rejects.toThrow('keeps no secrets');
  });
});
