/**
 * What the API leaves out of a list because the token may not see it. It answers 200 either way, so that "none" and "not for you" look alike:
 * a list is only as whole as the token's rights on the paths of its rows.
 */
import type { ClusterPort, Permissions } from '#kernel/ports/cluster';
import type { ToolResult } from '#kernel/tool';
import { countMessage, listResult, type PageOfRows } from './paging.ts';

export interface Right {
  readonly privilege: string;
  readonly path: string;
  /** Another path on which it is enough. */
  readonly or?: string;
}

/** A right that a list's rows need: on one path, or on each path below it. */
export interface Need extends Right {
  readonly below?: true;
  /** A right that makes this one needless. */
  readonly unless?: Right;
}

/** In every answer of `GET /access/permissions` where anything is held there (`get_effective_permissions`, `PVE/RPCEnvironment.pm`). */
const alwaysNamed: ReadonlySet<string> = new Set(['/', '/access', '/access/groups', '/nodes', '/pool', '/sdn', '/storage', '/vms']);

/**
 * Whether the token holds a privilege on exactly `path`: named there, or handed down from the nearest path above that is named.
 * `false` in the permissions means "not handed down", not "not held".
 *
 * LIMIT: a path on which nothing is held is not named either. Below `/vms`, one that was taken away (`NoAccess` on `/vms/100`) looks like one
 * that has what `/vms` hands down.
 */
export function holds(permissions: Permissions, path: string, privilege: string): boolean {
  const here = permissions[path];
  if (here !== undefined) return Object.hasOwn(here, privilege);
  for (let at: string | undefined = path; at !== undefined; at = parentOf(at)) {
    const found = permissions[at];
    if (found !== undefined) return found[privilege] === true;
    if (alwaysNamed.has(at)) return false;
  }
  return false;
}

/** `/vms/100` → `/vms` → `/`. */
function parentOf(path: string): string | undefined {
  return path === '/' ? undefined : path.slice(0, path.lastIndexOf('/')) || '/';
}

/** The paths on which `need` is not met; those below a path are judged by it, and by each that has rights of its own. */
export function lacking(permissions: Permissions, { privilege, path, below, unless }: Need): readonly Right[] {
  if (unless !== undefined && holds(permissions, unless.path, unless.privilege)) return [];
  if (below === undefined) return holds(permissions, path, privilege) ? [] : [{ privilege, path }];
  // A path nobody named below this one has what this one hands down.
  if (!holds(permissions, `${path}/…`, privilege)) return [{ privilege, path }];
  const named = Object.keys(permissions).filter((one) => one.startsWith(`${path}/`));
  return named.sort(byNumber).flatMap((one) => (holds(permissions, one, privilege) ? [] : [{ privilege, path: one }]));
}

function byNumber(one: string, other: string): number {
  return one.localeCompare(other, 'en', { numeric: true });
}

/** What `GET /cluster/resources` asks for before it shows a guest. */
export const guestNeeds: readonly Need[] = [{ privilege: 'VM.Audit', path: '/vms', below: true }];
export const storageNeeds: readonly Need[] = [{ privilege: 'Datastore.Audit', path: '/storage', below: true }];

export interface List {
  readonly page: PageOfRows;
  /** Key of the rows in the result. */
  readonly key: string;
  readonly noun: string;
  readonly needs: readonly Need[];
  readonly extra?: Parameters<typeof listResult>[2];
  /** Behind the count, such as `, 3 running`. */
  readonly also?: string;
}

/** Paths named in a message; the result names all. */
const namedPaths = 3;

/** A list as a tool result that says what this token does not see of it, and for an empty one how to change that. */
export async function listOutcome(list: List, api: ClusterPort, signal: AbortSignal): Promise<ToolResult> {
  const { page, key, noun, needs, extra = {}, also = '' } = list;
  const permissions = await api.permissions(signal).catch(() => undefined);
  signal.throwIfAborted();
  const lacks = needs.flatMap((need) => (permissions === undefined ? [] : lacking(permissions, need)));
  const names = lacks.map(({ privilege, path }) => `${privilege} on ${path}`);
  const why = whyPartial(names, page.total === 0, permissions !== undefined);
  const [first] = lacks;
  const next = first !== undefined && page.total === 0 ? { next: await api.grantHint(first.privilege, first.path, signal) } : {};
  return {
    ok: true,
    message: `${countMessage(page, noun, why !== '')}${also}${why}`,
    result: { ...listResult(key, page, extra), ...(names.length === 0 ? {} : { missing_privileges: names }) },
    ...next,
  };
}

/** Empty where the list is whole. */
function whyPartial(names: readonly string[], isEmpty: boolean, isKnown: boolean): string {
  if (!isKnown) return isEmpty ? '; what the token may see could not be read, so there may be some' : '';
  return names.length === 0 ? '' : `; it lacks ${wordList(names)}, so there may be ${isEmpty ? 'some' : 'more'}`;
}

function wordList(names: readonly string[]): string {
  const shown = names.slice(0, namedPaths).map((name) => `\`${name}\``);
  const left = names.length - shown.length;
  return left > 0 ? `${shown.join(', ')} and ${left} more` : shown.join(' and ');
}
