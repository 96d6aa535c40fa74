/** A cluster in memory: rows that a test may change, and a note of every call. */
import { Fault } from '#kernel/errors';
import type { JsonObject } from '#kernel/json';
import type {
  ClusterPort,
  ClusterStatusRow,
  EndpointState,
  GuestAction,
  GuestOperation,
  GuestRef,
  GuestRow,
  NodeRow,
  TaskStatus,
} from '#kernel/ports/cluster';
import type { NodeShell, ShellResult } from '#kernel/ports/shell';
import type { GuestType } from '#kernel/resource';
import type { Waker } from '#kernel/tool';

export interface FakeGuest {
  vmid: number;
  node: string;
  type: GuestType;
  status: string;
  name?: string;
  config: JsonObject;
}

export interface FakeCluster {
  readonly access: { readonly api: ClusterPort; readonly shell: NodeShell; readonly waker: Waker };
  readonly guests: FakeGuest[];
  readonly nodes: { node: string; status: string; ip: string }[];
  /** `changeGuest stop 100`, `exec pve uptime`, `wake pve`: only what has an effect. */
  readonly effects: string[];
  /** Every call, reads included. */
  readonly calls: string[];
  /** Every call rejects with this from now on. */
  down: Fault | undefined;
  shellAnswer: (node: string, command: string) => ShellResult | Promise<ShellResult>;
  task: TaskStatus;
  rows: JsonObject[];
  nodeStatus: JsonObject;
  record: JsonObject;
  endpoints: readonly EndpointState[];
  permissions: Readonly<Record<string, Readonly<Record<string, boolean>>>>;
  /** Runs before an action is accepted: may wait for the signal, or throw. */
  beforeChange: (guest: GuestRef, action: GuestAction | GuestOperation['kind'], signal: AbortSignal) => void | Promise<void>;
}

const upid = 'UPID:pve:0001A2B3:00C4D5E6:65A1B2C3:qmstop:100:ops@pve!banksman:';

/** As an administrator's token has it: the API names the top paths, though all is handed down from the first. */
const everything = {
  'Datastore.AllocateSpace': true,
  'Datastore.Audit': true,
  'SDN.Audit': true,
  'Sys.Audit': true,
  'VM.Audit': true,
  'VM.Backup': true,
  'VM.PowerMgmt': true,
};

export function createFakeCluster(name = 'lab'): FakeCluster {
  const cluster: FakeCluster = {
    access: { api: apiOf(name, () => cluster), shell: shellOf(() => cluster), waker: wakerOf(() => cluster) },
    guests: [
      { vmid: 100, node: 'pve', type: 'qemu', status: 'running', name: 'web', config: {} },
      { vmid: 101, node: 'agent1', type: 'qemu', status: 'running', name: 'nas', config: {} },
      { vmid: 103, node: 'agent1', type: 'qemu', status: 'running', name: 'management', config: { ipconfig0: 'ip=192.168.1.65/24' } },
      { vmid: 200, node: 'Home', type: 'lxc', status: 'running', name: 'dns', config: { net0: 'name=eth0,ip=192.168.1.20/24' } },
      { vmid: 201, node: 'Home', type: 'lxc', status: 'stopped', config: {} },
    ],
    nodes: [
      { node: 'Home', status: 'online', ip: '192.168.1.50' },
      { node: 'pve', status: 'online', ip: '192.168.1.60' },
      { node: 'agent1', status: 'online', ip: '192.168.1.61' },
    ],
    effects: [],
    calls: [],
    down: undefined,
    shellAnswer: () => ({ stdout: 'ok\n', stderr: '', exitCode: 0, truncated: false }),
    task: { upid, node: 'pve', running: false, exitStatus: 'OK' },
    rows: [],
    nodeStatus: {},
    record: {},
    endpoints: [],
    permissions: Object.fromEntries(['/', '/nodes', '/sdn', '/storage', '/vms'].map((path) => [path, everything])),
    beforeChange: () => undefined,
  };
  return cluster;
}

