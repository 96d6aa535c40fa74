/** Every method that the emulator answers. `contract.test.ts` holds the list against the contract. */
import { type ApiMethod, on, type Permission } from '../api-method.ts';
import type { GuestKind } from '../state.ts';
import { accessMethods } from './access.ts';
import { certificateMethods, clusterMethods } from './cluster.ts';
import { guestActionMethods } from './guest-actions.ts';
import { agentMethods, guestMethods, requireGuest } from './guests.ts';
import { haMethods } from './ha.ts';
import { inventoryMethods } from './inventory.ts';
import { listedServices, nodeMethods, serviceMethods } from './nodes.ts';
import { relocationMethods } from './relocation.ts';
import { graphMethods, resourceMethods } from './resources.ts';
import { readStorage, storageMethods } from './storage.ts';
import { taskMethods } from './tasks.ts';
import { backupMethods, volumeMethods } from './volumes.ts';

interface Index {
  readonly path: string;
  /** The one field of each row. */
  readonly field: 'id' | 'name' | 'subdir';
  /** Separated by blanks, in PVE's order; as many lines as it takes. */
  readonly names: readonly string[];
  /** Default: any identity. */
  readonly permission?: Permission;
  /** Default: the node that was asked answers. */
  readonly proxied?: true;
  readonly parameters?: ApiMethod['parameters'];
  /** Where the guest's configuration is read first; the others answer for guests that do not exist, too. */
  readonly guest?: GuestKind;
}

const indexes: readonly Index[] = [
  { path: '/', field: 'subdir', names: ['version cluster nodes storage access pools'] },
  { path: '/access', field: 'subdir', names: ['users groups roles acl domains openid tfa ticket password'] },
  {
    path: '/cluster',
    field: 'name',
    names: [
      'acme backup backup-info bulk-action ceph config firewall ha jobs log mapping metrics notifications nextid',
      'options replication resources status tasks sdn',
    ],
  },
  { path: '/cluster/ha', field: 'id', names: ['status resources groups rules'], permission: on('/', 'Sys.Audit') },
  {
    path: '/nodes/{node}',
    field: 'name',
    names: [
      'aplinfo apt capabilities ceph certificates config disks dns firewall hardware hosts journal lxc migrateall',
      'netstat network qemu query-oci-repo-tags query-url-metadata replication report rrd rrddata scan sdn',
      'services spiceshell startall status stopall storage subscription suspendall syslog tasks termproxy time',
      'version vncshell vzdump wakeonlan',
    ],
  },
  {
    path: '/nodes/{node}/qemu/{vmid}',
    field: 'subdir',
    names: [
      'config cloudinit pending status unlink vncproxy termproxy migrate resize move rrd rrddata monitor agent',
      'snapshot spiceproxy sendkey firewall mtunnel remote_migrate',
    ],
    proxied: true,
  },
  {
    path: '/nodes/{node}/qemu/{vmid}/status',
    field: 'subdir',
    names: ['current start stop reset shutdown suspend reboot'],
    proxied: true,
    guest: 'qemu',
  },
  {
    path: '/nodes/{node}/lxc/{vmid}',
    field: 'subdir',
    names: [
      'config pending status vncproxy termproxy vncwebsocket spiceproxy migrate clone rrd rrddata firewall snapshot resize interfaces',
    ],
    proxied: true,
    guest: 'lxc',
  },
  {
    path: '/nodes/{node}/lxc/{vmid}/status',
    field: 'subdir',
    names: ['current start stop shutdown reboot migrate'],
    proxied: true,
    guest: 'lxc',
  },
  {
    path: '/nodes/{node}/qemu/{vmid}/agent',
    field: 'name',
    names: [
      'exec exec-status file-read file-write fsfreeze-freeze fsfreeze-status fsfreeze-thaw fstrim get-fsinfo',
      'get-host-name get-memory-block-info get-memory-blocks get-osinfo get-time get-timezone get-users get-vcpus',
      'info network-get-interfaces ping set-user-password shutdown suspend-disk suspend-hybrid suspend-ram',
    ],
    proxied: true,
  },
  {
    path: '/nodes/{node}/services/{service}',
    field: 'subdir',
    names: ['state start stop restart reload'],
    permission: on('/nodes/{node}', 'Sys.Audit'),
    parameters: { service: { type: 'string', enum: listedServices } },
  },
  {
    path: '/nodes/{node}/storage/{storage}',
    field: 'subdir',
    names: ['content download-url file-restore import-metadata oci-registry-pull prunebackups rrd rrddata status upload'],
    permission: readStorage,
  },
  { path: '/nodes/{node}/tasks/{upid}', field: 'name', names: ['log status'] },
];

