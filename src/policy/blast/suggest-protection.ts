/** What a person would probably want protected before agents touch anything: what others depend on, and what this program runs on. Pure. */

import { canonicalAddress } from '#kernel/address';
import { joined, type Message, plural, say } from '#kernel/text/message';
import type { RadiusFacts, RadiusGuest } from './blast-radius.ts';

export interface Suggestion {
  readonly kind: 'guest' | 'node';
  /** The guest's number, or the node's name. */
  readonly name: string;
  /** For people: `is the gateway of 3 guests`. */
  readonly why: Message;
}

/** Names that people give to what everything else goes through. */
const telling = /(?:^|[-_.])(?:gateway|gw|router|firewall|opnsense|pfsense|dns|pihole|adguard|vpn|wireguard)\d*(?:$|[-_.])/i;

/** The machine that this program runs on. */
export interface OwnMachine {
  readonly addresses: readonly string[];
  /** What it calls itself, without a domain; empty where that tells nothing. */
  readonly name: string;
  /** Of systemd's `machine-id` and of its firmware, 32 hex digits each: a VM's system takes the former from the latter at its first start. */
  readonly ids: readonly string[];
}

/** @param nameOf a guest's name, where it is known */
export function suggestProtection(
  facts: RadiusFacts,
  own: OwnMachine,
  nameOf: (vmid: number) => string | undefined,
): readonly Suggestion[] {
  const addresses = new Set(own.addresses.map(canonicalAddress).filter((address) => address !== undefined));
  const isMine = (there: readonly string[], name: string | undefined, uuid?: string) =>
    ownWords(own, { isAt: there.some((one) => addresses.has(one)), name, uuid });
  const guests = facts.guests.flatMap((guest): Suggestion[] => {
    const whys = [
      ...isMine(guest.addresses, nameOf(guest.vmid), guest.uuid),
      ...roles(guest.addresses, guest, facts),
      ...(telling.test(nameOf(guest.vmid) ?? '') ? [say`is named as one that others depend on`] : []),
    ];
    return whys.length === 0 ? [] : [{ kind: 'guest', name: String(guest.vmid), why: joined(whys) }];
  });
  const nodes = facts.nodes.flatMap((node): Suggestion[] => {
    const whys = [...isMine(node.addresses, node.node), ...roles(node.addresses, undefined, facts)];
    return whys.length === 0 ? [] : [{ kind: 'node', name: node.node, why: joined(whys) }];
  });
  return [...guests.toSorted((a, b) => Number(a.name) - Number(b.name)), ...nodes];
}

/** An address is no chance. A name may be shared, and a clone goes on with the id of what it was cloned from. */
function ownWords(
  { name: own, ids }: OwnMachine,
  { isAt, name, uuid }: { readonly isAt: boolean; readonly name: string | undefined; readonly uuid: string | undefined },
): readonly Message[] {
  if (isAt) return [say`is the machine that this runs on`];
  if (uuid !== undefined && ids.includes(uuid)) return [say`has the machine id of the machine that this runs on`];
  return own !== '' && name?.split('.')[0]?.toLowerCase() === own.toLowerCase() ? [say`has the name of the machine that this runs on`] : [];
}

function roles(addresses: readonly string[], self: RadiusGuest | undefined, facts: RadiusFacts): readonly Message[] {
  const serves = (named: readonly string[]) => named.some((address) => addresses.includes(address));
  const others = facts.guests.filter(({ vmid }) => vmid !== self?.vmid);
  const gateway = others.filter(({ gateways }) => serves(gateways)).length;
  const dns = others.filter(({ resolvers }) => serves(resolvers)).length;
  const storages = facts.storages.filter(({ servers }) => serves(servers)).map(({ storage }) => `\`${storage}\``);
  return [
    ...(gateway === 0 ? [] : [say`is the gateway of ${guestsInWords(gateway)}`]),
    ...(dns === 0 ? [] : [say`is a DNS server of ${guestsInWords(dns)}`]),
    ...(storages.length === 0 ? [] : [say`serves the storage ${storages.join(', ')}`]),
  ];
}

function guestsInWords(count: number): Message {
  return plural(count, say`1 guest`, say`${count} guests`);
}
