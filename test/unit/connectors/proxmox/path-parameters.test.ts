import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { actionSegment, guestTypeSegment, nodeSegment, storageSegment, vmidSegment } from '#connectors/proxmox/path-parameters';
import { canonicalAddress } from '#kernel/address';

const refused = expect.objectContaining({ code: 'bad_target', audience: 'user' }) as Error;

describe('nodeSegment', () => {
  it.each(['pve', 'Home', 'agent1', 'node-01', 'my_node', 'a', 'A9', 'face', 'deadbeef-1'])('takes `%s`', (node) => {
    expect(nodeSegment(node)).toBe(node);
  });

  it.each([
    'localhost',
    'LOCALHOST',
    '127.0.0.1',
    '10.77.0.11',
    '2130706433',
    '0x7f000001',
    '0X7F000001',
    '017700000001',
    '1',
    '::1',
    'fe80::1%eth0',
    'pve.lan',
    'pve/qemu/103',
    'pve%2fqemu%2f103',
    'pve\\qemu',
    '..',
    '.',
    '',
    ' pve',
    'pve\n',
    'pve\0',
    '-pve',
    'pve-',
    'pvé',
    'ｐｖｅ',
    'x'.repeat(64),
  ])('refuses %j', (node) => {
    expect(() => nodeSegment(node)).toThrow(refused);
  });

  it('lets nothing through that would need encoding, or that is an address', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'grapheme' }), fc.ipV4(), fc.ipV6(), fc.nat().map(String)), (node) => {
        let taken: string;
        try {
          taken = nodeSegment(node);
        } catch {
          return true;
        }
        return encodeURIComponent(taken) === taken && canonicalAddress(taken) === undefined && taken.toLowerCase() !== 'localhost';
      }),
    );
  });

  it('keeps a message about bytes on one line of ASCII', () => {
    expect(() => nodeSegment('a\u202eb\n\u001b[31m')).toThrow(/^`a\?b\?\?\[31m` is not a node name$/);
  });
});

describe('vmidSegment', () => {
  it.each([100, 103, 999_999_999])('takes %d', (vmid) => {
    expect(vmidSegment(vmid)).toBe(String(vmid));
  });

  it.each([99, 0, -100, 1_000_000_000, 100.5, Number.NaN, Number.POSITIVE_INFINITY, 1e21, '100' as unknown as number])(
    'refuses %s',
    (vmid) => {
      expect(() => vmidSegment(vmid)).toThrow(refused);
    },
  );
});

describe('the other segments', () => {
  it.each(['local', 'nas', 'local-lvm', 'ceph.rbd_1', 'a1'])('storage `%s` is taken', (storage) => {
    expect(storageSegment(storage)).toBe(storage);
  });

  it.each(['', 'x', '1st', 'a/b', 'a%2fb', '../x', 'a b', 'a-', `a${'b'.repeat(100)}`])('storage %j is refused', (storage) => {
    expect(() => storageSegment(storage)).toThrow(refused);
  });

  it('a guest is `qemu` or `lxc`', () => {
    expect(guestTypeSegment('lxc')).toBe('lxc');
    expect(() => guestTypeSegment('openvz' as 'lxc')).toThrow(refused);
  });

  it('an action is one that is offered', () => {
    expect(actionSegment('reboot')).toBe('reboot');
    expect(() => actionSegment('template' as 'stop')).toThrow(refused);
    expect(() => actionSegment('toString' as 'stop')).toThrow(refused);
  });
});
