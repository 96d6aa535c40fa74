import { createHmac, randomBytes } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hostKeyType, knownHostName, lookUpHost, parseKnownHosts } from '#connectors/ssh/known-hosts';

/** A key of the given type in wire form, as base64; `filler` tells keys apart. */
function key(type: string, filler = 'x'): string {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(type.length);
  return Buffer.concat([length, Buffer.from(type), Buffer.from(filler.repeat(32))]).toString('base64');
}
const ed = key('ssh-ed25519');

function hashed(name: string): string {
  const salt = randomBytes(20);
  return `|1|${salt.toString('base64')}|${createHmac('sha1', salt).update(name).digest('base64')}`;
}

/** How many keys the file trusts for the host. */
function trusted(text: string, host: string, port = 22): number {
  return lookUpHost(parseKnownHosts(text), host, port).trusted.length;
}

describe('names', () => {
  it.each([
    ['pve', 'pve', 22, 1],
    ['pve', 'pve2', 22, 0],
    ['PVE.Lan', 'pve.lan', 22, 1],
    ['pve.lan', 'PVE.LAN', 22, 1],
    ['pve,10.0.0.12', '10.0.0.12', 22, 1],
    ['pve', 'pve', 2222, 0],
    ['[pve]:2222', 'pve', 2222, 1],
    ['[pve]:2222', 'pve', 22, 0],
    ['[pve]:2222', 'pve', 222, 0],
    ['[10.0.0.12]:2222,pve', '10.0.0.12', 2222, 1],
    ['[fe80::1]:2222', 'fe80::1', 2222, 1],
    ['fe80::1', 'fe80::1', 22, 1],
    ['*', 'anything', 22, 1],
    ['*.lan', 'pve.lan', 22, 1],
    ['*.lan', 'pve.lan.evil', 22, 0],
    ['*.lan', 'pve.lan', 2222, 0],
    ['[*.lan]:2222', 'pve.lan', 2222, 1],
    ['10.0.0.?', '10.0.0.7', 22, 1],
    ['10.0.0.?', '10.0.0.77', 22, 0],
    ['*.lan,!bad.lan', 'bad.lan', 22, 0],
    ['*.lan,!bad.lan', 'good.lan', 22, 1],
    ['!bad.lan,*.lan', 'bad.lan', 22, 0],
    ['!bad.lan', 'good.lan', 22, 0],
    ['p.e', 'pve', 22, 0],
  ])('%s for %s:%d: %d', (patterns, host, port, count) => {
    expect(trusted(`${patterns} ssh-ed25519 ${ed}`, host, port)).toBe(count);
  });

  it('are written with their port away from 22', () => {
    expect([knownHostName('PVE', 22), knownHostName('PVE', 2222), knownHostName('::1', 2222)]).toEqual(['pve', '[pve]:2222', '[::1]:2222']);
  });

  it('may be hashed', () => {
    const text = `${hashed('pve')} ssh-ed25519 ${ed}\n${hashed('[pve]:2222')} ssh-ed25519 ${ed}`;
    expect([
      trusted(text, 'pve'),
      trusted(text, 'PVE'),
      trusted(text, 'pve', 2222),
      trusted(text, 'pve', 2223),
      trusted(text, 'other'),
    ]).toEqual([1, 1, 1, 0, 0]);
  });

  it.each(['|1|', '|1|x', '|1|AAAA|', '|1||AAAA', '|2|AAAA|AAAA', '|1|AAAA|AAAA|AAAA', '|', '|1|!!!!|????'])(
    'that are hashed wrongly match nothing: %s',
    (pattern) => {
      expect(trusted(`${pattern} ssh-ed25519 ${ed}`, 'pve')).toBe(0);
    },
  );

  it('cannot make matching slow', () => {
    const pattern = `${'*a'.repeat(2000)}b`;
    expect(trusted(`${pattern} ssh-ed25519 ${ed}`, 'a'.repeat(2000))).toBe(0);
  });

  it('with wildcards match as a regular expression would', () => {
    const name = fc.array(fc.constantFrom('a', 'b', '.'), { maxLength: 8 }).map((parts) => parts.join(''));
    const glob = fc.array(fc.constantFrom('a', 'b', '.', '*', '?'), { minLength: 1, maxLength: 8 }).map((parts) => parts.join(''));
    fc.assert(
      fc.property(glob, name, (pattern, host) => {
        const expected = new RegExp(`^${pattern.replaceAll('.', '\\.').replaceAll('*', '.*').replaceAll('?', '.')}$`).test(host);
        return (trusted(`${pattern} ssh-ed25519 ${ed}`, host) === 1) === expected;
      }),
      { numRuns: 2000 },
    );
  });
});

