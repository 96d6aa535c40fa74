/** systemd unit names (systemd.unit(5)): `docker` means `docker.service`. */

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
