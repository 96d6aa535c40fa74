/** What is configured and only shown: storages, pools, networks, datacenter options, packages, replication, the cluster's log. */
import { createHash } from 'node:crypto';
import { failed, forbidden } from '../api-error.ts';
import { type ApiCall, type ApiMethod, anyOf, flag, guestId, on, type Permission, route, text } from '../api-method.ts';
import { operation } from '../declared/read-tables.ts';
import { lockOf, type StorageState } from '../state.ts';
import { requireGuest } from './guests.ts';

const audit = on('/', 'Sys.Audit');
const auditOrStore: Permission = anyOf('/', 'Sys.Audit', 'Datastore.Audit');
const storageTypes = 'btrfs cephfs cifs dir esxi iscsi iscsidirect lvm lvmthin nfs pbs rbd zfs zfspool'.split(' ');
const networkTypes = ['bridge', 'bond', 'eth', 'alias', 'vlan', 'fabric', 'OVSBridge', 'OVSBond', 'OVSPort', 'OVSIntPort', 'vnet'];

/** Every ceph method without ceph installed. */
const cephPaths = [
  '/cluster/ceph/status',
  '/cluster/ceph/flags',
  '/nodes/{node}/ceph/status',
  '/nodes/{node}/ceph/osd',
  '/nodes/{node}/ceph/pool',
];

export const inventoryMethods: readonly ApiMethod[] = [
  route('GET /storage', 'all', storages, { unordered: true, parameters: { type: { ...text, enum: storageTypes } } }),
  route('GET /storage/{storage}', on('/storage/{storage}', 'Datastore.Allocate'), storage),
  route('GET /nodes/{node}/network', 'all', networks, {
    parameters: { type: { ...text, enum: [...networkTypes, 'any_bridge', 'any_local_bridge', 'include_sdn'] } },
  }),
  route('GET /cluster/log', 'all', () => [], { parameters: { max: { type: 'integer', optional: true, minimum: 1 } } }),
  route('GET /cluster/replication', 'all', () => []),
  route('POST /cluster/replication', 'all', addReplication, {
    parameters: {
      id: { type: 'string', pattern: '[1-9][0-9]{2,8}-\\d{1,9}' },
      target: { type: 'string', format: 'pve-node' },
      type: { type: 'string', enum: ['local'] },
      comment: { ...text, maxLength: 4096 },
      disable: flag,
      rate: { type: 'number', optional: true, minimum: 1 },
      remove_job: { ...text, enum: ['local', 'full'] },
      schedule: { ...text, maxLength: 128 },
      source: { ...text, format: 'pve-node' },
    },
  }),
  route('GET /cluster/replication/{id}', 'all', missingJob),
  operation('DELETE /cluster/replication/{id}', missingJob),
  operation('POST /nodes/{node}/apt/update', refresh),
  operation('GET /nodes/{node}/subscription', subscription),
  operation('GET /cluster/ceph/metadata', noCeph),
  route('GET /nodes/{node}/replication', 'all', () => [], { parameters: { guest: { ...guestId, optional: true } } }),
  route('GET /nodes/{node}/replication/{id}/status', 'all', missingJob),
  route('GET /nodes/{node}/apt/update', on('/nodes/{node}', 'Sys.Modify'), () => [packageRow('dpkg', '1.21.22')]),
  route('GET /nodes/{node}/apt/versions', on('/nodes/{node}', 'Sys.Audit'), () => [
    { ...packageRow('corosync', '3.1.9-pve1'), CurrentState: 'Installed' },
    { ...packageRow('ceph-fuse', undefined), CurrentState: 'NotInstalled' },
  ]),
  route('GET /nodes/{node}/lxc/{vmid}/interfaces', on('/vms/{vmid}', 'VM.Audit'), interfaces),
  ...cephPaths.map((path) => route(`GET ${path}`, path.endsWith('/flags') ? audit : auditOrStore, noCeph)),
];

function noCeph(): never {
  throw failed('binary not installed: /usr/bin/ceph-mon');
}

/** Reads the package lists anew. */
function refresh({ cluster, node, user }: ApiCall): string {
  return cluster.tasks.start({ node, type: 'aptupdate', id: '', user }, function* (task) {
    task.log('starting apt-get update');
    yield cluster.taskDurationMs;
    task.log('Reading package lists...');
  });
}

function subscription({ cluster, node, user }: ApiCall): object {
  const key = {
    status: 'notfound',
    message: 'There is no subscription key',
    serverid: createHash('md5').update(node).digest('hex').toUpperCase(),
  };
  return cluster.access.holds(user, `/nodes/${node}`, 'Sys.Audit')
    ? { ...key, url: 'https://www.proxmox.com/en/proxmox-virtual-environment/pricing' }
    : { status: key.status };
}

