/** Who a connection is: each role has a user of its own on the server, so that what a process may do is the server's decision. */

export const valkeyRoles = ['agent', 'exec', 'admin', 'log-writer', 'log-trimmer'] as const;
/**
 * `agent` asks and looks; `exec` consumes and writes down what became of a request; `admin` answers for a person; `log-writer` adds to the
 * trail; `log-trimmer` drops what is older than a day.
 */
export type ValkeyRole = (typeof valkeyRoles)[number];

export interface Credential {
  readonly user: string;
  readonly password: string;
}

/** `sentinel`: for the Sentinels, which have users of their own; without it nobody logs in there. */
export const credentialNames = [...valkeyRoles, 'sentinel'] as const;
export type CredentialName = (typeof credentialNames)[number];

/** Gives a role's credential; undefined where this process has none for it. Asked anew at every connection. */
export type CredentialSource = (name: CredentialName) => Promise<Credential | undefined>;

/** The users of the ACL file that comes with the documentation. */
export const defaultUsers: Readonly<Record<CredentialName, string>> = {
  agent: 'mcp-agent',
  exec: 'mcp-exec',
  admin: 'mcp-admin',
  'log-writer': 'log-writer',
  'log-trimmer': 'log-trimmer',
  sentinel: 'banksman',
};
