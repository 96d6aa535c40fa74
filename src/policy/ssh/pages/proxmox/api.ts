/**
 * `pvesh`: the API from the node. SECURITY: a GET is not harmless by its verb (a guest's files, metadata of any URL, join secrets are GETs),
 * so paths are listed. Getopt::Long takes abbreviated options with one dash or two, so only whole names are taken.
 */
import { kind, number, oneOf, storageName, vmid } from '../../kinds.ts';
import type { Kind, Options, Page, Takes } from '../../page.ts';

/** Proxmox VE's programs take `--name` and `-name` alike; a value follows in the next word or behind `=`. */
export function eitherDash(options: Options): Options {
  return Object.fromEntries(
    Object.entries(options).map(([names, takes]): [string, Takes] => [`${names} ${names.replaceAll('--', '-')}`, takes]),
  );
}

export const bit = oneOf('`0` or `1`', '0 1');

export const apiOutput: Options = eitherDash({
  '--output-format': oneOf('an output format', 'text json json-pretty yaml'),
  '--noborder --noheader --noproxy': { optional: bit, apart: true },
  '--human-readable': { optional: bit, apart: true },
});

const contentTypes = kind(
  'types of content',
  /^(?:images|rootdir|vztmpl|backup|iso|snippets|import|none)(?:,(?:images|rootdir|vztmpl|backup|iso|snippets|import))*$/,
);
const moment = kind('a time', /^[0-9A-Za-z :+-]{1,40}$/);

const node = '[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?';
const guest = '(?:qemu|lxc)/[1-9][0-9]{2,8}';
const upid = 'UPID:[A-Za-z0-9:@!._+-]{10,200}';
const name = '[A-Za-z0-9][A-Za-z0-9_.:-]{0,60}';

/** State, lists, logs and configurations in which the API itself hides passwords. */
const readablePaths: readonly string[] = [
  '',
  'version',
  'nodes',
  'storage',
  `storage/${name}`,
  'pools',
  `pools/${name}`,
  'cluster',
  'cluster/(?:status|resources|tasks|nextid|options|log|backup|backup-info|replication|ceph|jobs|mapping|sdn|notifications|bulk-action)',
  `cluster/backup/${name}`,
  `cluster/backup/${name}/included_volumes`,
  'cluster/backup-info/not-backed-up',
  'cluster/ceph/(?:status|metadata|flags)',
  'cluster/ha',
  'cluster/ha/(?:status|resources|groups|rules)',
  'cluster/ha/status/(?:current|manager_status)',
  `cluster/ha/(?:resources|groups|rules)/${name}`,
  'cluster/config',
  'cluster/config/(?:nodes|totem|qdevice|apiversion)',
  'cluster/firewall',
  'cluster/firewall/(?:options|rules|groups|aliases|ipset|macros|refs)',
  `cluster/firewall/(?:groups|aliases|ipset)/${name}`,
  `cluster/replication/${name}`,
  `cluster/mapping/(?:pci|usb|dir)(?:/${name})?`,
  `cluster/sdn/(?:zones|vnets|controllers|fabrics)(?:/${name})?`,
  `cluster/sdn/vnets/${name}/subnets`,
  'cluster/notifications/(?:endpoints|matchers|targets|matcher-fields)',
  'cluster/jobs/(?:realm-sync|schedule-analyze)',
  `nodes/${node}`,
  `nodes/${node}/(?:status|version|time|dns|hosts|network|services|tasks|qemu|lxc|storage|disks|rrddata|netstat|capabilities|hardware)`,
  `nodes/${node}/(?:syslog|journal|replication|ceph|firewall|apt|config|subscription|sdn|scan|vzdump|certificates)`,
  `nodes/${node}/certificates/info`,
  `nodes/${node}/vzdump/defaults`,
  `nodes/${node}/sdn/zones(?:/${name}(?:/content)?)?`,
  `nodes/${node}/network/${name}`,
  `nodes/${node}/services/${name}(?:/state)?`,
  `nodes/${node}/tasks/${upid}(?:/(?:status|log))?`,
  `nodes/${node}/disks/(?:list|smart|lvm|lvmthin|zfs|directory)`,
  `nodes/${node}/disks/zfs/${name}`,
  `nodes/${node}/apt/(?:versions|update|repositories)`,
  `nodes/${node}/hardware/(?:pci|usb)(?:/${name}(?:/mdev)?)?`,
  `nodes/${node}/capabilities/qemu(?:/(?:cpu|machines|migration))?`,
  `nodes/${node}/firewall/(?:options|rules|log)`,
  `nodes/${node}/ceph/(?:status|osd|mon|mgr|mds|pool|fs|log|rules|crush|cmd-safety|cfg)`,
  `nodes/${node}/ceph/osd/[0-9]{1,5}(?:/(?:metadata|lv-info))?`,
  `nodes/${node}/ceph/pool/${name}(?:/status)?`,
  `nodes/${node}/replication/${name}(?:/(?:status|log))?`,
  `nodes/${node}/storage/${name}`,
  `nodes/${node}/storage/${name}/(?:status|content|rrddata|prunebackups)`,
  `nodes/${node}/${guest}`,
  `nodes/${node}/${guest}/(?:status|config|pending|snapshot|rrddata|interfaces|feature|firewall|migrate)`,
  `nodes/${node}/${guest}/status/current`,
  `nodes/${node}/${guest}/snapshot/${name}(?:/config)?`,
  `nodes/${node}/${guest}/firewall/(?:options|rules|log|refs|aliases|ipset)`,
  `nodes/${node}/qemu/[1-9][0-9]{2,8}/agent(?:/(?:network-get-interfaces|get-osinfo|get-fsinfo|get-host-name|get-timezone|get-vcpus|get-time|get-memory-blocks|get-memory-block-info|info))?`,
];
const apiPath: Kind = {
  name: 'a path of the API that only shows state, such as /nodes',
  accepts: (path) => readablePaths.some((readable) => new RegExp(`^/?${readable}/?$`).test(path)) && path !== '',
};

