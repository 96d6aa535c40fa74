/** The cluster that `banksman demo` starts with: three nodes, guests of every kind that matters, some history. */

import { configText } from './pve/guest-config.ts';
import { listedServices } from './pve/methods/nodes.ts';
import type { ClusterSeed, GuestSeed, NodeSeed, ServiceSeed, TaskSeed, VolumeSeed } from './pve/state.ts';

const gib = 1_073_741_824;
const hour = 3600;
const day = 24 * hour;

/** Privileges of the demo's operator: the least that every tool but `get_updates` needs. Backups take `Datastore.AllocateSpace` besides `VM.Backup`. */
export const operatorPrivileges = `
  Sys.Audit VM.Audit VM.PowerMgmt Datastore.Audit Sys.PowerMgmt VM.GuestAgent.Audit VM.Backup Datastore.AllocateSpace
  VM.Snapshot VM.Config.CPU VM.Config.Memory VM.Config.Options VM.Config.Disk VM.Migrate VM.Clone VM.Allocate
`
  .trim()
  .split(/\s+/);

const auditorPrivileges = ['Sys.Audit', 'VM.Audit', 'Datastore.Audit'] as const;

/** What PVE's `Administrator` role holds in 9.1. */
export const administratorPrivileges = `
  Datastore.Allocate Datastore.AllocateSpace Datastore.AllocateTemplate Datastore.Audit Group.Allocate Mapping.Audit
  Mapping.Modify Mapping.Use Permissions.Modify Pool.Allocate Pool.Audit Realm.Allocate Realm.AllocateUser SDN.Allocate SDN.Audit
  SDN.Use Sys.AccessNetwork Sys.Audit Sys.Console Sys.Incoming Sys.Modify Sys.PowerMgmt Sys.Syslog User.Modify VM.Allocate
  VM.Audit VM.Backup VM.Clone VM.Config.CDROM VM.Config.CPU VM.Config.Cloudinit VM.Config.Disk VM.Config.HWType VM.Config.Memory
  VM.Config.Network VM.Config.Options VM.Console VM.GuestAgent.Audit VM.GuestAgent.FileRead VM.GuestAgent.FileSystemMgmt
  VM.GuestAgent.FileWrite VM.GuestAgent.Unrestricted VM.Migrate VM.PowerMgmt VM.Replicate VM.Snapshot VM.Snapshot.Rollback
`
  .trim()
  .split(/\s+/);

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
    { name: 'networking', description: 'Network initialization' },
    { name: 'zfs-zed', description: 'ZFS Event Daemon (zed)' },
    { name: 'nfs-server', description: 'NFS server and services', active: 'inactive', unitState: 'disabled' },
    {
      name: 'failing',
      description: 'A service that cannot start',
      active: 'failed',
      startError: 'cannot read /etc/failing.conf: No such file or directory',
    },
  ];
}

function nodeSeed(
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
  nodeSeed('Home', 1, { ip: '192.168.1.50', mac: demoMacs.Home, cpus: 8, memoryGib: 32, uptimeSeconds: 41 * day }),
  nodeSeed('pve', 2, { ip: '192.168.1.60', mac: demoMacs.pve, cpus: 4, memoryGib: 16, uptimeSeconds: 12 * day + 5 * hour }),
  nodeSeed('agent1', 3, { ip: '192.168.1.61', mac: demoMacs.agent1, cpus: 4, memoryGib: 16, uptimeSeconds: 3 * day + 2 * hour }),
];

type Config = GuestSeed['config'];
type Facts = Pick<GuestSeed, 'running' | 'agentAnswers'>;

function vm(vmid: number, node: string, config: Config, facts: Facts = {}): GuestSeed {
  const scsi0 = `local-lvm:${config['template'] === 1 ? 'base' : 'vm'}-${vmid}-disk-0,size=32G`;
  const hardware = { ostype: 'l26', boot: 'order=scsi0', scsihw: 'virtio-scsi-single', kvm: 1, vga: 'none', serial0: 'socket' };
  return { vmid, kind: 'qemu', node, ...facts, config: { ...hardware, cores: 1, memory: '1024', ...config, scsi0 } };
}

