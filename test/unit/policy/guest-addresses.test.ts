import { describe, expect, it } from 'vitest';
import { guestAddresses } from '#policy/resolve-target';

describe('the addresses of a guest', () => {
  it.each([
    [
      'a container',
      { net0: 'name=eth0,bridge=vmbr0,hwaddr=BC:24:11:00:00:01,ip=192.168.1.65/24,gw=192.168.1.1,type=veth' },
      ['192.168.1.65'],
    ],
    ['a cloud-init VM', { ipconfig0: 'ip=192.168.1.65/24,gw=192.168.1.1' }, ['192.168.1.65']],
    ['both families', { ipconfig0: 'ip=10.0.0.1/8,ip6=FD00:0::1/64' }, ['10.0.0.1', 'fd00::1']],
    [
      'several interfaces',
      { net0: 'ip=10.0.0.1/8', net1: 'ip=10.0.0.2/8', ipconfig12: 'ip=10.0.0.3/8' },
      ['10.0.0.1', '10.0.0.2', '10.0.0.3'],
    ],
    ['a mapped spelling', { ipconfig0: 'ip6=::ffff:c0a8:141/128' }, ['192.168.1.65']],
    ['no fixed one', { net0: 'virtio=BC:24:11:00:00:01,bridge=vmbr0', ipconfig0: 'ip=dhcp,ip6=auto', ipconfig1: 'ip=manual' }, []],
    ['not the gateway', { ipconfig0: 'gw=192.168.1.65' }, []],
    ['not what other keys say', { description: 'ip=192.168.1.65', nets: 'ip=192.168.1.65', net: 'ip=192.168.1.65' }, []],
    ['no text', { net0: 5, ipconfig0: null }, []],
  ])('%s', (_what, config, addresses) => {
    expect(guestAddresses(config)).toEqual(addresses);
  });
});
