/** `/cluster/ha`. Without a manager that has ever run, the status is the quorum's row alone. */
import { type ApiError, badParameters, failed } from '../api-error.ts';
import type { ApiCall, ApiMethod } from '../api-method.ts';
import { type Cluster, seesOnline } from '../cluster.ts';
import { request } from '../ha-manager.ts';
import { type HaRequest, type HaResource, haStates, requestOf, resourcesDigest, sidOf, verboseState } from '../high-availability.ts';
import { type ParameterSpecs, splitList } from '../parameter.ts';

const audit = { path: '/', privileges: ['Sys.Audit'] } as const;
const console = { path: '/', privileges: ['Sys.Console'] } as const;
const tries = { type: 'integer', optional: true, minimum: 0 } as const;
const text = { type: 'string', optional: true } as const;

const options: ParameterSpecs = {
  comment: { ...text, maxLength: 4096 },
  failback: { type: 'boolean', optional: true },
  group: { ...text, format: 'pve-configid' },
  max_relocate: tries,
  max_restart: tries,
  state: { ...text, enum: haStates },
};
const typeSpec = { ...text, enum: ['ct', 'vm'] } as const;

export const haMethods: readonly ApiMethod[] = [
  {
    verb: 'GET',
    path: '/cluster/ha/resources',
    permission: audit,
    proxied: false,
    unordered: true,
    parameters: { type: typeSpec },
    run: list,
  },
  {
    verb: 'POST',
    path: '/cluster/ha/resources',
    permission: console,
    proxied: false,
    parameters: { sid: { type: 'string', format: 'pve-ha-resource-or-vm-id' }, type: typeSpec, ...options },
    run: add,
  },
  {
    verb: 'GET',
    path: '/cluster/ha/resources/{sid}',
    permission: audit,
    proxied: false,
    run: (call) => section(call, requireResource(call)),
  },
  {
    verb: 'PUT',
    path: '/cluster/ha/resources/{sid}',
    permission: console,
    proxied: false,
    parameters: { ...options, delete: { ...text, format: 'pve-configid-list', maxLength: 4096 }, digest: { ...text, maxLength: 64 } },
    run: update,
  },
  {
    verb: 'DELETE',
    path: '/cluster/ha/resources/{sid}',
    permission: console,
    proxied: false,
    parameters: { purge: { type: 'boolean', optional: true } },
    run: remove,
  },
  {
    verb: 'GET',
    path: '/cluster/ha/rules',
    permission: audit,
    proxied: false,
    parameters: { resource: text, type: { ...text, enum: ['node-affinity', 'resource-affinity'] } },
    run: () => [],
  },
  { verb: 'GET', path: '/cluster/ha/status/current', permission: audit, proxied: false, run: status },
  { verb: 'GET', path: '/cluster/ha/status/manager_status', permission: audit, proxied: false, run: managerStatus },
];

function requireQuorum({ state }: Cluster): void {
  if (!state.quorate) throw failed('cluster not ready - no quorum?');
}

/** A bare guest id is completed by what that guest is. @throws {ApiError} 500 */
function sidIn({ cluster, parameters }: ApiCall): string {
  const given = parameters.text('sid') ?? '';
  if (!/^\d+$/.test(given)) return given;
  const guest = cluster.state.guests.get(Number(given));
  if (guest === undefined) throw failed(`unable do add resource - VM/CT ${given} does not exist`);
  return sidOf(guest);
}

/** @throws {ApiError} 500 */
function requireResource(call: ApiCall, prefix = ''): HaResource {
  const sid = sidIn(call);
  const resource = call.cluster.ha.resources.get(sid);
  if (resource === undefined) throw failed(`${prefix}no such resource '${sid}'`);
  return resource;
}

function section({ cluster }: ApiCall, resource: HaResource): object {
  const { sid, state, options: rest } = resource;
  const type = sid.split(':', 1)[0];
  return { sid, type, ...(state === undefined ? {} : { state }), ...Object.fromEntries(rest), digest: resourcesDigest(cluster.ha) };
}

function list(call: ApiCall): unknown {
  const only = call.parameters.text('type');
  const resources = [...call.cluster.ha.resources.values()];
  return resources.filter(({ sid }) => only === undefined || sid.startsWith(`${only}:`)).map((resource) => section(call, resource));
}

function add(call: ApiCall): null {
  const { cluster, parameters } = call;
  requireQuorum(cluster);
  const sid = sidIn(call);
  const [, prefix, vmid] = /^(vm|ct):(\d+)$/.exec(sid) ?? [];
  if (parameters.has('type') && parameters.text('type') !== prefix) throw badParameters({ type: 'types does not match' });
  const guest = cluster.state.guests.get(Number(vmid));
  if (guest === undefined || sidOf(guest) !== sid) throw failed(`resource '${sid}' does not exist in cluster`);
  if (cluster.ha.resources.has(sid)) throw failed(`create resource failed: resource ID '${sid}' already defined`);
  const resource: HaResource = {
    ...{ sid, kind: guest.kind, vmid: guest.vmid, state: undefined, options: new Map(), crmState: undefined, round: 0 },
  };
  cluster.ha.resources.set(sid, resource);
  readOptions(call, resource);
  request(cluster, resource, parameters.text('state') as HaRequest | undefined);
  return null;
}

function readOptions({ parameters }: ApiCall, resource: HaResource): void {
  for (const name of ['comment', 'group']) if (parameters.has(name)) resource.options.set(name, parameters.text(name) ?? '');
  for (const name of ['max_relocate', 'max_restart', 'failback'])
    if (parameters.has(name)) resource.options.set(name, parameters.integer(name) ?? 0);
}

