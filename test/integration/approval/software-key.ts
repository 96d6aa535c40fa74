/** An authenticator in software: it makes the bytes that a passkey and a browser make (WebAuthn §6.1, §5.8.1), and wrong ones where told so. */
import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { passkeyFingerprint } from '#approval/passkey';
import type { ApproverKey } from '#kernel/approval/answer';
import type { NewCredential, PasskeyAssertion } from '#kernel/approval/passkey';
import type { Display } from '#kernel/approval/security';

export interface Twist {
  readonly type?: string;
  readonly origin?: string;
  readonly rpId?: string;
  readonly flags?: number;
  readonly counter?: number;
  readonly client?: object;
  readonly id?: string;
  /** Appended to the authenticator data, and signed with it. */
  readonly more?: Buffer;
}

export interface SoftwareKey {
  readonly pin: ApproverKey;
  readonly fingerprint: string;
  /** COSE_Key, as an attested credential holds it. */
  readonly cose: Buffer;
  create(challenge: string, twist?: Twist): NewCredential;
  get(challenge: string, twist?: Twist): PasskeyAssertion;
}

export const pageOrigin = 'https://banksman.lan';

const usual = {
  name: 'alice-phone',
  person: 'alice',
  display: 'outside' as Display,
  algorithm: 'es256' as 'es256' | 'eddsa',
  origin: pageOrigin,
};

export function softwareKey(changes: Partial<typeof usual> = {}): SoftwareKey {
  const { name, person, display, algorithm, origin: home } = { ...usual, ...changes };
  const pair = algorithm === 'es256' ? generateKeyPairSync('ec', { namedCurve: 'P-256' }) : generateKeyPairSync('ed25519');
  const { x = '', y = '' } = pair.publicKey.export({ format: 'jwk' });
  const raw = [x, ...(algorithm === 'es256' ? [y] : [])].map((part) => Buffer.from(part, 'base64url'));
  const cose = Buffer.concat(
    algorithm === 'es256'
      ? [Buffer.from('a5010203262001215820', 'hex'), raw[0]!, Buffer.from('225820', 'hex'), raw[1]!]
      : [Buffer.from('a4010103272006215820', 'hex'), raw[0]!],
  );
  const id = randomBytes(32).toString('base64url');
  const pin: ApproverKey = {
    name,
    person,
    key: `${algorithm}:${Buffer.concat(raw).toString('base64url')}`,
    passkey: { id, origin: home, display, enrolledAt: '2026-11-23T20:00:00.000Z' },
  };
  const clientData = (type: string, challenge: string, { origin = home, client = {} }: Twist) =>
    Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false, ...client }));
  const authData = (flags: number, { rpId = new URL(home).hostname, counter = 0, more = Buffer.alloc(0) }: Twist) => {
    const head = Buffer.alloc(5);
    head[0] = flags;
    head.writeUInt32BE(counter, 1);
    return Buffer.concat([createHash('sha256').update(rpId).digest(), head, more]);
  };
  return {
    pin,
    fingerprint: passkeyFingerprint(pin),
    cose,
    create: (challenge, twist = {}) => {
      const bytes = Buffer.from(id, 'base64url');
      const length = Buffer.alloc(2);
      length.writeUInt16BE(bytes.length);
      const attested = Buffer.concat([Buffer.alloc(16), length, bytes, cose]);
      const data = authData(twist.flags ?? 0x45, { ...twist, more: twist.more ?? attested });
      const client = clientData(twist.type ?? 'webauthn.create', challenge, twist);
      return {
        id: twist.id ?? id,
        response: { clientDataJSON: client.toString('base64url'), authenticatorData: data.toString('base64url') },
      };
    },
    get: (challenge, twist = {}) => {
      const client = clientData(twist.type ?? 'webauthn.get', challenge, twist);
      const data = authData(twist.flags ?? 0x05, twist);
      const message = Buffer.concat([data, createHash('sha256').update(client).digest()]);
      const signature = sign(algorithm === 'es256' ? 'sha256' : null, message, pair.privateKey);
      return {
        id: twist.id ?? id,
        response: {
          clientDataJSON: client.toString('base64url'),
          authenticatorData: data.toString('base64url'),
          signature: signature.toString('base64url'),
        },
      };
    },
  };
}
