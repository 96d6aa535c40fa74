/** Several real servers that belong together: a primary with replicas and Sentinels, or a cluster. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'iovalkey';
import { serverProgram } from './valkey-program.ts';
import { freePort, samplePasswords, startValkey, untilReady, type ValkeyServer } from './valkey-server.ts';

const patienceMs = 120_000;

/** Tries until it is so. Benchmarks use this, too, where no test runs. */
async function eventually<Value>(look: () => Promise<Value>): Promise<Value> {
  const limit = Date.now() + patienceMs;
  for (;;) {
    try {
      return await look();
    } catch (thrown) {
      if (Date.now() > limit) throw thrown;
      await sleep(50);
    }
  }
}

const masterName = 'banksman';

export interface WatchedServers {
  /** The one at the start is the first. */
  readonly servers: readonly ValkeyServer[];
  readonly sentinels: readonly Sentinel[];
  /** Without `replicas`. */
  readonly url: string;
  /** What the first Sentinel says now. */
  primary(): Promise<ValkeyServer>;
  /** Waits until the Sentinels name another than `before`. */
  promoted(before: ValkeyServer): Promise<ValkeyServer>;
  close(): Promise<void>;
}

export interface Sentinel {
  readonly port: number;
  readonly socket: string;
  readonly client: Redis;
  pause(): void;
  resume(): void;
  close(): Promise<void>;
}