export const api: readonly Page[] = [
  {
    names: ['pvesh'],
    why: 'reads state from the API; paths with effects or secrets are not among those taken',
    style: 'words',
    verbs: {
      'get, ls': {
        options: {
          ...apiOutput,
          ...eitherDash({
            '--content': contentTypes,
            '--limit --start --max --lastentries': number,
            '--since --until': moment,
            '--vmid': vmid,
            '--type': kind('a type', /^[a-z]{1,20}$/),
            '--timeframe': oneOf('a span', 'hour day week month year'),
            '--cf': oneOf('a consolidation', 'AVERAGE MAX'),
            '--full --errors --current --enabled --format --include-unused --healthonly --verbose --running --pending': {
              optional: bit,
              apart: true,
            },
            '--source': oneOf('a source', 'archive active all'),
            '--typefilter': kind('types of tasks', /^[a-z]{1,30}$/),
            '--userfilter': kind('a user', /^[A-Za-z0-9_.@!-]{1,60}$/),
            '--statusfilter': kind('states', /^[a-z,]{1,40}$/),
            '--storage': storageName,
            '--target': kind('the name of a node', /^[A-Za-z0-9-]{1,63}$/),
            '--feature': oneOf('a feature', 'snapshot clone copy'),
            '--snapshot --snapname': kind('the name of a snapshot', /^[A-Za-z][A-Za-z0-9_-]{0,39}$/),
            '--service': kind('a service', /^[A-Za-z0-9@_.-]{1,60}$/),
            '--pci-class-blacklist': kind('classes', /^[0-9a-f;,]{0,60}$/),
            '--disk': kind('a disk', /^\/dev\/(?:sd[a-z]{1,2}|nvme\d{1,2}n\d{1,2}|vd[a-z]|disk\/by-id\/[A-Za-z0-9_.:+@=-]+)$/),
          }),
        },
        operands: [apiPath],
      },
    },
    match: `pvesh get /version  pvesh get /nodes/pve/qemu  pvesh get /nodes/pve/storage/local/content --content backup  pvesh ls /nodes
      pvesh get /cluster/tasks --output-format json-pretty  pvesh get /cluster/resources --type vm  pvesh get nodes -output-format json
      pvesh get /nodes/pve/qemu/100/config  pvesh get /nodes/pve/disks/smart --disk /dev/sda  pvesh get /cluster/resources --output-format=json`,
    notMatch: `pvesh create /nodes/pve/status --command reboot  pvesh get /nodes/pve/qemu/100/agent/file-read --file /etc/shadow
      pvesh get /nodes/pve/query-url-metadata --url http://x  pvesh get /access/users  pvesh get /cluster/config/join  pvesh getall
      pvesh get /nodes/pve/qemu/100/cloudinit/dump  pvesh get /nodes/../access  pvesh --noproxy delete /nodes/pve/lxc/101  pvesh usage /nodes
      pvesh get /nodes/pve/scan/nfs --server x  pvesh set /nodes/pve/config  pvesh delete /nodes/pve/qemu/100  pvesh get /cluster/metrics/server/x`,
  },
];
