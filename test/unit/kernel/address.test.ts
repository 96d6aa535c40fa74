import { describe, expect, it } from 'vitest';
import { canonicalAddress } from '#kernel/address';

describe('an IPv4 address', () => {
  it.each([
    ['192.168.1.61', 'plain'],
    [' 192.168.1.61 ', 'with spaces around'],
    ['192.168.1.61.', 'with the root dot'],
    ['192.168.1.61/24', 'with a prefix length'],
    ['0300.0250.01.075', 'in octal'],
    ['192.168.1.075', 'with one octal part'],
    ['0xc0.0xa8.0x1.0x3d', 'in hex parts'],
    ['0xC0A8013D', 'as one hex number'],
    ['3232235837', 'as one decimal number'],
    ['192.168.317', 'in three parts'],
    ['::ffff:192.168.1.61', 'mapped, dotted'],
    ['::ffff:c0a8:13d', 'mapped, in hex'],
    ['::FFFF:C0A8:013D', 'mapped, in capitals'],
    ['0:0:0:0:0:ffff:c0a8:013d', 'mapped, written out'],
    ['[::ffff:192.168.1.61]', 'mapped, in brackets'],
    ['::ffff:192.168.1.61%eth0', 'mapped, with a zone'],
  ])('`%s` (%s) is the one it means', (text) => {
    expect(canonicalAddress(text)).toBe('192.168.1.61');
  });
});

describe('an IPv6 address', () => {
  it.each([
    ['fe80::1', 'fe80::1'],
    ['FE80:0:0:0:0:0:0:1', 'fe80::1'],
    ['fe80::0001%vmbr0', 'fe80::1'],
    ['[fe80::1]', 'fe80::1'],
    ['[fe80::1%25eth0]', 'fe80::1'],
    ['fd00::1/64', 'fd00::1'],
    ['2001:db8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
  ])('`%s` is `%s`', (text, canonical) => {
    expect(canonicalAddress(text)).toBe(canonical);
  });
});

describe('what is no address', () => {
  it.each([
    'pve',
    'agent1',
    'beef',
    'face.cafe',
    '',
    '.',
    '192.168.1.256',
    '192.168.1.61.5',
    '1.2.3.4.5',
    '192.168.1.61:22',
    'user@192.168.1.61',
    'http://192.168.1.61',
    '192.168.1.61 ; reboot',
    ':::',
    '::ffff:192.168.1.999',
    '[',
    '１９２.168.1.61',
    '-1',
  ])('`%s` has no canonical form', (text) => {
    expect(canonicalAddress(text)).toBeUndefined();
  });
});
