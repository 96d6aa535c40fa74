/**
 * emulator FILE: a cluster of its own in a process of its own (`EmulatorSettings`). Each effect is written down before it is answered, so that it is
 * there after kill -9; the next process on the same file goes on from there, as the nodes of a cluster keep their tasks.
 */
import { readFileSync } from 'node:fs';
import type { Certificate } from '../../../../src/demo/certificate.ts';
import { administratorPrivileges } from '../../../../src/demo/initial-state.ts';
import { startApiEndpoint } from '../../../../src/demo/pve/api-endpoint.ts';
import { type Cluster, createCluster } from '../../../../src/demo/pve/cluster.ts';
import { ApiFaults } from '../../../../src/demo/pve/faults.ts';
import type { ClusterSeed, ConfigValue, GuestState } from '../../../../src/demo/pve/state.ts';
import { createRandom } from '../../../../src/demo/random.ts';
import { type Effect, firstVmid, guestName, journalTo, readJournal } from '../journal.ts';

export interface EmulatorSettings {
  readonly cluster: string;
  readonly nodes: number;
  /** Guests on each node. */
  readonly guests: number;
  readonly address: string;
  readonly port: number;
  readonly certificate: Certificate;
  readonly token: { readonly id: string; readonly secret: string };
  /** Where its effects are written down. */
  readonly effects: string;
  readonly taskDurationMs: number;
}

const gib = 1_073_741_824;

function seedOf({ cluster, nodes, guests, token }: EmulatorSettings): ClusterSeed {
  const names = Array.from({ length: nodes }, (_, index) => `${cluster}n${index + 1}`);
  const facts = { cpus: 32, memoryBytes: 256 * gib, diskBytes: 1000 * gib, diskUsedBytes: 200 * gib, uptimeSeconds: 864_000 };
  const user = token.id.split('!')[0] ?? '';
  return {
    name: cluster,
    version: nodes,
    nodes: names.map((name, index) => ({ name, nodeid: index + 1, ip: `10.1.${index >> 8}.${index & 255}`, ...facts })),
    guests: names.flatMap((node, index) =>
      Array.from({ length: guests }, (_, place) => {
        const vmid = firstVmid + index * guests + place;
        const config = { name: guestName(cluster, vmid), cores: 2, memory: '2048', ostype: 'l26' };
        return { vmid, kind: 'qemu' as const, node, running: true, config };
      }),
    ),
    storages: [{ id: 'local', type: 'dir', content: ['images', 'backup'], totalBytes: 1000 * gib, usedBytes: 200 * gib }],
    volumes: [],
    tasks: [],
    access: {
      users: { 'root@pam': undefined, [user]: undefined },
      roles: { Administrator: administratorPrivileges },
      tokens: [{ ...token, privsep: false }],
      entries: [{ path: '/', subject: user, role: 'Administrator' }],
    },
  };
}

/** What was done before stays done: tasks by their own names, guests as the last ones left them. */
function restore({ state, tasks }: Cluster, effects: readonly Effect[]): void {
  for (const { upid, type, vmid, mark } of effects) {
    const guest = state.guests.get(vmid);
    if (guest === undefined) continue;
    if (mark !== undefined) guest.config.set('description', mark);
    if (upid === undefined) continue;
    tasks.adopt(upid, 'OK', ['TASK OK']);
    guest.running = type === 'qmstart';
  }
}

function watch({ state, tasks }: Cluster, { cluster, effects }: EmulatorSettings): void {
  const write: (effect: Effect) => void = journalTo(effects);
  const start = tasks.start.bind(tasks);
  tasks.start = (asked, plan) => {
    const upid = start(asked, plan);
    write({ cluster, vmid: Number(asked.id), type: asked.type, upid });
    return upid;
  };
  for (const guest of state.guests.values())
    watchDescription(guest, (mark) => write({ cluster, vmid: guest.vmid, type: 'description', mark }));
}

function watchDescription({ config }: GuestState, onChange: (mark: string) => void): void {
  let last = config.get('description');
  const set = config.set.bind(config);
  config.set = (key: string, value: ConfigValue) => {
    if (key === 'description' && value !== last) {
      last = value;
      onChange(String(value));
    }
    return set(key, value);
  };
}

const settings = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as EmulatorSettings;
const cluster = createCluster({
  seed: seedOf(settings),
  clock: { now: () => Date.now() },
  random: createRandom(1),
  taskDurationMs: settings.taskDurationMs,
});
restore(cluster, readJournal(settings.effects) as readonly Effect[]);
watch(cluster, settings);
const [node = ''] = cluster.state.nodes.keys();
cluster.certificates.nodes.set(node, settings.certificate);
await startApiEndpoint({
  ...{ cluster, node, certificate: settings.certificate, faults: new ApiFaults() },
  ...{ addresses: [settings.address], port: settings.port },
});
// Tasks go on also while nobody looks.
setInterval(() => cluster.tasks.advance(), 100);
console.log('ready');
