import { describe, expect, it } from 'vitest';
import { assertionFlaw, counterOf, importPasskey, isPageOrigin, passkeyFingerprint, readNewCredential } from '#approval/passkey';
import { pageOrigin, softwareKey, type Twist } from '../../integration/approval/software-key.ts';

const challenge = 'c2F5IHllcyB0byBleGFjdGx5IHRoaXMgYW5kIG5vIG90aGVy';

describe.each(['es256', 'eddsa'] as const)('an answer by %s', (algorithm) => {
  const key = softwareKey({ algorithm });
  const flaw = (twist: Twist, answered = challenge) => assertionFlaw(key.get(answered, twist), key.pin, challenge);

  it('counts for its passkey, challenge and page', () => {
    expect(flaw({})).toBeUndefined();
    expect(flaw({ counter: 7, flags: 0x1d })).toBeUndefined();
    // Older browsers leave the word out where there is no frame.
    expect(flaw({ client: { crossOrigin: undefined } })).toBeUndefined();
    expect(counterOf(key.get(challenge, { counter: 7 }))).toBe(7);
  });

  it.each<[string, Twist, RegExp]>([
    ['made for enrolling', { type: 'webauthn.create' }, /something else/],
    ['of another port', { origin: `${pageOrigin}:8443` }, /another page/],
    ['of the same host without TLS', { origin: 'http://banksman.lan' }, /another page/],
    ['of a host below', { origin: 'https://evil.banksman.lan' }, /another page/],
    ['of a page in a frame', { client: { crossOrigin: true } }, /frame/],
    ['of a page in a frame, said otherwise', { client: { topOrigin: 'https://evil.example' } }, /frame/],
    ['for another host', { rpId: 'lan' }, /another host name/],
    ['that nobody touched', { flags: 0x04 }, /nobody touched/],
    ['that nobody verified', { flags: 0x01 }, /did not check/],
    ['backed up and not to be backed up', { flags: 0x15 }, /contradict/],
    ['with extensions', { flags: 0x85, more: Buffer.from('a0', 'hex') }, /longer/],
    ['that attests a key', { flags: 0x45 }, /longer/],
    ['of another passkey', { id: 'AAAA' }, /another passkey/],
  ])('is refused when it is %s, though it is signed', (_, twist, why) => {
    expect(flaw(twist)).toMatch(why);
  });

  it('is refused for another challenge, by another key, and when a byte of it is another', () => {
    expect(flaw({}, 'YW5vdGhlciBvbmU')).toMatch(/another challenge/);
    const other = softwareKey({ algorithm });
    expect(assertionFlaw(key.get(challenge), { ...other.pin, passkey: key.pin.passkey! }, challenge)).toMatch(/does not fit/);
    const good = key.get(challenge);
    for (const signature of ['AA', 'MAYCAQACAQA', Buffer.alloc(64).toString('base64url'), `${good.response.signature}=`]) {
      expect(assertionFlaw({ ...good, response: { ...good.response, signature } }, key.pin, challenge)).toMatch(/does not fit|damaged/);
    }
    for (const clientDataJSON of ['', '!', 'bnVsbA', 'W10', Buffer.from([0xff]).toString('base64url')]) {
      expect(assertionFlaw({ ...good, response: { ...good.response, clientDataJSON } }, key.pin, challenge)).toMatch(/damaged/);
    }
    for (const authenticatorData of ['', 'AAAA']) {
      expect(assertionFlaw({ ...good, response: { ...good.response, authenticatorData } }, key.pin, challenge)).toMatch(/damaged|longer/);
    }
  });

  it('is refused where the pin is none of a passkey', () => {
    expect(assertionFlaw(key.get(challenge), { name: 'x', key: key.pin.key }, challenge)).toMatch(/another passkey/);
    expect(assertionFlaw(key.get(challenge), { ...key.pin, key: 'es256:nonsense' }, challenge)).toMatch(/another passkey/);
  });
});

describe.each(['es256', 'eddsa'] as const)('a new passkey of %s', (algorithm) => {
  const key = softwareKey({ algorithm });
  const read = (twist: Twist = {}) => readNewCredential(key.create(challenge, twist), { challenge, origin: pageOrigin });

  it('is read as its id and its key', () => {
    expect(read()).toEqual({ ok: true, id: key.pin.passkey?.id, key: key.pin.key });
  });

  it.each<[string, Twist]>([
    ['answers', { type: 'webauthn.get' }],
    ['another page', { origin: 'https://evil.example' }],
    ['another host', { rpId: 'evil.example' }],
    ['nobody verified', { flags: 0x41 }],
    ['no credential', { flags: 0x05 }],
    ['a frame', { client: { crossOrigin: true } }],
    ['another id than in its data', { id: 'AAAA' }],
    ['a key of another kind', { more: Buffer.concat([Buffer.alloc(16), Buffer.from([0, 1, 9]), Buffer.from('a301030339010020', 'hex')]) }],
    ['a cut-off key', { more: Buffer.concat([Buffer.alloc(16), Buffer.from([0, 1, 9]), key.cose.subarray(0, 40)]) }],
  ])('is refused where it says: %s', (_, twist) => {
    expect(read(twist)).toMatchObject({ ok: false });
  });
});

it('a key that is no point of the curve is none', () => {
  expect(importPasskey(`es256:${'A'.repeat(86)}`)).toBeUndefined();
  expect(importPasskey('ed25519:AAAA')).toBeUndefined();
});

it('a fingerprint is four groups that follow key, credential and page', () => {
  const { pin, fingerprint } = softwareKey();
  expect(fingerprint).toMatch(/^(?:[0-9A-HJKMNP-TV-Z]{4}-){3}[0-9A-HJKMNP-TV-Z]{4}$/);
  expect(passkeyFingerprint({ ...pin, passkey: { ...pin.passkey!, origin: 'https://evil.example' } })).not.toBe(fingerprint);
  expect(passkeyFingerprint({ ...pin, passkey: { ...pin.passkey!, id: 'AAAA' } })).not.toBe(fingerprint);
});

it.each([
  ['https://banksman.lan', true],
  ['https://banksman.lan:8443', true],
  ['http://localhost:779', true],
  ['http://banksman.lan', false],
  ['https://banksman.lan/', false],
  ['https://10.0.0.1', false],
  ['https://[::1]:443', false],
  ['http://a.localhost', false],
  ['nonsense', false],
])('%s can be a page’s origin: %s', (text, is) => {
  expect(isPageOrigin(text)).toBe(is);
});
