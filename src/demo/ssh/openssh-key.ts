/**
 * Ed25519 key pairs in OpenSSH's own file format (openssh/PROTOCOL.key). `ssh2.utils.generateKeyPairSync` would do, but about one key in
 * two hundred that it makes (1.17.0) can be read by nobody, itself included ("Malformed OpenSSH private key").
 */
import { generateKeyPairSync, randomBytes } from 'node:crypto';

export interface OpensshKey {
  /** The private key file, without a passphrase. */
  readonly privateFile: string;
  /** `ssh-ed25519 AAAA… comment` */
  readonly publicLine: string;
}

const type = 'ssh-ed25519';
const blockBytes = 8;

export function generateOpensshKey(comment: string): OpensshKey {
  const { d = '', x = '' } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' });
  const seed = Buffer.from(d, 'base64url');
  const point = Buffer.from(x, 'base64url');
  const publicBlob = Buffer.concat([field(type), field(point)]);
  const check = randomBytes(4);
  const secret = padded(Buffer.concat([check, check, field(type), field(point), field(Buffer.concat([seed, point])), field(comment)]));
  const file = Buffer.concat([
    Buffer.from('openssh-key-v1\0'),
    field('none'),
    field('none'),
    field(''),
    number(1),
    field(publicBlob),
    field(secret),
  ]);
  const lines = file.toString('base64').match(/.{1,70}/g) ?? [];
  return {
    privateFile: `-----BEGIN OPENSSH PRIVATE KEY-----\n${lines.join('\n')}\n-----END OPENSSH PRIVATE KEY-----\n`,
    publicLine: `${type} ${publicBlob.toString('base64')} ${comment}`,
  };
}

/** Filled up to the cipher's block with 1, 2, 3, … */
function padded(bytes: Buffer): Buffer {
  const missing = (blockBytes - (bytes.length % blockBytes)) % blockBytes;
  return Buffer.concat([bytes, Buffer.from(Array.from({ length: missing }, (_, index) => index + 1))]);
}

function number(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** A string with its length before it (RFC 4251 §5). */
function field(content: string | Buffer): Buffer {
  const bytes = typeof content === 'string' ? Buffer.from(content, 'utf8') : content;
  return Buffer.concat([number(bytes.length), bytes]);
}
