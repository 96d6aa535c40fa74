import { readFileSync } from 'node:fs';
import https from 'node:https';
import type { DemoConfig } from '../../../scripts/bench/demo-process.ts';

interface ClusterAddress {
  readonly endpoints: readonly string[];
  readonly tokenId: string;
  readonly tokenFile: string;
}

interface ResourceRow {
  readonly vmid?: number;
  readonly status?: string;
}

/** The state of a guest as the demo cluster's own API tells it: `running`, `stopped`, or undefined for an unknown one. */
export async function guestStatus(config: DemoConfig, vmid: number): Promise<string | undefined> {
  return (await guestStates(config))[String(vmid)];
}

/** The states of all guests by number. */
export async function guestStates(config: DemoConfig): Promise<Record<string, string | undefined>> {
  const rows = await getData<ResourceRow[]>(config, '/cluster/resources?type=vm');
  return Object.fromEntries(rows.map((row) => [String(row.vmid), row.status]));
}

function getData<T>(config: DemoConfig, path: string): Promise<T> {
  const cluster = (config.clusters as ClusterAddress[])[0];
  if (!cluster) throw new Error('the demo printed a configuration with no cluster');
  const secret = readFileSync(cluster.tokenFile, 'utf8').trim();
  // A test on loopback asks the emulator that it started: it does not verify the certificate. The product always does.
  const options = { headers: { authorization: `PVEAPIToken=${cluster.tokenId}=${secret}` }, rejectUnauthorized: false, timeout: 30_000 };
  return new Promise((resolve, reject) => {
    https
      .get(`${cluster.endpoints[0]}/api2/json${path}`, options, (response) => {
        let body = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => (body += chunk));
        response.on('end', () => resolve((JSON.parse(body) as { data: T }).data));
      })
      .once('error', reject);
  });
}
