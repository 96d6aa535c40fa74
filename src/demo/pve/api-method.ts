/** How an API method is declared. The tables in `methods/` are data; `dispatch.ts` loops over them. */
import { failed, forbidden } from './api-error.ts';
import type { Cluster } from './cluster.ts';
import type { ParameterSpec, ParameterSpecs, Parameters } from './parameter.ts';

export type Verb = 'GET' | 'POST' | 'PUT' | 'DELETE';

/**
 * `all`: any identity. `world`: no login needed. Otherwise privileges on a path template, or (`userGroup`) any of some over the groups of
 * the user in the path.
 */
export type Permission = 'all' | 'world' | PathPermission | { readonly userGroup: readonly string[] };

export interface PathPermission {
  readonly path: string;
  readonly privileges: readonly string[];
  readonly any?: true;
}

/** All of these privileges on a path. */
export function on(path: string, ...privileges: readonly string[]): PathPermission {
  return { path, privileges };
}

/** Any of these privileges on a path. */
export function anyOf(path: string, ...privileges: readonly string[]): PathPermission {
  return { path, privileges, any: true };
}

/** One request that passed authentication, permission and parameter checks. */
export interface ApiCall {
  readonly cluster: Cluster;
  /** The node that answers (after proxying). */
  readonly node: string;
  /** Full user or token id; empty for a method open to the world. */
  readonly user: string;
  readonly parameters: Parameters;
}

/** A list of which the answer tells the full length. PVE leaves a `total` of 0 out. */
export interface Page {
  readonly page: readonly unknown[];
  readonly total: number;
}

export interface ApiMethod {
  readonly verb: Verb;
  /** Template below `/api2/json`, such as `/nodes/{node}/qemu`. */
  readonly path: string;
  /** Without those of the path named in `pathParameters`. */
  readonly parameters?: ParameterSpecs;
  readonly permission: Permission;
  /** Whether the node in the path answers, by way of the one that was asked. */
  readonly proxied: boolean;
  /** PVE reads the rows out of a Perl hash: they come in another order with each answer. */
  readonly unordered?: true;
  /** False where only a ticket will do. */
  readonly allowToken?: false;
  /** The `data` of the answer, or a `Page`. Throws `ApiError`. */
  run(call: ApiCall): unknown;
}

/** A row of a method table: verb and path, who may, what it does. The node in a path answers, unless `proxied` says otherwise. */
export function route(
  verbAndPath: `${Verb} ${string}`,
  permission: Permission,
  run: ApiMethod['run'],
  more: Partial<Pick<ApiMethod, 'parameters' | 'proxied' | 'unordered' | 'allowToken'>> = {},
): ApiMethod {
  const [verb, path] = verbAndPath.split(' ') as [Verb, string];
  return { verb, path, permission, run, proxied: path.startsWith('/nodes/{node}'), ...more };
}

/** @throws {ApiError} 403 */
export function requirePrivilege({ cluster, user }: ApiCall, path: string, privilege: string): void {
  if (!cluster.access.holds(user, path, privilege)) throw forbidden(`${path}, ${privilege}`);
}

/** Without quorum nothing writes to the configuration. @throws {ApiError} 500 */
export function requireQuorum({ cluster }: Pick<ApiCall, 'cluster'>): void {
  if (!cluster.state.quorate) throw failed('cluster not ready - no quorum?');
}

/** Specs that many methods share. */
export const text = { type: 'string', optional: true } as const;
export const flag = { type: 'boolean', optional: true } as const;
export const count = { type: 'integer', optional: true, minimum: 0 } as const;
export const guestId = { type: 'integer', format: 'pve-vmid', minimum: 100, maximum: 999_999_999 } as const;

/** What a path template's variables must look like. */
export const pathParameters: Readonly<Record<string, ParameterSpec>> = {
  node: { type: 'string', format: 'pve-node' },
  vmid: guestId,
  upid: { type: 'string' },
  userid: { type: 'string', format: 'pve-userid', maxLength: 64 },
  storage: { type: 'string', format: 'pve-storage-id' },
  roleid: { type: 'string' },
  poolid: { type: 'string' },
  id: { type: 'string', pattern: '[1-9][0-9]{2,8}-\\d{1,9}' },
  volume: { type: 'string' },
  sid: { type: 'string', format: 'pve-ha-resource-or-vm-id' },
  snapname: { type: 'string', format: 'pve-configid', maxLength: 40 },
  pos: { type: 'integer', optional: true, minimum: 0 },
};

export function isPage(value: unknown): value is Page {
  return typeof value === 'object' && value !== null && 'page' in value && 'total' in value;
}