function update(call: ApiCall): null {
  const { cluster, parameters } = call;
  requireQuorum(cluster);
  const prefix = 'update resources config failed: ';
  const digest = parameters.text('digest');
  if (digest !== undefined && digest !== resourcesDigest(cluster.ha)) throw modified(prefix);
  const resource = requireResource(call, prefix);
  const dropped = splitList(parameters.text('delete') ?? '');
  for (const name of dropped) resource.options.delete(name);
  readOptions(call, resource);
  if (parameters.has('state')) request(cluster, resource, parameters.text('state') as HaRequest);
  else if (dropped.includes('state')) request(cluster, resource, undefined);
  return null;
}

function modified(prefix: string): ApiError {
  return failed(`${prefix}detected modified configuration - file changed by other user? Try again.`);
}

function remove(call: ApiCall): null {
  const { cluster } = call;
  requireQuorum(cluster);
  const sid = sidIn(call);
  if (!cluster.ha.resources.delete(sid)) throw failed(`cannot delete service '${sid}', not HA managed!`);
  return null;
}

/** `Sun Nov 22 19:20:46 2026` */
function localTime(ms: number): string {
  const [weekday = '', month = '', day = '', year = ''] = new Date(ms)
    .toDateString()
    .replace(/^(\w+) (\w+) 0?(\d+) (\d+)$/, '$1 $2 $3 $4')
    .split(' ');
  return `${weekday} ${month} ${day.padStart(2)} ${new Date(ms).toTimeString().slice(0, 8)} ${year}`;
}

const deadAfterMs = 30_000;

function status({ cluster, node: local }: ApiCall): unknown {
  const { quorate } = cluster.state;
  const rows: object[] = [
    { id: 'quorum', type: 'quorum', node: local, status: quorate ? 'OK' : `No quorum on node '${local}'!`, quorate: quorate ? 1 : 0 },
  ];
  const { master } = cluster.ha;
  if (master !== undefined) rows.push(masterRow(cluster, master), ...lrmRows(cluster));
  const resources = [...cluster.ha.resources.values()].sort((one, other) => (one.sid < other.sid ? -1 : 1));
  return [...rows, ...resources.map((resource) => serviceRow(cluster, resource))];
}

function masterRow(cluster: Cluster, master: string): object {
  const seen = lastSeen(cluster, master);
  const state = isDead(cluster, seen) ? 'old timestamp - dead?' : 'active';
  return {
    id: 'master',
    type: 'master',
    node: master,
    status: `${master} (${state}, ${localTime(seen)})`,
    timestamp: Math.floor(seen / 1000),
  };
}

function lastSeen(cluster: Cluster, node: string): number {
  return cluster.state.nodes.get(node)?.downSince ?? cluster.clock.now();
}

function isDead(cluster: Cluster, seen: number): boolean {
  return cluster.clock.now() - seen > deadAfterMs;
}

function lrmRows(cluster: Cluster): object[] {
  return [...cluster.state.nodes.keys()].sort().map((node) => {
    const seen = lastSeen(cluster, node);
    const state = isDead(cluster, seen) ? 'old timestamp - dead?' : holdsResource(cluster, node) ? 'active' : 'idle';
    return { id: `lrm:${node}`, type: 'lrm', node, status: `${node} (${state}, ${localTime(seen)})`, timestamp: Math.floor(seen / 1000) };
  });
}

function holdsResource(cluster: Cluster, node: string): boolean {
  return [...cluster.ha.resources.values()].some(
    (resource) => resource.crmState !== undefined && cluster.state.guests.get(resource.vmid)?.node === node,
  );
}

function serviceRow(cluster: Cluster, resource: HaResource): object {
  const { sid, crmState, options: rest } = resource;
  const guest = cluster.state.guests.get(resource.vmid);
  const node = guest?.node ?? '---';
  const state = verboseState(resource, guest?.running ?? false);
  return {
    ...{ id: `service:${sid}`, type: 'service', sid, node, state, status: `${sid} (${node}, ${state})` },
    ...(crmState === undefined ? {} : { crm_state: crmState }),
    ...{ request_state: requestOf(resource), max_restart: 1, max_relocate: 1, failback: 1 },
    ...Object.fromEntries(rest),
  };
}

function managerStatus({ cluster, node: local }: ApiCall): unknown {
  const quorum = { node: local, quorate: cluster.state.quorate ? '1' : '0' };
  const { master } = cluster.ha;
  if (master === undefined) return { quorum, manager_status: { node_status: {} } };
  const nodes = [...cluster.state.nodes.values()];
  const seen = (node: string) => Math.floor(lastSeen(cluster, node) / 1000);
  return {
    quorum,
    lrm_status: Object.fromEntries(nodes.map(({ name }) => [name, lrmStatus(cluster, name)])),
    manager_status: {
      master_node: master,
      timestamp: seen(master),
      node_status: Object.fromEntries(nodes.map((node) => [node.name, seesOnline(cluster, local, node) ? 'online' : 'unknown'])),
      service_status: Object.fromEntries([...cluster.ha.resources.values()].flatMap((resource) => serviceStatus(cluster, resource))),
    },
  };
}

function lrmStatus(cluster: Cluster, node: string): object {
  const state = holdsResource(cluster, node) ? 'active' : 'wait_for_agent_lock';
  return { mode: 'active', state, timestamp: Math.floor(lastSeen(cluster, node) / 1000), results: {} };
}

function serviceStatus(cluster: Cluster, { sid, vmid, crmState, round }: HaResource): [string, object][] {
  if (crmState === undefined) return [];
  const uid = Buffer.from(`${sid} ${round}`.padEnd(16)).toString('base64').slice(0, 22);
  return [[sid, { uid, node: cluster.state.guests.get(vmid)?.node ?? '', state: crmState }]];
}
