/** What a person says of a cluster that is not in the configuration yet, made into an entry of it. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isJsonObject, type JsonValue, wordOf } from '#kernel/json';
import { clusterSchema } from '../config/config.ts';
import { writePrivateFile } from '../config/private-file.ts';

export { showFingerprint } from '#connectors/proxmox/transport-fault';
export { lookAtCertificate } from '#connectors/proxmox/verified-connector';

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

/**
 * Writes the secret into a file of its own in `folder`, which nobody else may read; one that is there stays.
 * @returns its path, and what takes it away again
 */
export async function storeSecret(
  folder: string,
  cluster: string,
  secret: string,
): Promise<{ readonly file: string; readonly remove: () => Promise<void> }> {
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? `${cluster}.token` : `${cluster}-${number}.token`;
    const file = join(folder, name);
    if (await writePrivateFile(folder, name, `${secret}\n`)) return { file, remove: () => rm(file, { force: true }) };
  }
}

const privilegePattern = /^[A-Z][A-Za-z.]{1,60}$/;

/** Of `get_permissions`: each group of tools that the token cannot use, with what it lacks; and how it gets that everywhere. */
export function missingRights(
  result: JsonValue | undefined,
  tokenId: string,
): { readonly lacks: readonly string[]; readonly commands: readonly string[] } {
  const { groups, permissions } = isJsonObject(result) ? result : {};
  const missing = (Array.isArray(groups) ? groups : []).filter(isJsonObject).flatMap(({ group, missing: rights }) => {
    const texts = Array.isArray(rights) ? rights.filter((right) => typeof right === 'string') : [];
    return texts.length === 0 ? [] : [{ group: wordOf(group), texts }];
  });
  const root = isJsonObject(permissions) && isJsonObject(permissions['/']) ? Object.keys(permissions['/']) : [];
  const needed = missing.flatMap(({ texts }) => texts.map((text) => text.split(' ')[0] ?? ''));
  // A role on a path takes the place of what was held there: it holds that, too. SECURITY: what stands in a command line is checked, not quoted.
  const all = [...new Set([...root, ...needed])].filter((one) => privilegePattern.test(one)).toSorted((a, b) => a.localeCompare(b, 'en'));
  return {
    lacks: missing.map(({ group, texts }) => `${group}: ${texts.join(', ')}`),
    commands:
      missing.length === 0
        ? []
        : [`pveum role add Banksman-token --privs '${all.join(',')}'`, `pveum acl modify / --tokens '${tokenId}' --roles Banksman-token`],
  };
}
