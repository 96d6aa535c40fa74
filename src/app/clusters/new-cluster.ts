/** What a person says of a cluster that is not in the configuration yet, made into an entry of it. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { lookAtCertificate, type SeenCertificate } from '#connectors/proxmox/verified-connector';
import { Fault, toFault } from '#kernel/errors';
import type { JsonObject } from '#kernel/json';
import type { Permissions } from '#kernel/ports/cluster';
import { rightsOf } from '#tools/cluster/whole-cluster';
import { type ClusterConfig, clusterSchema } from '../config/config.ts';
import { writePrivateFile } from '../config/private-file.ts';

export { showFingerprint } from '#connectors/proxmox/transport-failure';
export { lookAtCertificate, type SeenCertificate } from '#connectors/proxmox/verified-connector';

/** What endpoints show, in the order in which they were named, and why the others cannot be used. */
export interface SeenEndpoints {
  readonly seen: ReadonlyMap<string, SeenCertificate>;
  readonly leftOut: readonly Fault[];
}

/** At once: each may take the whole time of `signal`. */
export async function lookAtCertificates(endpoints: readonly string[], signal: AbortSignal): Promise<SeenEndpoints> {
  const looked = await Promise.all(endpoints.map(async (one) => [one, await lookAtCertificate(one, signal).catch(toFault)] as const));
  return {
    seen: new Map(looked.flatMap(([endpoint, shown]) => (shown instanceof Fault ? [] : [[endpoint, shown] as const]))),
    leftOut: looked.flatMap(([, shown]) => (shown instanceof Fault ? [shown] : [])),
  };
}

/** What an answer looks like. */
export const examples = {
  addresses: '10.0.0.11, pve.lan, fd00::11, https://pve.lan:8006',
  tokenId: 'ops@pve!banksman',
  secret: 'xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx',
} as const;

/** Makes a token that only looks (docs/rights.md); run on a node, as root. */
export const tokenCommands: readonly string[] = [
  'pveum user add ops@pve',
  'pveum role add Banksman --privs Sys.Audit,VM.Audit,VM.GuestAgent.Audit,Datastore.Audit',
  'pveum user token add ops@pve banksman --privsep 1',
  'pveum acl modify / --users ops@pve --roles Banksman',
  `pveum acl modify / --tokens '${examples.tokenId}' --roles Banksman`,
];

/** A value, or what is wrong with what was typed. */
export type Checked = { readonly value: string } | { readonly flaw: string };

/** `10.0.0.11`, `pve.lan:443`, `fd00::11` or a whole URL as an endpoint: https, and Proxmox VE's port where none is named. */
export function checkAddress(typed: string): Checked {
  const text = /^[0-9a-f:.]*:[0-9a-f:.]*:[0-9a-f:.]*$/i.test(typed) ? `[${typed}]` : typed;
  const withScheme = /^[a-z]+:\/\//i.test(text) ? text : `https://${text}`;
  const url = URL.canParse(withScheme) ? new URL(withScheme) : undefined;
  if (url === undefined || url.hostname === '') return { flaw: 'that is no address, as `10.0.0.11` or `pve.lan`' };
  // The URL leaves https's own port out where somebody names it.
  const port = /:443\/?$/.test(withScheme) ? '443' : url.port || '8006';
  return checked('endpoints', `${url.protocol}//${url.username === '' ? '' : `${url.username}@`}${url.hostname}:${port}`);
}

/** Several, parted by commas or white space, each once. @param clusters those that there are: an address belongs to one */
export function checkAddresses(
  typed: string,
  clusters: readonly Pick<ClusterConfig, 'name' | 'endpoints'>[],
): { readonly value: readonly string[] } | { readonly flaw: string } {
  const found = typed
    .split(/[\s,;]+/)
    .filter((part) => part !== '')
    .map(checkAddress);
  const flawed = found.find((one) => 'flaw' in one);
  if (flawed !== undefined) return flawed;
  const value = [...new Set(found.flatMap((one) => ('value' in one ? [one.value] : [])))];
  if (value.length === 0) return { flaw: 'that is no address, as `10.0.0.11` or `pve.lan`' };
  const owner = clusters.find(({ endpoints }) => endpoints.some((one) => value.includes(one.replace(/\/+$/, ''))));
  return owner === undefined ? { value } : { flaw: `the cluster ${owner.name} has it already` };
}

/** Where a node answers by ssh. */
export interface SshAddress {
  readonly node: string;
  readonly host: string;
  readonly port: number;
}

const hostPattern =
  /^(?<node>[A-Za-z0-9][A-Za-z0-9-]{0,62})=(?:\[(?<bracketed>[0-9a-f:]+)\]|(?<host>[A-Za-z0-9_.-]+))(?::(?<port>\d{1,5}))?$/i;

