/** `/cluster` but its resources, and `/cluster/options` (`datacenter.cfg`). */

import { createHash, X509Certificate } from 'node:crypto';
import { shuffled } from '../../random.ts';
import { badParameters, failed } from '../api-error.ts';
import { type ApiCall, type ApiMethod, guestId, on, requireQuorum, route, text } from '../api-method.ts';
import { type Cluster, seesOnline } from '../cluster.ts';
import { operation } from '../declared/read-tables.ts';
import { splitList } from '../formats.ts';
import { readProperties } from '../parameter.ts';
import type { NodeState } from '../state.ts';
import type { TaskRecord } from '../task-engine.ts';
import { splitTokenId } from '../upid.ts';

export const clusterMethods: readonly ApiMethod[] = [
  route('GET /cluster/status', on('/', 'Sys.Audit'), status),
  route('GET /cluster/tasks', 'all', recentTasks),
  route('GET /cluster/nextid', 'all', nextId, { parameters: { vmid: { ...guestId, optional: true } } }),
];

/** A standalone node has no cluster row and node id 0. */
function status({ cluster, node: local }: ApiCall): unknown {
  const nodes = shuffled(cluster.random, [...cluster.state.nodes.values()]);
  const clustered = nodes.length > 1;
  const rows = nodes.map((node) => ({
    type: 'node',
    id: `node/${node.name}`,
    name: node.name,
    nodeid: clustered ? node.nodeid : 0,
    ip: node.ip,
    level: '',
    local: node.name === local ? 1 : 0,
    online: seesOnline(cluster, local, node) ? 1 : 0,
  }));
  if (!clustered) return rows;
  const { name, version, quorate } = cluster.state;
  return [{ type: 'cluster', id: 'cluster', name, version, nodes: nodes.length, quorate: quorate ? 1 : 0 }, ...rows];
}

const finishedShown = 25;
const freshMs = 10_000;

/**
 * All running tasks and the last 25 finished ones of each node, node after node: only the rows of one node are in the order of time.
 * A caller without `Sys.Audit` sees its own user's only.
 */
function recentTasks({ cluster, user }: ApiCall): unknown {
  const all = cluster.access.holds(user, '/', 'Sys.Audit');
  const shown: TaskRecord[] = [];
  for (const node of cluster.state.nodes.values()) {
    const tasks = cluster.tasks
      .list()
      .filter((task) => task.node === node.name)
      .map((task) => asLastHeard(task, node));
    const running = tasks.filter((task) => task.exitstatus === undefined);
    const finished = tasks.filter((task) => task.exitstatus !== undefined).slice(0, Math.max(0, finishedShown - running.length));
    shown.push(...running, ...finished);
  }
  return shown.map((task) => row(cluster, task)).filter((task) => all || task.user === user);
}

/** Each node tells the others of its tasks: one that is gone cannot say that a task of it has ended. */
function asLastHeard(task: TaskRecord, { downSince }: NodeState): TaskRecord {
  const endedUnheard = downSince !== undefined && task.endtime !== undefined && task.endtime * 1000 + 999 >= downSince;
  return endedUnheard ? { ...task, exitstatus: undefined, endtime: undefined } : task;
}

function row(cluster: Cluster, task: TaskRecord) {
  const { user, tokenid } = splitTokenId(task.user);
  return {
    ...{ upid: task.upid, node: task.node, type: task.type, id: task.id, starttime: task.starttime, user },
    ...(tokenid === undefined ? {} : { tokenid }),
    ...(task.exitstatus === undefined
      ? { saved: '0' }
      : { status: task.exitstatus, endtime: task.endtime, saved: savedMark(cluster, task) }),
  };
}

/** PVE's own quirk: a number in the broadcast that archived the task, a string once the list was read back from its file. */
function savedMark(cluster: Cluster, task: TaskRecord): 1 | '1' {
  const newest = cluster.tasks.list().find((one) => one.node === task.node);
  const fresh = cluster.clock.now() - (task.endtime ?? 0) * 1000 < freshMs;
  return newest === task && fresh ? 1 : '1';
}

function nextId({ cluster, parameters }: ApiCall): unknown {
  const wanted = parameters.integer('vmid');
  if (wanted !== undefined) {
    if (cluster.state.guests.has(wanted)) throw badParameters({ vmid: `VM ${wanted} already exists` });
    return parameters.text('vmid');
  }
  let candidate = 100;
  while (cluster.state.guests.has(candidate)) candidate += 1;
  return String(candidate);
}

const audit = on('/', 'Sys.Audit');

export const certificateMethods: readonly ApiMethod[] = [
  route('GET /nodes/{node}/certificates/info', 'all', info),
  route('GET /cluster/config/join', audit, join, { parameters: { node: { ...text, format: 'pve-node' } } }),
  route('GET /cluster/config/nodes', audit, members, { unordered: true }),
  route('GET /cluster/config/totem', audit, ({ cluster }) => totem(cluster)),
  route('GET /cluster/config/apiversion', audit, () => 1),
];