/** Three servers and three Sentinels. */
export async function startWatched(): Promise<WatchedServers> {
  const first = await startValkey();
  const others = await Promise.all([1, 2].map(() => startValkey({ replicaOf: first })));
  const servers = [first, ...others];
  await Promise.all(others.map(untilCopied));
  const sentinels = await Promise.all([1, 2, 3].map(() => startSentinel(first)));
  await eventually(async () => {
    for (const { client } of sentinels) {
      const fields = (await client.call('SENTINEL', 'MASTER', masterName)) as readonly string[];
      const of = (name: string): string | undefined => fields[fields.indexOf(name) + 1];
      if (of('num-other-sentinels') !== '2' || of('num-slaves') !== '2') throw new Error('they do not know each other yet');
    }
  });
  const primary = async (): Promise<ValkeyServer> => {
    const [, port] = ((await sentinels[0]?.client.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', masterName)) ?? []) as readonly string[];
    const found = servers.find((server) => String(server.port) === port);
    if (!found) throw new Error(`no server at port ${port}`);
    return found;
  };
  return {
    servers,
    sentinels,
    url: `valkey+sentinel://${sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',')}/0?master=${masterName}`,
    primary,
    promoted: (before) =>
      eventually(async () => {
        const now = await primary();
        if (now === before) throw new Error('no other primary yet');
        return now;
      }),
    close: async () => {
      for (const sentinel of sentinels) await sentinel.close();
      for (const server of servers) await server.close();
    },
  };
}

/** Its first copy is there and in its file; killed before that, it would come back empty. */
export async function untilCopied(replica: ValkeyServer): Promise<void> {
  await eventually(async () => {
    const info = await replica.operator.info();
    const wanted = ['master_link_status:up', 'aof_enabled:1', 'aof_rewrite_in_progress:0', 'aof_rewrite_scheduled:0'];
    if (!wanted.every((line) => info.includes(line))) throw new Error('not copied yet');
  });
}

/** After which silence a primary counts as gone: longer than a slow machine keeps a server from its turn, which would be a fail-over that no test asked for. */
const downAfterMs = 5000;

interface SentinelOptions {
  /** With the certificate of the server that it watches. */
  readonly tls?: boolean;
  /** Starts it on another machine (`startIsland`). From here it is reached by its Unix socket. */
  readonly wrap?: readonly string[];
}

export async function startSentinel(watched: ValkeyServer, { tls = false, wrap = [] }: SentinelOptions = {}): Promise<Sentinel> {
  const folder = mkdtempSync(join(tmpdir(), 'banksman-sentinel-'));
  const port = await freePort();
  const { user, password } = samplePasswords.sentinel;
  const file = join(folder, 'sentinel.conf');
  writeFileSync(
    file,
    [
      'bind 127.0.0.1',
      ...(tls ? ['port 0', `tls-port ${port}`, ...certificatesIn(watched.folder)] : [`port ${port}`]),
      `dir ${folder}`,
      `unixsocket ${folder}/sentinel.sock`,
      `sentinel announce-ip 127.0.0.1`,
      'daemonize no',
      // The Sentinels log in at each other as `default`.
      'user default on >among-us ~* &* +@all',
      'sentinel sentinel-user default',
      'sentinel sentinel-pass among-us',
      `user ${user} on >${password} resetchannels -@all +auth +hello +ping +client|setname +sentinel|master`,
      `sentinel monitor ${masterName} ${watched.host} ${watched.port} 2`,
      `sentinel auth-user ${masterName} sentinel`,
      `sentinel auth-pass ${masterName} sentinel-pass`,
      `sentinel down-after-milliseconds ${masterName} ${downAfterMs}`,
      `sentinel failover-timeout ${masterName} 10000`,
      '',
    ].join('\n'),
  );
  const [command, ...words] = [...wrap, serverProgram(), file, '--sentinel'];
  const child = spawn(command, words, { stdio: ['ignore', 'pipe', 'pipe'] });
  await untilReady(child, /Sentinel ID is/);
  const login = { username: 'default', password: 'among-us', ...(tls ? { tls: { ca: readFileSync(watched.caFile) } } : {}) };
  const socket = join(folder, 'sentinel.sock');
  const client = new Redis({ ...(wrap.length > 0 ? { path: socket } : { host: '127.0.0.1', port }), enableReadyCheck: false, ...login });
  client.on('error', () => undefined);
  return {
    port,
    socket,
    client,
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
    close: async () => {
      client.disconnect();
      await ended(child);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function certificatesIn(folder: string): readonly string[] {
  return [
    `tls-cert-file ${folder}/server.pem`,
    `tls-key-file ${folder}/server.key`,
    `tls-ca-cert-file ${folder}/ca.pem`,
    'tls-auth-clients no',
    'tls-replication yes',
  ];
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}

export interface Cluster {
  readonly nodes: readonly ValkeyServer[];
  readonly url: string;
  /** Who takes changes of the prefix's slot now, by what `asked` says. */
  owner(asked: ValkeyServer): Promise<ValkeyServer>;
  /** Waits until another than `before` is the owner. */
  promoted(before: ValkeyServer): Promise<ValkeyServer>;
  close(): Promise<void>;
}

/** Three primaries with a third of the slots each, and a replica of each. */
export async function startCluster(): Promise<Cluster> {
  const config = [
    'cluster-enabled yes',
    `cluster-node-timeout ${downAfterMs}`,
    'cluster-config-file nodes.conf',
    'cluster-announce-ip 127.0.0.1',
  ];
  const nodes: ValkeyServer[] = [];
  // Among themselves they talk at a port of their own; the usual one, 10,000 above the other, may be somebody else's.
  const buses = await Promise.all(Array.from({ length: 6 }, freePort));
  for (const bus of buses) nodes.push(await startValkey({ prefix: '{molis}', config: [...config, `cluster-port ${bus}`] }));
  await join6(nodes, String(buses[0]));
  const owner = async (asked: ValkeyServer): Promise<ValkeyServer> => {
    const slot = Number(await asked.operator.call('CLUSTER', 'KEYSLOT', '{molis}'));
    const ranges = (await asked.operator.call('CLUSTER', 'SLOTS')) as readonly [number, number, readonly [string, number]][];
    const [, port] = ranges.find(([from, to]) => from <= slot && slot <= to)?.[2] ?? [];
    const found = nodes.find((node) => node.port === port);
    if (!found) throw new Error('nobody owns the slot');
    return found;
  };
  return {
    nodes,
    url: `valkey+cluster://${nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}/0`,
    owner,
    promoted: (before) =>
      eventually(async () => {
        const [asked] = nodes.filter((node) => node !== before);
        const now = asked && (await owner(asked));
        if (!now || now === before) throw new Error('no other owner yet');
        return now;
      }),
    close: async () => {
      for (const node of nodes) await node.close();
    },
  };
}

/** @param bus the first one's port for the others */
async function join6(nodes: readonly ValkeyServer[], bus: string): Promise<void> {
  const primaries = nodes.slice(0, 3);
  const [first] = primaries;
  if (!first) return;
  const bounds = [0, 5461, 10_923, 16_384];
  for (const [index, node] of primaries.entries())
    await node.operator.call('CLUSTER', 'ADDSLOTSRANGE', String(bounds[index]), String((bounds[index + 1] ?? 0) - 1));
  for (const [index, node] of nodes.entries()) {
    await node.operator.call('CLUSTER', 'SET-CONFIG-EPOCH', String(index + 1));
    await node.operator.call('CLUSTER', 'MEET', first.host, String(first.port), bus);
  }
  const ids = await Promise.all(primaries.map((node) => node.operator.call('CLUSTER', 'MYID')));
  // Not before it has heard of its primary.
  for (const [index, node] of nodes.slice(3).entries())
    await eventually(() => node.operator.call('CLUSTER', 'REPLICATE', String(ids[index])));
  await eventually(async () => {
    for (const node of nodes) {
      const [info, slots] = [String(await node.operator.call('CLUSTER', 'INFO')), await node.operator.call('CLUSTER', 'SLOTS')];
      if (!info.includes('cluster_state:ok') || (slots as readonly (readonly unknown[])[]).some((range) => range.length < 4))
        throw new Error('not joined yet');
    }
  });
  await Promise.all(nodes.slice(3).map(untilCopied));
}
