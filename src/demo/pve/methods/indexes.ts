/** Index endpoints: what lies below a path. They answer for guests and tasks that do not exist, too. */
import type { ApiMethod, Permission } from '../api-method.ts';
import { listedServices } from './services.ts';
import { readStorage } from './storage.ts';

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
}

const indexes: readonly Index[] = [
  {
    path: '/',
    field: 'subdir',
    names: ['version cluster nodes storage access pools'],
  },
  {
    path: '/access',
    field: 'subdir',
    names: ['users groups roles acl domains openid tfa ticket password'],
  },
  {
    path: '/cluster',
    field: 'name',
    names: [
      'acme backup backup-info bulk-action ceph config firewall ha jobs log mapping metrics notifications nextid',
      'options replication resources status tasks sdn',
    ],
  },
  {
    path: '/cluster/ha',
    field: 'id',
    names: ['status resources groups rules'],
    permission: { path: '/', privileges: ['Sys.Audit'] },
  },
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
  },
  {
    path: '/nodes/{node}/lxc/{vmid}',
    field: 'subdir',
    names: [
      'config pending status vncproxy termproxy vncwebsocket spiceproxy migrate clone rrd rrddata firewall snapshot resize interfaces',
    ],
    proxied: true,
  },
  {
    path: '/nodes/{node}/lxc/{vmid}/status',
    field: 'subdir',
    names: ['current start stop shutdown migrate'],
    proxied: true,
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
    permission: { path: '/nodes/{node}', privileges: ['Sys.Audit'] },
    parameters: { service: { type: 'string', enum: listedServices } },
  },
  {
    path: '/nodes/{node}/storage/{storage}',
    field: 'subdir',
    names: ['content download-url file-restore import-metadata oci-registry-pull prunebackups rrd rrddata status upload'],
    permission: readStorage,
  },
  {
    path: '/nodes/{node}/tasks/{upid}',
    field: 'name',
    names: ['log status'],
  },
];

export const indexMethods: readonly ApiMethod[] = indexes.map(
  ({ path, field, names, permission = 'all', proxied = false, parameters }) => ({
    verb: 'GET',
    path,
    permission,
    proxied,
    ...(parameters === undefined ? {} : { parameters }),
    run: () => names.flatMap((line) => line.split(' ')).map((name) => ({ [field]: name })),
  }),
);
