/** The commands with which an administrator gives a token what it lacks, so that they work as they stand and take nothing away. */
import { isJsonObject } from '#kernel/json';
import { readPermissions } from './rows.ts';

/** What was refused: `privilege` as the API writes it, several parted by `|` (one will do) or `,` (all are needed). */
export interface LackedRight {
  readonly privilege: string;
  readonly path: string;
}

export interface RightsHintOptions {
  /** `user@realm!name` */
  readonly tokenId: string;
  /** `data` of a read. @throws when it is refused or does not come */
  readonly read: (path: string) => Promise<unknown>;
}

/** `Permission check failed (/vms/100, VM.PowerMgmt)` */
const permissionText = /\((\/[^\s,()]*),\s*([A-Za-z][A-Za-z.|, ]*)\)/;

/** The path and privilege in a refusal's text; undefined where it names none. */
export function lackedRight(text: string): LackedRight | undefined {
  const [, path, privilege] = permissionText.exec(text) ?? [];
  return path === undefined || privilege === undefined ? undefined : { path, privilege: privilege.trim() };
}

/**
 * Roles on a path replace those from above, so a role with the missing privilege alone would take away the others: the role of the hint holds
 * what is held there already, too. A token with separated privileges has what both it and its user have; any other has its user's.
 */
export async function rightsHint({ path, privilege }: LackedRight, { tokenId, read }: RightsHintOptions): Promise<string> {
  const [user = '', name = ''] = tokenId.split('!', 2);
  const needed = privilege.split(',').map((one) => one.trim().split('|')[0] ?? '');
  // SECURITY: what stands in a command line is checked, not quoted: the text came from the server.
  if (!/^\/[A-Za-z0-9._/-]*$/.test(path) || !needed.every(isPrivilege)) return 'ask the cluster administrator for that right';
  const ofToken = await heldBy(tokenId, path, read).catch(() => undefined);
  const toToken = grantCommands({ path, needed, held: ofToken, who: 'tokens', id: tokenId });
  const toUser = (held: readonly string[] | undefined) => grantCommands({ path, needed, held, who: 'users', id: user });
  const isSeparated = await readSeparation(user, name, read).catch(() => undefined);
  if (isSeparated === false) return `the administrator can give it to the token's user: ${toUser(ofToken)}`;
  if (isSeparated === undefined) {
    return `\`pveum user token list '${user}'\` shows whether the token's privileges are separated. If \`privsep\` is 0, the administrator can give it to the user: ${toUser(ofToken)}. If it is 1, to the token: ${toToken}, and the user needs it as well`;
  }
  const ofUser = await heldBy(user, path, read).catch(() => undefined);
  const both = `the token has separated privileges, so the administrator gives it to the token: ${toToken}`;
  if (ofUser === undefined) return `${both}; its user needs it as well: see \`pveum user permissions '${user}' --path ${path}\``;
  return needed.every((one) => ofUser.includes(one)) ? both : `${both}; and to its user, who lacks it, too: ${toUser(ofUser)}`;
}

interface Grant {
  readonly path: string;
  readonly needed: readonly string[];
  /** undefined: not known. */
  readonly held: readonly string[] | undefined;
  readonly who: 'users' | 'tokens';
  readonly id: string;
}

function grantCommands({ path, needed, held, who, id }: Grant): string {
  const acl = (role: string) => `\`pveum acl modify ${path} --${who} '${id}' --roles '${role}'\``;
  if (held === undefined) return `${acl('ROLE')}, where ROLE holds \`${needed.join(',')}\` and whatever is held there now`;
  const role = `Banksman${who === 'tokens' ? '-token' : ''}${path === '/' ? '' : path.replaceAll('/', '-')}-${needed.join('-')}`;
  const privileges = [...new Set([...held, ...needed])].sort((a, b) => a.localeCompare(b, 'en'));
  return `\`pveum role add '${role}' --privs '${privileges.join(',')}'\`, then ${acl(role)}`;
}

function isPrivilege(text: string): boolean {
  return /^[A-Z][A-Za-z.]{1,60}$/.test(text);
}

/** @throws where the token may not look at its own user (that takes `Sys.Audit` on `/access/groups`) */
async function readSeparation(user: string, name: string, read: RightsHintOptions['read']): Promise<boolean | undefined> {
  const data = await read(`/access/users/${encodeURIComponent(user)}`);
  const tokens = isJsonObject(data) ? data['tokens'] : undefined;
  const token = isJsonObject(tokens) ? tokens[name] : undefined;
  return isJsonObject(token) ? Number(token['privsep'] ?? 0) === 1 : undefined;
}

async function heldBy(id: string, path: string, read: RightsHintOptions['read']): Promise<readonly string[]> {
  const data = readPermissions(await read(`/access/permissions?path=${encodeURIComponent(path)}&userid=${encodeURIComponent(id)}`));
  return Object.keys(data[path] ?? {}).filter(isPrivilege);
}
