/**
 * Proxmox VE's error answers as faults. Its texts stand in the reason phrase of the status line and in `message`, those about single
 * parameters in `errors`; a 401 has no body at all. 595 to 599 are its proxy's own: the node behind the answering one was not reached.
 */

import { Fault, type FaultOptions } from '#kernel/errors';
import { isJsonObject } from '#kernel/json';
import { type Message, say } from '#kernel/text/message';
import { showPlainly, stripUnseen } from '#kernel/text/text';
import type { ApiAnswer } from './endpoint.ts';
import { readPermissions } from './rows.ts';

const maxTextLength = 500;

/** Whether an answer is the word of a gateway that could not reach the server behind it, not of the API itself. */
export function isGatewayFailure(status: number): boolean {
  return [502, 503, 504].includes(status) || (status >= 595 && status <= 599);
}

/**
 * Whether a request that changes something may have been carried out although this is what came back. The API says 200, or refuses with 4xx,
 * 500 or 501; 595 is a connection that its proxy did not get. Anything else (204, 408, 524, …) is the word of something in between, which does
 * not know.
 */
export function isAmbiguous(status: number): boolean {
  if (status >= 500) return ![500, 501, 595].includes(status);
  return status === 408 || (status < 300 && status !== 200);
}

/** Any answer that is not a success, as the fault it stands for. `tokenId` names the token; its secret never gets here. */
export function answerFault(answer: ApiAnswer, cluster: string, tokenId: string): Fault {
  const text = errorText(answer);
  const on = `Proxmox VE (\`${cluster}\`)`;
  if (answer.status === 401) return unauthorized(on, tokenId, text);
  if (answer.status === 403) return forbidden(on, tokenId, text);
  if (answer.status === 400) return badRequest(on, text, answer.body);
  if (answer.status === 501) return fault('pve_not_implemented', say`${on} does not know this call: ${text}`, { audience: 'bug' });
  if (isGatewayFailure(answer.status)) return nodeUnreachable(on, answer.status, text);
  if (answer.status === 500) return serverError(on, text);
  const next = 'check that the endpoint is the API itself (port 8006) and nothing that redirects';
  return fault('pve_bad_answer', say`${on} answered with the unexpected status ${answer.status}: ${text}`, { next });
}

function unauthorized(on: string, tokenId: string, text: string): Fault {
  const next = say`check \`tokenId\` and its secret: the token \`${tokenId}\` may be mistyped, expired, disabled or removed (\`pveum user token list '${tokenId.split('!')[0] ?? ''}'\`)`;
  return fault('pve_unauthorized', say`${on} did not accept the API token \`${tokenId}\`: ${text}`, { next });
}

function forbidden(on: string, tokenId: string, text: string): Fault {
  const lacked = lackedRight(text);
  const message =
    lacked === undefined
      ? say`${on} forbids this to the API token \`${tokenId}\`: ${text}`
      : say`${on}: the API token \`${tokenId}\` lacks \`${lacked.privilege}\` on \`${lacked.path}\``;
  return fault('pve_forbidden', message, { next: 'ask the cluster administrator whether this token may do that at all' });
}

/** The right that a 403 says is missing; undefined where it names none. */
export function rightLackedIn(answer: ApiAnswer): LackedRight | undefined {
  return answer.status === 403 ? lackedRight(errorText(answer)) : undefined;
}

function badRequest(on: string, text: string, body: string): Fault {
  const errors = parameterErrors(body);
  if (errors.includes('no such task')) return notFound(on, errors);
  const detail = errors === '' ? text : errors;
  return fault('pve_bad_request', say`${on} refused the parameters: ${detail}`, { audience: 'user', next: 'correct the named parameter' });
}

function parameterErrors(body: string): string {
  const parsed = parseBody(body);
  if (!isJsonObject(parsed) || !isJsonObject(parsed['errors'])) return '';
  const parts = Object.entries(parsed['errors']).map(
    ([name, why]) => `\`${cleanText(name)}\`: ${cleanText(typeof why === 'string' ? why : JSON.stringify(why))}`,
  );
  return parts.join('; ').slice(0, maxTextLength);
}

function nodeUnreachable(on: string, status: number, text: string): Fault {
  const next = 'see get_cluster_status for which nodes are online; wake_node may help';
  return fault('pve_node_unreachable', say`${on} could not reach the node behind this call: ${text} (status ${status})`, {
    next,
    retryable: true,
  });
}

const missing = /^Configuration file '.*' does not exist|^hostname lookup '.*' failed|^no such /;
/** A digest that is not the configuration's any more: of VMs, and of everything else. */
const changedMeanwhile = /checksum mismatch|detected modified configuration/;
const storageElsewhere = /^storage '[^']*' (?:does not exist|is disabled|is not available on node)/;

function serverError(on: string, text: string): Fault {
  if (/no quorum/i.test(text)) {
    const next = 'the cluster takes no changes until most of its nodes are online again; see get_cluster_status';
    return fault('pve_no_quorum', say`${on} has no quorum: ${text}`, { next, retryable: true });
  }
  if (changedMeanwhile.test(text)) {
    const next = 'look at the guest again with get_guest, then call again: a person is asked anew';
    return fault('config_changed', say`${on}: somebody else changed the configuration meanwhile: ${text}`, { audience: 'user', next });
  }
  if (storageElsewhere.test(text)) {
    const next = 'look with get_storage which storages there are, and on which nodes';
    return fault('pve_not_found', say`${on}: ${text}`, { audience: 'user', next });
  }
  if (missing.test(text)) return notFound(on, text);
  return fault('pve_error', say`${on} failed: ${text}`);
}

function notFound(on: string, text: string): Fault {
  const next = 'look the name up again with get_vms, get_containers, get_storage or get_cluster_status: it may be gone or on another node';
  return fault('pve_not_found', say`${on}: ${text}`, { audience: 'user', next });
}

/** The most telling text of an answer, on one line: `message` of the body, else the reason phrase. */
function errorText(answer: ApiAnswer): string {
  const parsed = parseBody(answer.body);
  const message = isJsonObject(parsed) && typeof parsed['message'] === 'string' ? cleanText(parsed['message']) : '';
  return message || cleanText(answer.statusText) || `status ${answer.status} without a text`;
}

function parseBody(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

function cleanText(text: string): string {
  return showPlainly(stripUnseen(text).trim(), maxTextLength);
}

function fault(code: string, message: Message, options: FaultOptions = {}): Fault {
  return new Fault(code, message, options);
}

// The commands with which an administrator gives a token what it lacks, so that they work as they stand and take nothing away.

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
