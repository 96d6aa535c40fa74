/** Proxmox VE's own programs, but for `pvesh`: guests, storages, cluster, node. */
import { atMostOne, kind, needs, nodeName, number, oneOf, storageName, vmid, word } from '../../kinds.ts';
import { flag, type Options, type Page } from '../../page.ts';
import { apiOutput, bit, eitherDash } from './api.ts';

const snapshot = kind('the name of a snapshot', /^[A-Za-z][A-Za-z0-9_-]{0,39}$/);
const maybe = { optional: bit, apart: true } as const;
const ofGuest: Options = eitherDash({ '--snapshot': snapshot, '--verbose --current --full': maybe });
const content = kind(
  'types of content',
  /^(?:images|rootdir|vztmpl|backup|iso|snippets|import)(?:,(?:images|rootdir|vztmpl|backup|iso|snippets|import))*$/,
);
const volume = kind('a volume such as local:iso/x.iso', /^[A-Za-z][A-Za-z0-9_.-]{0,60}:(?!.*\.\.)[A-Za-z0-9_.:+@/-]{1,200}$/);
const upid = kind('the id of a task', /^UPID:[A-Za-z0-9:@!._+-]{10,200}$/);
const agentReads = oneOf(
  'a question to the guest that only shows',
  'ping get-osinfo get-fsinfo get-host-name get-timezone get-vcpus get-time info network-get-interfaces get-memory-blocks get-memory-block-info fsfreeze-status',
);
const name = kind('a name', /^[A-Za-z0-9][A-Za-z0-9_.:-]{0,60}$/);

