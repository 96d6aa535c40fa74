import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { digestOf } from '#approval/digest';
import { grantPayload, verifyGrant } from '#approval/grant';
import { generateApproverKey, importPublicKey, isSameKey, keyIdOf, signerFrom } from '#approval/keys';
import { signPayload } from '#approval/signed';
import { type Grant, type GrantPayload, grantLifeMs } from '#kernel/approval/request';
import { canonicalJson, type JsonObject } from '#kernel/json';
import { createApprover, stopAction } from '../../integration/stores/store-fixtures.ts';

const now = 1_800_000_000_000;
const request = { id: 'req-0123abcd', digest: digestOf(stopAction()), expiresAt: now + 3_600_000 };
const alice = createApprover();
const expected = { decision: 'approve', digest: request.digest, requestId: request.id, store: 'here', now, pins: [alice.pinned] } as const;

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
  const draft = { request, decision: 'approve', approver: 'user:alice', pin: alice.pinned, store: 'here', now, waits: false } as const;
  const signed = async (changes: Partial<GrantPayload> = {}, by = alice): Promise<Grant> => {
    return signPayload({ ...grantPayload(draft), ...changes }, by.signer);
  };

  it('verify for the request, digest, store and key they were made with', async () => {
    expect(verifyGrant(await signed(), expected)).toEqual({ ok: true, pin: alice.pinned });
  });

  it('sign the canonical JSON of their payload', async () => {
    const { payload, proof } = await signed();
    const message = Buffer.from(canonicalJson(payload as unknown as JsonObject));
    expect(verify(null, message, importPublicKey(alice.pinned.key)!, Buffer.from(proof.signature, 'base64url'))).toBe(true);
  });

  it('have a nonce of 32 bytes and never share one', () => {
    const nonces = Array.from({ length: 100 }, () => grantPayload(draft).nonce);
    expect(new Set(nonces).size).toBe(100);
    expect(Buffer.from(nonces[0]!, 'base64url')).toHaveLength(32);
  });

  it('live five minutes, or as long as the request where others have to agree, too', () => {
    expect(grantPayload(draft).expiresAt).toBe(now + grantLifeMs);
    expect(grantPayload({ ...draft, waits: true }).expiresAt).toBe(request.expiresAt);
  });

  it.each([
    ['another request', { requestId: 'req-ffffffff' }, 'digest_mismatch'],
    ['another digest', { digest: 'f'.repeat(64) }, 'digest_mismatch'],
    ['a denial', { decision: 'deny' }, 'digest_mismatch'],
    ['another store', { store: 'elsewhere' }, 'other_store'],
    ['another person than the pin’s', { person: 'bob' }, 'untrusted_key'],
    ['another display than the pin’s', { display: 'outside' }, 'untrusted_key'],
    ['the past', { issuedAt: now - grantLifeMs, expiresAt: now }, 'expired'],
    ['the far future', { issuedAt: now + 600_000, expiresAt: now + 600_000 + grantLifeMs }, 'expired'],
    ['a whole day', { expiresAt: now + 86_400_000 }, 'expired'],
    ['no time at all', { issuedAt: now + 10, expiresAt: now + 10 }, 'expired'],
  ] as const)('honestly signed for %s are refused', async (_, changes, why) => {
    expect(verifyGrant(await signed(changes), expected)).toEqual({ ok: false, why });
  });

  it('whose payload was changed after signing are refused, whichever field it is', async () => {
    const grant = await signed();
    for (const [field, value] of Object.entries(grant.payload)) {
      const payload = { ...grant.payload, [field]: typeof value === 'number' ? value + 1 : 'req-11111111' } as GrantPayload;
      const fitting = { ...expected, requestId: payload.requestId, digest: payload.digest, store: payload.store };
      expect(verifyGrant({ ...grant, payload }, fitting), field).toEqual({ ok: false, why: 'bad_signature' });
    }
  });

  it('are worth nothing without a pinned key', async () => {
    const grant = await signed({}, createApprover('user:mallory'));
    const named = (keyId: string): Grant => ({ ...grant, proof: { kind: 'ed25519', keyId, signature: grant.proof.signature } });
    expect(verifyGrant(grant, expected)).toEqual({ ok: false, why: 'untrusted_key' });
    expect(verifyGrant(grant, { ...expected, pins: [] })).toEqual({ ok: false, why: 'untrusted_key' });
    expect(verifyGrant(named(keyIdOf(alice.pinned.key)!), expected)).toEqual({ ok: false, why: 'bad_signature' });
    expect(verifyGrant(named(''), { ...expected, pins: [{ name: 'damaged', key: 'ed25519:nonsense' }] })).toEqual({
      ok: false,
      why: 'untrusted_key',
    });
  });

  it.each(['', 'AAAA', '!', 'A'.repeat(86)])('with the signature %j are refused', async (signature) => {
    const grant = await signed();
    expect(verifyGrant({ ...grant, proof: { ...grant.proof, signature } }, expected)).toEqual({ ok: false, why: 'bad_signature' });
  });

  it('with a payload that has no canonical form are refused, not thrown', async () => {
    const grant = await signed();
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
