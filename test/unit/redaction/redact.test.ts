import { describe, expect, it } from 'vitest';
import { redactJson, redactObject, redactText } from '#redaction/redact';

const options = { knownSecrets: ['3f0c1a9e-77aa-4b0d-9d2e-0123456789ab', 'short', 'abcdefgh', 'abcdefghijkl'], maxStringLength: 64_000 };
const clean = (text: string) => redactText(text, options);

const uuid = '12345678-90ab-4cde-8f01-234567890abc';
const pem = (label: string, body = 'MIIEvQIBADANBgkq\nhkiG9w0BAQEFAASC\n') => `-----BEGIN ${label}-----\n${body}-----END ${label}-----`;

describe('a secret by its form', () => {
  it.each([
    ['PEM key', pem('PRIVATE KEY'), '[redacted:private-key]'],
    ['RSA key', `a ${pem('RSA PRIVATE KEY')} b`, 'a [redacted:private-key] b'],
    ['OpenSSH key', pem('OPENSSH PRIVATE KEY'), '[redacted:private-key]'],
    ['encrypted key', pem('EC PRIVATE KEY', 'Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00FF\n\nMII=\n'), '[redacted:private-key]'],
    ['key in JSON text', `{"key":"${pem('PRIVATE KEY').replaceAll('\n', '\\n')}"}`, '{"key":"[redacted:private-key]"}'],
    ['key without its end', `-----BEGIN PRIVATE KEY-----\nMIIEvQIBADAN`, '[redacted:private-key]'],
    ['two keys', `${pem('PRIVATE KEY')}\n${pem('RSA PRIVATE KEY')}`, '[redacted:private-key]\n[redacted:private-key]'],
    [
      'key without its end before another',
      `-----BEGIN PRIVATE KEY-----\nMII\n${pem('PRIVATE KEY')}`,
      '[redacted:private-key][redacted:private-key]',
    ],
    ['approver key', `key ed25519-private:${'A'.repeat(64)}`, 'key [redacted:approver-key]'],
    [
      'PVE API header',
      `Authorization: PVEAPIToken=ops@pve!banksman=${uuid}`,
      'Authorization: PVEAPIToken=ops@pve!banksman=[redacted:pve-token]',
    ],
    ['PVE token line', `ops@pve!banksman=${uuid}`, 'ops@pve!banksman=[redacted:pve-token]'],
    ['PVE ticket', `PVEAuthCookie=PVE:root@pam:65A1B2C3::${'aB+/'.repeat(10)}==; x`, 'PVEAuthCookie=[redacted:pve-ticket]; x'],
    ['AWS key', 'AKIAIOSFODNN7EXAMPLE', '[redacted:aws-key]'],
    ['GitHub token', `ghp_${'a1'.repeat(18)}`, '[redacted:github-token]'],
    ['GitHub fine-grained', `github_pat_${'a'.repeat(22)}`, '[redacted:github-token]'],
    ['GitLab token', `glpat-${'a'.repeat(20)}`, '[redacted:gitlab-token]'],
    ['Slack token', 'xoxb-1234567890-abc', '[redacted:slack-token]'],
    ['API key', `sk-${'a1'.repeat(10)}`, '[redacted:api-key]'],
    ['JWT', `eyJ${'a'.repeat(10)}.${'b'.repeat(10)}.${'c'.repeat(10)}`, '[redacted:jwt]'],
    ['JWT in a list', `x,eyJ${'a'.repeat(10)}.${'b'.repeat(10)}.${'c'.repeat(9)}-,y`, 'x,[redacted:jwt],y'],
    ['bearer', 'Authorization: bearer qwertyuiopas.mnop~+/=', 'Authorization: bearer [redacted:bearer]'],
    ['basic', 'Authorization: Basic cm9vdDpzZWNyZXQ=', 'Authorization: Basic [redacted:basic-auth]'],
    ['password in a URL', 'postgres://ann:s3cret@db/x', 'postgres://ann:[redacted:url-password]@db/x'],
    ['password with a colon in a URL', 'redis://:a:b@c@db:6379', 'redis://:[redacted:url-password]@db:6379'],
    ['password=', 'mysql --password=hunter22 -u x', 'mysql --password=[redacted:password] -u x'],
    ['password:', 'Password: hunter22', 'Password: [redacted:password]'],
    ['quoted', '{"api_key": "abcd1234"}', '{"api_key": "[redacted:password]"}'],
    ['single-quoted', "passwd='hunter22'", "passwd='[redacted:password]'"],
    ['environment', 'MYSQL_ROOT_PASSWORD=hunter22', 'MYSQL_ROOT_PASSWORD=[redacted:password]'],
    ['AWS secret', 'AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG', 'AWS_SECRET_ACCESS_KEY=[redacted:password]'],
    ['client secret', 'client_secret=abcd1234', 'client_secret=[redacted:password]'],
    ['access token', 'access_token=abcd1234&x=1', 'access_token=[redacted:password]'],
    ['password with brackets', 'password=ab[cd]ef', 'password=[redacted:password]'],
  ])('%s', (_what, text, redacted) => {
    expect(clean(text)).toBe(redacted);
  });

  it.each([
    ['a certificate', pem('CERTIFICATE')],
    ['a public key', pem('PUBLIC KEY')],
    ['a UUID by itself', uuid],
    ['a token id', 'ops@pve!banksman'],
    ['a UPID', 'UPID:pve:0001A2B3:00C4D5E6:65A1B2C3:qmstop:100:ops@pve!banksman:'],
    ['a fingerprint', Array.from({ length: 32 }, () => 'AB').join(':')],
    ['a public SSH key', 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ'],
    ['an approver’s public key', `ed25519:${'A'.repeat(43)}`],
    ['a URL with a port', 'https://10.0.0.1:8006/api2/json'],
    ['a user in a URL', 'ssh://root@pve'],
    ['a short value', 'password=abc'],
    ['prose', 'the password was changed; the secret is out; a token is needed'],
    ['sudoers', 'ann ALL=(ALL) NOPASSWD: ALL'],
    ['a path', '/etc/passwd: Permission denied'],
    ['words like a key', 'sk-learn risk-averse task-force'],
    ['bearer in prose', 'the bearer of news'],
  ])('is not %s', (_what, text) => {
    expect(clean(text)).toBe(text);
  });
});

describe('a secret that this process knows', () => {
  it('is taken out wherever it stands', () => {
    expect(clean('x=3f0c1a9e-77aa-4b0d-9d2e-0123456789ab,3f0c1a9e-77aa-4b0d-9d2e-0123456789ab')).toBe(
      'x=[redacted:known],[redacted:known]',
    );
  });

  it('is not hidden by invisible characters or colours in between', () => {
    expect(clean('3f0c1a9e\u200b-77aa-\u001b[31m4b0d-9d2e-\u00000123456789ab')).toBe('[redacted:known]');
  });

  it('counts from eight characters on, the longest first', () => {
    expect(clean('short abcdefghijkl abcdefghi')).toBe('short [redacted:known] [redacted:known]i');
  });
});

describe('JSON', () => {
  it('keeps its structure; strings are made fit to leave', () => {
    const value = { a: [1, null, true, 'x\u200b', { b: 'password=hunter22' }], c: undefined, d: {} };
    expect(redactJson(value, options)).toEqual({ a: [1, null, true, 'x', { b: 'password=[redacted:password]' }], d: {} });
    expect([5, null, true].map((item) => redactJson(item, options))).toEqual([5, null, true]);
  });

  it.each([
    'password',
    'Passwd',
    'secret',
    'token',
    'api_key',
    'apiKey',
    'privateKey',
    'private-key',
    'cipassword',
    'Authorization',
    'ticket',
    'client_secret',
    'DB_PASSWORD',
    'CSRFPreventionToken',
    'accessToken',
    'root-password',
  ])('the field `%s` is a secret whatever it holds', (key) => {
    expect(redactObject({ [key]: 'x' }, options)).toEqual({ [key]: '[redacted:field]' });
    expect(redactObject({ [key]: 123456 }, options)).toEqual({ [key]: '[redacted:field]' });
    expect(redactObject({ [key]: ['x', 'y'] }, options)).toEqual({ [key]: ['[redacted:field]', '[redacted:field]'] });
  });

  it.each(['tokenid', 'secretary', 'passwords', 'broken', 'tickets', 'keyboard', 'monkey'])('the field `%s` is none', (key) => {
    expect(redactObject({ [key]: 'x' }, options)).toEqual({ [key]: 'x' });
  });

  it('flags, empty values and nested objects under such a name stay readable', () => {
    expect(redactObject({ secret: 1, password: '', token: true, ticket: null, authorization: { user: 'a', token: 'b' } }, options)).toEqual(
      {
        secret: 1,
        password: '',
        token: true,
        ticket: null,
        authorization: { user: 'a', token: '[redacted:field]' },
      },
    );
  });

  it('keys are no way out either', () => {
    expect(redactObject({ [`ghp_${'a1'.repeat(18)}`]: 1, 'a\u202eb': 2 }, options)).toEqual({ '[redacted:github-token]': 1, ab: 2 });
    expect(Object.keys(redactObject(JSON.parse('{"__proto__":{"token":"x"}}'), options))).toEqual(['__proto__']);
  });
});

describe('size', () => {
  it('is capped per string; head and tail survive, and it says how much is missing', () => {
    const text = `${'a'.repeat(500)}${'b'.repeat(500)}`;
    const short = redactText(text, { knownSecrets: [], maxStringLength: 200 });
    expect(short.length).toBeLessThanOrEqual(200);
    expect(short).toMatch(/^a{70}\n\[… 860 characters left out …\]\nb{70}$/);
  });

  it('is cut after the secrets are out, and never through a character', () => {
    const text = `${'x'.repeat(90)}${pem('PRIVATE KEY')}${'😀'.repeat(100)}`;
    const short = redactText(text, { knownSecrets: [], maxStringLength: 201 });
    expect(short).not.toContain('MII');
    expect(short.isWellFormed()).toBe(true);
  });
});
