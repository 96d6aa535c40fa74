import { describe, expect, it } from 'vitest';
import { createAddressGuard, isLoopback } from '../../../../../src/hosts/mcp/http/gatekeeper.ts';

const guard = (boundHost: string, allowedHosts: readonly string[] = [], allowedOrigins: readonly string[] = []) =>
  createAddressGuard({ boundHost, allowedHosts, allowedOrigins });
const host = (value: string) => ['Host', value];

describe('hosts', () => {
  it('the address that it listens on is its own, but an unspecified one is nobody’s', () => {
    expect(guard('192.0.2.7').isOwnHost(host('192.0.2.7:8443'))).toBe(true);
    expect(guard('2001:db8::7').isOwnHost(host('[2001:db8::7]:8443'))).toBe(true);
    expect(guard('0.0.0.0').isOwnHost(host('0.0.0.0'))).toBe(false);
    expect(guard('::').isOwnHost(host('[::]'))).toBe(false);
    expect(guard('127.0.0.1').isOwnHost(host('192.0.2.7'))).toBe(false);
  });

  it('none, two, or an empty one is refused', () => {
    expect(guard('127.0.0.1').isOwnHost([])).toBe(false);
    expect(guard('127.0.0.1').isOwnHost(['Host', 'localhost', 'host', 'localhost'])).toBe(false);
    expect(guard('127.0.0.1').isOwnHost(host(''))).toBe(false);
  });

  it('a header’s value that looks like a name does not count as one', () => {
    expect(guard('127.0.0.1').isOwnHost(['X-Note', 'Host', 'Accept', 'localhost'])).toBe(false);
  });
});

describe('origins', () => {
  it('without one it is no browser; its own needs the same scheme and port', () => {
    const own = guard('127.0.0.1');
    expect(own.isAllowedOrigin({ host: 'localhost:1' }, 'http')).toBe(true);
    expect(own.isAllowedOrigin({ host: 'localhost:1', origin: 'http://localhost:1' }, 'http')).toBe(true);
    expect(own.isAllowedOrigin({ host: 'localhost:1', origin: 'http://localhost:1' }, 'https')).toBe(false);
    expect(own.isAllowedOrigin({ host: 'localhost:1', origin: 'http://localhost:2' }, 'http')).toBe(false);
    expect(own.isAllowedOrigin({ origin: 'http://' }, 'http')).toBe(false);
  });
});

describe('loopback', () => {
  it.each(['127.0.0.1', '127.9.9.9', '::1', 'localhost', '::ffff:127.0.0.1', '0:0:0:0:0:0:0:1'])('%s is', (address) => {
    expect(isLoopback(address)).toBe(true);
  });
  it.each(['0.0.0.0', '::', '128.0.0.1', '10.0.0.1', 'example.com', '127.0.0.1.nip.io', ''])('%s is not', (address) => {
    expect(isLoopback(address)).toBe(false);
  });
});
