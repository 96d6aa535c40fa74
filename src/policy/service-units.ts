/**
 * Units that `restart_service` must not touch because restarting them is another, stricter action: `systemctl restart reboot.target`
 * reboots the node (it carries no RefuseManualStart), and restarting a guest's scope or container unit stops that guest. And those that
 * it restarts only when a person agrees, since more hangs on them. Pure.
 */

import { allow, ask, type Decision, deny } from '#kernel/decision';
import { asListed, listed, say } from '#kernel/text/message';
import { splitNames } from '#kernel/text/text';

/** Everything else (scope, slice, target, mount, swap, device …) stops or isolates more than one service. */
const restartableUnit = /\.(?:service|socket|timer|path)$/;

/** systemd.special(7), systemd-halt.service(8), systemd-suspend.service(8), pve-ha-manager's watchdog-mux (stopping it fences the node). */
const powerUnits: ReadonlySet<string> = new Set(
  splitNames(`systemd-reboot systemd-soft-reboot systemd-poweroff systemd-halt
  systemd-kexec systemd-exit systemd-suspend systemd-hibernate systemd-hybrid-sleep systemd-suspend-then-hibernate
  systemd-factory-reset-reboot kexec rescue emergency debug-shell packagekit-offline-update watchdog-mux`),
);

/** pve-manager's pve-guests.service stops every guest of the node, pve-container's template one container. */
const guestUnits: ReadonlySet<string> = new Set(splitNames('pve-guests pve-container pve-container-debug lxc qemu-server libvirt-guests'));

interface RiskyUnits {
  readonly kind: string;
  /** Stems of unit names; `*` at the end stands for any rest. */
  readonly units: readonly string[];
  /** What could be lost, for the person who is asked. */
  readonly loses: string;
}

/** Units on which more hangs than themselves: a person is asked at every security level, and no rule settles it in advance. */
const riskyUnits: readonly RiskyUnits[] = [
  {
    kind: 'network',
    units: splitNames(`frr ifup* ipsec networking networkmanager network-manager nftables openvpn* openvswitch* ovs* strongswan*
      systemd-networkd* tailscaled wg-quick wpa_supplicant zerotier-one`),
    loses: listed('the node and its guests may lose the network, and then nobody reaches the node from here to put it right'),
  },
  {
    kind: 'cluster',
    units: ['corosync*', 'pve-cluster', 'pve-ha-crm', 'pve-ha-lrm'],
    loses: listed('the node may drop out of the cluster: without quorum nothing can be changed, and a node with HA guests is reset'),
  },
  {
    kind: 'storage',
    units: splitNames(`blk-availability dm-event drbd* glusterd iscsi* linstor* lvm* mdadm* mdmonitor* multipath* nfs* nvmet* open-iscsi
      rpc-* rpcbind rtslib-fb-targetctl target zfs*`),
    loses: listed('guests whose disks lie behind it may hang or lose what they are writing'),
  },
  {
    kind: 'ceph',
    units: ['ceph*', 'radosgw'],
    loses: listed('the guests of all nodes may stop at their next disk access until Ceph has recovered'),
  },
  {
    kind: 'containers',
    // Its file system is mounted in every running container; a restart takes it away, only a reload does not.
    units: ['lxcfs'],
    loses: listed('running containers may lose what they read below /proc until each is restarted'),
  },
  {
    kind: 'access',
    units: ['dbus', 'dbus-broker', 'dropbear', 'ssh', 'sshd', 'systemd-logind'],
    loses: listed('this way to the node is gone if it does not come up again'),
  },
];

function riskOf(stem: string): RiskyUnits | undefined {
  return riskyUnits.find(({ units }) => units.some((unit) => (unit.endsWith('*') ? stem.startsWith(unit.slice(0, -1)) : stem === unit)));
}

/** `unit` is the full unit name, suffix included. */
export function decideServiceUnit(unit: string): Decision {
  const name = unit.toLowerCase();
  if (!restartableUnit.test(name)) {
    return deny('unit_not_a_service', say`\`${unit}\` is not a service: restarting it stops or isolates more than that`, [
      'service.unit-kind',
    ]);
  }
  // A template's instances (`pve-container@200.service`) are what the template is.
  const stem = name.replace(restartableUnit, '').split('@', 1)[0] ?? name;
  if (powerUnits.has(stem)) {
    return deny('black_tier', say`restarting \`${unit}\` takes the node down; a person must do it by hand`, [
      'tier:black',
      `service.power:${stem}`,
    ]);
  }
  if (guestUnits.has(stem)) {
    return deny('unit_is_a_guest', say`restarting \`${unit}\` stops guests; use the start, stop and restart tools for guests`, [
      `service.guests:${stem}`,
    ]);
  }
  const risk = riskOf(stem);
  if (risk !== undefined) return ask('risky_unit', say`restarting \`${unit}\`: ${asListed(risk.loses)}`, [`service.${risk.kind}:${stem}`]);
  return allow('service_unit', say`\`${unit}\` is one service`, ['service.unit-kind']);
}

// Unit names (systemd.unit(5)): `docker` means `docker.service`.

const unitSuffix = /\.(?:service|socket|target|timer|path|mount|automount|swap|slice|scope|device)$/;
const anyCaseSuffix = new RegExp(unitSuffix.source, 'i');

/**
 * The full unit name: `.service` is added when there is no unit suffix, as systemctl does. Unit types are lower case: to systemctl `X.SERVICE`
 * would be `X.SERVICE.service`, which nobody means and which would pass for a service whatever type it names.
 */
export function unitName(name: string): string {
  return anyCaseSuffix.test(name) ? name.replace(anyCaseSuffix, (suffix) => suffix.toLowerCase()) : `${name}.service`;
}

/** What protection compares: lower case, without suffix, so that `docker.socket` (which starts docker) counts as docker. */
export function unitStem(name: string): string {
  return name.toLowerCase().replace(unitSuffix, '');
}
