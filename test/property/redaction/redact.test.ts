import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { redactJson, redactText } from '#redaction/redact';

const known = '3f0c1a9e-77aa-4b0d-9d2e-0123456789ab';
const options = { knownSecrets: [known, 'abcdefgh'], maxStringLength: 64_000 };

/** Pieces from which the patterns are made, in any order. */
const piece = fc.oneof(
  fc.constantFrom(
    known,
    'abcdefgh',
    'password',
    'passwd',
    'token',
    'secret',
    'api_key',
    '=',
    ':',
    ': ',
    '"',
    "'",
    ' ',
    '\n',
    '@',
    '://',
    'http',
    'u:p',
    '/',
    '[',
    ']',
  ),
  fc.constantFrom(
    '-----BEGIN PRIVATE KEY-----',
    '-----END PRIVATE KEY-----',
    '-----BEGIN RSA PRIVATE KEY-----',
    '-----',
    'MIIE',
    'bearer ',
    'Authorization: Basic ',
  ),
  fc.constantFrom(
    'PVEAPIToken=',
    'ops@pve!x=',
    '12345678-90ab-4cde-8f01-234567890abc',
    'PVE:root@pam:65A1B2C3::',
    'eyJ',
    'sk-',
    'ghp_',
    'AKIA',
    'xoxb-',
    'glpat-',
  ),
  fc.constantFrom(
    '[redacted:password]',
    '[redacted:',
    '[redacted:known]',
    '\u200b',
    '\u001b[31m',
    '\ud83d',
    '😀',
    'A'.repeat(36),
    'a1'.repeat(12),
    '.',
  ),
  fc.string({ maxLength: 8 }),
);
const text = fc.array(piece, { maxLength: 25 }).map((pieces) => pieces.join(''));

describe('redaction', () => {
  it('done twice changes nothing more', () => {
    fc.assert(
      fc.property(text, (dirty) => {
        const once = redactText(dirty, options);
        expect(redactText(once, options)).toBe(once);
      }),
      { numRuns: 5_000 },
    );
  });

  it('of what is too long keeps to the length, and cuts after the secrets are out', () => {
    fc.assert(
      fc.property(text, fc.integer({ min: 80, max: 300 }), (dirty, maxStringLength) => {
        const whole = redactText(dirty, { ...options, maxStringLength: 64_000 });
        const cut = redactText(dirty, { ...options, maxStringLength });
        expect(cut.length).toBeLessThanOrEqual(maxStringLength);
        const start = whole.length <= maxStringLength ? cut : cut.slice(0, 8).replace(/[\ufffd\n].*$/s, '');
        expect(whole.startsWith(start)).toBe(true);
      }),
    );
  });

  it('leaves no known secret, no unseen character and no half character', () => {
    fc.assert(
      fc.property(text, (dirty) => {
        const clean = redactText(dirty, options);
        expect(clean).not.toContain(known);
        expect(clean.isWellFormed()).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });

  it('keeps the shape of every JSON value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
        const clean = redactJson(value, { knownSecrets: [], maxStringLength: 64_000 });
        expect(shape(clean)).toEqual(shape(value));
        expect(redactJson(clean, { knownSecrets: [], maxStringLength: 64_000 })).toEqual(clean);
      }),
    );
  });

  it('takes a secret out of any text that does not itself continue it', () => {
    const secrets = [
      known,
      `ghp_${'a1'.repeat(18)}`,
      'AKIAIOSFODNN7EXAMPLE',
      `ed25519-private:${'A'.repeat(64)}`,
      `glpat-${'a'.repeat(20)}`,
    ];
    const around = fc.string({ maxLength: 30 }).map((other) => other.replaceAll(/[\w-]/g, '.'));
    fc.assert(
      fc.property(fc.constantFrom(...secrets), around, around, (secret, before, after) => {
        expect(redactText(`${before} ${secret} ${after}`, options)).not.toContain(secret);
      }),
    );
  });
});

/** Kinds only; a string that was a secret is a string still. */
function shape(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shape);
  if (typeof value === 'object' && value !== null) return Object.values(value).map(shape);
  return value === null ? 'null' : typeof value;
}
