/** What people declare that the cluster does not tell: this guest or node is the gateway, the DNS server or the storage of others. Pure. */
import { type Message, say } from '#kernel/text/message';
import { asBefore, fits, type Selectable, type Selector } from '../scopes/selector.ts';
import type { RadiusFacts, RadiusGuest } from './blast-radius.ts';

export const roleKinds = ['gateway', 'dns', 'storage'] as const;
export type RoleKind = (typeof roleKinds)[number];

export interface Role {
  readonly name: string;
  readonly as: RoleKind;
  /** The guest or the node that has it: one of both. */
  readonly guest?: number;
  readonly node?: string;
  /** Absent: of every cluster that has such a one. */
  readonly cluster?: string;
  /** Whose gateway or DNS server it is. Absent: every other guest's. */
  readonly of?: Selector;
  /** Guests that a person let go: what they lost of the tags in `of` does not count. */
  readonly except?: readonly number[];
  /** Which storages are served from it. */
  readonly storages?: readonly string[];
  /** The author's. */
  readonly reason: string;
}

export function rolesIn(cluster: string, roles: readonly Role[]): readonly Role[] {
  return roles.filter((role) => role.cluster === undefined || role.cluster === cluster);
}

/** `guest:105`, `node:pve`. */
export function serverOf({ guest, node = '' }: Pick<Role, 'guest' | 'node'>): string {
  return guest === undefined ? `node:${node.toLowerCase()}` : `guest:${guest}`;
}

/** Whether it is this guest's gateway or DNS server. SECURITY: of which nobody knows whether it is meant, it is. */
export function isServed(role: Role, guest: Selectable): boolean {
  if (role.as === 'storage' || guest.vmid === role.guest) return false;
  return role.of === undefined || fits(role.of, asBefore(guest, role.except)) !== 'out';
}

const roleNames: Readonly<Record<RoleKind, Message>> = {
  gateway: say`gateway`,
  dns: say`DNS server`,
  storage: say`storage`,
};

/** For people: `is declared as gateway (roles.lan); the reason given: …`. */
export function roleWords({ as, name, reason }: Role): Message {
  return say`is declared as ${roleNames[as]} (\`roles.${name}\`); the reason given: ${reason}`;
}

/** The facts with what is declared. Who serves it is named beside the addresses of its own, so that it is lost with them. */
export function withRoles(facts: RadiusFacts, all: readonly Role[], things: ReadonlyMap<number, Selectable>): RadiusFacts {
  // One that the cluster does not have stands in for nobody.
  const there = new Set([...facts.nodes.map(serverOf), ...facts.guests.map(({ vmid }) => serverOf({ guest: vmid }))]);
  const roles = all.filter((role) => there.has(serverOf(role)));
  if (roles.length === 0) return facts;
  const servers = new Set(roles.map(serverOf));
  const own = (mark: string) => (servers.has(mark) ? [mark] : []);
  const marks = (as: RoleKind, serves: (role: Role) => boolean) => roles.filter((role) => role.as === as && serves(role)).map(serverOf);
  return {
    ...facts,
    nodes: facts.nodes.map((node) => ({ ...node, addresses: [...node.addresses, ...own(serverOf(node))] })),
    guests: facts.guests.map((guest): RadiusGuest => {
      const thing = things.get(guest.vmid);
      const of = (as: RoleKind) => marks(as, (role) => thing !== undefined && isServed(role, thing));
      return {
        ...guest,
        addresses: [...guest.addresses, ...own(serverOf({ guest: guest.vmid }))],
        declared: { gateways: of('gateway'), resolvers: of('dns') },
      };
    }),
    storages: facts.storages.map((storage) => ({
      ...storage,
      declared: marks('storage', ({ storages = [] }) => storages.includes(storage.storage)),
    })),
  };
}
