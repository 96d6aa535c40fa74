/**
 * `pvesh`: the API from the node. SECURITY: a GET is not harmless by its verb (a guest's files, metadata of any URL, join secrets are GETs),
 * so paths are listed. Getopt::Long takes abbreviated options with one dash or two, so only whole names are taken.
 */
import { kind, listOf, number, oneOf, perhaps, storageName, vmid } from '../../kinds.ts';
import type { Options, Pages } from '../../page.ts';

export const bit = oneOf('`0` or `1`', '0 1');

export const apiOutput: Options = {
  '--output-format': oneOf('an output format', 'text json json-pretty yaml'),
  '--noborder --noheader --noproxy': perhaps(bit),
  '--human-readable': perhaps(bit),
};

export const contentTypes = listOf(oneOf('a type of content', 'images rootdir vztmpl backup iso snippets import none'));
const moment = kind('a time', /^[0-9A-Za-z :+-]{1,40}$/);

/** What stands for a part of a path. */
const parts: Readonly<Record<string, string>> = {
  NODE: '[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?',
  VMID: '[1-9][0-9]{2,8}',
  UPID: 'UPID:[A-Za-z0-9:@!._+-]{10,200}',
  NAME: '[A-Za-z0-9][A-Za-z0-9_.:-]{0,60}',
};

/** State, lists, logs and configurations in which the API itself hides passwords. Alternatives stand in brackets with bars. */
const readablePaths = `version nodes storage storage/NAME pools pools/NAME cluster
  cluster/(status|resources|tasks|nextid|options|log|backup|backup-info|replication|ceph|jobs|mapping|sdn|notifications|bulk-action)
  cluster/backup/NAME cluster/backup/NAME/included_volumes cluster/backup-info/not-backed-up cluster/ceph/(status|metadata|flags)
  cluster/ha cluster/ha/(status|resources|groups|rules) cluster/ha/status/(current|manager_status)
  cluster/ha/(resources|groups|rules)/NAME cluster/config cluster/config/(nodes|totem|qdevice|apiversion)
  cluster/firewall cluster/firewall/(options|rules|groups|aliases|ipset|macros|refs) cluster/firewall/(groups|aliases|ipset)/NAME
  cluster/replication/NAME cluster/mapping/(pci|usb|dir) cluster/mapping/(pci|usb|dir)/NAME
  cluster/sdn/(zones|vnets|controllers|fabrics) cluster/sdn/(zones|vnets|controllers|fabrics)/NAME cluster/sdn/vnets/NAME/subnets
  cluster/notifications/(endpoints|matchers|targets|matcher-fields) cluster/jobs/(realm-sync|schedule-analyze) nodes/NODE
  nodes/NODE/(status|version|time|dns|hosts|network|services|tasks|qemu|lxc|storage|disks|rrddata|netstat|capabilities|hardware)
  nodes/NODE/(syslog|journal|replication|ceph|firewall|apt|config|subscription|sdn|scan|vzdump|certificates)
  nodes/NODE/certificates/info nodes/NODE/vzdump/defaults nodes/NODE/sdn/zones nodes/NODE/sdn/zones/NAME
  nodes/NODE/sdn/zones/NAME/content nodes/NODE/network/NAME nodes/NODE/services/NAME nodes/NODE/services/NAME/state
  nodes/NODE/tasks/UPID nodes/NODE/tasks/UPID/(status|log) nodes/NODE/disks/(list|smart|lvm|lvmthin|zfs|directory)
  nodes/NODE/disks/zfs/NAME nodes/NODE/apt/(versions|update|repositories) nodes/NODE/hardware/(pci|usb)
  nodes/NODE/hardware/(pci|usb)/NAME nodes/NODE/hardware/pci/NAME/mdev nodes/NODE/capabilities/qemu
  nodes/NODE/capabilities/qemu/(cpu|machines|migration) nodes/NODE/firewall/(options|rules|log)
  nodes/NODE/ceph/(status|osd|mon|mgr|mds|pool|fs|log|rules|crush|cmd-safety|cfg) nodes/NODE/ceph/osd/NAME
  nodes/NODE/ceph/osd/NAME/(metadata|lv-info) nodes/NODE/ceph/pool/NAME nodes/NODE/ceph/pool/NAME/status
  nodes/NODE/replication/NAME nodes/NODE/replication/NAME/(status|log)
  nodes/NODE/storage/NAME nodes/NODE/storage/NAME/(status|content|rrddata|prunebackups) nodes/NODE/(qemu|lxc)/VMID
  nodes/NODE/(qemu|lxc)/VMID/(status|config|pending|snapshot|rrddata|interfaces|feature|firewall|migrate)
  nodes/NODE/(qemu|lxc)/VMID/status/current nodes/NODE/(qemu|lxc)/VMID/snapshot/NAME nodes/NODE/(qemu|lxc)/VMID/snapshot/NAME/config
  nodes/NODE/(qemu|lxc)/VMID/firewall/(options|rules|log|refs|aliases|ipset) nodes/NODE/qemu/VMID/agent
  nodes/NODE/qemu/VMID/agent/(network-get-interfaces|get-osinfo|get-fsinfo|get-host-name|get-timezone|get-vcpus|get-time|info)
  nodes/NODE/qemu/VMID/agent/(get-memory-blocks|get-memory-block-info)`
  .split(/\s+/)
  .map((path) => path.replace(/[A-Z]+/g, (name) => parts[name] ?? name));
const readablePath = new RegExp(`^(?:/|/?(?:${readablePaths.join('|')})/?)$`);
const apiPath = kind('a path of the API that only shows state, such as /nodes', readablePath);

export const api: Pages = {
  pvesh: {
    why: 'reads state from the API; paths with effects or secrets are not among those taken',
    style: 'dashes',
    verbs: {
      'get, ls': {
        options: {
          ...apiOutput,
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
          '--schedule': kind('a calendar event', /^[\w .,:*/-]{1,60}$/),
          '--iterations': number,
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
};
