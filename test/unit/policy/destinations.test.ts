import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { matchesDestination, parseDestination } from '../../../src/policy/destinations.ts';

function matches(pattern: string, text: string): boolean {
  const destination = parseDestination(text);
  return destination !== undefined && matchesDestination(pattern, destination);
}

describe('parseDestination', () => {
  it.each([
    ['api.slack.com', { host: 'api.slack.com' }],
    ['API.Slack.COM.', { host: 'api.slack.com' }],
    ['https://api.slack.com/x?y#z', { host: 'api.slack.com' }],
    ['https://api.slack.com:8443/x', { host: 'api.slack.com', port: 8443 }],
    ['api.slack.com:443', { host: 'api.slack.com', port: 443 }],
    ['bücher.example', { host: 'xn--bcher-kva.example' }],
    ['BÜCHER.example', { host: 'xn--bcher-kva.example' }],
    ['ｓｌａｃｋ.com', { host: 'slack.com' }],
    ['slack。com', { host: 'slack.com' }],
    ['10.0.0.1:22', { host: '10.0.0.1', port: 22 }],
    ['0x0a000001', { host: '10.0.0.1' }],
    ['2001:DB8::1', { host: '[2001:db8::1]' }],
    ['ssh://host/x', { host: 'host' }],
  ])('%s', (text, expected) => {
    expect(parseDestination(text)).toEqual(expected);
  });

  it.each([
    '',
    ' ',
    'a b',
    'user@host',
    'https://slack.com@evil.net/',
    'https://user:pw@slack.com',
    'slack.com\\@evil.net',
    '.slack.com',
    'a..b',
    'http://',
    '-a.com',
    'a_b-.com',
    'x'.repeat(3_000),
    'host:99999',
    'sla%2fck.com',
  ])('refuses %s', (text) => {
    expect(parseDestination(text)).toBeUndefined();
  });
});

describe('matchesDestination', () => {
  it.each([
    ['.slack.com', 'slack.com'],
    ['.slack.com', 'api.slack.com'],
    ['.slack.com', 'a.b.slack.com.'],
    ['.SLACK.com', 'https://API.slack.COM:8443/'],
    ['.bücher.example', 'www.xn--bcher-kva.example'],
    ['slack.com', 'slack.com:443'],
    ['slack.com:8443', 'https://slack.com:8443'],
    ['10.0.0.1', 'http://10.0.0.1/'],
  ])('%s covers %s', (pattern, text) => {
    expect(matches(pattern, text)).toBe(true);
  });

  it.each([
    ['.slack.com', 'notslack.com'],
    ['.api.slack.com', 'notapi.slack.com'],
    ['.slack.com', 'evil-api.slack.com.attacker.net'],
    ['.slack.com', 'https://attacker.net/slack.com'],
    ['.slack.com', 'https://attacker.net?.slack.com'],
    ['.slack.com', 'https://slack.com@attacker.net/'],
    ['.slack.com', 'slаck.com'],
    ['slack.com', 'api.slack.com'],
    ['slack.com:443', 'slack.com'],
    ['slack.com:443', 'slack.com:8443'],
    ['.0.0.1', '10.0.0.1'],
    ['.com', 'com.attacker.net'],
    ['.', 'slack.com'],
    ['', 'slack.com'],
    ['*.slack.com', 'api.slack.com'],
  ])('%s does not cover %s', (pattern, text) => {
    expect(matches(pattern, text)).toBe(false);
  });

  it('covers a host below a domain exactly when the labels say so', () => {
    const label = fc.stringMatching(/^[a-z][a-z0-9]{0,8}$/);
    fc.assert(
      fc.property(fc.array(label, { minLength: 1, maxLength: 4 }), fc.array(label, { minLength: 1, maxLength: 4 }), (domain, host) => {
        const below = host.length >= domain.length && host.slice(-domain.length).join('.') === domain.join('.');
        expect(matches(`.${domain.join('.')}`, host.join('.'))).toBe(below);
        expect(matches(`.${domain.join('.')}`, [...host, ...domain].join('.'))).toBe(true);
        expect(matches(`.${domain.join('.')}`, `x${domain.join('.')}`)).toBe(false);
      }),
    );
  });
});
