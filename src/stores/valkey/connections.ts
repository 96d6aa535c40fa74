/** The connections of one process: no more roles than it uses. */

import type { Redis } from 'iovalkey';
import { Fault } from '#kernel/errors';
import { say } from '#kernel/text/message';
import { createRoleLink, type LinkOptions, type RoleLink, useLink } from './role-link.ts';
import type { CredentialSource, ValkeyRole } from './store-url.ts';

export interface Connections {
  /** Whether this process has a credential for the role. */
  has(role: ValkeyRole): boolean;
  /** Whether the role has a connection now, its further ones included. */
  isOpen(role: ValkeyRole): boolean;
  /** Runs on the role's connection. @throws {Fault} `store_role_missing`, `store_unavailable`, `store_denied`, … */
  as<T>(role: ValkeyRole, work: (client: Redis) => Promise<T>): Promise<T>;
  /** Runs as the first of these that is open, or else that there is a credential for. */
  asAny<T>(roles: readonly ValkeyRole[], work: (client: Redis, role: ValkeyRole) => Promise<T>): Promise<T>;
  /** One more connection of a role, for whoever needs it alone (a subscriber is good for nothing else). */
  another(role: ValkeyRole): RoleLink;
  /** Gives up those that are dead or do not lead to the primary any more; the next use connects again. */
  check(): Promise<void>;
  close(): void;
}

export interface ConnectionOptions extends LinkOptions {
  readonly credentials: CredentialSource;
  /** The roles there are credentials for. */
  readonly roles: ReadonlySet<ValkeyRole>;
}

export function createConnections(options: ConnectionOptions): Connections {
  const { roles, location } = options;
  const links = new Map<ValkeyRole, RoleLink>();
  const extra: RoleLink[] = [];
  let closed = false;
  // Where there may be another primary, one connection that found this out spares the others a wait each.
  const dropAll = (): void => {
    for (const link of [...links.values(), ...extra]) link.drop();
  };
  const linkOptions = options.topology === 'single' ? options : { ...options, onLost: dropAll };
  const make = (role: ValkeyRole): RoleLink => createRoleLink(role, () => credentialOf(role, options), linkOptions);
  const linkOf = (role: ValkeyRole): RoleLink => {
    const link = links.get(role) ?? make(role);
    links.set(role, link);
    return link;
  };
  const isOpen = (role: ValkeyRole): boolean => links.get(role)?.isOpen ?? false;
  return {
    has: (role) => roles.has(role),
    isOpen: (role) => isOpen(role) || extra.some((link) => link.role === role && link.isOpen),
    as: async (role, work) => {
      if (!roles.has(role)) throw missingRole([role], location);
      return useLink(linkOf(role), work);
    },
    asAny: async (wanted, work) => {
      const role = wanted.find(isOpen) ?? wanted.find((candidate) => roles.has(candidate));
      if (role === undefined) throw missingRole(wanted, location);
      return useLink(linkOf(role), (client) => work(client, role));
    },
    another: (role) => {
      const link = make(role);
      extra.push(link);
      if (closed) link.close();
      return link;
    },
    check: async () => void (await Promise.all([...links.values()].map((link) => link.check()))),
    close: () => {
      closed = true;
      for (const link of [...links.values(), ...extra]) link.close();
      // A role that was never used would otherwise connect after the end.
      for (const role of roles) linkOf(role).close();
    },
  };
}

async function credentialOf(role: ValkeyRole, { credentials, location }: ConnectionOptions) {
  const found = await credentials(role);
  if (!found) throw missingRole([role], location);
  return found;
}

function missingRole(roles: readonly ValkeyRole[], location: string): Fault {
  const names = roles.map((role) => `\`${role}\``).join(' or ');
  return new Fault('store_role_missing', say`this process has no credentials for the role ${names} on the store \`${location}\``, {
    next: 'do this where a person’s credentials are, or add the role to the credentials file',
  });
}
