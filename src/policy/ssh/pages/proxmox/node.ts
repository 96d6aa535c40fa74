/** Proxmox VE's own programs, but for `pvesh`: guests, storages, cluster, node. */
import { anyNumber, atMostOne, hostName, kind, needs, nodeName, number, oneOf, perhaps, storageName, vmid, word } from '../../kinds.ts';
import type { Objection, Options, Pages } from '../../page.ts';
import { apiOutput, bit, contentTypes } from './api.ts';

const snapshot = kind('the name of a snapshot', /^[A-Za-z][A-Za-z0-9_-]{0,39}$/);
const maybe = perhaps(bit);
const ofGuest: Options = { '--snapshot': snapshot, '--verbose --current --full': maybe };
const volume = kind('a volume such as local:iso/x.iso', /^[A-Za-z][A-Za-z0-9_.-]{0,60}:(?!.*\.\.)[A-Za-z0-9_.:+@/-]{1,200}$/);
const upid = kind('the id of a task', /^UPID:[A-Za-z0-9:@!._+-]{10,200}$/);
const agentReads = oneOf(
  'a question to the guest that only shows',
  'ping get-osinfo get-fsinfo get-host-name get-timezone get-vcpus get-time info network-get-interfaces get-memory-blocks get-memory-block-info fsfreeze-status',
);
const name = kind('a name', /^[A-Za-z0-9][A-Za-z0-9_.:-]{0,60}$/);
const account = kind('an account such as root@pam', /^[A-Za-z0-9][A-Za-z0-9_.@-]{1,80}$/);
const group = kind('a group of backups, or one of them', /^(?:vm|ct|host)\/[A-Za-z0-9_.-]{1,60}(?:\/[0-9TZ:-]{1,30})?$/);
const backupOptions: Options = { '--output-format': oneOf('an output format', 'text json json-pretty'), '--ns': name, '--limit': number };

function asksServer(): Objection {
  return { ask: 'it logs in to a backup server' };
}

