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
    ['valkey://vault.lan/0', { topology: 'single', replicas: 0, nodes: [{ host: 'vault.lan', port: 6379 }] }],
    ['valkey://vault.lan/0?replicas=2', { topology: 'single', replicas: 2 }],
    [
      'valkeys+sentinel://a.lan,b.lan:26380,[::1]:7/0?master=main&replicas=1&ca=/ca.pem',
      {
        topology: 'sentinel',
        tls: true,
        master: 'main',
        replicas: 1,
        nodes: [
          { host: 'a.lan', port: 26_379 },
          { host: 'b.lan', port: 26_380 },
          { host: '::1', port: 7 },
        ],
        location: 'valkeys+sentinel://a.lan:26379,b.lan:26380,[::1]:7/0?prefix=molis&master=main&replicas=1',
      },
    ],
    ['valkey+cluster://a.lan,b.lan:7001', { topology: 'cluster', prefix: '{molis}', host: 'a.lan', port: 6379 }],
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
    ['valkey://a.lan,b.lan/0', /several servers/],
    ['valkey+sentinel://a.lan/0', /needs `master=NAME`/],
    ['valkey+sentinel://a.lan/0?master=a%20b', /needs `master=NAME`/],
    ['valkey+sentinel://a.lan,,b.lan/0?master=main', /not a URL|no host/],
    ['valkey+sentinel://a.lan,alice:letmein@b.lan/0?master=main', /user name or password/],
    ['valkey+sentinel://a.lan:99999/0?master=main', /not a URL/],
    ['valkey://vault.lan/0?master=main', /only `valkey\+sentinel/],
    ['valkey+cluster://a.lan/0?prefix=molis', /without braces/],
    ['valkey+other://a.lan/0', /must start with/],
    ...['', '-1', '10', '1.5', 'all'].map((replicas) => [`valkey://vault.lan/0?replicas=${replicas}`, /bad `replicas`/] as const),
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