describe('lines', () => {
  it.each([
    ['comments', `# pve ssh-ed25519 ${ed}`, 0],
    ['comments after blanks', `   # pve ssh-ed25519 ${ed}`, 0],
    ['Windows line ends', `pve ssh-ed25519 ${ed}\r\n\r\n`, 1],
    ['tabs and more blanks', `\tpve \t ssh-ed25519\t${ed}  `, 1],
    ['a comment at the end', `pve ssh-ed25519 ${ed} root@pve with spaces`, 1],
    ['several keys', `pve ssh-ed25519 ${ed}\npve ssh-rsa ${key('ssh-rsa')}\npve ssh-ed25519 ${key('ssh-ed25519', 'y')}`, 3],
    ['no key', 'pve ssh-ed25519', 0],
    ['only a name', 'pve', 0],
    ['a key that is no base64', 'pve ssh-ed25519 !!!!', 0],
    ['a key of another type than said', `pve ssh-rsa ${ed}`, 0],
    ['a key that is cut off', `pve ssh-ed25519 ${ed.slice(0, 8)}`, 0],
    ['ssh 1', 'pve 1024 35 1234567890', 0],
    ['an unknown marker', `@friendly pve ssh-ed25519 ${ed}`, 0],
    ['a marker and nothing', '@revoked', 0],
    ['binary rubbish', '\0\u0001\ufffd ssh-ed25519 \0', 0],
    ['an empty file', '', 0],
  ])('%s', (_what, text, count) => {
    expect(trusted(text, 'pve')).toBe(count);
  });

  it('never make the parser throw', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (text) => Array.isArray(parseKnownHosts(text))));
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('@revoked', '@cert-authority', '*', '|1|', ',', '!', ' ', '\n', 'ssh-rsa', ed, '[', ']:22')),
        (parts) => Array.isArray(lookUpHost(parseKnownHosts(parts.join('')), 'pve', 22).trusted),
      ),
    );
  });
});

describe('markers', () => {
  const text = `pve ssh-ed25519 ${ed}\n@revoked * ssh-ed25519 ${key('ssh-ed25519', 'r')}\n@cert-authority *.lan ssh-rsa ${key('ssh-rsa')}`;

  it('keep revoked keys and authorities from being trusted', () => {
    const known = lookUpHost(parseKnownHosts(text), 'pve', 22);
    expect([known.trusted.length, known.revoked.length, known.hasAuthority]).toEqual([1, 1, false]);
    const other = lookUpHost(parseKnownHosts(text), 'x.lan', 22);
    expect([other.trusted.length, other.revoked.length, other.hasAuthority]).toEqual([0, 1, true]);
  });
});

describe('hostKeyType', () => {
  it('reads the name a key starts with', () => {
    expect(hostKeyType(Buffer.from(ed, 'base64'))).toBe('ssh-ed25519');
  });

  it.each([Buffer.alloc(0), Buffer.from([0, 0, 0]), Buffer.from([0, 0, 0, 9, 1]), Buffer.from([255, 255, 255, 255, 1]), Buffer.alloc(8)])(
    'does not read %j',
    (buffer) => {
      expect(hostKeyType(buffer)).toBeUndefined();
    },
  );
});