function apiOf(name: string, self: () => FakeCluster): ClusterPort {
  const read = async <T>(what: string, signal: AbortSignal, answer: () => T): Promise<T> => {
    const cluster = self();
    cluster.calls.push(what);
    signal.throwIfAborted();
    if (cluster.down) throw cluster.down;
    return answer();
  };
  return {
    name,
    endpoints: async () => self().endpoints,
    clusterStatus: (signal) => read('clusterStatus', signal, () => statusRows(self())),
    nodes: (signal) =>
      read('nodes', signal, () => self().nodes.map(({ node, status }): NodeRow => ({ node, status, raw: { node, status } }))),
    guests: (signal) => read('guests', signal, () => self().guests.map(guestRow)),
    resources: (type, signal) => read(`resources ${type ?? 'all'}`, signal, () => self().rows),
    nodeStatus: (node, signal) => read(`nodeStatus ${node}`, signal, () => self().nodeStatus),
    recentTasks: (signal) => read('recentTasks', signal, () => self().rows),
    backups: (node, storage, signal) => read(`backups ${node} ${storage}`, signal, () => self().rows),
    grantHint: (privilege, path, signal) => read('grantHint', signal, () => `give ${privilege} on ${path}`),
    permissions: (signal) => read('permissions', signal, () => self().permissions),
    guestConfig: (guest, signal) => read(`guestConfig ${guest.vmid}`, signal, () => find(self(), guest).config),
    guestStatus: (guest, signal) => read(`guestStatus ${guest.vmid}`, signal, () => ({ status: find(self(), guest).status, uptime: 90 })),
    snapshots: (guest, signal) => read(`snapshots ${guest.vmid}`, signal, () => [{ name: 'current' }]),
    changeGuest: (guest, action, signal) => change(self(), guest, action, signal),
    operate: async (guest, operation, signal) => {
      await self().beforeChange(guest, operation.kind, signal);
      self().effects.push(`operate ${operation.kind} ${guest.vmid} on ${guest.node}`);
      return { upid };
    },
    rows: (source, signal) => read(`rows ${source.rows}`, signal, () => self().rows),
    record: (source, signal) => read(`record ${source.record}`, signal, () => self().record),
    guestBackups: (guest, signal) => read(`guestBackups ${guest.vmid}`, signal, () => self().rows),
    archivedConfig: (_node, archive, signal) => read(`archivedConfig ${archive}`, signal, () => ''),
    isFree: (vmid, signal) => read(`isFree ${vmid}`, signal, () => self().guests.every((guest) => guest.vmid !== vmid)),
    taskStatus: (id, signal) => read(`taskStatus ${id}`, signal, () => self().task),
    taskLog: (id, signal) => read(`taskLog ${id}`, signal, () => ['TASK OK']),
  };
}

async function change(cluster: FakeCluster, guest: GuestRef, action: GuestAction, signal: AbortSignal): Promise<string> {
  cluster.calls.push(`changeGuest ${action} ${guest.vmid}`);
  await cluster.beforeChange(guest, action, signal);
  signal.throwIfAborted();
  if (cluster.down) throw cluster.down;
  cluster.effects.push(`changeGuest ${action} ${guest.vmid} on ${guest.node}`);
  find(cluster, guest).status = action === 'stop' ? 'stopped' : 'running';
  return upid;
}

function shellOf(self: () => FakeCluster): NodeShell {
  return {
    exec: async (node, command, signal) => {
      self().calls.push(`exec ${node} ${command}`);
      signal.throwIfAborted();
      self().effects.push(`exec ${node} ${command}`);
      return self().shellAnswer(node, command);
    },
  };
}

function wakerOf(self: () => FakeCluster): Waker {
  return {
    wake: async (node) => {
      self().effects.push(`wake ${node}`);
      return { via: 'packet', detail: 'packet to aa:bb:cc:dd:ee:ff' };
    },
  };
}

function statusRows(cluster: FakeCluster): readonly ClusterStatusRow[] {
  const nodes = cluster.nodes.map(
    ({ node, status, ip }): ClusterStatusRow => ({ type: 'node', name: node, ip, online: status === 'online' }),
  );
  return [{ type: 'cluster', name: 'homelab', quorate: true, nodes: nodes.length }, ...nodes];
}

function guestRow(guest: FakeGuest): GuestRow {
  const { vmid, node, type, status, name } = guest;
  const named = name === undefined ? {} : { name };
  return { vmid, node, type, status, ...named, raw: { vmid, node, type, status, ...named } };
}

function find(cluster: FakeCluster, ref: GuestRef): FakeGuest {
  const guest = cluster.guests.find((entry) => entry.vmid === ref.vmid && entry.node === ref.node);
  if (guest === undefined) throw new Fault('not_found', `no guest ${ref.vmid} on ${ref.node}`);
  return guest;
}
