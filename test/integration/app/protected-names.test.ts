/** What the lists of the palette mark as protected, against the embedded demo cluster: the same as a call is refused for. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type ConnectedClusters, connectClusters } from '#app/clusters/connect-clusters';
import { parseConfig } from '#app/config/config';
import { type DemoCluster, startDemoCluster } from '#demo/index';
import { memoryLog } from '../connectors/pve-server.ts';

let demo: DemoCluster;
let clusters: ConnectedClusters;
const stateDir = mkdtempSync(join(tmpdir(), 'banksman-protected-'));

beforeAll(async () => {
  demo = await startDemoCluster();
  const config = parseConfig({ ...demo.config, protected: { nodes: ['Home'], guests: [103] } }, 'test');
  clusters = connectClusters({ config, baseDir: stateDir, stateDir, log: memoryLog() });
});
afterAll(async () => {
  await clusters?.close();
  await demo?.close();
  rmSync(stateDir, { recursive: true, force: true });
});

it('are the listed ones, what is on a protected node, and the node that a protected guest runs on', async () => {
  const names = await clusters.live.protectedNames('demo', AbortSignal.timeout(15_000));
  expect([...names.guests.keys()].toSorted((a, b) => a - b)).toEqual([101, 103, 200]);
  expect(names.guests.get(103)).toContain('guest 103 is protected by configuration');
  expect([...names.nodes.keys()].toSorted()).toEqual(['Home', 'agent1']);
  expect(names.nodes.get('agent1')).toContain('103');
});

it('of a cluster that is not configured cannot be told', async () => {
  await expect(clusters.live.protectedNames('other', AbortSignal.timeout(1000))).rejects.toThrow('no cluster is named `other`');
});
