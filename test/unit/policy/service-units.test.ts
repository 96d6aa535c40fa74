import { describe, expect, it } from 'vitest';
import { decideServiceUnit, unitName, unitStem } from '#policy/service-units';

describe('a unit name', () => {
  it.each([
    ['docker', 'docker.service', 'docker'],
    ['docker.service', 'docker.service', 'docker'],
    ['docker.socket', 'docker.socket', 'docker'],
    ['Docker', 'Docker.service', 'docker'],
    ['DOCKER.SERVICE', 'DOCKER.service', 'docker'],
    ['DOCKER.Socket', 'DOCKER.socket', 'docker'],
    ['docker.service.service', 'docker.service.service', 'docker.service'],
    ['getty@tty1', 'getty@tty1.service', 'getty@tty1'],
    ['my.app', 'my.app.service', 'my.app'],
  ])('`%s` means `%s`', (name, full, stem) => {
    expect(unitName(name)).toBe(full);
    expect(unitStem(unitName(name))).toBe(stem);
  });
});

describe('restarting one unit', () => {
  it.each([
    'nginx',
    'docker',
    'docker.socket',
    'pvedaemon',
    'pve-firewall',
    'fstrim.timer',
    'getty@tty1',
    'cups.path',
    'ceres',
    'networks',
  ])('`%s` is restarting one service', (name) => {
    expect(decideServiceUnit(unitName(name)).effect).toBe('allow');
  });

  it.each([
    [
      'network',
      [
        'networking',
        'ifupdown2',
        'ifup@eth0',
        'systemd-networkd',
        'openvswitch-switch',
        'frr',
        'wg-quick@wg0',
        'NetworkManager',
        'tailscaled',
        'zerotier-one',
        'strongswan-starter',
        'ipsec',
      ],
    ],
    ['cluster', ['corosync', 'Corosync.service', 'corosync-qdevice', 'pve-cluster', 'pve-ha-lrm', 'pve-ha-crm']],
    [
      'storage',
      [
        'zfs-zed',
        'zfs-import-cache',
        'lvm2-monitor',
        'iscsid',
        'iscsid.socket',
        'open-iscsi',
        'multipathd',
        'nfs-server',
        'rpcbind',
        'nvmet',
        'target',
      ],
    ],
    ['ceph', ['ceph-osd@3', 'ceph-mon@pve', 'ceph', 'ceph-mgr@pve.service']],
    ['containers', ['lxcfs']],
    ['access', ['ssh', 'sshd', 'ssh.socket', 'dbus']],
  ] as const)('of the %s asks a person, and says what could be lost', (kind, names) => {
    for (const name of names) {
      const decision = decideServiceUnit(unitName(name));
      expect(decision, name).toMatchObject({ effect: 'ask', code: 'risky_unit', rules: [expect.stringMatching(`^service\\.${kind}:`)] });
      expect(decision.reason, name).toMatch(/ (?:may|is gone) /);
    }
  });

  it.each([
    'reboot.target',
    'REBOOT.TARGET',
    'poweroff.target',
    'halt.target',
    'kexec.target',
    'ctrl-alt-del.target',
    'runlevel6.target',
    'rescue.target',
    'emergency.target',
    'sleep.target',
    'multi-user.target',
    'default.target',
    'system.slice',
    'qemu.slice',
    '100.scope',
    'init.scope',
    'var-lib-vz.mount',
    'dev-pve-swap.swap',
    'mnt.automount',
    'sys-x.device',
  ])('`%s` is no service', (name) => {
    expect(decideServiceUnit(unitName(name))).toMatchObject({ effect: 'deny', code: 'unit_not_a_service' });
  });

  it.each([
    'systemd-reboot',
    'systemd-reboot.service',
    'Systemd-Reboot',
    'systemd-poweroff',
    'systemd-halt',
    'systemd-kexec',
    'systemd-soft-reboot',
    'systemd-exit',
    'systemd-suspend',
    'systemd-hibernate',
    'systemd-hybrid-sleep',
    'systemd-suspend-then-hibernate',
    'kexec',
    'rescue',
    'emergency',
    'debug-shell',
    'watchdog-mux',
    'systemd-reboot@x',
  ])('`%s` is what reboot_node is: black', (name) => {
    expect(decideServiceUnit(unitName(name))).toMatchObject({ effect: 'deny', code: 'black_tier' });
  });

  it.each(['pve-guests', 'pve-container@200', 'pve-container@200.service', 'pve-container-debug@200', 'lxc@200', 'lxc', 'PVE-Guests'])(
    '`%s` is what the red guest tools are for',
    (name) => {
      expect(decideServiceUnit(unitName(name))).toMatchObject({ effect: 'deny', code: 'unit_is_a_guest' });
    },
  );
});
