/** The cluster that `banksman demo` starts with: three nodes, guests of every kind that matters, some history. */

import type { ClusterSeed, GuestSeed, NodeSeed, ServiceSeed, TaskSeed, VolumeSeed } from './pve/cluster-seed.ts';
import { listedServices } from './pve/methods/services.ts';

const gib = 1_073_741_824;
const hour = 3600;
const day = 24 * hour;

/** Privileges of the demo's operator: the least that every tool needs. Backups take `Datastore.AllocateSpace` besides `VM.Backup`. */
export const operatorPrivileges = [
  'Sys.Audit',
  'VM.Audit',
  'VM.PowerMgmt',
  'Datastore.Audit',
  'Sys.PowerMgmt',
  'VM.GuestAgent.Audit',
  'VM.Backup',
  'Datastore.AllocateSpace',
] as const;

const auditorPrivileges = ['Sys.Audit', 'VM.Audit', 'Datastore.Audit'] as const;

/** What PVE's `Administrator` role holds in 9.1. */
export const administratorPrivileges = [
  'Datastore.Allocate',
  'Datastore.AllocateSpace',
  'Datastore.AllocateTemplate',
  'Datastore.Audit',
  'Group.Allocate',
  'Mapping.Audit',
  'Mapping.Modify',
  'Mapping.Use',
  'Permissions.Modify',
  'Pool.Allocate',
  'Pool.Audit',
  'Realm.Allocate',
  'Realm.AllocateUser',
  'SDN.Allocate',
  'SDN.Audit',
  'SDN.Use',
  'Sys.AccessNetwork',
  'Sys.Audit',
  'Sys.Console',
  'Sys.Incoming',
  'Sys.Modify',
  'Sys.PowerMgmt',
  'Sys.Syslog',
  'User.Modify',
  'VM.Allocate',
  'VM.Audit',
  'VM.Backup',
  'VM.Clone',
  'VM.Config.CDROM',
  'VM.Config.CPU',
  'VM.Config.Cloudinit',
  'VM.Config.Disk',
  'VM.Config.HWType',
  'VM.Config.Memory',
  'VM.Config.Network',
  'VM.Config.Options',
  'VM.Console',
  'VM.GuestAgent.Audit',
  'VM.GuestAgent.FileRead',
  'VM.GuestAgent.FileSystemMgmt',
  'VM.GuestAgent.FileWrite',
  'VM.GuestAgent.Unrestricted',
  'VM.Migrate',
  'VM.PowerMgmt',
  'VM.Replicate',
  'VM.Snapshot',
  'VM.Snapshot.Rollback',
] as const;

/** Token ids of the demo, by what they are for. Their secrets are made at each start. */
export const demoTokens = {
  ops: 'ops@pve!banksman',
  readOnly: 'audit@pve!banksman',
  nobody: 'nobody@pve!banksman',
  expired: 'ops@pve!expired',
  root: 'root@pam!banksman',
  /** All rights of an operator, on node pve only. */
  onNode: 'scoped@pve!node',
  /** The same, on pool `prod` only. */
  onPool: 'scoped@pve!pool',
  /** The same, on guest 100 only. */
  onGuest: 'scoped@pve!guest',
} as const;

const descriptions: Readonly<Record<string, string>> = {
  corosync: 'Corosync Cluster Engine',
  cron: 'Regular background program processing daemon',
  chrony: 'chrony, an NTP client/server',
  pvedaemon: 'PVE API Daemon',
  pveproxy: 'PVE API Proxy Server',
  pvestatd: 'PVE Status Daemon',
  'pve-cluster': 'The Proxmox VE cluster filesystem',
  sshd: 'OpenBSD Secure Shell server',
};

