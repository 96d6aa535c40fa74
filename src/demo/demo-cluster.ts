/**
 * The embedded demo cluster: a PVE API emulator on HTTPS and ssh nodes over one shared state, all on loopback and in this process.
 * It is loaded only when asked for, and takes everything with it when it is closed.
 */
import { randomUUID } from 'node:crypto';
import { startControlApi } from './control-api.ts';
import { writeConfig } from './demo-config.ts';
import { createFaults } from './demo-faults.ts';
import { createDemoFiles } from './demo-files.ts';
import { type Cleanup, followNodes, issueCertificates, startEndpoints, startSshNodes } from './demo-servers.ts';
import type { DemoCluster, DemoOptions } from './demo-types.ts';
import { demoSeed, demoTokens } from './initial-state.ts';
import { ApiFaults } from './pve/api-faults.ts';
import { createCluster } from './pve/cluster.ts';
import type { ClusterSeed } from './pve/cluster-seed.ts';
import { createRandom } from './random.ts';
import { generateOpensshKey } from './ssh/openssh-key.ts';
import { startWakeApi } from './wake-api.ts';

const defaults = { port: 0, seed: 1, taskDurationMs: 1500, state: 'demo', pins: 'first', control: false } as const;
type Settings = Required<DemoOptions>;

/**
 * Starts the demo cluster.
 * @throws `EADDRINUSE` when `port` is taken; nothing is left behind then
 */
export async function startDemoCluster(options: DemoOptions = {}): Promise<DemoCluster> {
  const cleanup: Cleanup = [];
  try {
    return await start({ clock: { now: () => Date.now() }, ...defaults, ...options }, cleanup);
  } catch (thrown) {
    await runAll(cleanup);
    throw thrown;
  }
}

/** Everything that was started, in reverse, each even if another fails. */
async function runAll(cleanup: Cleanup): Promise<void> {
  await Promise.allSettled(
    cleanup
      .splice(0)
      .reverse()
      .map((one) => one()),
  );
}

async function start(settings: Settings, cleanup: Cleanup): Promise<DemoCluster> {
  const { clock } = settings;
  const seed = seedOf(settings);
  const cluster = createCluster({ seed, clock, random: createRandom(settings.seed), taskDurationMs: settings.taskDurationMs });
  const files = await createDemoFiles();
  cleanup.push(() => files.remove());
  const certificates = issueCertificates(cluster);
  const api = new ApiFaults();
  const endpoints = await startEndpoints(cluster, { certificates, api, port: settings.port }, cleanup);
  const [first] = endpoints.values();
  if (first === undefined) throw new Error('a demo cluster needs at least one node');
  const key = generateOpensshKey('banksman-demo');
  const sshNodes = await startSshNodes(cluster, key.publicLine, cleanup);
  const wake = await startWakeApi(cluster);
  cleanup.push(() => wake.close());
  followNodes(cluster, endpoints, sshNodes);
  const faults = createFaults({
    cluster,
    api,
    endpoints,
    sshNodes,
    newCertificate: certificates.another,
    originalCertificate: certificates.of,
  });
  const control = settings.control ? await startControlApi(faults, cluster) : undefined;
  if (control !== undefined) cleanup.push(() => control.close());
  return {
    config: await writeConfig({
      cluster,
      seed,
      files,
      endpoints,
      sshNodes,
      wakeUrl: wake.url,
      clientKey: key.privateFile,
      pinEach: settings.pins === 'each',
    }),
    url: first.url,
    fingerprint: certificates.of(first.node).fingerprint,
    caFile: await files.write('ca.pem', certificates.authority.certificatePem),
    faults,
    cluster,
    authorization: Object.fromEntries(seed.access.tokens.map((token) => [token.id, `PVEAPIToken=${token.id}=${token.secret}`])),
    wakeRequests: wake.requests,
    controlUrl: control?.url,
    close: () => runAll(cleanup),
  };
}

/** SECURITY: the demo's token secrets are made anew for each run. */
function seedOf({ state, clock }: Settings): ClusterSeed {
  if (state !== 'demo') return state;
  return demoSeed(clock.now(), Object.fromEntries(Object.values(demoTokens).map((id) => [id, randomUUID()])));
}
