/** The fault switches, over what they act on. */
import type { Certificate } from './certificate.ts';
import type { DemoFaults } from './demo-types.ts';
import type { ApiEndpoint } from './pve/api-endpoint.ts';
import type { ApiFaults } from './pve/api-faults.ts';
import { type Cluster, setNodeUp, setProxyUp } from './pve/cluster.ts';
import type { NodeState } from './pve/state.ts';
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

export function createFaults(targets: FaultTargets): DemoFaults {
  const { cluster, api } = targets;
  const node = (name: string): NodeState => required(cluster.state.nodes, name);
  const undo: (() => void)[] = [];
  return {
    api: (fault) => api.add(fault),
    nodeDown: (name, reason = 'Connection refused') => {
      node(name).unreachable = reason;
      return switchNode(targets, node(name), false);
    },
    nodeUp: (name) => switchNode(targets, node(name), true),
    proxyDown: (name) => switchProxy(targets, node(name), false),
    proxyUp: (name) => switchProxy(targets, node(name), true),
    loseQuorum: () => {
      cluster.state.quorate = false;
    },
    regainQuorum: () => {
      cluster.state.quorate = true;
    },
    ...tokenFaults(cluster, undo),
    ...guestFaults(cluster, undo),
    swapCertificate(name) {
      for (const endpoint of name === undefined ? targets.endpoints.values() : [required(targets.endpoints, name)]) {
        undo.push(() => endpoint.useCertificate(targets.originalCertificate(endpoint.node)));
        endpoint.useCertificate(targets.newCertificate(endpoint.node));
      }
    },
    renewCertificate(name) {
      const next = targets.newCertificate(name);
      undo.push(() => {
        required(targets.endpoints, name).useCertificate(targets.originalCertificate(name));
        cluster.certificates.nodes.set(name, targets.originalCertificate(name));
      });
      required(targets.endpoints, name).useCertificate(next);
      cluster.certificates.nodes.set(name, next);
    },
    taskNeverEnds: (match) => cluster.taskFaults.add(match, { kind: 'never-ends' }),
    taskFails: (match, text) => cluster.taskFaults.add(match, { kind: 'fails', text }),
    taskWarns: (match, ...lines) => cluster.taskFaults.add(match, { kind: 'warns', lines }),
    removeWakeAddress(name) {
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

function tokenFaults({ access, clock }: Cluster, undo: (() => void)[]): Pick<DemoFaults, 'revokeToken' | 'expireToken'> {
  return {
    revokeToken(id) {
      undo.push(() => access.restoreToken(id));
      access.revokeToken(id);
    },
    expireToken(id) {
      undo.push(() => access.restoreToken(id));
      access.expireToken(id, Math.floor(clock.now() / 1000) - 1);
    },
  };
}

function guestFaults(cluster: Cluster, undo: (() => void)[]): Pick<DemoFaults, 'guestIgnoresShutdown' | 'haStalls'> {
  return {
    guestIgnoresShutdown(vmid) {
      const guest = cluster.state.guests.get(vmid);
      if (guest === undefined) throw new Error(`the demo has no guest ${vmid}`);
      const { obeysShutdown } = guest;
      undo.push(() => {
        guest.obeysShutdown = obeysShutdown;
      });
      guest.obeysShutdown = false;
    },
    haStalls() {
      cluster.tasks.advance();
      cluster.ha.stalled = true;
    },
  };
}

function sshFaults(targets: FaultTargets): DemoFaults['ssh'] {
  const ssh = (name: string): SshNode => required(targets.sshNodes, name);
  return {
    changeHostKey: (name) => ssh(name).useHostKey('other'),
    refuseAuth: (name) => {
      ssh(name).faults.refuseAuth = true;
    },
    refuseConnections: (name) => ssh(name).close(),
    refuseChannels: (name) => {
      ssh(name).faults.refuseChannels = true;
    },
    hang: (name) => {
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
