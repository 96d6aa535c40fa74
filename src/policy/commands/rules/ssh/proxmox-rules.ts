/**
 * Proxmox VE's own programs. SECURITY: Getopt::Long takes abbreviated options with one dash or two, so only whole names are taken; and `pvesh get` is not harmless by its verb (a guest's files, metadata of any URL, join secrets are GETs), so paths are listed.
 */
import type { ProgramRule, Takes, ValueKind } from '../../program-rule.ts';
import { kind, oneOf, wholeNumber } from '../../value-kinds.ts';

const vmid = kind('the number of a guest', /^[1-9]\d{2,8}$/);
const snapshot = kind('the name of a snapshot', /^[A-Za-z][A-Za-z0-9_-]{0,39}$/);
const storage = kind('the name of a storage', /^[A-Za-z][A-Za-z0-9_.-]{0,60}$/);
const contentTypes = kind(
  'types of content',
  /^(?:images|rootdir|vztmpl|backup|iso|snippets|import)(?:,(?:images|rootdir|vztmpl|backup|iso|snippets|import))*$/,
);
const bit = oneOf('`0` or `1`', '0', '1');

const node = '[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?';
const guest = `(?:qemu|lxc)/[1-9][0-9]{2,8}`;
const upid = 'UPID:[A-Za-z0-9:@!._+-]{10,200}';
const name = '[A-Za-z0-9][A-Za-z0-9_.:-]{0,60}';

/** What of the API may be read: state, lists, logs and configurations in which the API itself hides passwords. */
const readablePaths: readonly string[] = [
  '',
  'version',
  'nodes',
  'storage',
  'pools',
  `pools/${name}`,
  'cluster',
  'cluster/(?:status|resources|tasks|nextid|options|log|backup|backup-info|replication|ceph)',
  'cluster/ceph/(?:status|metadata|flags)',
  'cluster/ha',
  'cluster/ha/(?:status|resources|groups|rules)',
  'cluster/ha/status/(?:current|manager_status)',
  `cluster/ha/(?:resources|groups)/${name}`,
  'cluster/config',
  'cluster/config/(?:nodes|totem|qdevice)',
  'cluster/backup-info/not-backed-up',
  'cluster/firewall',
  'cluster/firewall/(?:options|rules|groups|aliases|ipset)',
  `nodes/${node}`,
  `nodes/${node}/(?:status|version|time|dns|network|services|tasks|qemu|lxc|storage|disks|rrddata|netstat|capabilities|hardware|syslog|journal|replication|ceph|firewall|apt)`,
  `nodes/${node}/network/${name}`,
  `nodes/${node}/services/${name}`,
  `nodes/${node}/services/${name}/state`,
  `nodes/${node}/tasks/${upid}`,
  `nodes/${node}/tasks/${upid}/(?:status|log)`,
  `nodes/${node}/disks/(?:list|smart|lvm|lvmthin|zfs|directory)`,
  `nodes/${node}/disks/zfs/${name}`,
  `nodes/${node}/apt/(?:versions|update)`,
  `nodes/${node}/hardware/(?:pci|usb)`,
  `nodes/${node}/firewall/(?:options|rules|log)`,
  `nodes/${node}/ceph/(?:status|osd|mon|mgr|mds|pool|fs|log|rules|crush)`,
  `nodes/${node}/replication/${name}/(?:status|log)`,
  `nodes/${node}/storage/${name}`,
  `nodes/${node}/storage/${name}/(?:status|content|rrddata)`,
  `nodes/${node}/${guest}`,
  `nodes/${node}/${guest}/(?:status|config|pending|snapshot|rrddata|interfaces|feature)`,
  `nodes/${node}/${guest}/status/current`,
  `nodes/${node}/${guest}/firewall/(?:options|rules|log)`,
  `nodes/${node}/qemu/[1-9][0-9]{2,8}/agent/(?:network-get-interfaces|get-osinfo|get-fsinfo|get-host-name|get-timezone|get-vcpus)`,
  `storage/${name}`,
];
const readable = new RegExp(`^/(?:${readablePaths.join('|')})/?$`);
const apiPath: ValueKind = {
  name: 'a path of the API that only shows state, such as /nodes',
  accepts: (path) => readable.test(path),
};

