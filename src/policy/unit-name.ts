/** systemd unit names (systemd.unit(5)): `docker` means `docker.service`. */

const unitSuffix = /\.(?:service|socket|target|timer|path|mount|automount|swap|slice|scope|device)$/;

/** The full unit name: `.service` is added when there is no unit suffix, as systemctl does. */
export function unitName(name: string): string {
  return unitSuffix.test(name) ? name : `${name}.service`;
}

/** What protection compares: lower case, without suffix, so that `docker.socket` (which starts docker) counts as docker. */
export function unitStem(name: string): string {
  return name.toLowerCase().replace(unitSuffix, '');
}
