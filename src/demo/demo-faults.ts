/** The fault switches, over what they act on. */
import type { Certificate } from './certificate.ts';
import type { ApiEndpoint } from './pve/api-endpoint.ts';
import { type Cluster, setProxyUp } from './pve/cluster.ts';
import type { ApiFault, ApiFaults, FaultHandle } from './pve/faults.ts';
import { setNodeUp } from './pve/ha-manager.ts';
import type { NodeState } from './pve/state.ts';
import type { TaskMatch } from './pve/task-engine.ts';
import type { SshNode } from './ssh/node-server.ts';

export interface FaultTargets {
  readonly cluster: Cluster;
  readonly api: ApiFaults;
  readonly endpoints: ReadonlyMap<string, ApiEndpoint>;
  readonly sshNodes: ReadonlyMap<string, SshNode>;
  /** A fresh certificate for a node, by the same authority. */
  readonly newCertificate: (node: string) => Certificate;
  readonly originalCertificate: (node: string) => Certificate;
}

/** Things that go wrong on purpose, for tests. `clear` undoes all of them. */
export type DemoFaults = ReturnType<typeof createFaults>;

export function createFaults(targets: FaultTargets) {
  const { cluster, api } = targets;
  const node = (name: string): NodeState => required(cluster.state.nodes, name);
  const undo: (() => void)[] = [];
  return {
    /** Spoils answers of the HTTP layer. */
    api: (fault: ApiFault): FaultHandle => api.add(fault),
    /** The node's API and ssh refuse connections; the others answer 595 for it, with this reason. */
    nodeDown: (name: string, reason: NodeState['unreachable'] = 'Connection refused') => {
      node(name).unreachable = reason;
      return switchNode(targets, node(name), false);
    },
    nodeUp: (name: string) => switchNode(targets, node(name), true),
    /** Only the node's `pveproxy` ends: its guests and tasks live on, the others see it online and answer 595 for it. */
    proxyDown: (name: string) => switchProxy(targets, node(name), false),
    proxyUp: (name: string) => switchProxy(targets, node(name), true),
    /** Every node sees itself only; what writes to the configuration fails. */
    loseQuorum: () => {
      cluster.state.quorate = false;
    },
    regainQuorum: () => {
      cluster.state.quorate = true;
    },
    ...tokenFaults(cluster, undo),
    ...guestFaults(cluster, undo),
    /** Another certificate, so that a pin no longer fits. Absent node: all. */
    swapCertificate(name?: string) {
      for (const endpoint of name === undefined ? targets.endpoints.values() : [required(targets.endpoints, name)]) {
        undo.push(() => endpoint.useCertificate(targets.originalCertificate(endpoint.node)));
        endpoint.useCertificate(targets.newCertificate(endpoint.node));
      }
    },
    /** A new certificate that the cluster knows of, as after `pvecm updatecerts`: the other nodes vouch for it. */
    renewCertificate(name: string) {
      const use = (certificate: Certificate) => {
        required(targets.endpoints, name).useCertificate(certificate);
        cluster.certificates.nodes.set(name, certificate);
      };
      undo.push(() => use(targets.originalCertificate(name)));
      use(targets.newCertificate(name));
    },
    /** Of tasks that start from now on. */
    taskNeverEnds: (match: TaskMatch) => cluster.taskFaults.add(match, { kind: 'never-ends' }),
    taskFails: (match: TaskMatch, text: string) => cluster.taskFaults.add(match, { kind: 'fails', text }),
    /** The task does its work and ends with `WARNINGS: n`. */
    taskWarns: (match: TaskMatch, ...lines: readonly string[]) => cluster.taskFaults.add(match, { kind: 'warns', lines }),
    removeWakeAddress(name: string) {
      const { config } = node(name);
      const address = config.get('wakeonlan');
      if (address !== undefined) undo.push(() => config.set('wakeonlan', address));
      config.delete('wakeonlan');
    },
    ssh: sshFaults(targets),
    clear: () => clearAll(targets, undo),
  };
}

async function clearAll(targets: FaultTargets, undo: (() => void)[]): Promise<void> {
  const { cluster, api, sshNodes } = targets;
  api.clear();
  cluster.taskFaults.clear();
  cluster.state.quorate = true;
  cluster.ha.stalled = false;
  for (const step of undo.splice(0)) step();
  for (const ssh of sshNodes.values()) {
    Object.assign(ssh.faults, { refuseAuth: false, refuseChannels: false, hang: false });
    ssh.useHostKey('original');
  }
  for (const one of cluster.state.nodes.values()) {
    setProxyUp(cluster, one.name, true);
    await switchNode(targets, one, true);
  }
}

function tokenFaults({ access, clock }: Cluster, undo: (() => void)[]) {
  return {
    revokeToken(id: string) {
      undo.push(() => access.restoreToken(id));
      access.revokeToken(id);
    },
    expireToken(id: string) {
      undo.push(() => access.restoreToken(id));
      access.expireToken(id, Math.floor(clock.now() / 1000) - 1);
    },
  };
}

function guestFaults(cluster: Cluster, undo: (() => void)[]) {
  return {
    /** A clean shutdown or reboot gets no answer from the guest. */
    guestIgnoresShutdown(vmid: number) {
      const guest = cluster.state.guests.get(vmid);
      if (guest === undefined) throw new Error(`the demo has no guest ${vmid}`);
      const { obeysShutdown } = guest;
      undo.push(() => {
        guest.obeysShutdown = obeysShutdown;
      });
      guest.obeysShutdown = false;
    },
    /** The HA manager takes requests and does nothing about them. */
    haStalls() {
      cluster.tasks.advance();
      cluster.ha.stalled = true;
    },
  };
}

function sshFaults(targets: FaultTargets) {
  const ssh = (name: string): SshNode => required(targets.sshNodes, name);
  return {
    changeHostKey: (name: string) => ssh(name).useHostKey('other'),
    refuseAuth: (name: string) => {
      ssh(name).faults.refuseAuth = true;
    },
    refuseConnections: (name: string) => ssh(name).close(),
    refuseChannels: (name: string) => {
      ssh(name).faults.refuseChannels = true;
    },
    hang: (name: string) => {
      ssh(name).faults.hang = true;
    },
  };
}

/** Changes the state and waits until the servers have followed. */
async function switchNode({ cluster, endpoints, sshNodes }: FaultTargets, node: NodeState, up: boolean): Promise<void> {
  setNodeUp(cluster, node, up);
  const servers = [node.proxyUp || !up ? endpoints.get(node.name) : undefined, sshNodes.get(node.name)].filter(
    (server) => server !== undefined,
  );
  await Promise.all(servers.map((server) => (up ? server.open() : server.close())));
}

async function switchProxy({ cluster, endpoints }: FaultTargets, node: NodeState, up: boolean): Promise<void> {
  setProxyUp(cluster, node.name, up);
  const endpoint = required(endpoints, node.name);
  await (up && node.up ? endpoint.open() : endpoint.close());
}

function required<Value>(map: ReadonlyMap<string, Value>, name: string): Value {
  const value = map.get(name);
  if (value === undefined)
    throw new Error(`the demo has no node \`${name}\`; it has ${[...map.keys()].map((one) => `\`${one}\``).join(', ')}`);
  return value;
}