const outputOptions: Readonly<Record<string, Takes>> = {
  '--output-format': oneOf('an output format', 'text', 'json', 'json-pretty', 'yaml'),
  '--noborder': null,
  '--noheader': null,
  '--noproxy': null,
};
/** Parameters of the readable paths; each only narrows what is shown. */
const parameters: Readonly<Record<string, Takes>> = {
  '--human-readable': bit,
  '--content': contentTypes,
  '--limit': wholeNumber,
  '--start': wholeNumber,
  '--since': kind('a time', /^[0-9A-Za-z :+-]{1,40}$/),
  '--until': kind('a time', /^[0-9A-Za-z :+-]{1,40}$/),
  '--vmid': vmid,
  '--type': kind('a type', /^[a-z]{1,20}$/),
  '--timeframe': oneOf('a span', 'hour', 'day', 'week', 'month', 'year'),
  '--cf': oneOf('a consolidation', 'AVERAGE', 'MAX'),
  '--full': bit,
  '--errors': bit,
  '--current': bit,
  '--source': oneOf('a source', 'archive', 'active', 'all'),
  '--typefilter': kind('types of tasks', /^[a-z]{1,30}$/),
  '--userfilter': kind('a user', /^[A-Za-z0-9_.@!-]{1,60}$/),
  '--statusfilter': kind('states', /^[a-z,]{1,40}$/),
  '--storage': storage,
  '--enabled': bit,
  '--format': bit,
  '--snapshot': snapshot,
  '--max': wholeNumber,
  '--service': kind('a service', /^[A-Za-z0-9@_.-]{1,60}$/),
  '--lastentries': wholeNumber,
  '--include-unused': bit,
  '--disk': kind('a disk', /^\/dev\/(?:sd[a-z]{1,2}|nvme\d{1,2}n\d{1,2}|vd[a-z]|disk\/by-id\/[A-Za-z0-9_.:+@=-]+)$/),
  '--healthonly': bit,
};

