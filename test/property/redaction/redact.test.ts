import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonValue } from '#kernel/json';
import { redactJson, redactObject, redactText } from '#redaction/redact';
import { secretlintHints, secretPatterns } from '#redaction/secret-patterns';
import { secretTexts } from '../../unit/redaction/secret-corpus.ts';

const known = '3f0c1a9e-77aa-4b0d-9d2e-0123456789ab';
const words = [...new Set([...secretPatterns.flatMap(({ hints }) => hints), ...secretlintHints])];
/** Whatever stands in them is a secret. */
const names = [
  'password',
  'DB_PASSWD',
  'sshPassphrase',
  'client_secret',
  'apiToken',
  'x-api-key',
  'PRIVATE_KEY',
  'cipassword',
  'Authorization',
  'ticket',
];
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

  it('of a value in one look is what it is with each text looked at by itself', () => {
    // JSON writes it in other characters than it has.
    const quoted = 'a"b"c\nd\te';
    const word = fc.oneof(fc.constantFrom(...words, ...words.map((hint) => hint.slice(1))), piece, fc.stringMatching(/^[ -~\n\t]{0,12}$/));
    const plain = fc.stringMatching(/^[a-z0-9 ./"\\\n\t-]{0,30}$/);
    const { value } = fc.letrec<{ value: JsonValue }>((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        plain,
        fc.constantFrom(quoted, `a${quoted}b`, 'long '.repeat(20)),
        fc.array(fc.oneof(plain, word), { maxLength: 3 }).map((parts) => parts.join('')),
        fc.integer(),
        fc.constantFrom(null, true),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(fc.oneof(fc.constantFrom(...names, 'path', 'type', 'a\u200bb'), plain), tie('value'), { maxKeys: 3 }),
      ),
    }));
    // `redactObject` has no look at the whole.
    fc.assert(
      fc.property(value, fc.constantFrom(64_000, 90), (dirty, maxStringLength) => {
        const given = { knownSecrets: [known, quoted], maxStringLength };
        expect(redactJson({ whole: dirty }, given)).toEqual(redactObject({ whole: dirty }, given));
      }),
      { numRuns: 5_000 },
    );
  });

  it.each(secretTexts)('%s: is taken out of a value whether one looks at the whole or at the text alone', (_what, example, secret) => {
    const clean = redactJson({ rows: [{ text: example }] }, options);
    expect(clean).toEqual(redactObject({ rows: [{ text: example }] }, options));
    expect(JSON.stringify(clean)).not.toContain(JSON.stringify(secret).slice(1, -1));
  });

  it.each(names)('a value under the name `%s` is hidden', (name) => {
    expect(redactJson({ rows: [{ [name]: 'x1' }] }, options)).toEqual({ rows: [{ [name]: '[redacted:field]' }] });
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