function digestOf(value: unknown): string {
  return createHash('sha1').update(JSON.stringify(value)).digest('hex');
}

function storages({ cluster, user, parameters }: ApiCall): unknown {
  const only = parameters.text('type');
  const digest = digestOf([...cluster.state.storages.values()]);
  return [...cluster.state.storages.values()]
    .filter(({ type }) => only === undefined || type === only)
    .filter(({ id }) => ['Datastore.Audit', 'Datastore.AllocateSpace'].some((name) => cluster.access.holds(user, `/storage/${id}`, name)))
    .map((one) => storageSection(one, digest));
}

function storageSection({ id, type, content, shared, nodes, disabled, options: rest }: StorageState, digest: string): object {
  return {
    ...rest,
    ...{ storage: id, type, content: content.join(','), digest },
    ...(shared ? { shared: 1 } : {}),
    ...(disabled ? { disable: 1 } : {}),
    ...(nodes === undefined ? {} : { nodes: nodes.join(',') }),
  };
}

function storage({ cluster, parameters }: ApiCall): unknown {
  const id = parameters.text('storage') ?? '';
  const known = cluster.state.storages.get(id);
  if (known === undefined) throw failed(`storage '${id}' does not exist`);
  return storageSection(known, digestOf([...cluster.state.storages.values()]));
}

/** A node of the demo has one bridge; who may not use it does not see it. */
function networks({ cluster, node, user, parameters }: ApiCall): unknown {
  const wanted = parameters.text('type') ?? 'any_bridge';
  const path = '/sdn/zones/localnetwork/vmbr0';
  const sees = ['SDN.Audit', 'SDN.Use'].some((name) => cluster.access.holds(user, path, name));
  if (!sees || !['bridge', 'any_bridge', 'any_local_bridge', 'include_sdn'].includes(wanted)) return [];
  const address = cluster.state.nodes.get(node)?.ip ?? '';
  return [
    {
      ...{ iface: 'vmbr0', type: 'bridge', method: 'static', method6: 'manual', families: ['inet'], priority: 3, autostart: 1 },
      ...{ address, netmask: '24', cidr: `${address}/24`, bridge_ports: '', bridge_stp: 'off', bridge_fd: 0 },
    },
  ];
}

function jobGuest({ parameters }: ApiCall): number {
  return Number((parameters.text('id') ?? '').split('-', 1)[0]);
}

function addReplication(call: ApiCall): null {
  const { cluster, user } = call;
  const vmid = jobGuest(call);
  if (!cluster.access.holds(user, `/vms/${vmid}`, 'VM.Replicate')) throw forbidden(`/vms/${vmid}, VM.Replicate`);
  const guest = cluster.state.guests.get(vmid);
  if (guest === undefined) throw failed(`guest '${vmid}' does not exist`);
  const disks = [...guest.config].flatMap(([name, value]) =>
    /^(?:scsi|virtio|ide|sata|rootfs|mp)\d*$/.test(name) ? [String(value).split(',', 1)[0]] : [],
  );
  // Only ZFS can replicate, which the demo's storages are not.
  if (disks[0] !== undefined) throw failed(`missing replicate feature on volume '${disks[0]}'`);
  if (lockOf(guest) !== undefined) throw failed(`VM is locked (${lockOf(guest)})`);
  throw failed('no replicatable volumes found');
}

function missingJob({ parameters }: ApiCall): never {
  throw failed(`no such replication job '${parameters.text('id')}'`);
}

/** A container that does not run has none, not even a list. */
function interfaces(call: ApiCall): unknown {
  const guest = requireGuest(call, 'lxc');
  if (!guest.running) return null;
  const [, inet = ''] = /(?:^|,)ip=([\d./]+)/.exec(String(guest.config.get('net0') ?? '')) ?? [];
  const lo = interfaceRow('lo', '00:00:00:00:00:00', '127.0.0.1/8');
  return inet === '' ? [lo] : [lo, interfaceRow('eth0', 'bc:24:11:00:02:01', inet)];
}

/** The old form and the new one side by side. */
function interfaceRow(name: string, hwaddr: string, inet: string): object {
  const [address = '', prefix = '24'] = inet.split('/');
  const addresses = [{ 'ip-address': address, 'ip-address-type': 'inet', prefix: Number(prefix) }];
  return { name, hwaddr, inet, 'hardware-address': hwaddr, 'ip-addresses': addresses };
}

function packageRow(name: string, old: string | undefined): object {
  return {
    ...{
      Package: name,
      Title: name,
      Description: name,
      Version: '9.1.5',
      Arch: 'amd64',
      Section: 'admin',
      Priority: 'optional',
      Origin: 'Debian',
    },
    ...(old === undefined ? {} : { OldVersion: old }),
  };
}