/** A container that runs. */
function container(vmid: number, node: string, hostname: string, ip: string): GuestSeed {
  const rootfs = `local-lvm:vm-${vmid}-disk-0,size=4G`;
  const net0 = `name=eth0,bridge=vmbr0,ip=${ip}/24,gw=192.168.1.1`;
  const config = { arch: 'amd64', ostype: 'debian', unprivileged: 1, swap: 512, hostname, cores: 1, memory: 512, rootfs, net0 };
  return { vmid, kind: 'lxc', node, running: true, config };
}

function network(mac: string, ip: string) {
  return { net0: `virtio=${mac},bridge=vmbr0`, ipconfig0: `ip=${ip}/24,gw=192.168.1.1` };
}

const web = { name: 'web', agent: '1', cores: 2, memory: '2048', tags: 'prod;web', ...network('BC:24:11:00:01:00', '192.168.1.70') };
const managementNetwork = network('BC:24:11:00:01:03', '192.168.1.65');

const guests: readonly GuestSeed[] = [
  vm(100, 'pve', web, { running: true, agentAnswers: true }),
  vm(101, 'Home', { name: 'nas-vm', cores: 2, memory: '4096' }),
  vm(
    103,
    'agent1',
    { name: 'management', cores: 2, memory: '4096', tags: 'protected', onboot: 1, ...managementNetwork },
    { running: true },
  ),
  vm(104, 'pve', { name: 'locked-vm', lock: 'backup' }),
  vm(105, 'agent1', { name: 'build', agent: '1', cores: 4, memory: '8192', tags: 'ci' }, { agentAnswers: true }),
  container(200, 'Home', 'dns', '192.168.1.53'),
  container(201, 'pve', 'proxy', '192.168.1.80'),
  vm(900, 'pve', { name: 'tmpl', template: 1 }),
];

/** The configuration in a backup: the guest's own, as nothing was changed since. */
function savedConfig(vmid: number): string {
  const guest = guests.find((one) => one.vmid === vmid);
  const config = new Map(Object.entries(guest?.config ?? {}));
  return configText({ kind: guest?.kind ?? 'qemu', config, pending: new Map(), snapshots: [] });
}

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
    ...{
      content: 'backup',
      format,
      size: 700_000_000 + vmid * 65_536,
      ctime,
      vmid,
      subtype: kind,
      notes: place.notes,
      archived: savedConfig(vmid),
    },
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

/** A task that began some hours ago. */
function task(
  hoursAgo: number,
  subject: Pick<TaskSeed, 'node' | 'type' | 'id'>,
  end: Pick<TaskSeed, 'seconds' | 'status' | 'log'>,
): TaskSeed {
  return { user: 'root@pam', startedSecondsAgo: hoursAgo * hour, ...subject, ...end };
}

const backedUp = ['INFO: Starting Backup of VM 100 (qemu)', 'INFO: Finished Backup of VM 100 (00:03:14)'];
const oldSystemd = "WARN: old systemd (< v232) detected, container won't run in a pure cgroupv2 environment!";

const history: readonly TaskSeed[] = [
  task(22, { node: 'pve', type: 'vzdump', id: '100' }, { seconds: 194, status: 'OK', log: backedUp }),
  task(23, { node: 'Home', type: 'vzdump', id: '200' }, { seconds: 41, status: 'OK' }),
  { ...task(5, { node: 'pve', type: 'qmstart', id: '104' }, { seconds: 1, status: 'VM is locked (backup)' }), user: demoTokens.ops },
  { ...task(4, { node: 'agent1', type: 'qmstop', id: '105' }, { seconds: 2, status: 'OK' }), user: demoTokens.ops },
  task(3, { node: 'pve', type: 'vzstart', id: '201' }, { seconds: 3, status: 'WARNINGS: 1', log: [oldSystemd] }),
  task(9, { node: 'Home', type: 'aptupdate', id: '' }, { seconds: 12, status: 'OK' }),
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
