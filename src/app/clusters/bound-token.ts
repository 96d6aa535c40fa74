/** API tokens of clusters in the editor's SecretStorage, each for the very cluster that it was given for. */

import { createHash } from 'node:crypto';
import { Fault } from '#kernel/errors';
import { canonicalJson, isJsonObject, type JsonObject } from '#kernel/json';
import { say } from '#kernel/text/message';
import type { ClusterConfig } from '../config/config.ts';

/** The secret of cluster `name`. A `tokenFile` in the settings is the alternative. */
export function tokenSecret(name: string): string {
  return `clusterToken:${name}`;
}

/** Proxmox VE's token secrets are UUIDs. People paste the whole `user@realm!name=uuid` as well: the part after `=` is the secret. */
export function tokenFromInput(text: string): string | undefined {
  const secret = /^(?:PVEAPIToken=)?(?:[^\s=]+=)?([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})$/.exec(text.trim())?.[1];
  return secret;
}

/** Where a token may go: to these endpoints, recognised like that. */
export type TokenPlace = Pick<ClusterConfig, 'name' | 'endpoints' | 'tokenId' | 'tls'>;

interface BoundToken {
  readonly secret: string;
  readonly place: string;
}

/** As it is stored. */
export function boundToken(secret: string, place: TokenPlace): string {
  return JSON.stringify({ secret, place: markOf(place) } satisfies BoundToken);
}

/**
 * The secret of what was stored, for this cluster.
 * SECURITY: any extension can write the setting that says where a cluster is, and before a person agreed to anything it counts. So the token goes where it
 * was given for, and nowhere else. One that an earlier version stored has no place. LIMIT: who reads this storage needs no setting (docs/threat-model.md).
 * @throws {Fault} `token_elsewhere`
 */
export function tokenFor(stored: string, cluster: TokenPlace): string {
  const bound = readBound(stored);
  if (bound === undefined) return stored.trim();
  if (bound.place === markOf(cluster)) return bound.secret;
  throw new Fault(
    'token_elsewhere',
    say`the settings of cluster \`${cluster.name}\` are not those that its API token was stored for: an address, the certificate or the token’s id is another, so it is sent nowhere`,
    {
      audience: 'user',
      next: 'if it was you who changed them, run “Banksman: Set API Token…”, which shows where the token goes; if not, find out who did, and put them back',
    },
  );
}

function readBound(stored: string): BoundToken | undefined {
  try {
    const bound: unknown = JSON.parse(stored);
    const { secret, place } = isJsonObject(bound) ? bound : {};
    return typeof secret === 'string' && typeof place === 'string' ? { secret, place } : undefined;
  } catch {
    return undefined;
  }
}

/** Addresses in any order are the same place. */
function markOf({ endpoints, tokenId, tls }: TokenPlace): string {
  const origins = endpoints.map((one) => new URL(one).origin).toSorted();
  const place: JsonObject = { origins, tokenId, tls: tls === undefined ? null : (JSON.parse(JSON.stringify(tls)) as JsonObject) };
  return createHash('sha256').update(canonicalJson(place)).digest('hex');
}
