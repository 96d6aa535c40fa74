/** Users, tokens, roles and ACLs (`PVE/AccessControl.pm`, `PVE/RPCEnvironment.pm`). */
import { createHash, timingSafeEqual } from 'node:crypto';
import { splitTokenId } from './upid.ts';

export interface TokenSeed {
  /** `user@realm!name` */
  readonly id: string;
  readonly secret: string;
  /** Privilege separation: the token has only what both its own ACL and its user have. */
  readonly privsep: boolean;
  /** Seconds since the epoch; 0: never. */
  readonly expire?: number;
}

export interface AclEntry {
  readonly path: string;
  /** A user or a full token id. */
  readonly subject: string;
  readonly role: string;
  readonly propagate?: boolean;
}

export interface AclSeed {
  /** User id → password (undefined: no login by password). */
  readonly users: Readonly<Record<string, string | undefined>>;
  readonly tokens: readonly TokenSeed[];
  readonly roles: Readonly<Record<string, readonly string[]>>;
  readonly entries: readonly AclEntry[];
}

/** Which guests and storages are in which pools, by their ACL paths. */
export interface PoolMembership {
  poolsOf(path: string): readonly string[];
  /** Paths of all members of all pools. */
  members(): readonly string[];
}

/** Privilege → whether it propagates (1 or 0). */
export type Privileges = ReadonlyMap<string, 0 | 1>;

const root = 'root@pam';
const topLevelPaths = ['/', '/access', '/access/groups', '/nodes', '/pool', '/sdn', '/storage', '/vms'];

export class AccessControl {
  private readonly seed: AclSeed;
  private readonly tokens: Map<string, TokenSeed>;
  private acl: readonly AclEntry[];
  private readonly pools: PoolMembership;

  constructor(seed: AclSeed, pools: PoolMembership = { poolsOf: () => [], members: () => [] }) {
    this.seed = seed;
    this.acl = seed.entries;
    this.pools = pools;
    this.tokens = new Map(seed.tokens.map((token) => [token.id, token]));
  }

  /** The identity behind `id=secret`, or undefined: unknown, wrong secret or expired. @param now ms since the epoch */
  verifyToken(credential: string, now: number): string | undefined {
    const split = credential.lastIndexOf('=');
    if (split < 0) return undefined;
    const token = this.tokens.get(credential.slice(0, split));
    if (token === undefined || !sameSecret(token.secret, credential.slice(split + 1))) return undefined;
    const expire = token.expire ?? 0;
    return expire > 0 && expire * 1000 < now ? undefined : token.id;
  }

  users(): readonly string[] {
    return Object.keys(this.seed.users);
  }

  entries(): readonly AclEntry[] {
    return this.acl;
  }

  /** Takes away what is granted on a path; a guest's or a pool's rights go with it. */
  forgetPath(path: string): void {
    this.acl = this.acl.filter((entry) => entry.path !== path);
  }

  /** Privileges of a role; undefined: there is none of that name. */
  role(id: string): readonly string[] | undefined {
    return this.seed.roles[id];
  }

  verifyPassword(user: string, password: string): boolean {
    const known = this.seed.users[user];
    return known !== undefined && sameSecret(known, password);
  }

  hasUser(user: string): boolean {
    return Object.hasOwn(this.seed.users, user);
  }

  tokensOf(user: string): readonly TokenSeed[] {
    return [...this.tokens.values()].filter((token) => splitTokenId(token.id).user === user);
  }

  /** Takes a token away; requests with it are answered 401 from now on. */
  revokeToken(id: string): void {
    this.tokens.delete(id);
  }

  /** Gives a token an expiry, in seconds since the epoch; 0 for none. */
  expireToken(id: string, expire: number): void {
    const token = this.tokens.get(id);
    if (token !== undefined) this.tokens.set(id, { ...token, expire });
  }

  /** Undoes `revokeToken` and `expireToken`. */
  restoreToken(id: string): void {
    const token = this.seed.tokens.find((one) => one.id === id);
    if (token !== undefined) this.tokens.set(id, token);
  }

