/** How an API method is declared. The tables in `methods/` are data; `dispatch.ts` loops over them. */
import type { Cluster } from './cluster.ts';
import type { ParameterSpec, ParameterSpecs, Parameters } from './parameter.ts';

export type Verb = 'GET' | 'POST' | 'PUT' | 'DELETE';

/** `all`: any identity. `world`: no login needed. Otherwise privileges on a path template. */
export type Permission = 'all' | 'world' | { readonly path: string; readonly privileges: readonly string[]; readonly any?: true };

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

/** What a path template's variables must look like. */
export const pathParameters: Readonly<Record<string, ParameterSpec>> = {
  node: { type: 'string', format: 'pve-node' },
  vmid: { type: 'integer', format: 'pve-vmid', minimum: 100, maximum: 999_999_999 },
  upid: { type: 'string' },
  userid: { type: 'string', maxLength: 64 },
  storage: { type: 'string', format: 'pve-storage-id' },
  roleid: { type: 'string' },
  poolid: { type: 'string' },
  id: { type: 'string', pattern: '[1-9][0-9]{2,8}-\\d{1,9}' },
  volume: { type: 'string' },
  sid: { type: 'string', format: 'pve-ha-resource-or-vm-id' },
};

export function isPage(value: unknown): value is Page {
  return typeof value === 'object' && value !== null && 'page' in value && 'total' in value;
}