/** `pve=10.0.0.11, home=[fd00::12]:2222`; undefined: something in it is none of these. */
export function sshAddressesIn(text: string): readonly SshAddress[] | undefined {
  const found = text
    .split(/[\s,]+/)
    .filter((part) => part !== '')
    .map((part) => {
      // An address of IPv6 alone needs no brackets.
      const {
        node,
        bracketed,
        host,
        port = '22',
      } = hostPattern.exec(part.replace(/=([0-9a-f]*:[0-9a-f:]*:[0-9a-f]*)$/i, '=[$1]'))?.groups ?? {};
      const name = bracketed ?? host;
      return node === undefined || name === undefined || Number(port) > 65_535 ? undefined : { node, host: name, port: Number(port) };
    });
  const all = found.filter((one) => one !== undefined);
  return all.length === found.length && all.length > 0 ? all : undefined;
}

export function checkTokenId(typed: string): Checked {
  return checked('tokenId', typed);
}

function checked(key: 'endpoints' | 'tokenId', value: string): Checked {
  const schema = key === 'endpoints' ? clusterSchema.shape.endpoints.element : clusterSchema.shape.tokenId;
  const flaw = schema.safeParse(value).error?.issues[0]?.message;
  return flaw === undefined ? { value } : { flaw: `it ${flaw}` };
}

/** The secret alone, also where it was copied with its token's id, as `pveum` prints it. */
export function checkSecret(typed: string, tokenId: string): Checked {
  const secret = typed.trim().replace(`${tokenId}=`, '');
  return /^[\x21-\x7e]{1,200}$/.test(secret) ? { value: secret } : { flaw: 'it is empty or holds white space' };
}

/** By the host's own name; by `cluster` where it has an address alone. Of those that are free. */
export function nameFor(endpoint: string, taken: readonly string[]): string {
  const label = /^[a-z][a-z0-9-]{0,30}(?=[.]|$)/i.exec(new URL(endpoint).hostname)?.[0] ?? 'cluster';
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? label : `${label}-${number}`;
    if (!taken.includes(name)) return name;
  }
}

/** Whether endpoints are recognised by what they showed from now on: unless public authorities vouch for all of them. */
export function needPins(shown: ReadonlyMap<string, SeenCertificate>): boolean {
  return [...shown.values()].some(({ isPublic }) => !isPublic);
}

/**
 * How the endpoints of a new entry are recognised. @param pins what a person was told of all that were shown: that holds, whichever was left out since
 */
export function pinning(
  usable: ReadonlyMap<string, SeenCertificate>,
  pins = needPins(usable),
): { readonly tls?: { readonly fingerprint: JsonObject | string } } {
  if (!pins) return {};
  const all = [...usable].map(([endpoint, { fingerprint }]) => [endpoint, fingerprint] as const);
  const [only] = all;
  return { tls: { fingerprint: all.length === 1 && only !== undefined ? only[1] : Object.fromEntries(all) } };
}

/** Of an entry, what says where its token goes. */
export function tokenPlace(entry: JsonObject): Pick<ClusterConfig, 'name' | 'endpoints' | 'tokenId' | 'tls'> {
  return clusterSchema.parse(entry);
}

export interface StoredFile {
  readonly file: string;
  /** Takes it away again. */
  remove(): Promise<void>;
}

/** Writes a cluster's secret, or the host keys of its nodes, into a file of its own in `folder` that nobody else may read; one that is there stays. */
export async function storeBeside(
  folder: string,
  cluster: string,
  { kind, text }: { kind: 'token' | 'known_hosts'; text: string },
): Promise<StoredFile> {
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? `${cluster}.${kind}` : `${cluster}-${number}.${kind}`;
    const file = join(folder, name);
    if (await writePrivateFile(folder, name, text)) return { file, remove: () => rm(file, { force: true }) };
  }
}

const privilegePattern = /^[A-Z][A-Za-z.]{1,60}$/;

/** What a token may do, by groups of tools (docs/rights.md). */
export interface TokenRights {
  /** Groups that it can use whole. */
  readonly may: readonly string[];
  readonly lacks: readonly Pick<ReturnType<typeof rightsOf>[number], 'group' | 'tools' | 'missing'>[];
  /** With these, run on a node, it can use all of them; empty where nothing is missing. */
  readonly commands: readonly string[];
}

export function tokenRights(permissions: Permissions, tokenId: string): TokenRights {
  const groups = rightsOf(permissions);
  const lacks = groups.filter(({ allowed }) => !allowed);
  const needed = lacks.flatMap(({ missing }) => missing.map((text) => text.split(' ')[0] ?? ''));
  // A role on a path takes the place of what was held there: it holds that, too. SECURITY: what stands in a command line is checked, not quoted.
  const all = [...new Set([...Object.keys(permissions['/'] ?? {}), ...needed])]
    .filter((one) => privilegePattern.test(one))
    .toSorted((a, b) => a.localeCompare(b, 'en'));
  return {
    may: groups.filter(({ allowed }) => allowed).map(({ group }) => group),
    lacks,
    commands:
      lacks.length === 0
        ? []
        : [`pveum role add Banksman-token --privs '${all.join(',')}'`, `pveum acl modify / --tokens '${tokenId}' --roles Banksman-token`],
  };
}
