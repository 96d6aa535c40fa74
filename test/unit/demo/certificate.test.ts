import { createPrivateKey, X509Certificate } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { bitString, createAuthority, integer, octetString, oid, sequence, time, utf8 } from '#demo/certificate';

const hex = (bytes: Buffer) => bytes.toString('hex');

describe('DER', () => {
  it('writes lengths in the short and the long form', () => {
    expect(hex(octetString(Buffer.alloc(127))).slice(0, 4)).toBe('047f');
    expect(hex(octetString(Buffer.alloc(128))).slice(0, 6)).toBe('048180');
    expect(hex(octetString(Buffer.alloc(65_536))).slice(0, 10)).toBe('0483010000');
  });

  it('writes values as X.690 has them', () => {
    expect(hex(oid('1.2.840.10045.4.3.2'))).toBe('06082a8648ce3d040302');
    expect(hex(oid('2.5.29.17'))).toBe('0603551d11');
    expect(hex(integer(Buffer.from([0x80])))).toBe('02020080');
    expect(hex(integer(Buffer.from([0x7f])))).toBe('02017f');
    expect(hex(bitString(Buffer.from([0x80]), 7))).toBe('03020780');
    expect(hex(utf8('ä'))).toBe('0c02c3a4');
    expect(
      time(new Date(Date.UTC(2026, 0, 2, 3, 4, 5)))
        .subarray(2)
        .toString(),
    ).toBe('20260102030405Z');
    expect(hex(sequence())).toBe('3000');
  });
});

describe('a certificate', () => {
  const now = Date.UTC(2026, 10, 21);
  const authority = createAuthority('Proxmox Virtual Environment demo', now);
  const issued = authority.issue('pve', ['localhost', 'pve'], ['127.0.0.1', '192.168.1.60']);
  const certificate = new X509Certificate(issued.certificatePem);
  const root = new X509Certificate(authority.certificatePem);

  it('is the node’s, by the authority, and has its key', () => {
    expect([certificate.subject, certificate.issuer]).toEqual(['CN=pve', 'CN=Proxmox Virtual Environment demo']);
    expect([certificate.verify(root.publicKey), root.verify(root.publicKey), certificate.checkIssued(root)]).toEqual([true, true, true]);
    expect([root.ca, certificate.ca]).toEqual([true, false]);
    expect(certificate.checkPrivateKey(createPrivateKey(issued.privateKeyPem))).toBe(true);
    expect(issued.fingerprint).toBe(certificate.fingerprint256);
    expect(issued.fingerprint).toMatch(/^(?:[0-9A-F]{2}:){31}[0-9A-F]{2}$/);
  });

  it('is good for its names and addresses, and its time', () => {
    expect([certificate.checkHost('localhost'), certificate.checkHost('pve'), certificate.checkHost('Home')]).toEqual([
      'localhost',
      'pve',
      undefined,
    ]);
    expect([certificate.checkIP('127.0.0.1'), certificate.checkIP('192.168.1.60'), certificate.checkIP('127.0.0.2')]).toEqual([
      '127.0.0.1',
      '192.168.1.60',
      undefined,
    ]);
    expect(certificate.validFromDate.getTime()).toBe(now - 86_400_000);
    expect(certificate.validToDate.getTime()).toBe(now + 3650 * 86_400_000);
  });

  it('is another each time, with a positive serial number of sixteen bytes', () => {
    const serials = Array.from(
      { length: 50 },
      () => new X509Certificate(authority.issue('pve', [], ['127.0.0.1']).certificatePem).serialNumber,
    );
    expect(new Set(serials).size).toBe(50);
    expect(serials.every((serial) => /^[4-7][0-9A-F]{31}$/.test(serial))).toBe(true);
  });
});