  /** All privileges of a user or token on a path; undefined path: none. */
  privileges(subject: string, path: string | undefined): Privileges {
    if (subject === root) return this.everything();
    if (path === undefined) return new Map();
    const { user, tokenid } = splitTokenId(subject);
    if (tokenid === undefined) return this.ownPrivileges(subject, path);
    const token = this.tokens.get(subject);
    if (token === undefined) return new Map();
    if (!token.privsep) return this.privileges(user, path);
    const ofUser = this.privileges(user, path);
    const own = [...this.ownPrivileges(subject, path)].filter(([name]) => ofUser.has(name));
    // At the root user's own token nothing is taken away; otherwise both must hand it on.
    return new Map(own.map(([name, propagate]) => [name, ofUser.get(name) === 1 ? propagate : 0]));
  }

  /** The first of `names` that is missing, for PVE's text; undefined when all are there. */
  missing(subject: string, path: string | undefined, names: readonly string[]): string | undefined {
    const held = this.privileges(subject, path);
    return names.find((name) => !held.has(name));
  }

  holds(subject: string, path: string, name: string): boolean {
    return this.privileges(subject, path).has(name);
  }

  /** `GET /access/permissions`: every default path and every path of an ACL, where there is any privilege. */
  effective(subject: string): Record<string, Record<string, 0 | 1>> {
    const paths = new Set([...topLevelPaths, ...this.paths().flatMap(levelsOf), ...this.pools.members()]);
    const result: Record<string, Record<string, 0 | 1>> = {};
    for (const path of paths) {
      const held = this.privileges(subject, path);
      if (held.size > 0) result[path] = Object.fromEntries(held);
    }
    return result;
  }

  /** Paths that have an ACL of their own. */
  paths(): readonly string[] {
    return [...new Set(this.acl.map((entry) => entry.path))];
  }

  private everything(): Privileges {
    return new Map((this.seed.roles['Administrator'] ?? []).map((name) => [name, 1]));
  }

  /** Roles on the path, and those on its pools. */
  private ownPrivileges(subject: string, path: string): Privileges {
    // A pool's role counts on its members and goes no further down.
    const ofPools = this.pools.poolsOf(path).flatMap((pool) => this.rolesOn(subject, `/pool/${pool}`));
    const roles = [...this.rolesOn(subject, path), ...ofPools.map((entry) => ({ ...entry, propagate: false }))];
    if (roles.some(({ role }) => role === 'NoAccess')) return new Map();
    const result = new Map<string, 0 | 1>();
    for (const entry of roles) {
      const propagate = entry.propagate === false ? 0 : 1;
      for (const name of this.seed.roles[entry.role] ?? []) if (result.get(name) !== 1) result.set(name, propagate);
    }
    return result;
  }

  /** The roles of the deepest level that has any for the subject replace those of the levels above. */
  private rolesOn(subject: string, path: string): readonly AclEntry[] {
    let roles: readonly AclEntry[] = [];
    for (const level of levelsOf(path)) {
      const here = this.acl.filter(
        (entry) => entry.path === level && entry.subject === subject && (level === path || entry.propagate !== false),
      );
      if (here.length > 0) roles = here;
    }
    return roles;
  }
}

/** `/vms/100` → `/`, `/vms`, `/vms/100`. */
function levelsOf(path: string): string[] {
  const levels = ['/'];
  let current = '';
  for (const part of path.split('/').filter((one) => one !== '')) {
    current += `/${part}`;
    levels.push(current);
  }
  return levels;
}

/** PVE's normal form of an ACL path, or undefined where it has a character none may have. */
export function normalizeAclPath(path: string): string | undefined {
  const normal = `/${path}`.replace(/\/+/g, '/').replace(/(?<=.)\/$/, '');
  return /^[a-zA-Z0-9./_-]+$/.test(normal) ? normal : undefined;
}

function sameSecret(one: string, other: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}