function info({ cluster, node }: ApiCall): unknown {
  const own = cluster.certificates.nodes.get(node)?.certificatePem ?? '';
  const files = [
    ['pve-root-ca.pem', cluster.certificates.authority],
    ['pve-ssl.pem', own],
  ] as const;
  return files.filter(([, pem]) => pem !== '').map(([filename, pem]) => described(filename, pem));
}

function described(filename: string, pem: string): object {
  const certificate = new X509Certificate(pem);
  const seconds = (date: string) => Math.floor(Date.parse(date) / 1000);
  const names = (certificate.subjectAltName ?? '').split(', ').map((one) => one.replace(/^(?:DNS|IP Address):/, ''));
  return {
    filename,
    pem,
    fingerprint: certificate.fingerprint256,
    subject: slashed(certificate.subject),
    issuer: slashed(certificate.issuer),
    notbefore: seconds(certificate.validFrom),
    notafter: seconds(certificate.validTo),
    'public-key-type': certificate.publicKey.asymmetricKeyType === 'rsa' ? 'rsaEncryption' : 'id-ecPublicKey',
    'public-key-bits':
      certificate.publicKey.asymmetricKeyType === 'rsa' ? (certificate.publicKey.asymmetricKeyDetails?.modulusLength ?? 0) : 256,
    san: certificate.subjectAltName === undefined ? [] : names,
  };
}

/** OpenSSL's one-line form of a name: `/OU=PVE Cluster Node/CN=pve`. */
function slashed(name: string): string {
  return name
    .split('\n')
    .map((part) => `/${part}`)
    .join('');
}

function join({ cluster, node: local, parameters }: ApiCall): unknown {
  const preferred = parameters.text('node') ?? local;
  if (!cluster.state.nodes.has(preferred)) throw failed(`unknown node '${preferred}'`);
  const nodelist = [...cluster.state.nodes.values()].map((node) => ({
    ...member(node),
    pve_addr: node.ip,
    pve_fp: cluster.certificates.nodes.get(node.name)?.fingerprint ?? '',
  }));
  return {
    nodelist: shuffled(cluster.random, nodelist),
    config_digest: createHash('sha1').update(JSON.stringify(nodelist)).digest('hex'),
    preferred_node: preferred,
    totem: totem(cluster),
  };
}

/** Corosync's configuration holds text only, numbers too. */
function member({ name, nodeid, ip }: NodeState): object {
  return { name, nodeid: String(nodeid), quorum_votes: '1', ring0_addr: ip };
}

function members({ cluster }: ApiCall): unknown {
  return [...cluster.state.nodes.values()].map((node) => ({ node: node.name, ...member(node) }));
}

function totem(cluster: Cluster): object {
  return {
    version: '2',
    cluster_name: cluster.state.name,
    config_version: String(cluster.state.version),
    interface: { 0: { linknumber: '0' } },
    ip_version: 'ipv4-6',
    link_mode: 'passive',
    secauth: 'on',
  };
}

const writeOptions = operation('PUT /cluster/options', changeOptions);

/** Tags that are registered in the options take `Sys.Modify` to be given or taken away. */
export const optionMethods: readonly ApiMethod[] = [operation('GET /cluster/options', readOptions), writeOptions];

/** Every tag in use may be given, besides those that are registered. */
function readOptions({ cluster }: ApiCall): unknown {
  const { state } = cluster;
  const registered = (state.options.get('registered-tags') ?? []) as readonly string[];
  const used = [...state.guests.values()].flatMap((guest) => splitList(String(guest.config.get('tags') ?? '')));
  const allowed = [...new Set(used)].filter((tag) => !registered.includes(tag)).sort();
  return { description: '', ...Object.fromEntries(state.options), 'allowed-tags': allowed };
}

const numericOptions = new Set(['max_workers', 'migration_unsecure']);

function changeOptions(call: ApiCall): null {
  const { cluster, parameters } = call;
  requireQuorum(call);
  const { options } = cluster.state;
  for (const name of parameters.list('delete')) {
    if (writeOptions.parameters?.[name] === undefined || name === 'delete') throw badParameters({ delete: `unknown option '${name}'` });
    options.delete(name);
  }
  for (const name of parameters.names()) if (name !== 'delete') options.set(name, storedOption(name, parameters.text(name) ?? ''));
  return null;
}

/** Property strings are shown as objects, tags as a list. */
function storedOption(name: string, value: string): unknown {
  if (name === 'registered-tags') return [...new Set(splitList(value.toLowerCase()))].sort();
  const spec = writeOptions.parameters?.[name];
  if (numericOptions.has(name)) return Number(value);
  if (spec?.properties === undefined) return value;
  const { values } = readProperties(spec.properties, value, name);
  const list = values['user-allow-list'];
  return list === undefined ? values : { ...values, 'user-allow-list': splitList(list) };
}
