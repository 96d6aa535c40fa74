import { describe, expect, it } from 'vitest';
import { magicPacket } from '#connectors/wake-on-lan/create-waker';

describe('magicPacket', () => {
  it('is 6 × FF and 16 × the address', () => {
    const packet = magicPacket('01:23:45:67:89:ab');
    expect(packet).toHaveLength(102);
    expect(packet.toString('hex')).toBe('f'.repeat(12) + '0123456789ab'.repeat(16));
  });

  it('takes hyphens and capitals', () => {
    expect(magicPacket('01-23-45-67-89-AB')).toEqual(magicPacket('01:23:45:67:89:ab'));
  });

  it.each(['', 'pve', '01:23:45:67:89', '01:23:45:67:89:ab:cd', '01:23:45:67:89:ag'])('refuses %j', (mac) => {
    expect(() => magicPacket(mac)).toThrow(TypeError);
  });
});
