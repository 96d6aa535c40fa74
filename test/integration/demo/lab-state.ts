/** The recorded lab as a fixture: three nodes, the guests as they were at the start of the recordings, its users and tokens. */
import { readFileSync } from 'node:fs';
import type { ClusterSeed } from '#demo/index';

const mib = 1_048_576;
const facts = { cpus: 2, memoryBytes: 25_276_514_304, diskBytes: 12_638_257_152, diskUsedBytes: 24_207_360, uptimeSeconds: 4194 } as const;
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
const secret = '11111111-2222-3333-4444-555555555555';
export const labPassword = 'lab-secret-1';

export const labState: ClusterSeed = {
  name: 'lab',
  version: 3,
  nodes: [
    { name: 'Home', nodeid: 1, ip: '10.77.0.11', ...facts },
    { name: 'pve', nodeid: 2, ip: '10.77.0.12', ...facts },
    { name: 'agent1', nodeid: 3, ip: '10.77.0.13', ...facts },
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
      maxdisk: 4096 * mib,
      config: { ...container, hostname: 'dns', rootfs: '/srv/ct/200' },
    },
    {
      vmid: 201,
      kind: 'lxc',
      node: 'pve',
      startLog,
      maxdisk: 4096 * mib,
      config: { ...container, hostname: 'proxy', rootfs: '/srv/ct/201' },
    },
    { vmid: 900, kind: 'qemu', node: 'pve', config: { ...machine, name: 'tmpl', template: 1 } },
  ],
  storages: [
    { id: 'nas', type: 'dir', content: ['backup', 'iso'], shared: true, totalBytes: facts.diskBytes, usedBytes: facts.diskUsedBytes },
    {
      id: 'local',
      type: 'dir',
      content: ['images', 'snippets', 'rootdir', 'iso', 'vztmpl', 'backup'],
      totalBytes: facts.diskBytes,
      usedBytes: facts.diskUsedBytes,
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
      { id: labTokens.ops, secret, privsep: true },
      { id: labTokens.ro, secret, privsep: false },
      { id: labTokens.nobody, secret, privsep: true },
      { id: labTokens.root, secret, privsep: false },
    ],
    entries: [
      { path: '/', subject: 'jarvis@pve', role: 'Ops' },
      { path: '/', subject: labTokens.ops, role: 'Ops' },
      { path: '/', subject: 'auditor@pve', role: 'Auditor' },
    ],
  },
};

export interface Recording {
  readonly name?: string;
  readonly phase?: 'node-down' | 'no-quorum';
  readonly request: {
    readonly method: string;
    readonly path: string;
    readonly auth?: string;
    readonly form?: Readonly<Record<string, string>>;
    readonly json?: unknown;
  };
  readonly response: {
    readonly status: number;
    readonly statusMessage: string;
    readonly contentType: string | null;
    readonly body: unknown;
  };
}

/** Reads recordings from the fixtures. */
export function recordings(file: 'exchanges' | 'exchanges-degraded'): readonly Recording[] {
  const text = readFileSync(new URL(`../../fixtures/pve/${file}.json`, import.meta.url), 'utf8');
  const parsed = JSON.parse(text) as readonly Recording[] | { readonly exchanges: readonly Recording[] };
  return 'exchanges' in parsed ? parsed.exchanges : parsed;
}
