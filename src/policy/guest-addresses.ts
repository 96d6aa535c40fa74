/** The IP addresses a guest's configuration gives it. Pure; the configuration comes from `GET /nodes/{node}/{qemu,lxc}/{vmid}/config`. */
import { canonicalAddress } from '#kernel/address';
import type { JsonObject } from '#kernel/json';

/** `net0` of a container and `ipconfig0` of a cloud-init VM: `…,ip=192.168.1.65/24,ip6=fd00::1/64,…`. `dhcp`, `auto` and `manual` say nothing. */
export function guestAddresses(config: JsonObject): readonly string[] {
  const addresses = Object.entries(config)
    .filter(([key]) => /^(?:net|ipconfig)\d+$/.test(key))
    .flatMap(([, value]) => (typeof value === 'string' ? value.split(',') : []))
    .map((part) => /^ip6?=(.+)$/.exec(part.trim())?.[1])
    .map((text) => (text === undefined ? undefined : canonicalAddress(text)));
  return addresses.filter((address) => address !== undefined);
}
