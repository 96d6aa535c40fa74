/** From a routed path to an answer, in the order of `PVE/HTTPServer.pm`: method, token rule, permission, proxy, parameters, handler. */

import { shuffled } from '../random.ts';
import { normalizeAclPath } from './access-control.ts';
import { ApiError, badParameters, failed, forbidden, ProxyError } from './api-error.ts';
import { type ApiMethod, type Permission, pathParameters, type Verb } from './api-method.ts';
import { type Cluster, seesOnline } from './cluster.ts';
import { formats } from './formats.ts';
import { apiMethods } from './methods/index.ts';
import { normalizeParameters, readParameters, scalarText, verifyParameters } from './parameter.ts';
import type { NodeState } from './state.ts';

export interface ApiRequest {
  readonly verb: string;
  /** The path below `/api2/json`, already percent-decoded: an encoded slash separates like any other, as in PVE. */
  readonly path: string;
  readonly parameters: Readonly<Record<string, unknown>>;
  /** Full user or token id; undefined before a login. */
  readonly user: string | undefined;
  readonly byToken: boolean;
  /** The node that was asked. */
  readonly node: string;
}

interface Route {
  readonly method: ApiMethod;
  readonly segments: readonly string[];
}

const routes: readonly Route[] = apiMethods.map((method) => ({ method, segments: splitPath(method.path) }));

/**
 * Answers one request.
 * @returns the `data`, or a `Page`
 * @throws {ApiError} every status but 200; {@link ProxyError} when another node could not be reached
 */
export function dispatch(cluster: Cluster, request: ApiRequest): unknown {
  cluster.tasks.advance();
  const found = findRoute(request.verb, request.path);
  if (found === undefined) throw notImplemented(request);
  const { method, variables } = found;
  const values = merge(variables, request.parameters);
  if (request.byToken && method.allowToken === false) {
    throw forbidden(`URI '${request.path}' not available with API token, need proper ticket.\n`);
  }
  checkPermission(cluster, method.permission, request.user, values);
  const node = method.proxied ? resolveNode(cluster, request.node, String(variables['node'])) : request.node;
  const specs = { ...pathSpecs(variables), ...method.parameters };
  const normal = normalizeParameters(specs, values);
  verifyParameters(specs, normal);
  const answer = method.run({ cluster, node, user: request.user ?? '', parameters: readParameters(normal) });
  return method.unordered === true && Array.isArray(answer) ? shuffled(cluster.random, answer) : answer;
}

function notImplemented({ verb, path }: ApiRequest): ApiError {
  return new ApiError(501, `Method '${verb} ${path}' not implemented`);
}

function findRoute(
  verb: string,
  path: string,
): { readonly method: Route['method']; readonly variables: Record<string, string> } | undefined {
  const parts = splitPath(path);
  for (const route of routes) {
    if (route.method.verb !== (verb as Verb)) continue;
    const variables = matchSegments(route.segments, parts);
    if (variables !== undefined) return { method: route.method, variables };
  }
  return undefined;
}

function splitPath(path: string): string[] {
  return path.split(/\/+/).filter((part) => part !== '');
}

function matchSegments(segments: readonly string[], parts: readonly string[]): Record<string, string> | undefined {
  // A volume's name has slashes of its own.
  if (segments.at(-1) === '{volume}' && parts.length >= segments.length)
    return matchSegments(
      [...segments.slice(0, -1), '{}'],
      [...parts.slice(0, segments.length - 1), parts.slice(segments.length - 1).join('/')],
    );
  if (segments.length !== parts.length) return undefined;
  const variables: Record<string, string> = {};
  for (const [index, segment] of segments.entries()) {
    const part = parts[index] ?? '';
    // A variable is `\S+` in PVE's router, so a name with a blank in it is no route at all.
    if (segment.startsWith('{') && !/\s/.test(part)) variables[segment.slice(1, -1) || 'volume'] = part;
    else if (segment !== part) return undefined;
  }
  return variables;
}

