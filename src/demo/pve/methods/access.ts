/** `/version` and `/access`. */

import type { TokenSeed } from '../access-control.ts';
import { ApiError, failed, forbidden } from '../api-error.ts';
import { type ApiCall, type ApiMethod, flag, route, text } from '../api-method.ts';
import type { Cluster } from '../cluster.ts';
import { splitTokenId } from '../upid.ts';

/** The release whose behaviour the emulator copies. */
export const release = { version: '9.1.5', release: '9.1', repoid: '80cf92a64bef6889' } as const;

export const accessMethods: readonly ApiMethod[] = [
  route('GET /version', 'all', () => release),
  route('POST /access/ticket', 'world', login, {
    allowToken: false,
    parameters: {
      username: { type: 'string', maxLength: 64 },
      password: { type: 'string' },
      realm: { ...text, maxLength: 32 },
      otp: text,
      path: { ...text, maxLength: 64, requires: 'privs' },
      privs: { ...text, maxLength: 64, requires: 'path' },
      'new-format': flag,
      'tfa-challenge': text,
    },
  }),
  route('GET /access/permissions', 'all', permissions, {
    parameters: { path: text, userid: { ...text, pattern: '[^\\s:/]+@[A-Za-z][A-Za-z0-9.\\-_]+(?:![A-Za-z][A-Za-z0-9.\\-_]+)?' } },
  }),
  route('GET /access/users/{userid}', { userGroup: ['User.Modify', 'Sys.Audit'] }, userOf),
  route('GET /access/acl', 'all', accessList, { unordered: true }),
  route('GET /access/roles/{roleid}', 'all', role),
  route('GET /access/users', 'all', users, { unordered: true, parameters: { enabled: flag, full: flag } }),
];

/** Entries of paths where the caller may hand out rights; who may audit `/access` sees all. */
function accessList({ cluster, user }: ApiCall): unknown {
  const { access } = cluster;
  const audits = access.holds(user, '/access', 'Sys.Audit');
  return access
    .entries()
    .filter(({ path }) => audits || modifiers(path).some((name) => access.holds(user, path, name)))
    .map(({ path, subject, role: roleid, propagate = true }) => ({
      ...{ path, roleid, ugid: subject, type: subjectType(subject), propagate: propagate ? 1 : 0 },
    }));
}

/** Privileges of which any lets a subject hand out rights on a path (`check_perm_modify`). */
export function modifiers(path: string): readonly string[] {
  const own: Readonly<Record<string, string>> = { storage: 'Datastore.Allocate', vms: 'VM.Allocate', pool: 'Pool.Allocate' };
  const extra = own[/^\/(\w+)\/./.exec(path)?.[1] ?? ''];
  return ['Permissions.Modify', ...(extra === undefined ? [] : [extra])];
}

function subjectType(subject: string): string {
  if (splitTokenId(subject).tokenid === undefined) return 'user';
  return 'token';
}

function role({ cluster, parameters }: ApiCall): unknown {
  const id = parameters.text('roleid') ?? '';
  const privileges = cluster.access.role(id);
  if (privileges === undefined) throw failed(`role '${id}' does not exist`);
  return Object.fromEntries(privileges.map((name) => [name, 1]));
}

/** Only oneself, without rights over users; a token is nobody here. */
function users({ cluster, user, parameters }: ApiCall): unknown {
  const { access } = cluster;
  const all = ['User.Modify', 'Sys.Audit'].some((name) => access.holds(user, '/access/groups', name));
  const more = (id: string) => (parameters.flag('full') ? { groups: '', tokens: access.tokensOf(id).map(tokenRow) } : {});
  return access
    .users()
    .filter((id) => all || id === user)
    .map((id) => ({ userid: id, enable: 1, expire: 0, 'realm-type': id.slice(id.indexOf('@') + 1), ...more(id) }));
}

function tokenRow({ id, privsep, expire = 0 }: TokenSeed): object {
  return { tokenid: splitTokenId(id).tokenid, privsep: privsep ? 1 : 0, expire };
}

function login({ cluster, parameters }: ApiCall): unknown {
  const given = parameters.text('username') ?? '';
  const realm = parameters.text('realm');
  const user = given.includes('@') || realm === undefined ? given : `${given}@${realm}`;
  if (!cluster.access.verifyPassword(user, parameters.text('password') ?? '')) throw new ApiError(401, 'authentication failure\n');
  const { ticket, csrfToken } = cluster.tickets.issue(user);
  const clustername = cluster.access.holds(user, '/', 'Sys.Audit') ? { clustername: cluster.state.name } : {};
  return { username: user, ticket, CSRFPreventionToken: csrfToken, cap: capabilities(cluster, user), ...clustername };
}

const capabilityPaths = ['/', '/nodes', '/access/groups', '/vms', '/storage', '/sdn', '/mapping'];

const capabilityPrefixes: Readonly<Record<string, RegExp>> = {
  vms: /^(?:VM\.|Permissions\.Modify)/,
  access: /^(?:User\.|Group\.|Permissions\.Modify)/,
  storage: /^(?:Datastore\.|Permissions\.Modify)/,
  nodes: /^(?:Sys\.|Permissions\.Modify)/,
  sdn: /^(?:SDN\.|Permissions\.Modify)/,
  dc: /^(?:Sys\.Audit|Sys\.Modify|SDN\.)/,
  mapping: /^(?:Mapping\.|Permissions\.Modify)/,
};

/** What the web interface would show, by area: the privileges of the paths below it that belong there. */
function capabilities(cluster: Cluster, user: string): Record<string, Record<string, 1>> {
  const result: Record<string, Record<string, 1>> = Object.fromEntries(Object.keys(capabilityPrefixes).map((area) => [area, {}]));
  for (const path of [...capabilityPaths, ...cluster.access.paths()]) {
    const area = /^\/(\w+)/.exec(path)?.[1] ?? 'dc';
    const prefix = capabilityPrefixes[area];
    const target = result[area];
    if (prefix === undefined || target === undefined) continue;
    for (const name of cluster.access.privileges(user, path).keys()) if (prefix.test(name)) target[name] = 1;
  }
  return result;
}

function userOf({ cluster, parameters }: ApiCall): unknown {
  const userid = parameters.text('userid') ?? '';
  if (!cluster.access.hasUser(userid)) throw failed(`no such user ('${userid}')`);
  const tokens = cluster.access
    .tokensOf(userid)
    .map(({ id, privsep, expire = 0 }) => [splitTokenId(id).tokenid, { expire, privsep: privsep ? 1 : 0 }]);
  return { enable: 1, expire: 0, groups: [], tokens: Object.fromEntries(tokens) };
}

function permissions({ cluster, user, parameters }: ApiCall): unknown {
  const subject = parameters.text('userid') ?? user;
  const ownToken = subject.includes('!') && splitTokenId(subject).user === user;
  if (subject !== user && !ownToken && !cluster.access.holds(user, '/access', 'Sys.Audit')) throw forbidden('/access, Sys.Audit');
  const path = parameters.text('path') ?? '';
  if (path === '') return cluster.access.effective(subject);
  return { [path]: Object.fromEntries(cluster.access.privileges(subject, path)) };
}