const twoDashRules: readonly ProgramRule[] = [
  {
    id: 'ssh.pvesh',
    program: 'pvesh',
    verbs: [['get'], ['ls']],
    longs: { ...outputOptions, ...parameters },
    operands: { kind: apiPath, min: 1, max: 1 },
    role: 'source',
    justification: 'reads state from the API; paths with effects or secrets are not among those taken',
    match: [
      'pvesh get /version',
      'pvesh get /nodes/pve/qemu',
      'pvesh get /nodes/pve/storage/local/content --content backup',
      'pvesh get /cluster/tasks --output-format json-pretty',
      'pvesh ls /nodes',
      'pvesh get /nodes/pve/qemu/100/config',
      'pvesh get /cluster/resources --type vm',
    ],
    notMatch: [
      'pvesh getall',
      'pvesh create /nodes/pve/status --command reboot',
      'pvesh get /nodes/pve/qemu/100/agent/file-read --file /etc/shadow',
      'pvesh get /nodes/pve/query-url-metadata --url http://x',
      'pvesh get /access/users',
      'pvesh get /cluster/config/join',
      'pvesh get /nodes/pve/qemu/100/cloudinit/dump',
      'pvesh get /nodes/../access',
      'pvesh --noproxy delete /nodes/pve/lxc/101',
      'pvesh get /nodes/pve/scan/nfs --server x',
    ],
  },
  {
    id: 'ssh.qm-list',
    program: 'qm',
    verbs: [['list']],
    optional: { '--full': { kind: bit, separate: true } },
    role: 'source',
    justification: 'lists virtual machines',
    match: ['qm list', 'qm list --full', 'qm list --full 1'],
    notMatch: ['qm list x', 'qm listen'],
  },
  {
    id: 'ssh.qm',
    program: 'qm',
    verbs: [['status'], ['config'], ['pending'], ['listsnapshot']],
    longs: { '--snapshot': snapshot },
    optional: { '--verbose': { kind: bit, separate: true }, '--current': { kind: bit, separate: true } },
    operands: { kind: vmid, min: 1, max: 1 },
    role: 'source',
    justification: 'prints state and configuration of one virtual machine; the API hides its passwords',
    match: ['qm status 100', 'qm config 100', 'qm status 100 --verbose', 'qm config 100 --current'],
    notMatch: [
      'qm stop 100',
      'qm destroy 103 --purge',
      'qm set 100 --memory 1',
      'qm guest exec 100 id',
      'qm monitor 100',
      'qm config',
      'qm config 1',
      'qm cloudinit dump 100 user',
      'qm terminal 100',
      'qm showcmd 100',
    ],
  },
  {
    id: 'ssh.pct',
    program: 'pct',
    verbs: [['status'], ['config'], ['pending'], ['listsnapshot']],
    longs: { '--snapshot': snapshot },
    optional: { '--verbose': { kind: bit, separate: true }, '--current': { kind: bit, separate: true } },
    operands: { kind: vmid, min: 1, max: 1 },
    role: 'source',
    justification: 'prints state and configuration of one container',
    match: ['pct status 101', 'pct config 101'],
    notMatch: ['pct exec 101 -- ls', 'pct enter 101', 'pct stop 101', 'pct pull 101 /etc/shadow x', 'pct mount 101', 'pct config'],
  },
  {
    id: 'ssh.pct-list',
    program: 'pct',
    verbs: [['list']],
    role: 'source',
    justification: 'lists containers',
    match: ['pct list'],
    notMatch: ['pct list x'],
  },
  {
    id: 'ssh.pvesm',
    program: 'pvesm',
    verbs: [['status']],
    optional: { '--enabled': { kind: bit, separate: true } },
    longs: { '--storage': storage, '--content': contentTypes, '--target': kind('a node', /^[a-zA-Z0-9-]{1,63}$/) },
    role: 'source',
    justification: 'prints storages and their use',
    match: ['pvesm status', 'pvesm status --storage local', 'pvesm status --content backup', 'pvesm status --enabled'],
    notMatch: ['pvesm remove local', 'pvesm free local:x', 'pvesm extractconfig x', 'pvesm set local', 'pvesm scan nfs x', 'pvesm path x'],
  },
  {
    id: 'ssh.pvesm-list',
    program: 'pvesm',
    verbs: [['list']],
    longs: { '--content': contentTypes, '--vmid': vmid },
    operands: { kind: storage, min: 1, max: 1 },
    role: 'source',
    justification: 'lists the volumes of one storage',
    match: ['pvesm list local', 'pvesm list local --content iso'],
    notMatch: ['pvesm list', 'pvesm list /etc'],
  },
  {
    id: 'ssh.pvecm',
    program: 'pvecm',
    verbs: [['status'], ['nodes']],
    role: 'source',
    justification: 'prints quorum and members',
    match: ['pvecm status', 'pvecm nodes'],
    notMatch: ['pvecm expected 1', 'pvecm delnode x', 'pvecm add 10.0.0.1', 'pvecm status --x', 'pvecm updatecerts'],
  },
  {
    id: 'ssh.ha-manager',
    program: 'ha-manager',
    verbs: [['status'], ['config']],
    optional: { '--verbose': { kind: bit, separate: true } },
    role: 'source',
    justification: 'prints the state of high availability',
    match: ['ha-manager status', 'ha-manager status --verbose', 'ha-manager config'],
    notMatch: [
      'ha-manager remove vm:100',
      'ha-manager set vm:100 --state stopped',
      'ha-manager migrate vm:100 x',
      'ha-manager crm-command stop vm:100',
    ],
  },
  {
    id: 'ssh.pveversion',
    program: 'pveversion',
    flags: 'v',
    longs: { '--verbose': null },
    role: 'source',
    justification: 'prints versions',
    match: ['pveversion', 'pveversion -v', 'pveversion --verbose'],
    notMatch: ['pveversion x'],
  },
];

/** `qm config 100 -current`, `pvesm status -content images`: as the manuals of older versions write it. */
export const proxmoxRules: readonly ProgramRule[] = twoDashRules.map((rule) => {
  const short = Object.entries(rule.longs ?? {}).map(([option, takes]) => [option.slice(1), takes] as const);
  const switches = Object.keys(rule.optional ?? {}).map((option) => [option.slice(1), null] as const);
  return short.length + switches.length === 0 ? rule : { ...rule, words: Object.fromEntries([...short, ...switches]) };
});