function services(): ServiceSeed[] {
  const absent = new Set(['ksmtuned', 'syslog', 'systemd-timesyncd', 'proxmox-firewall']);
  const listed = listedServices
    .filter((name) => !absent.has(name))
    .map((name) => ({ name, description: descriptions[name] ?? `Proxmox VE ${name}`, listed: true }));
  return [
    ...listed,
    { name: 'ssh', description: 'OpenBSD Secure Shell server' },
    { name: 'docker', description: 'Docker Application Container Engine' },
    { name: 'nginx', description: 'A high performance web server and a reverse proxy server' },
    { name: 'smartmontools', description: 'Self Monitoring and Reporting Technology (SMART) Daemon' },
    { name: 'nfs-server', description: 'NFS server and services', active: 'inactive', unitState: 'disabled' },
    {
      name: 'failing',
      description: 'A service that cannot start',
      active: 'failed',
      startError: 'cannot read /etc/failing.conf: No such file or directory',
    },
  ];
}

function node(
  name: string,
  nodeid: number,
  facts: { readonly ip: string; readonly mac: string; readonly cpus: number; readonly memoryGib: number; readonly uptimeSeconds: number },
): NodeSeed {
  return {
    name,
    nodeid,
    ip: facts.ip,
    cpus: facts.cpus,
    memoryBytes: facts.memoryGib * gib,
    diskBytes: 100 * gib,
    diskUsedBytes: 21 * gib + nodeid * 37_748_736,
    uptimeSeconds: facts.uptimeSeconds,
    services: services(),
    thermalZones: [
      { zone: 0, type: 'acpitz', millidegrees: 27_800 },
      { zone: 1, type: 'x86_pkg_temp', millidegrees: 41_000 + nodeid * 1500 },
      { zone: 2, type: 'pch_cannonlake', millidegrees: 48_500 },
    ],
    config: { wakeonlan: facts.mac, description: `demo node ${name}\n` },
  };
}

/** MAC addresses of the demo nodes, for waking them. */
const demoMacs = { Home: 'bc:24:11:aa:00:50', pve: 'bc:24:11:aa:00:60', agent1: 'bc:24:11:aa:00:61' } as const;

const nodes: readonly NodeSeed[] = [
  node('Home', 1, { ip: '192.168.1.50', mac: demoMacs.Home, cpus: 8, memoryGib: 32, uptimeSeconds: 41 * day }),
  node('pve', 2, { ip: '192.168.1.60', mac: demoMacs.pve, cpus: 4, memoryGib: 16, uptimeSeconds: 12 * day + 5 * hour }),
  node('agent1', 3, { ip: '192.168.1.61', mac: demoMacs.agent1, cpus: 4, memoryGib: 16, uptimeSeconds: 3 * day + 2 * hour }),
];

const vm = { ostype: 'l26', scsihw: 'virtio-scsi-single', kvm: 1, vga: 'none', serial0: 'socket' } as const;
const disk = { maxdisk: 32 * gib } as const;
const container = { arch: 'amd64', ostype: 'debian', unprivileged: 1, swap: 512 } as const;

