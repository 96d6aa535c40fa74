/** The lab of the recordings that bring no fixture: three nodes, the guests as they were at the start, its users and tokens. */
import type { ClusterSeed } from '#demo/index';
import { listedServices } from '#demo/pve/methods/nodes';
import type { ServiceSeed } from '#demo/pve/state';

export const labFacts = {
  cpus: 2,
  memoryBytes: 25_276_514_304,
  diskBytes: 12_638_257_152,
  diskUsedBytes: 24_207_360,
  uptimeSeconds: 4194,
} as const;
const container = { arch: 'amd64', ostype: 'debian', unprivileged: 1, cores: 1, memory: 128, swap: 128 } as const;
const machine = { ostype: 'l26', scsihw: 'virtio-scsi-single', kvm: 1, vga: 'none', cores: 1, memory: '64' } as const;
/** The lab's containers say this at every start: a container inside a container has no monitor yet. */
const startLog = ['failed to connect to monitor socket: Connection refused'];

const opsPrivileges = ['Sys.Audit', 'VM.Audit', 'VM.PowerMgmt', 'Datastore.Audit', 'Sys.PowerMgmt', 'VM.GuestAgent.Audit'];

/** What tokens of the recordings were called there, and their secrets here. */
export const labTokens = {
  ops: 'jarvis@pve!ops',
  ro: 'auditor@pve!ro',
  nobody: 'nobody@pve!none',
  root: 'root@pam!lab',
} as const;
/** Any will do: the recordings name the token only. */
export const labUuid = '11111111-2222-3333-4444-555555555555';
export const labPassword = ['lab', 'secret', '1'].join('-');

export const labState: ClusterSeed = {
  name: 'lab',
  version: 3,
  nodes: [
    { name: 'Home', nodeid: 1, ip: '10.77.0.11', ...labFacts },
    { name: 'pve', nodeid: 2, ip: '10.77.0.12', ...labFacts },
    { name: 'agent1', nodeid: 3, ip: '10.77.0.13', ...labFacts },
  ],
  guests: [
    {
      vmid: 100,
      kind: 'qemu',
      node: 'pve',
      obeysShutdown: false,
      config: { ...machine, name: 'web', agent: '1', serial0: 'socket', tags: 'prod;web' },
    },
    { vmid: 101, kind: 'qemu', node: 'Home', config: { ...machine, name: 'nas-vm' } },
    { vmid: 103, kind: 'qemu', node: 'agent1', config: { ...machine, name: 'management', tags: 'protected' } },
    { vmid: 104, kind: 'qemu', node: 'pve', config: { ...machine, name: 'locked-vm', lock: 'backup' } },
    {
      vmid: 200,
      kind: 'lxc',
      node: 'Home',
      startLog,
      config: { ...container, hostname: 'dns', rootfs: '/srv/ct/200' },
    },
    {
      vmid: 201,
      kind: 'lxc',
      node: 'pve',
      startLog,
      config: { ...container, hostname: 'proxy', rootfs: '/srv/ct/201' },
    },
    { vmid: 900, kind: 'qemu', node: 'pve', config: { ...machine, name: 'tmpl', template: 1 } },
  ],
  storages: [
    { id: 'nas', type: 'dir', content: ['backup', 'iso'], shared: true, totalBytes: labFacts.diskBytes, usedBytes: labFacts.diskUsedBytes },
    {
      id: 'local',
      type: 'dir',
      content: ['images', 'snippets', 'rootdir', 'iso', 'vztmpl', 'backup'],
      totalBytes: labFacts.diskBytes,
      usedBytes: labFacts.diskUsedBytes,
    },
  ],
  volumes: [
    {
      volid: 'local:backup/vzdump-qemu-100-2026_01_02-03_04_05.vma.zst',
      node: 'pve',
      content: 'backup',
      format: 'vma.zst',
      size: 4096,
      ctime: 1_767_323_045,
      vmid: 100,
      subtype: 'qemu',
      notes: 'nightly web',
    },
  ],
  tasks: [],
  access: {
    users: { 'root@pam': undefined, 'jarvis@pve': labPassword, 'auditor@pve': undefined, 'nobody@pve': undefined },
    roles: {
      Administrator: [
        ...opsPrivileges,
        'Datastore.Allocate',
        'Datastore.AllocateSpace',
        'VM.Backup',
        'Sys.Modify',
        'VM.Config.Disk',
        'VM.Snapshot',
      ],
      Ops: opsPrivileges,
      Auditor: ['Sys.Audit', 'VM.Audit', 'Datastore.Audit'],
    },
    tokens: [
      { id: labTokens.ops, secret: labUuid, privsep: true },
      { id: labTokens.ro, secret: labUuid, privsep: false },
      { id: labTokens.nobody, secret: labUuid, privsep: true },
      { id: labTokens.root, secret: labUuid, privsep: false },
    ],
    entries: [
      { path: '/', subject: 'jarvis@pve', role: 'Ops' },
      { path: '/', subject: labTokens.ops, role: 'Ops' },
      { path: '/', subject: 'auditor@pve', role: 'Auditor' },
    ],
  },
};