export const indexMethods: readonly ApiMethod[] = indexes.map(
  ({ path, field, names, permission = 'all', proxied = false, parameters, guest }) => ({
    verb: 'GET',
    path,
    permission,
    proxied,
    ...(parameters === undefined ? {} : { parameters }),
    run: (call) => {
      if (guest !== undefined) requireGuest(call, guest);
      return names.flatMap((line) => line.split(' ')).map((name) => ({ [field]: name }));
    },
  }),
);

export const apiMethods: readonly ApiMethod[] = [
  ...accessMethods,
  ...indexMethods,
  ...clusterMethods,
  ...certificateMethods,
  ...haMethods,
  ...resourceMethods,
  ...nodeMethods,
  ...taskMethods,
  ...storageMethods,
  ...serviceMethods,
  ...guestMethods,
  ...guestActionMethods,
  ...relocationMethods,
  ...agentMethods,
  ...graphMethods,
  ...inventoryMethods,
  ...volumeMethods,
  ...backupMethods,
];

export type OtherMethod = Pick<ApiMethod, 'verb' | 'path' | 'permission' | 'proxied'>;

/** Verb, path, and either `all` or an ACL path with one privilege or any of several. */
const table = `
  GET /cluster/backup / Sys.Audit
  POST /cluster/backup / Sys.Modify
  GET /cluster/backup-info/not-backed-up / Sys.Audit
  DELETE /cluster/backup/{id} / Sys.Modify
  GET /cluster/backup/{id} / Sys.Audit
  PUT /cluster/backup/{id} / Sys.Modify
  GET /cluster/backup/{id}/included_volumes / Sys.Audit
  GET /cluster/ceph/metadata / Sys.Audit|Datastore.Audit
  GET /cluster/firewall/aliases / Sys.Audit
  GET /cluster/firewall/groups all
  GET /cluster/firewall/ipset / Sys.Audit
  GET /cluster/firewall/options / Sys.Audit
  GET /cluster/firewall/rules / Sys.Audit
  GET /cluster/jobs/schedule-analyze all
  PUT /cluster/options / Sys.Modify
  DELETE /cluster/replication/{id} all
  POST /nodes/{node}/apt/update /nodes/{node} Sys.Modify
  GET /nodes/{node}/firewall/log /nodes/{node} Sys.Syslog
  GET /nodes/{node}/firewall/options /nodes/{node} Sys.Audit
  GET /nodes/{node}/firewall/rules /nodes/{node} Sys.Audit
  POST /nodes/{node}/lxc all
  DELETE /nodes/{node}/lxc/{vmid} /vms/{vmid} VM.Allocate
  POST /nodes/{node}/lxc/{vmid}/clone /vms/{vmid} VM.Clone
  PUT /nodes/{node}/lxc/{vmid}/config /vms/{vmid} VM.Config.Disk|VM.Config.CPU|VM.Config.Memory|VM.Config.Network|VM.Config.Options
  GET /nodes/{node}/lxc/{vmid}/feature /vms/{vmid} VM.Audit
  GET /nodes/{node}/lxc/{vmid}/firewall/rules /vms/{vmid} VM.Audit
  GET /nodes/{node}/lxc/{vmid}/migrate /vms/{vmid} VM.Migrate
  POST /nodes/{node}/lxc/{vmid}/migrate /vms/{vmid} VM.Migrate
  POST /nodes/{node}/lxc/{vmid}/move_volume /vms/{vmid} VM.Config.Disk
  GET /nodes/{node}/lxc/{vmid}/pending /vms/{vmid} VM.Audit
  PUT /nodes/{node}/lxc/{vmid}/resize /vms/{vmid} VM.Config.Disk|
  DELETE /nodes/{node}/lxc/{vmid}/snapshot/{snapname} /vms/{vmid} VM.Snapshot
  GET /nodes/{node}/lxc/{vmid}/snapshot/{snapname}/config /vms/{vmid} VM.Snapshot|VM.Snapshot.Rollback|VM.Audit
  PUT /nodes/{node}/lxc/{vmid}/snapshot/{snapname}/config /vms/{vmid} VM.Snapshot
  POST /nodes/{node}/lxc/{vmid}/snapshot/{snapname}/rollback /vms/{vmid} VM.Snapshot|VM.Snapshot.Rollback
  POST /nodes/{node}/lxc/{vmid}/template /vms/{vmid} VM.Allocate
  POST /nodes/{node}/qemu all
  GET /nodes/{node}/qemu/{vmid}/agent/file-read /vms/{vmid} VM.GuestAgent.FileRead|VM.GuestAgent.Unrestricted
  POST /nodes/{node}/qemu/{vmid}/config /vms/{vmid} VM.Config.Disk|VM.Config.CDROM|VM.Config.CPU|VM.Config.Memory|VM.Config.Network|VM.Config.HWType|VM.Config.Options|VM.Config.Cloudinit
  PUT /nodes/{node}/qemu/{vmid}/config /vms/{vmid} VM.Config.Disk|VM.Config.CDROM|VM.Config.CPU|VM.Config.Memory|VM.Config.Network|VM.Config.HWType|VM.Config.Options|VM.Config.Cloudinit
  GET /nodes/{node}/qemu/{vmid}/feature /vms/{vmid} VM.Audit
  GET /nodes/{node}/qemu/{vmid}/firewall/options /vms/{vmid} VM.Audit
  PUT /nodes/{node}/qemu/{vmid}/firewall/options /vms/{vmid} VM.Config.Network
  GET /nodes/{node}/qemu/{vmid}/firewall/refs /vms/{vmid} VM.Audit
  GET /nodes/{node}/qemu/{vmid}/firewall/rules /vms/{vmid} VM.Audit
  POST /nodes/{node}/qemu/{vmid}/firewall/rules /vms/{vmid} VM.Config.Network
  DELETE /nodes/{node}/qemu/{vmid}/firewall/rules/{pos} /vms/{vmid} VM.Config.Network
  GET /nodes/{node}/qemu/{vmid}/firewall/rules/{pos} /vms/{vmid} VM.Audit
  PUT /nodes/{node}/qemu/{vmid}/firewall/rules/{pos} /vms/{vmid} VM.Config.Network
  GET /nodes/{node}/qemu/{vmid}/migrate /vms/{vmid} VM.Migrate
  POST /nodes/{node}/qemu/{vmid}/move_disk /vms/{vmid} VM.Config.Disk
  GET /nodes/{node}/qemu/{vmid}/pending /vms/{vmid} VM.Audit
  PUT /nodes/{node}/qemu/{vmid}/resize /vms/{vmid} VM.Config.Disk
  DELETE /nodes/{node}/qemu/{vmid}/snapshot/{snapname} /vms/{vmid} VM.Snapshot
  GET /nodes/{node}/qemu/{vmid}/snapshot/{snapname} all
  GET /nodes/{node}/qemu/{vmid}/snapshot/{snapname}/config /vms/{vmid} VM.Snapshot|VM.Snapshot.Rollback|VM.Audit
  PUT /nodes/{node}/qemu/{vmid}/snapshot/{snapname}/config /vms/{vmid} VM.Snapshot
  POST /nodes/{node}/qemu/{vmid}/snapshot/{snapname}/rollback /vms/{vmid} VM.Snapshot|VM.Snapshot.Rollback
  POST /nodes/{node}/qemu/{vmid}/template /vms/{vmid} VM.Allocate
  PUT /nodes/{node}/qemu/{vmid}/unlink /vms/{vmid} VM.Config.Disk
  PUT /nodes/{node}/storage/{storage}/content/{volume} all
  DELETE /nodes/{node}/storage/{storage}/prunebackups all
  GET /nodes/{node}/subscription all
  GET /nodes/{node}/vzdump/defaults all
  GET /nodes/{node}/vzdump/extractconfig all
  DELETE /pools /pool/{poolid} Pool.Allocate
  POST /pools /pool/{poolid} Pool.Allocate
  PUT /pools /pool/{poolid} Pool.Allocate
  GET /pools/{poolid} /pool/{poolid} Pool.Audit
`;

/** Answered by the node that was asked, although the path names one. */
const local = /\{vmid\}\/firewall\/(?:rules|refs)|^GET .*\/snapshot\/\{snapname\} /;

export const otherMethods: readonly OtherMethod[] = table
  .trim()
  .split('\n')
  .map((line) => {
    const [verb, path = '', where = '', privileges] = line.trim().split(' ');
    const proxied = path.startsWith('/nodes') && !local.test(line.trim());
    return { verb: verb as ApiMethod['verb'], path, permission: permissionOf(where, privileges), proxied };
  });

function permissionOf(path: string, privileges: string | undefined): Permission {
  if (privileges === undefined) return 'all';
  const names = privileges.split('|').filter((name) => name !== '');
  return { path, privileges: names, ...(privileges.includes('|') ? { any: true } : {}) };
}