export const node: Pages = {
  qm: {
    why: 'prints state and configuration of virtual machines; other verbs change or enter them',
    style: 'dashes',
    verbs: {
      list: { options: ofGuest },
      showcmd: {
        options: { ...ofGuest, '--pretty': maybe },
        operands: [vmid],
        check: () => ({ ask: 'arguments of a guest may hold passwords' }),
      },
      'status, config, pending, listsnapshot': { options: ofGuest, operands: [vmid] },
      'cloudinit pending': { operands: [vmid] },
      agent: { operands: [vmid, agentReads] },
      'guest cmd': { operands: [vmid, agentReads] },
    },
    match: `qm list  qm list --full 1  qm status 100  qm config 100 --current  qm status 100 --verbose  qm pending 100  qm listsnapshot 100
      qm agent 100 ping  qm showcmd 100 --pretty`,
    notMatch: `qm stop 100  qm start 100  qm destroy 103 --purge  qm set 100 --memory 1  qm guest exec 100 id  qm monitor 100  qm config  qm config 1
      qm cloudinit dump 100 user  qm terminal 100  qm agent 100 shutdown  qm guest passwd 100 root  qm sendkey 100 x  qm rescan  qm unlock 100`,
  },
  pct: {
    why: 'prints state and configuration of containers; other verbs change, enter or mount them',
    style: 'dashes',
    verbs: { list: {}, 'status, config, pending, listsnapshot': { options: ofGuest, operands: [vmid] } },
    match: 'pct list  pct status 101  pct config 101 --current  pct listsnapshot 200',
    notMatch: `pct enter 101  pct exec 101 -- id  pct pull 101 /etc/shadow /x  pct df 101  pct cpusets  pct fsck 101  pct stop 101  pct list x
      pct mount 101`,
  },
  'lxc-info lxc-ls': {
    why: 'prints containers; other programs of LXC change or enter them, `-P` reads another place',
    flags: '-isSpHf1L --info --state --pid --ips --stats --no-humanize --fancy --line --running --active --stopped --frozen',
    options: { '-n --name': vmid, '-F --fancy-format': kind('columns', /^[A-Z0-9_,]{1,80}$/) },
    operands: [atMostOne(vmid)],
    check: ({ operands, has }) => (operands.length > 0 && has('-n', '--name') ? 'with two containers' : undefined),
    match: 'lxc-info -n 101  lxc-ls -f  lxc-info -n 101 -p -H',
    notMatch: 'lxc-info -n 101 -P /x  lxc-ls --lxcpath=/x',
  },
  pvesm: {
    why: 'prints storages and what they hold; other verbs change, scan or export',
    style: 'dashes',
    options: {},
    verbs: {
      status: {
        options: {
          ...apiOutput,
          '--storage': storageName,
          '--content': contentTypes,
          '--enabled': maybe,
          '--target': nodeName,
        },
      },
      list: { options: { ...apiOutput, '--content': contentTypes, '--vmid': vmid }, operands: [storageName] },
      path: { operands: [volume] },
      apiinfo: {},
      'lvmscan, zfsscan, scan lvm, scan zfs': { check: () => ({ ask: 'it looks through the disks' }) },
      'nfsscan, scan nfs': { operands: [hostName], check: () => ({ ask: 'it asks a server for its exports' }) },
    },
    match: `pvesm status  pvesm status --storage local  pvesm list local  pvesm list local --content backup  pvesm path local:iso/x.iso
      pvesm apiinfo  pvesm scan nfs 10.0.0.9`,
    notMatch: `pvesm free local:x  pvesm alloc local 100 x 1G  pvesm set local --disable  pvesm add dir x --path /  pvesm remove x  pvesm scan cifs x
      pvesm extractconfig x  pvesm export local:x raw -  pvesm path local:x/../y`,
  },
  pvecm: {
    why: 'prints the cluster; other verbs change it',
    verbs: { 'status, nodes, apiver, help, qdevice status': {} },
    match: 'pvecm status  pvecm nodes',
    notMatch: `pvecm add 10.0.0.1  pvecm expected 1  pvecm delnode x  pvecm updatecerts  pvecm create x  pvecm qdevice remove  pvecm keygen x`,
  },
  'corosync-quorumtool': {
    why: 'prints the votes of the cluster; `-e`, `-v`, `-n` change them, `-m` never ends',
    flags: '-aslipHVf',
    options: { '-o': oneOf('an order', 'a n i') },
    match: 'corosync-quorumtool  corosync-quorumtool -s  corosync-quorumtool -siH',
    notMatch: 'corosync-quorumtool -e 1  corosync-quorumtool -m  corosync-quorumtool -v 2 -n 1  corosync-quorumtool -e1',
  },
  'corosync-cfgtool corosync-cpgtool': {
    why: 'prints links and groups of corosync; `-R`, `-H`, `-k` and the like change or end it',
    flags: '-snbeiV',
    match: 'corosync-cfgtool -s  corosync-cfgtool -n  corosync-cfgtool -sb  corosync-cpgtool -e',
    notMatch: 'corosync-cfgtool -R  corosync-cfgtool -H  corosync-cfgtool -k 2  corosync-cfgtool -L 1  corosync-cfgtool -a x',
  },
  'corosync-cmapctl': {
    why: 'prints keys of corosync; `-s`, `-d`, `-D`, `-p` and the like change them, `-t` and `-T` never end',
    flags: '-b',
    options: { '-g': word, '-m': oneOf('a map', 'icmap stats') },
    operands: [anyNumber(word, 4)],
    match: 'corosync-cmapctl  corosync-cmapctl -b nodelist  corosync-cmapctl -m stats  corosync-cmapctl -g totem.token',
    notMatch: 'corosync-cmapctl -s x str y  corosync-cmapctl -t x  corosync-cmapctl -D nodelist  corosync-cmapctl -p /root/x',
  },
  'ha-manager': {
    why: 'prints the state of high availability; other verbs change it',
    style: 'dashes',
    verbs: {
      status: { options: { '--verbose': maybe } },
      config: { options: { '--type': oneOf('a type', 'ct vm') } },
      'groupconfig, rules list, rules config': {},
    },
    match: 'ha-manager status  ha-manager config  ha-manager status --verbose  ha-manager groupconfig  ha-manager rules list',
    notMatch: `ha-manager add vm:1  ha-manager set vm:1 --state disabled  ha-manager remove vm:100  ha-manager crm-command stop vm:100 0
      ha-manager migrate vm:1 x`,
  },
  pvenode: {
    why: 'prints tasks, certificates and the setup of the node; other verbs change it',
    style: 'dashes',
    verbs: {
      'task list': {
        options: {
          ...apiOutput,
          '--errors': maybe,
          '--limit --start --since --until': number,
          '--vmid': vmid,
          '--source': oneOf('a source', 'archive active all'),
          '--typefilter --statusfilter': kind('a filter', /^[a-z,]{1,40}$/),
          '--userfilter': kind('a user', /^[A-Za-z0-9_.@!-]{1,60}$/),
        },
      },
      'task status': { options: apiOutput, operands: [upid] },
      'task log': { options: { '--start --limit': number }, operands: [upid] },
      'config get, cert info': { options: { ...apiOutput, '--property': word } },
    },
    match: `pvenode task list  pvenode task list --errors 1 --limit 20  pvenode config get  pvenode cert info
      pvenode task log UPID:pve:0001:0002:0003:vzdump::root@pam:`,
    notMatch: `pvenode config set  pvenode startall  pvenode task stop UPID:x  pvenode wakeonlan pve2  pvenode migrateall x  pvenode acme account list
      pvenode cert set x y`,
  },
  pvesr: {
    why: 'prints replication; other verbs run or change it',
    style: 'dashes',
    verbs: { list: {}, status: { options: { '--guest': vmid } }, read: { operands: [name] } },
    match: 'pvesr list  pvesr status  pvesr status --guest 100',
    notMatch: 'pvesr run  pvesr schedule-now 100-0  pvesr delete 100-0  pvesr create-local-job x y',
  },
  pveceph: {
    why: 'prints Ceph as Proxmox VE sees it; other verbs set it up and destroy it',
    style: 'dashes',
    verbs: {
      'status, lspools, pool ls, fs ls, mds ls': { options: apiOutput },
      'pool get': { options: apiOutput, operands: [name] },
      'osd details': { options: { ...apiOutput, '--verbose': maybe }, operands: [number] },
    },
    match: 'pveceph status  pveceph pool ls  pveceph osd details 0',
    notMatch: 'pveceph purge  pveceph osd destroy 0  pveceph mon create  pveceph install  pveceph destroy x  pveceph stop',
  },
  'pve-firewall': {
    why: 'prints the firewall and the rules that it would set; other verbs switch it',
    style: 'words',
    verbs: { 'status, compile, localnet': {} },
    match: 'pve-firewall status  pve-firewall compile  pve-firewall localnet',
    notMatch: 'pve-firewall stop  pve-firewall restart  pve-firewall start  pve-firewall simulate',
  },
  'pveproxy pvedaemon pvestatd spiceproxy pvescheduler pve-ha-crm pve-ha-lrm': {
    why: 'prints whether a daemon runs; other verbs start and stop it',
    verbs: { status: {} },
    match: 'pveproxy status  pvestatd status',
    notMatch: 'pveproxy stop  pveproxy restart  pvedaemon start  pve-ha-crm stop  pveproxy',
  },
  pveam: {
    why: 'lists templates; other verbs download and remove them',
    style: 'dashes',
    verbs: {
      list: { operands: [storageName] },
      available: { options: { '--section': oneOf('a section', 'mail system turnkeylinux') } },
    },
    match: 'pveam list local  pveam available --section system',
    notMatch: 'pveam update  pveam download local x  pveam remove local:vztmpl/x  pveam list',
  },
  'kvm qemu-system-x86_64': {
    why: 'prints its version; anything else would start a machine',
    style: 'words',
    flags: '-version --version',
    check: needs('-version --version', 'which would start a machine'),
    match: 'kvm -version  qemu-system-x86_64 --version',
    notMatch: 'kvm  kvm -version x  kvm -hda /dev/sda  kvm -cpu help',
  },
  pvesubscription: {
    why: 'prints the subscription; other verbs change it',
    verbs: { get: {} },
    match: 'pvesubscription get',
    notMatch: 'pvesubscription set x  pvesubscription delete  pvesubscription update --force',
  },
  pveversion: {
    why: 'prints versions',
    style: 'words',
    flags: '-v --verbose -verbose',
    match: 'pveversion  pveversion -v  pveversion --verbose',
    notMatch: 'pveversion x  pveversion -o /etc/x',
  },
  'proxmox-backup-client': {
    why: 'lists what a backup server holds; a person is asked, and other verbs back up, restore and forget',
    style: 'words',
    options: { '--repository': kind('a repository such as user@pbs@host:store', /^[A-Za-z0-9_.@!:-]{1,120}$/), ...backupOptions },
    verbs: {
      version: {},
      'list, status, snapshot list, snapshots, task list, namespace list': { operands: [anyNumber(group, 1)], check: asksServer },
      'snapshot files, files': { operands: [group], check: asksServer },
    },
    match: `proxmox-backup-client list --repository backup@pbs@10.0.0.5:store1  proxmox-backup-client version
      proxmox-backup-client snapshot list vm/100 --repository root@pam@pbs:ds1 --output-format json`,
    notMatch: `proxmox-backup-client backup root.pxar:/  proxmox-backup-client login  proxmox-backup-client list --keyfile /x
      proxmox-backup-client forget x`,
  },
  'proxmox-backup-manager': {
    why: 'lists the parts of a backup server on this node; other verbs change it, or show accounts',
    style: 'words',
    options: backupOptions,
    verbs: {
      'version, versions, datastore list, disk list, task list, network list, verify-job list, sync-job list, prune-job list': {},
      'garbage-collection list, subscription get, cert info, node show': {},
      'datastore show, garbage-collection status': { operands: [name] },
    },
    match: 'proxmox-backup-manager version  proxmox-backup-manager datastore list  proxmox-backup-manager datastore show store1',
    notMatch: 'proxmox-backup-manager user list  proxmox-backup-manager datastore remove x  proxmox-backup-manager remote list',
  },
  pveum: {
    why: 'lists accounts and permissions; a person is asked, and tokens and other verbs are left out',
    style: 'dashes',
    options: apiOutput,
    verbs: {
      'user list, group list, role list, acl list, realm list, pool list': {},
      'user permissions': { operands: [atMostOne(account)] },
    },
    check: () => ({ ask: 'it lists accounts and permissions' }),
    match: 'pveum user list  pveum role list --output-format json  pveum user permissions root@pam',
    notMatch: `pveum user add x@pve  pveum passwd root@pam  pveum user token list root@pam  pveum ticket x  pveum acl modify / -user x -role y`,
  },
  pveperf: {
    why: 'measures the node and writes a test file; a person is asked',
    operands: [atMostOne(kind('the place of a storage', /^\/(?:var\/lib\/vz|mnt\/(?:pve\/)?[A-Za-z0-9_-]{1,60})\/?$/))],
    check: () => ({ ask: 'it measures the node, writes a test file and looks names up' }),
    match: 'pveperf  pveperf /var/lib/vz',
    notMatch: 'pveperf x  pveperf /etc  pveperf /mnt/x /mnt/y',
  },
  'proxmox-boot-tool pve-efiboot-tool': {
    why: 'prints how the node boots; other verbs write to boot partitions',
    verbs: { 'status, kernel list': { flags: '--quiet' } },
    match: 'proxmox-boot-tool status  proxmox-boot-tool kernel list',
    notMatch: 'proxmox-boot-tool refresh  proxmox-boot-tool format /dev/sda2  proxmox-boot-tool kernel pin x  proxmox-boot-tool clean',
  },
  pvereport: {
    why: 'prints most of the configuration of the node; a person is asked',
    check: () => ({ ask: 'the report prints most of the configuration of the node and takes long' }),
    match: 'pvereport  pvereport | head -200',
    notMatch: 'pvereport x  pvereport > /root/x',
  },
  'qemu-img': {
    why: 'prints what an image of a disk is, without the files that it names; other verbs write',
    style: 'words',
    options: {},
    verbs: {
      info: {
        flags: '-U --force-share',
        options: { '--output': oneOf('a form', 'json human') },
        operands: [
          kind('an image below a storage', /^\/(?:var\/lib\/vz|mnt\/pve\/[A-Za-z0-9_-]{1,60})\/images\/\d{1,9}\/[A-Za-z0-9_.-]{1,120}$/),
        ],
      },
    },
    check: needs('-U --force-share', 'which would lock the image; add `-U`'),
    match: `qemu-img info -U /var/lib/vz/images/100/vm-100-disk-0.qcow2  qemu-img info --force-share --output=json /mnt/pve/nas/images/100/x.raw`,
    notMatch: `qemu-img info /etc/shadow  qemu-img convert a b  qemu-img resize -U x +1G  qemu-img check -U /var/lib/vz/images/1/x
      qemu-img info -U --backing-chain /var/lib/vz/images/1/x`,
  },
};
