/** API tokens of clusters in the editor's SecretStorage. */

/** The secret of cluster `name`. A `tokenFile` in the settings is the alternative. */
export function tokenSecret(name: string): string {
  return `clusterToken:${name}`;
}

/** Proxmox VE's token secrets are UUIDs. People paste the whole `user@realm!name=uuid` as well: the part after `=` is the secret. */
export function tokenFromInput(text: string): string | undefined {
  const secret = /^(?:PVEAPIToken=)?(?:[^\s=]+=)?([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})$/.exec(text.trim())?.[1];
  return secret;
}
