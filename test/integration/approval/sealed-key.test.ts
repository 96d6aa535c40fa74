import { beforeAll, describe, expect, it, vi } from 'vitest';
import { generateApproverKey, openSealedKey, type SealedKey, sealKey } from '#approval/keys';

// Opening a key is meant to be slow.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 60_000 });

const passphrase = 'correct horse battery staple';
const pair = generateApproverKey();
let sealed: SealedKey;
beforeAll(async () => {
  sealed = await sealKey({ name: 'alice', pair, createdAt: '2026-01-02T03:04:05.000Z' }, passphrase);
});

describe('a locked key', () => {
  it('opens with its passphrase, in whatever form that is typed', async () => {
    expect(await openSealedKey(sealed, passphrase)).toBe(pair.privateKey);
    const other = await sealKey({ name: 'bob', pair, createdAt: sealed.createdAt }, 'crème brûlée à Zürich'.normalize('NFC'));
    expect(await openSealedKey(other, 'crème brûlée à Zürich'.normalize('NFD'))).toBe(pair.privateKey);
  });

  it.each(['', 'Correct horse battery staple', `${passphrase} `, passphrase.slice(1)])('does not open with %j', async (wrong) => {
    expect(await openSealedKey(sealed, wrong)).toBeUndefined();
  });

  it('holds neither the key nor the passphrase in the open, and is never the same twice', async () => {
    const text = JSON.stringify(sealed);
    expect(text).not.toContain(pair.privateKey.slice(16, 40));
    expect(text).not.toContain('horse');
    const again = await sealKey({ name: 'alice', pair, createdAt: sealed.createdAt }, passphrase);
    expect([again.scrypt.salt, again.sealed.nonce, again.sealed.text]).not.toEqual([
      sealed.scrypt.salt,
      sealed.sealed.nonce,
      sealed.sealed.text,
    ]);
    expect(sealed.scrypt).toMatchObject({ N: 131_072, r: 8, p: 1 });
  });

  it('does not open once anything in it was changed', async () => {
    const other = generateApproverKey().publicKey;
    const changed: readonly SealedKey[] = [
      { ...sealed, name: 'mallory' },
      { ...sealed, publicKey: other },
      { ...sealed, createdAt: '2027-01-02T03:04:05.000Z' },
      { ...sealed, scrypt: { ...sealed.scrypt, N: 2 } },
      { ...sealed, scrypt: { ...sealed.scrypt, salt: flipped(sealed.scrypt.salt) } },
      { ...sealed, sealed: { ...sealed.sealed, text: flipped(sealed.sealed.text) } },
      { ...sealed, sealed: { ...sealed.sealed, tag: flipped(sealed.sealed.tag) } },
      { ...sealed, sealed: { ...sealed.sealed, tag: sealed.sealed.tag.slice(0, 6) } },
      { ...sealed, sealed: { ...sealed.sealed, nonce: '' } },
    ];
    for (const key of changed) expect(await openSealedKey(key, passphrase)).toBeUndefined();
  });
});

function flipped(text: string): string {
  const bytes = Buffer.from(text, 'base64url');
  bytes[0] = (bytes[0] ?? 0) ^ 1;
  return bytes.toString('base64url');
}
