/** What a person would probably want protected before agents touch anything: what others depend on, and what this program runs on. Pure. */
import { canonicalAddress } from '#kernel/address';
import type { RadiusFacts, RadiusGuest } from './blast-radius.ts';

export interface Suggestion {
  readonly kind: 'guest' | 'node';
  /** The guest's number, or the node's name. */
  readonly name: string;
  /** For people: `is the gateway of 3 guests`. */
  readonly why: string;
}

/** Names that people give to what everything else goes through. */
const telling = /(?:^|[-_.])(?:gateway|gw|router|firewall|opnsense|pfsense|dns|pihole|adguard|vpn|wireguard)\d*(?:$|[-_.])/i;

/**
 * @param own addresses of this machine
 * @param nameOf a guest's name, where it is known
 */
export function suggestProtection(
  facts: RadiusFacts,
  own: readonly string[],
  nameOf: (vmid: number) => string | undefined,
): readonly Suggestion[] {
  const mine = new Set(own.map(canonicalAddress).filter((address) => address !== undefined));
  const guests = facts.guests.flatMap((guest): Suggestion[] => {
    const whys = [
      ...roles(guest.addresses, guest, facts, mine),
      ...(telling.test(nameOf(guest.vmid) ?? '') ? ['is named as one that others depend on'] : []),
    ];
    return whys.length === 0 ? [] : [{ kind: 'guest', name: String(guest.vmid), why: whys.join(', ') }];
  });
  const nodes = facts.nodes.flatMap((node): Suggestion[] => {
    const whys = roles(node.addresses, undefined, facts, mine);
    return whys.length === 0 ? [] : [{ kind: 'node', name: node.node, why: whys.join(', ') }];
  });
  return [...guests.toSorted((a, b) => Number(a.name) - Number(b.name)), ...nodes];
}

function roles(
  addresses: readonly string[],
  self: RadiusGuest | undefined,
  facts: RadiusFacts,
  mine: ReadonlySet<string>,
): readonly string[] {
  const serves = (named: readonly string[]) => named.some((address) => addresses.includes(address));
  const others = facts.guests.filter(({ vmid }) => vmid !== self?.vmid);
  const gateway = others.filter(({ gateways }) => serves(gateways)).length;
  const dns = others.filter(({ resolvers }) => serves(resolvers)).length;
  const storages = facts.storages.filter(({ servers }) => serves(servers)).map(({ storage }) => `\`${storage}\``);
  return [
    ...(addresses.some((address) => mine.has(address)) ? ['is the machine that this runs on'] : []),
    ...(gateway === 0 ? [] : [`is the gateway of ${guestsInWords(gateway)}`]),
    ...(dns === 0 ? [] : [`is a DNS server of ${guestsInWords(dns)}`]),
    ...(storages.length === 0 ? [] : [`serves the storage ${storages.join(', ')}`]),
  ];
}

function guestsInWords(count: number): string {
  return count === 1 ? '1 guest' : `${count} guests`;
}