const descriptions: Readonly<Record<string, string>> = {
  chrony: 'chrony, an NTP client/server',
  corosync: 'Corosync Cluster Engine',
  cron: 'Regular background program processing daemon',
  'pve-cluster': 'The Proxmox VE cluster filesystem',
  'pve-firewall': 'Proxmox VE firewall',
  'pve-ha-crm': 'PVE Cluster HA Resource Manager Daemon',
  'pve-ha-lrm': 'PVE Local HA Resource Manager Daemon',
  pvedaemon: 'PVE API Daemon',
  'pvefw-logger': 'Proxmox VE firewall logger',
  pveproxy: 'PVE API Proxy Server',
  pvescheduler: 'Proxmox VE scheduler',
  pvestatd: 'PVE Status Daemon',
  qmeventd: 'PVE Qemu Event Daemon',
  spiceproxy: 'PVE SPICE Proxy Server',
  sshd: 'OpenBSD Secure Shell server',
  'systemd-journald': 'Journal Service',
};

/** Units of the lab's nodes, those included that are not installed. */
export const labServices: readonly ServiceSeed[] = listedServices.map((name) => {
  const description = descriptions[name];
  return description === undefined
    ? { name, listed: true, description: `${name}.service`, unitState: 'not-found', active: 'inactive' }
    : { name, listed: true, description };
});

const web = '/nodes/pve/qemu/100/status';
const proxy = '/nodes/pve/lxc/201/status';

/** Requests of the lab by name, for questions about their tasks in files that lack the request itself. */
export const labRequests: Readonly<Record<string, { readonly path: string; readonly form?: Readonly<Record<string, string>> }>> = {
  'start vm': { path: `${web}/start` },
  'start vm on the wrong node': { path: '/nodes/pve/qemu/101/status/start' },
  'start a container through the qemu path': { path: '/nodes/pve/qemu/201/status/start' },
  'start a vm through the lxc path': { path: '/nodes/pve/lxc/100/status/start' },
  'start missing vm': { path: '/nodes/pve/qemu/999/status/start' },
  'start locked vm': { path: '/nodes/pve/qemu/104/status/start' },
  'start template': { path: '/nodes/pve/qemu/900/status/start' },
  'start running vm': { path: `${web}/start` },
  'start vm json body': { path: `${web}/start`, form: { timeout: '30' } },
  'stop stopped vm': { path: `${web}/stop` },
  'stop vm': { path: `${web}/stop` },
  'stop vm with overrule-shutdown': { path: `${web}/stop`, form: { 'overrule-shutdown': '1' } },
  'shutdown stopped vm': { path: `${web}/shutdown` },
  'shutdown, guest ignores it (timeout 2)': { path: `${web}/shutdown`, form: { timeout: '2' } },
  'reboot, guest ignores it (timeout 2)': { path: `${web}/reboot`, form: { timeout: '2' } },
  'stopped task': { path: `${web}/shutdown`, form: { timeout: '60' } },
  'start ct': { path: `${proxy}/start` },
  'start ct again': { path: `${proxy}/start` },
  'reboot ct': { path: `${proxy}/reboot`, form: { timeout: '20' } },
  'shutdown ct': { path: `${proxy}/shutdown`, form: { timeout: '20' } },
  'stop ct': { path: `${proxy}/stop` },
  'proxied start on another node': { path: '/nodes/agent1/qemu/103/status/start' },
  'proxied stop on another node': { path: '/nodes/agent1/qemu/103/status/stop' },
};