function merge(variables: Readonly<Record<string, string>>, parameters: Readonly<Record<string, unknown>>): Record<string, unknown> {
  for (const [name, value] of Object.entries(parameters)) {
    const fixed = variables[name];
    if (fixed !== undefined && String(value) !== fixed)
      throw badParameters({ [name]: 'duplicate parameter (already defined in URI) with conflicting values!' });
  }
  return { ...variables, ...parameters };
}

function pathSpecs(variables: Readonly<Record<string, string>>) {
  return Object.fromEntries(
    Object.keys(variables).flatMap((name) => (pathParameters[name] === undefined ? [] : [[name, pathParameters[name]] as const])),
  );
}

function checkPermission(
  cluster: Cluster,
  permission: Permission,
  user: string | undefined,
  values: Readonly<Record<string, unknown>>,
): void {
  if (user === undefined) {
    if (permission === 'world') return;
    throw forbidden('user != null');
  }
  if (typeof permission === 'string') return;
  if ('userGroup' in permission) checkUserGroup(cluster, permission.userGroup, user, scalarText(values['userid'] ?? ''));
  else checkPrivileges(cluster, permission, user, values);
}

type OnPath = Extract<Permission, { readonly path: string }>;

function checkPrivileges(cluster: Cluster, permission: OnPath, user: string, values: Readonly<Record<string, unknown>>): void {
  const filled = permission.path.replace(/\{(\w+)\}/g, (_, name: string) => scalarText(values[name] ?? ''));
  const path = normalizeAclPath(filled);
  const held = cluster.access.privileges(user, path);
  const missing = permission.privileges.filter((name) => !held.has(name));
  if (permission.any === true) {
    if (missing.length === permission.privileges.length) throw forbidden(`${path ?? ''}, ${permission.privileges.join('|')}`);
  } else if (missing[0] !== undefined) throw forbidden(`${path ?? ''}, ${missing[0]}`);
}

/** The demo has no groups, so only rights over all of them count. PVE says nothing more of who has none. */
function checkUserGroup(cluster: Cluster, privileges: readonly string[], user: string, userid: string): void {
  const bad = formats['pve-userid'](userid);
  if (bad !== undefined) throw failed(bad);
  if (!cluster.access.hasUser(userid)) throw failed(`no such user ('${userid}')`);
  if (!privileges.some((name) => cluster.access.holds(user, '/access/groups', name))) throw forbidden();
}

/** Who answers for the node named in the path. `localhost` is the node that was asked, as in PVE: the reason why names must be resolved. */
function resolveNode(cluster: Cluster, local: string, named: string): string {
  if (named === 'localhost' || named === local) return local;
  const node = cluster.state.nodes.get(named);
  if (node !== undefined) {
    if (!seesOnline(cluster, local, node)) throw new ProxyError(595, node.unreachable);
    if (!node.proxyUp) throw new ProxyError(595, 'Connection refused');
    return named;
  }
  if (/^\d{1,3}(?:\.\d{1,3}){3}$/.test(named)) throw unknownAddress(cluster, (one) => one.ip === named);
  const inOtherCase = (one: NodeState) => one.name.toLowerCase() === named.toLowerCase();
  if ([...cluster.state.nodes.values()].some(inOtherCase)) throw unknownAddress(cluster, inOtherCase);
  throw failed(`hostname lookup '${named}' failed - failed to get address info for: ${named}: Name or service not known`);
}

/** An address, or a name in another case (which resolves all the same), is connected to, but no certificate is on file under that name. */
function unknownAddress(cluster: Cluster, is: (node: NodeState) => boolean): ProxyError {
  const known = [...cluster.state.nodes.values()].some((node) => is(node) && node.up);
  return known ? new ProxyError(596, 'tls_process_server_certificate: certificate verify failed') : new ProxyError(595, 'No route to host');
}
