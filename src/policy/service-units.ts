/**
 * Units that `restart_service` must not touch because restarting them is another, stricter action: `systemctl restart reboot.target`
 * reboots the node (it carries no RefuseManualStart), and restarting a guest's scope or container unit stops that guest. Pure.
 */
import { allow, type Decision, deny } from '#kernel/decision';

/** Everything else (scope, slice, target, mount, swap, device …) stops or isolates more than one service. */
const restartableUnit = /\.(?:service|socket|timer|path)$/;

/** systemd.special(7), systemd-halt.service(8), systemd-suspend.service(8), pve-ha-manager's watchdog-mux (stopping it fences the node). */
const powerUnits: ReadonlySet<string> = new Set([
  'systemd-reboot',
  'systemd-soft-reboot',
  'systemd-poweroff',
  'systemd-halt',
  'systemd-kexec',
  'systemd-exit',
  'systemd-suspend',
  'systemd-hibernate',
  'systemd-hybrid-sleep',
  'systemd-suspend-then-hibernate',
  'systemd-factory-reset-reboot',
  'kexec',
  'rescue',
  'emergency',
  'debug-shell',
  'packagekit-offline-update',
  'watchdog-mux',
]);

/** pve-manager's pve-guests.service stops every guest of the node, pve-container's template one container. */
const guestUnits: ReadonlySet<string> = new Set([
  'pve-guests',
  'pve-container',
  'pve-container-debug',
  'lxc',
  'qemu-server',
  'libvirt-guests',
]);

/** `unit` is the full unit name, suffix included. */
export function decideServiceUnit(unit: string): Decision {
  const name = unit.toLowerCase();
  if (!restartableUnit.test(name)) {
    return deny('unit_not_a_service', `\`${unit}\` is not a service: restarting it stops or isolates more than that`, [
      'service.unit-kind',
    ]);
  }
  // A template's instances (`pve-container@200.service`) are what the template is.
  const stem = name.replace(restartableUnit, '').split('@', 1)[0] ?? name;
  if (powerUnits.has(stem)) {
    return deny('black_tier', `restarting \`${unit}\` takes the node down; a person must do it by hand`, [
      'tier:black',
      `service.power:${stem}`,
    ]);
  }
  if (guestUnits.has(stem)) {
    return deny('unit_is_a_guest', `restarting \`${unit}\` stops guests; use the start, stop and restart tools for guests`, [
      `service.guests:${stem}`,
    ]);
  }
  return allow('service_unit', `\`${unit}\` is one service`, ['service.unit-kind']);
}