export const node: readonly Page[] = [
  {
    names: ['qm'],
    why: 'prints state and configuration of virtual machines; other verbs change or enter them',
    style: 'words',
    verbs: {
      list: { options: ofGuest },
      'status, config, pending, listsnapshot': { options: ofGuest, operands: [vmid] },
      'cloudinit pending': { operands: [vmid] },
      agent: { operands: [vmid, agentReads] },
      'guest cmd': { operands: [vmid, agentReads] },
    },
    match:
      'qm list  qm list --full 1  qm status 100  qm config 100 --current  qm status 100 --verbose  qm pending 100  qm listsnapshot 100  qm agent 100 ping',
    notMatch: `qm stop 100  qm start 100  qm destroy 103 --purge  qm set 100 --memory 1  qm guest exec 100 id  qm monitor 100  qm config  qm config 1
      qm cloudinit dump 100 user  qm terminal 100  qm showcmd 100  qm agent 100 shutdown  qm guest passwd 100 root  qm sendkey 100 x  qm rescan  qm unlock 100`,
  },
  {
    names: ['pct'],
    why: 'prints state and configuration of containers; other verbs change, enter or mount them',
    style: 'words',
    verbs: { list: {}, 'status, config, pending, listsnapshot': { options: ofGuest, operands: [vmid] } },
    match: 'pct list  pct status 101  pct config 101 --current  pct listsnapshot 200',
    notMatch:
      'pct enter 101  pct exec 101 -- id  pct pull 101 /etc/shadow /x  pct df 101  pct cpusets  pct fsck 101  pct stop 101  pct list x  pct mount 101',
  },
  {
    names: ['lxc-info', 'lxc-ls'],
    why: 'prints containers; other programs of LXC change or enter them, `-P` reads another place',
    options: {
      '-isSpHf1L --info --state --pid --ips --stats --no-humanize --fancy --line --running --active --stopped --frozen': flag,
      '-n --name': vmid,
      '-F --fancy-format': kind('columns', /^[A-Z0-9_,]{1,80}$/),
    },
    operands: [atMostOne(vmid)],
    check: ({ operands, has }) => (operands.length > 0 && has('-n', '--name') ? 'with two containers' : undefined),
    match: 'lxc-info -n 101  lxc-ls -f  lxc-info -n 101 -p -H',
    notMatch: 'lxc-info -n 101 -P /x  lxc-attach -n 101  lxc-stop -n 101  lxc-ls --lxcpath=/x  lxc-top -d 1',
  },
  {
    names: ['pvesm'],
    why: 'prints storages and what they hold; other verbs change, scan or export',
    style: 'words',
    options: {},
    verbs: {
      status: {
        options: {
          ...apiOutput,
          ...eitherDash({ '--storage': storageName, '--content': content, '--enabled': maybe, '--target': nodeName }),
        },
      },
      list: { options: { ...apiOutput, ...eitherDash({ '--content': content, '--vmid': vmid }) }, operands: [storageName] },
      path: { operands: [volume] },
    },
    match: 'pvesm status  pvesm status --storage local  pvesm list local  pvesm list local --content backup  pvesm path local:iso/x.iso',
    notMatch:
      'pvesm free local:x  pvesm alloc local 100 x 1G  pvesm set local --disable  pvesm add dir x --path /  pvesm remove x  pvesm scan nfs x  pvesm extractconfig x  pvesm export local:x raw -  pvesm path local:x/../y',
  },
  {
    names: ['pvecm'],
    why: 'prints the cluster; other verbs change it',
    verbs: { 'status, nodes, apiver, help, qdevice status': {} },
    match: 'pvecm status  pvecm nodes',
    notMatch:
      'pvecm add 10.0.0.1  pvecm expected 1  pvecm delnode x  pvecm updatecerts  pvecm create x  pvecm qdevice remove  pvecm keygen x',
  },
  {
    names: ['corosync-quorumtool', 'corosync-cfgtool', 'corosync-cmapctl', 'corosync-cpgtool'],
    why: 'prints the state of corosync; `-e`, `-v`, `-R`, `-H`, `-k`, `-s` of cmapctl and the like change it, `-m` and `-t` never end',
    options: { '-snlibapfV': flag },
    check: ({ options }) => (options.size > 2 ? 'with so many options' : undefined),
    match: 'corosync-cfgtool -s  corosync-quorumtool -s  corosync-cmapctl  corosync-cfgtool -n  corosync-quorumtool -l',
    notMatch:
      'corosync-quorumtool -e 1  corosync-quorumtool -m  corosync-cfgtool -R  corosync-cfgtool -k 2  corosync-cmapctl -s x str y  corosync-cmapctl -t x',
  },
  {
    names: ['ha-manager'],
    why: 'prints the state of high availability; other verbs change it',
    style: 'words',
    verbs: {
      status: { options: eitherDash({ '--verbose': maybe }) },
      config: { options: eitherDash({ '--type': oneOf('a type', 'ct vm') }) },
      'groupconfig, rules list, rules config': {},
    },
    match: 'ha-manager status  ha-manager config  ha-manager status --verbose  ha-manager groupconfig  ha-manager rules list',
    notMatch:
      'ha-manager add vm:1  ha-manager set vm:1 --state disabled  ha-manager remove vm:100  ha-manager crm-command stop vm:100 0  ha-manager migrate vm:1 x',
  },
  {
    names: ['pvenode'],
    why: 'prints tasks, certificates and the setup of the node; other verbs change it',
    style: 'words',
    verbs: {
      'task list': {
        options: {
          ...apiOutput,
          ...eitherDash({
            '--errors': maybe,
            '--limit --start --since --until': number,
            '--vmid': vmid,
            '--source': oneOf('a source', 'archive active all'),
            '--typefilter --statusfilter': kind('a filter', /^[a-z,]{1,40}$/),
            '--userfilter': kind('a user', /^[A-Za-z0-9_.@!-]{1,60}$/),
          }),
        },
      },
      'task status': { options: apiOutput, operands: [upid] },
      'task log': { options: eitherDash({ '--start --limit': number }), operands: [upid] },
      'config get, cert info': { options: { ...apiOutput, ...eitherDash({ '--property': word }) } },
    },
    match:
      'pvenode task list  pvenode task list --errors 1 --limit 20  pvenode config get  pvenode cert info  pvenode task log UPID:pve:0001:0002:0003:vzdump::root@pam:',
    notMatch:
      'pvenode config set  pvenode startall  pvenode task stop UPID:x  pvenode wakeonlan pve2  pvenode migrateall x  pvenode acme account list  pvenode cert set x y',
  },
  {
    names: ['pvesr'],
    why: 'prints replication; other verbs run or change it',
    style: 'words',
    verbs: { list: {}, status: { options: eitherDash({ '--guest': vmid }) }, read: { operands: [name] } },
    match: 'pvesr list  pvesr status  pvesr status --guest 100',
    notMatch: 'pvesr run  pvesr schedule-now 100-0  pvesr delete 100-0  pvesr create-local-job x y',
  },
  {
    names: ['pveceph'],
    why: 'prints Ceph as Proxmox VE sees it; other verbs set it up and destroy it',
    style: 'words',
    verbs: {
      'status, lspools, pool ls, fs ls, mds ls': { options: apiOutput },
      'pool get': { options: apiOutput, operands: [name] },
      'osd details': { options: { ...apiOutput, ...eitherDash({ '--verbose': maybe }) }, operands: [number] },
    },
    match: 'pveceph status  pveceph pool ls  pveceph osd details 0',
    notMatch: 'pveceph purge  pveceph osd destroy 0  pveceph mon create  pveceph install  pveceph destroy x  pveceph stop',
  },
  {
    names: ['pve-firewall'],
    why: 'prints the firewall and the rules that it would set; other verbs switch it',
    style: 'words',
    verbs: { 'status, compile, localnet': {} },
    match: 'pve-firewall status  pve-firewall compile  pve-firewall localnet',
    notMatch: 'pve-firewall stop  pve-firewall restart  pve-firewall start  pve-firewall simulate',
  },
  {
    names: ['pveproxy', 'pvedaemon', 'pvestatd', 'spiceproxy', 'pvescheduler', 'pve-ha-crm', 'pve-ha-lrm'],
    why: 'prints whether a daemon runs; other verbs start and stop it',
    verbs: { status: {} },
    match: 'pveproxy status  pvestatd status',
    notMatch: 'pveproxy stop  pveproxy restart  pvedaemon start  pve-ha-crm stop  pveproxy',
  },
  {
    names: ['pveam'],
    why: 'lists templates; other verbs download and remove them',
    style: 'words',
    verbs: {
      list: { operands: [storageName] },
      available: { options: eitherDash({ '--section': oneOf('a section', 'mail system turnkeylinux') }) },
    },
    match: 'pveam list local  pveam available --section system',
    notMatch: 'pveam update  pveam download local x  pveam remove local:vztmpl/x  pveam list',
  },
  {
    names: ['kvm', 'qemu-system-x86_64'],
    why: 'prints its version; anything else would start a machine',
    style: 'words',
    options: { '-version --version': flag },
    check: needs('-version --version', 'which would start a machine'),
    match: 'kvm -version  qemu-system-x86_64 --version',
    notMatch: 'kvm  kvm -version x  kvm -hda /dev/sda  kvm -cpu help',
  },
  {
    names: ['pvesubscription'],
    why: 'prints the subscription; other verbs change it',
    verbs: { get: {} },
    match: 'pvesubscription get',
    notMatch: 'pvesubscription set x  pvesubscription delete  pvesubscription update --force',
  },
  {
    names: ['pveversion', 'proxmox-backup-manager', 'proxmox-backup-client'],
    why: 'prints versions; other verbs of the backup programs connect and change',
    style: 'words',
    options: { '-v --verbose -verbose': flag },
    verbs: { ', version, versions': {} },
    match: 'pveversion  pveversion -v  pveversion --verbose  proxmox-backup-manager version  proxmox-backup-client version',
    notMatch: 'pveversion x  proxmox-backup-client backup x  proxmox-backup-manager user list  proxmox-backup-client login',
  },
  {
    names: ['proxmox-boot-tool', 'pve-efiboot-tool'],
    why: 'prints how the node boots; other verbs write to boot partitions',
    verbs: { 'status, kernel list': { options: { '--quiet': flag } } },
    match: 'proxmox-boot-tool status  proxmox-boot-tool kernel list',
    notMatch: 'proxmox-boot-tool refresh  proxmox-boot-tool format /dev/sda2  proxmox-boot-tool kernel pin x  proxmox-boot-tool clean',
  },
  {
    names: ['pvereport'],
    why: 'prints most of the configuration of the node; a person is asked',
    check: () => ({ ask: 'the report prints most of the configuration of the node and takes long' }),
    match: 'pvereport  pvereport | head -200',
    notMatch: 'pvereport x  pvereport > /root/x',
  },
  {
    names: ['qemu-img'],
    why: 'prints what an image of a disk is, without the files that it names; other verbs write',
    style: 'words',
    options: {},
    verbs: {
      info: {
        options: { '-U --force-share': flag, '--output': oneOf('a form', 'json human') },
        operands: [
          kind('an image below a storage', /^\/(?:var\/lib\/vz|mnt\/pve\/[A-Za-z0-9_-]{1,60})\/images\/\d{1,9}\/[A-Za-z0-9_.-]{1,120}$/),
        ],
      },
    },
    check: needs('-U --force-share', 'which would lock the image; add `-U`'),
    match:
      'qemu-img info -U /var/lib/vz/images/100/vm-100-disk-0.qcow2  qemu-img info --force-share --output=json /mnt/pve/nas/images/100/x.raw',
    notMatch:
      'qemu-img info /etc/shadow  qemu-img convert a b  qemu-img resize -U x +1G  qemu-img check -U /var/lib/vz/images/1/x  qemu-img info -U --backing-chain /var/lib/vz/images/1/x',
  },
];
