/** `/cluster/ha`. Without a manager that has ever run, the status is the quorum's row alone. */
import { type ApiError, failed } from '../api-error.ts';
import { type ApiCall, type ApiMethod, count, flag, on, requireQuorum, route, text } from '../api-method.ts';
import { type Cluster, seesOnline } from '../cluster.ts';
import { splitList } from '../formats.ts';
import { moveResource, request } from '../ha-manager.ts';
import {
  addResource,
  type HaRequest,
  type HaResource,
  haStates,
  managedResource,
  refusedInError,
  requestOf,
  resourcesDigest,
  sidOf,
  verboseState,
} from '../high-availability.ts';
import type { ParameterSpecs } from '../parameter.ts';
import type { GuestKind, GuestState } from '../state.ts';

const audit = on('/', 'Sys.Audit');
const console = on('/', 'Sys.Console');

const options: ParameterSpecs = {
  comment: { ...text, maxLength: 4096 },
  failback: flag,
  group: { ...text, format: 'pve-configid' },
  max_relocate: count,
  max_restart: count,
  state: { ...text, enum: haStates },
};
const typeSpec = { ...text, enum: ['ct', 'vm'] } as const;

export const haMethods: readonly ApiMethod[] = [
  route('GET /cluster/ha/resources', audit, list, { unordered: true, parameters: { type: typeSpec } }),
  route('POST /cluster/ha/resources', console, add, {
    parameters: { sid: { type: 'string', format: 'pve-ha-resource-or-vm-id' }, type: typeSpec, ...options },
  }),
  route('GET /cluster/ha/resources/{sid}', audit, (call) => section(call, requireResource(call))),
  route('PUT /cluster/ha/resources/{sid}', console, update, {
    parameters: { ...options, delete: { ...text, format: 'pve-configid-list', maxLength: 4096 }, digest: { ...text, maxLength: 64 } },
  }),
  route('DELETE /cluster/ha/resources/{sid}', console, remove, { parameters: { purge: flag } }),
  ...(['migrate', 'relocate'] as const).map((how) =>
    route(`POST /cluster/ha/resources/{sid}/${how}`, console, (call) => move(call, how), {
      parameters: { node: { type: 'string', format: 'pve-node' } },
    }),
  ),
  route('GET /cluster/ha/groups', audit, () => {
    throw failed('cannot index groups: ha groups have been migrated to rules');
  }),
  route('GET /cluster/ha/rules', audit, ({ cluster }) => cluster.ha.rules, {
    parameters: { resource: text, type: { ...text, enum: ['node-affinity', 'resource-affinity'] } },
  }),
  route('GET /cluster/ha/status/current', audit, status),
  route('GET /cluster/ha/status/manager_status', audit, managerStatus),
];

/** A bare guest id is completed by what that guest is. @throws {ApiError} 500 */
function sidIn({ cluster, parameters }: ApiCall): string {
  const given = parameters.text('sid') ?? '';
  if (!/^\d+$/.test(given)) return given;
  const guest = cluster.state.guests.get(Number(given));
  if (guest === undefined) throw failed(`unable do detect SID from VMID - VM/CT ${given} does not exist`);
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
  requireQuorum(call);
  const sid = sidIn(call);
  const guest = namedGuest(call, sid);
  if (cluster.ha.resources.has(sid)) throw failed(`create resource failed: resource ID '${sid}' already defined`);
  const resource = addResource(cluster.ha, guest);
  readOptions(call, resource);
  request(cluster, resource, parameters.text('state') as HaRequest | undefined);
  return null;
}

/** The guest behind a service id, checked in PVE's order. @throws {ApiError} 500 */
function namedGuest({ cluster, parameters }: ApiCall, sid: string): GuestState {
  const [prefix = '', vmid = ''] = sid.split(/:(.*)/s);
  if ((parameters.text('type') ?? prefix) !== prefix) throw failed('types does not match');
  if (parameters.has('group')) throw failed(groupsAreGone);
  const kind = kindOf(prefix);
  if (!/^[1-9][0-9]+$/.test(vmid)) throw failed('invalid VMID');
  const guest = cluster.state.guests.get(Number(vmid));
  if (guest === undefined) throw failed(`resource '${sid}' does not exist in cluster`);
  if (guest.kind !== kind) throw failed(`resource '${sid}' - guest with ID ${vmid} is not a ${kind === 'qemu' ? 'VM' : 'container'}`);
  return guest;
}

/** @throws {ApiError} 500 */
function kindOf(prefix: string): GuestKind {
  const kind = { vm: 'qemu', ct: 'lxc' }[prefix];
  if (kind === 'qemu' || kind === 'lxc') return kind;
  throw failed(`unknown section type '${prefix}'`);
}

const groupsAreGone = "invalid parameter 'group': ha groups have been migrated to rules";

function move(call: ApiCall, how: 'migrate' | 'relocate'): object {
  const { cluster } = call;
  const sid = sidIn(call);
  const resource = cluster.ha.resources.get(sid);
  if (resource === undefined || managedResource(cluster.ha, resource) === undefined) throw failed(`resource '${sid}' is not HA managed`);
  refuseError(resource);
  requireQuorum(call);
  const node = call.parameters.text('node') ?? '';
  moveResource(cluster, resource, { how, node });
  return { sid, 'requested-node': node };
}

function refuseError(resource: HaResource, wanted?: HaRequest): void {
  const refusal = refusedInError(resource, wanted);
  if (refusal !== undefined) throw failed(refusal);
}

function readOptions({ parameters }: ApiCall, resource: HaResource): void {
  if (parameters.has('comment')) resource.options.set('comment', parameters.text('comment') ?? '');
  for (const name of ['max_relocate', 'max_restart', 'failback'])
    if (parameters.has(name)) resource.options.set(name, parameters.integer(name) ?? 0);
}

function update(call: ApiCall): null {
  const { cluster, parameters } = call;
  requireQuorum(call);
  const prefix = 'update resources config failed: ';
  if (parameters.has('group')) throw failed(groupsAreGone);
  const known = cluster.ha.resources.get(sidIn(call));
  if (known !== undefined) refuseError(known, parameters.text('state') as HaRequest | undefined);
  const digest = parameters.text('digest');
  if (digest !== undefined && digest !== resourcesDigest(cluster.ha)) throw modified(prefix);
  const resource = requireResource(call, prefix);
  const dropped = splitList(parameters.text('delete') ?? '');
  const unknown = dropped.find((name) => !(name in options));
  if (unknown !== undefined) throw failed(`${prefix}no such option '${unknown}'`);
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
  requireQuorum(call);
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
  const state = verboseState(resource, guest);
  return {
    ...{ id: `service:${sid}`, type: 'service', sid, state, status: `${sid} (${node}, ${state})` },
    ...(guest === undefined ? {} : { node }),
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
