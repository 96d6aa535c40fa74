import { describe, expect, it } from 'vitest';
import { parseStoreUrl } from '#stores/valkey/store-url';

describe('the store URL', () => {
  it.each([
    ['valkey://vault.lan:6380/0?prefix=team', { host: 'vault.lan', port: 6380, tls: false, prefix: 'team' }],
    ['valkey://vault.lan', { host: 'vault.lan', port: 6379, tls: false, prefix: 'molis' }],
    ['valkeys://10.0.0.5/', { host: '10.0.0.5', port: 6379, tls: true, prefix: 'molis' }],
    ['valkey://[::1]:7000/0', { host: '::1', port: 7000 }],
    ['valkeys://vault.lan/0?prefix={team}', { prefix: '{team}' }],
    [
      'valkeys://vault.lan/0?prefix=%7Bteam%7D&ca=~/ca.pem&credentials=keys.json',
      { prefix: '{team}', caFile: '~/ca.pem', credentialsFile: 'keys.json' },
    ],
  ])('%s is understood', (url, parts) => {
    expect(parseStoreUrl(url)).toMatchObject(parts);
  });

  it('shows where the store is without the names of files', () => {
    const { location } = parseStoreUrl('valkeys://vault.lan:6380/0?credentials=/secret/place&ca=/ca.pem');
    expect(location).toBe('valkeys://vault.lan:6380/0?prefix=molis');
  });

  it.each<readonly [string, RegExp]>([
    ['nonsense', /not a URL/],
    ['redis://vault.lan/0', /must start with/],
    ['valkey:///0', /no host/],
    ['valkey://vault.lan/1', /database 0/],
    ['valkey://vault.lan/00', /database 0/],
    ['valkey://alice@vault.lan/0', /user name or password/],
    ['valkey://alice:letmein@vault.lan/0', /user name or password/],
    ['valkey://vault.lan/0?passwort=letmein', /`passwort`; allowed: prefix, credentials, ca/],
    ['valkey://vault.lan/0?ca=/ca.pem', /no TLS/],
    ['valkey://vault.lan/0?prefix=molis&prefix=team', /`prefix` more than once/],
    ['valkeys://vault.lan/0?ca=/a.pem&prefix=molis&ca=/b.pem', /`ca` more than once/],
    ...['', '*', 'a*b', 'a b', 'a:b', '{a', 'a{b}', '{}', '[a]', 'a\n', 'x'.repeat(65)].map(
      (prefix) => [`valkey://vault.lan/0?prefix=${encodeURIComponent(prefix)}`, /bad `prefix`/] as const,
    ),
  ])('%s is refused', (url, message) => {
    const attempt = () => parseStoreUrl(url);
    expect(attempt).toThrow(message);
    expect(attempt).toThrow(
      expect.objectContaining({ name: 'Fault', code: 'bad_store_url', next: expect.stringContaining('valkey://host') }),
    );
    // A password in the wrong place is not repeated.
    expect(attempt).not.toThrow(/letmein/);
  });
});
