import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { digestOf } from '#approval/digest';
import { grantPayload, signGrant, verifyGrant } from '#approval/grant';
import { generateApproverKey, importPublicKey, isSameKey, keyIdOf, signerFrom } from '#approval/keys';
import { canonicalJson, type JsonObject } from '#kernel/json';
import { type GrantPayload, grantLifeMs } from '#kernel/request';
import { createApprover, stopAction } from '../../integration/stores/store-fixtures.ts';

const now = 1_800_000_000_000;
const request = { id: 'req-0123abcd', digest: digestOf(stopAction()) };
const alice = createApprover();
const expected = { digest: request.digest, requestId: request.id, now, trustedKeys: [alice.pinned] };

describe('approver keys', () => {
  it('are 32 raw bytes that any Ed25519 implementation takes', () => {
    const { publicKey } = generateApproverKey();
    expect(publicKey).toMatch(/^ed25519:[A-Za-z0-9_-]{43}$/);
    expect(Buffer.from(publicKey.slice(8), 'base64url')).toHaveLength(32);
  });

  it('come back from their exported form', async () => {
    const pair = generateApproverKey();
    const signer = signerFrom(pair.privateKey, 'user:alice');
    expect(signer.publicKey).toBe(pair.publicKey);
    const message = Buffer.from('hello');
    const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: pair.publicKey.slice(8) }, format: 'jwk' });
    expect(verify(null, message, key, await signer.sign(message))).toBe(true);
  });

  it.each([
    ['a word', 'hunter2'],
    ['a public key', generateApproverKey().publicKey],
    ['a truncated key', generateApproverKey().privateKey.slice(0, 40)],
    [
      'another kind of key',
      `ed25519-private:${generateKeyPairSync('x25519').privateKey.export({ type: 'pkcs8', format: 'der' }).toString('base64url')}`,
    ],
  ])('refuse %s without repeating it', (_, text) => {
    const refused = (): unknown => signerFrom(text, 'user:alice');
    expect(refused).toThrowError(expect.objectContaining({ code: 'bad_key', message: expect.not.stringContaining(text) }));
  });

  it('have an id that follows the key, not its spelling', () => {
    const { publicKey } = generateApproverKey();
    const last = publicKey.at(-1)!;
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    // 43 characters carry 258 bits, two of them spare: the next character decodes to the same 32 bytes.
    const respelled = publicKey.slice(0, -1) + alphabet[alphabet.indexOf(last) ^ 1];
    expect(respelled).not.toBe(publicKey);
    expect(isSameKey(respelled, publicKey)).toBe(true);
    expect(keyIdOf(respelled)).toBe(keyIdOf(publicKey));
    expect(keyIdOf(publicKey)).toMatch(/^[A-Za-z0-9_-]{16}$/);
  });

  it.each(['', 'ed25519:', 'ed25519:short', 'rsa:AAAA', `ed25519:${'*'.repeat(43)}`])('do not take %j for a key', (text) => {
    expect(importPublicKey(text)).toBeUndefined();
    expect(keyIdOf(text)).toBeUndefined();
    expect(isSameKey(text, text)).toBe(false);
  });
});

describe('grants', () => {
  const resigned = (changes: Partial<GrantPayload>, by = alice) =>
    signGrant({ ...grantPayload(request, 'user:alice', now), ...changes }, by.signer);

  it('verify for the request, digest and key they were made with', async () => {
    expect(verifyGrant(await resigned({}), expected)).toEqual({ ok: true });
  });

  it('sign the canonical JSON of their payload', async () => {
    const grant = await resigned({});
    const message = Buffer.from(canonicalJson(grant.payload as unknown as JsonObject));
    expect(verify(null, message, importPublicKey(alice.pinned.key)!, Buffer.from(grant.signature, 'base64url'))).toBe(true);
  });

  it('never share a nonce', () => {
    const nonces = Array.from({ length: 100 }, () => grantPayload(request, 'user:alice', now).nonce);
    expect(new Set(nonces).size).toBe(100);
  });

  it.each([
    ['another request', { requestId: 'req-ffffffff' }, 'digest_mismatch'],
    ['another digest', { digest: 'f'.repeat(64) }, 'digest_mismatch'],
    ['the past', { issuedAt: now - grantLifeMs, expiresAt: now }, 'expired'],
    ['the far future', { issuedAt: now + 600_000, expiresAt: now + 600_000 + grantLifeMs }, 'expired'],
    ['a whole day', { expiresAt: now + 86_400_000 }, 'expired'],
    ['no time at all', { issuedAt: now + 10, expiresAt: now + 10 }, 'expired'],
  ] as const)('honestly signed for %s are refused', async (_, changes, why) => {
    expect(verifyGrant(await resigned(changes), expected)).toEqual({ ok: false, why });
  });

  it.each(['requestId', 'digest', 'approver', 'issuedAt', 'expiresAt', 'nonce', 'version'] as const)(
    'whose %s was changed after signing are refused',
    async (field) => {
      const grant = await resigned({});
      const payload = {
        ...grant.payload,
        [field]: typeof grant.payload[field] === 'number' ? grant.payload[field] + 1 : 'req-11111111',
      } as GrantPayload;
      expect(verifyGrant({ ...grant, payload }, { ...expected, requestId: payload.requestId, digest: payload.digest })).toEqual({
        ok: false,
        why: 'bad_signature',
      });
    },
  );

  it('are worth nothing without a pinned key', async () => {
    const mallory = createApprover('user:mallory');
    const grant = await resigned({}, mallory);
    expect(verifyGrant(grant, expected)).toEqual({ ok: false, why: 'untrusted_key' });
    expect(verifyGrant(grant, { ...expected, trustedKeys: [] })).toEqual({ ok: false, why: 'untrusted_key' });
    expect(verifyGrant({ ...grant, keyId: keyIdOf(alice.pinned.key)! }, expected)).toEqual({ ok: false, why: 'bad_signature' });
    expect(verifyGrant({ ...grant, keyId: '' }, { ...expected, trustedKeys: [{ name: 'damaged', key: 'ed25519:nonsense' }] })).toEqual({
      ok: false,
      why: 'untrusted_key',
    });
  });

  it.each(['', 'AAAA', '!', 'A'.repeat(86)])('with the signature %j are refused', async (signature) => {
    expect(verifyGrant({ ...(await resigned({})), signature }, expected)).toEqual({ ok: false, why: 'bad_signature' });
  });

  it('with a payload that has no canonical form are refused, not thrown', async () => {
    const grant = await resigned({});
    const payload = { ...grant.payload, nonce: '\ud800' };
    expect(verifyGrant({ ...grant, payload }, expected)).toEqual({ ok: false, why: 'bad_signature' });
  });
});

describe('digestOf', () => {
  it('does not depend on the order of keys, but on every value', () => {
    const action = stopAction();
    const reordered = Object.fromEntries(Object.entries(action).reverse()) as unknown as typeof action;
    expect(digestOf(reordered)).toBe(digestOf(action));
    expect(digestOf({ ...action, agentId: 'mcp:other' })).not.toBe(digestOf(action));
    expect(digestOf({ ...action, arguments: { vmid: '100' } })).not.toBe(digestOf(action));
    expect(digestOf({ ...action, policyVersion: '2' })).not.toBe(digestOf(action));
  });
});
