/** Every method that the emulator answers. `contract.test.ts` holds the list against the contract. */
import { type ApiMethod, on, type Permission } from '../api-method.ts';
import { backupMethods } from '../operations/backup.ts';
import { cloneMethods } from '../operations/clone.ts';
import { configMethods } from '../operations/config.ts';
import { createMethods } from '../operations/create.ts';
import { destroyMethods } from '../operations/destroy.ts';
import { migrateMethods } from '../operations/migrate.ts';
import { resizeMethods } from '../operations/resize.ts';
import { retentionMethods } from '../operations/retention.ts';
import { snapshotMethods } from '../operations/snapshots.ts';
import { templateMethods } from '../operations/templates.ts';
import type { GuestKind } from '../state.ts';
import { accessMethods } from './access.ts';
import { backupJobMethods } from './backup-jobs.ts';
import { certificateMethods, clusterMethods, optionMethods } from './cluster.ts';
import { firewallMethods } from './firewall.ts';
import { guestActionMethods } from './guest-actions.ts';
import { agentMethods, guestMethods, requireGuest } from './guests.ts';
import { haMethods } from './ha.ts';
import { inventoryMethods } from './inventory.ts';
import { listedServices, nodeMethods, serviceMethods } from './nodes.ts';
import { poolMethods } from './pools.ts';
import { graphMethods, resourceMethods } from './resources.ts';
import { readStorage, storageMethods } from './storage.ts';
import { taskMethods } from './tasks.ts';
import { volumeMethods } from './volumes.ts';

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

const indexMethods: readonly ApiMethod[] = indexes.map(
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
  ...agentMethods,
  ...graphMethods,
  ...inventoryMethods,
  ...volumeMethods,
  ...backupMethods,
  ...configMethods,
  ...snapshotMethods,
  ...resizeMethods,
  ...templateMethods,
  ...cloneMethods,
  ...createMethods,
  ...destroyMethods,
  ...migrateMethods,
  ...retentionMethods,
  ...backupJobMethods,
  ...poolMethods,
  ...optionMethods,
  ...firewallMethods,
];