const guests: readonly GuestSeed[] = [
  {
    vmid: 100,
    kind: 'qemu',
    node: 'pve',
    running: true,
    agentAnswers: true,
    ...disk,
    config: {
      ...vm,
      name: 'web',
      agent: '1',
      cores: 2,
      memory: '2048',
      tags: 'prod;web',
      net0: 'virtio=BC:24:11:00:01:00,bridge=vmbr0',
      scsi0: 'local-lvm:vm-100-disk-0,size=32G',
      ipconfig0: 'ip=192.168.1.70/24,gw=192.168.1.1',
    },
  },
  {
    vmid: 101,
    kind: 'qemu',
    node: 'Home',
    ...disk,
    config: { ...vm, name: 'nas-vm', cores: 2, memory: '4096', scsi0: 'local-lvm:vm-101-disk-0,size=32G' },
  },
  {
    vmid: 103,
    kind: 'qemu',
    node: 'agent1',
    running: true,
    ...disk,
    config: {
      ...vm,
      name: 'management',
      cores: 2,
      memory: '4096',
      tags: 'protected',
      net0: 'virtio=BC:24:11:00:01:03,bridge=vmbr0',
      scsi0: 'local-lvm:vm-103-disk-0,size=32G',
      ipconfig0: 'ip=192.168.1.65/24,gw=192.168.1.1',
      onboot: 1,
    },
  },
  {
    vmid: 104,
    kind: 'qemu',
    node: 'pve',
    ...disk,
    config: { ...vm, name: 'locked-vm', cores: 1, memory: '1024', lock: 'backup', scsi0: 'local-lvm:vm-104-disk-0,size=32G' },
  },
  {
    vmid: 105,
    kind: 'qemu',
    node: 'agent1',
    agentAnswers: true,
    ...disk,
    config: { ...vm, name: 'build', agent: '1', cores: 4, memory: '8192', tags: 'ci', scsi0: 'local-lvm:vm-105-disk-0,size=32G' },
  },
  {
    vmid: 200,
    kind: 'lxc',
    node: 'Home',
    running: true,
    maxdisk: 4 * gib,
    config: {
      ...container,
      hostname: 'dns',
      cores: 1,
      memory: 512,
      rootfs: 'local-lvm:vm-200-disk-0,size=4G',
      net0: 'name=eth0,bridge=vmbr0,ip=192.168.1.53/24,gw=192.168.1.1',
    },
  },
  {
    vmid: 201,
    kind: 'lxc',
    node: 'pve',
    running: true,
    maxdisk: 4 * gib,
    config: {
      ...container,
      hostname: 'proxy',
      cores: 1,
      memory: 512,
      rootfs: 'local-lvm:vm-201-disk-0,size=4G',
      net0: 'name=eth0,bridge=vmbr0,ip=192.168.1.80/24,gw=192.168.1.1',
    },
  },
  {
    vmid: 900,
    kind: 'qemu',
    node: 'pve',
    ...disk,
    config: { ...vm, name: 'tmpl', cores: 1, memory: '1024', template: 1, scsi0: 'local-lvm:base-900-disk-0,size=32G' },
  },
];

function backup(
  vmid: number,
  kind: 'qemu' | 'lxc',
  secondsAgo: number,
  place: { readonly now: number; readonly node: string | undefined; readonly notes: string },
): VolumeSeed {
  const ctime = Math.floor(place.now / 1000) - secondsAgo;
  const stamp = new Date(ctime * 1000).toISOString().slice(0, 19).replace(/[-:]/g, '_').replace('T', '-');
  const format = kind === 'qemu' ? 'vma.zst' : 'tar.zst';
  const storage = place.node === undefined ? 'nas' : 'local';
  return {
    volid: `${storage}:backup/vzdump-${kind}-${vmid}-${stamp}.${format}`,
    ...(place.node === undefined ? {} : { node: place.node }),
    ...{ content: 'backup', format, size: 700_000_000 + vmid * 65_536, ctime, vmid, subtype: kind, notes: place.notes },
  };
}

function volumes(now: number): VolumeSeed[] {
  return [
    backup(100, 'qemu', 22 * hour, { now, node: 'pve', notes: 'nightly web' }),
    backup(100, 'qemu', 46 * hour, { now, node: 'pve', notes: 'nightly web' }),
    backup(201, 'lxc', 22 * hour, { now, node: 'pve', notes: 'nightly proxy' }),
    backup(200, 'lxc', 23 * hour, { now, node: 'Home', notes: 'nightly dns' }),
    backup(101, 'qemu', 6 * day, { now, node: 'Home', notes: 'weekly nas-vm' }),
    backup(103, 'qemu', 2 * day, { now, node: undefined, notes: 'management' }),
    {
      volid: 'nas:iso/debian-13.1.0-amd64-netinst.iso',
      content: 'iso',
      format: 'iso',
      size: 702_545_920,
      ctime: Math.floor(now / 1000) - 40 * day,
    },
  ];
}

const history: readonly TaskSeed[] = [
  {
    node: 'pve',
    type: 'vzdump',
    id: '100',
    user: 'root@pam',
    startedSecondsAgo: 22 * hour,
    seconds: 194,
    status: 'OK',
    log: ['INFO: Starting Backup of VM 100 (qemu)', 'INFO: Finished Backup of VM 100 (00:03:14)'],
  },
  { node: 'Home', type: 'vzdump', id: '200', user: 'root@pam', startedSecondsAgo: 23 * hour, seconds: 41, status: 'OK' },
  {
    node: 'pve',
    type: 'qmstart',
    id: '104',
    user: 'ops@pve!banksman',
    startedSecondsAgo: 5 * hour,
    seconds: 1,
    status: 'VM is locked (backup)',
  },
  { node: 'agent1', type: 'qmstop', id: '105', user: 'ops@pve!banksman', startedSecondsAgo: 4 * hour, seconds: 2, status: 'OK' },
  {
    node: 'pve',
    type: 'vzstart',
    id: '201',
    user: 'root@pam',
    startedSecondsAgo: 3 * hour,
    seconds: 3,
    status: 'WARNINGS: 1',
    log: ["WARN: old systemd (< v232) detected, container won't run in a pure cgroupv2 environment!"],
  },
  { node: 'Home', type: 'aptupdate', id: '', user: 'root@pam', startedSecondsAgo: 9 * hour, seconds: 12, status: 'OK' },
];

/** @param now ms since the epoch @param secrets token id → secret */
export function demoSeed(now: number, secrets: Readonly<Record<string, string>>): ClusterSeed {
  const secret = (id: string) => secrets[id] ?? '';
  const { ops, readOnly, nobody, expired, root, onNode, onPool, onGuest } = demoTokens;
  return {
    name: 'demo',
    version: 3,
    nodes,
    guests,
    storages: [
      { id: 'local', type: 'dir', content: ['iso', 'vztmpl', 'backup', 'snippets'], totalBytes: 100 * gib, usedBytes: 22 * gib },
      { id: 'local-lvm', type: 'lvmthin', content: ['images', 'rootdir'], totalBytes: 400 * gib, usedBytes: 131 * gib },
      { id: 'nas', type: 'nfs', content: ['backup', 'iso'], shared: true, totalBytes: 4000 * gib, usedBytes: 1730 * gib },
    ],
    volumes: volumes(now),
    pools: [{ id: 'prod', comment: 'Production guests', guests: [100, 201], storages: ['nas'] }],
    tasks: history,
    access: {
      users: { 'root@pam': undefined, 'ops@pve': undefined, 'audit@pve': undefined, 'nobody@pve': undefined, 'scoped@pve': undefined },
      roles: { Administrator: administratorPrivileges, BanksmanOperator: operatorPrivileges, BanksmanAuditor: auditorPrivileges },
      tokens: [
        { id: ops, secret: secret(ops), privsep: true },
        { id: readOnly, secret: secret(readOnly), privsep: false },
        { id: nobody, secret: secret(nobody), privsep: true },
        { id: expired, secret: secret(expired), privsep: false, expire: Math.floor(now / 1000) - day },
        { id: root, secret: secret(root), privsep: false },
        ...[onNode, onPool, onGuest].map((id) => ({ id, secret: secret(id), privsep: true })),
      ],
      entries: [
        { path: '/', subject: 'ops@pve', role: 'BanksmanOperator' },
        { path: '/', subject: ops, role: 'BanksmanOperator' },
        { path: '/', subject: 'audit@pve', role: 'BanksmanAuditor' },
        // What a token with rights of its own may do at most is what its user may.
        { path: '/', subject: 'scoped@pve', role: 'BanksmanOperator' },
        { path: '/nodes/pve', subject: onNode, role: 'BanksmanOperator' },
        { path: '/pool/prod', subject: onPool, role: 'BanksmanOperator' },
        { path: '/vms/100', subject: onGuest, role: 'BanksmanOperator' },
      ],
    },
  };
}
