/** `banksman init` at a real terminal, against the demo cluster. */
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { startLanCluster, startOtherServer } from '../app/clusters/lan-cluster.ts';
import { passphrase, personAt } from './person.ts';
import { type Bench, startBench } from './support.ts';
import type { Dialogue, TerminalEnd } from './terminal.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

interface DemoCluster {
  readonly endpoints: readonly [string, string];
  readonly tokenId: string;
  readonly tokenFile: string;
  readonly tls: { readonly fingerprint: string };
}

let bench: Bench;
let demo: DemoCluster;
let secret: string;
beforeAll(async () => {
  bench = await startBench();
  [demo] = bench.config['clusters'] as [DemoCluster];
  secret = readFileSync(demo.tokenFile, 'utf8').trim().replace(/^.*=/, '');
});
afterEach(() => rmSync(dirname(bench.machineFile), { recursive: true, force: true }));
afterAll(() => bench.close());

const address = () => new URL(demo.endpoints[0]).host;

const init = (dialogue: Dialogue): Promise<TerminalEnd> => personAt(bench).at(['init'], dialogue);

const toCertificate = (host = address()): Dialogue => [['address of a node', `${host}\r`]];
const toSecret = (typed: string, host = address()): Dialogue => [
  ...toCertificate(host),
  ['to trust this certificate', 'yes\r'],
  ['id of the API token', `${demo.tokenId}\r`],
  ['its secret (not shown)', `${typed}\r`],
];

/** The demo's nodes name addresses at which nobody is. */
const alone: Dialogue[number] = ['leave them out', '\r'];

/** The configuration and secrets beside it; where a trail was seen lies there, too. */
const written = () =>
  existsSync(dirname(bench.machineFile)) ? readdirSync(dirname(bench.machineFile)).filter((name) => /json|token|tmp/.test(name)) : [];

it('asks, shows the certificate, tries the token, names missing rights, writes 0600, offers protection', async () => {
  const silent = '127.0.0.1:1';
  const { status, screen } = await init([...toSecret(secret, `${silent}, ${address()}`), alone, ['yes` to protect all', 'yes\r']]);
  expect(screen).toContain(`left out: https://${silent} shows no certificate: connection refused; something is there`);
  expect(screen).toContain(`going on with https://${address()}; the others`);
  expect({ status, screen }).toMatchObject({ status: 0, screen: expect.stringContaining(`\n  ${demo.tls.fingerprint}\n`) });
  expect(screen).toMatch(/looking at https:\S+, https:\S+…\n[\s\S]*asking the cluster…\n/);
  expect(screen).toMatch(/Proxmox VE \S+, quorate, 3 of 3 nodes online/);
  expect(screen).toMatch(/The cluster has more nodes[\s\S]* pve \(192\.168\.\S+\): (?:[0-9A-F]{2}:){31}[0-9A-F]{2}/);
  expect(screen).toContain('updates: Sys.Modify on /nodes');
  expect(screen).toMatch(/pveum role add Banksman-token --privs '.*Sys\.Audit.*Sys\.Modify.*'/);
  expect(screen).toContain(`pveum acl modify / --tokens '${demo.tokenId}' --roles Banksman-token`);
  expect(screen).not.toContain(secret);

  const config = JSON.parse(readFileSync(bench.machineFile, 'utf8')) as { clusters: { tokenFile: string }[]; protected: object };
  const tokenFile = config.clusters[0]?.tokenFile ?? '';
  expect(config.clusters).toEqual([
    {
      name: 'cluster',
      endpoints: [`https://${address()}`],
      tokenId: demo.tokenId,
      tls: demo.tls,
      tokenFile: expect.stringMatching(/cluster\.token$/),
    },
  ]);
  expect(config.protected).toMatchObject({ guests: expect.arrayContaining([expect.objectContaining({ vmid: 200 })]) });
  expect(readFileSync(tokenFile, 'utf8')).toBe(`${secret}\n`);
  expect([bench.machineFile, tokenFile].map((file) => statSync(file).mode & 0o777)).toEqual([0o600, 0o600]);

  expect(await bench.run(['call', 'get_vms'])).toMatchObject({ status: 0, stdout: expect.stringContaining('6 VMs') });
  expect(await bench.run(['call', 'stop_container', '--input', '{"vmid":200}'])).toMatchObject({ status: 2 });

  // Once more: the file keeps what it has, and gets nothing without a yes.
  const before = readFileSync(bench.machineFile, 'utf8');
  expect(await init([['to go on', 'y\r']])).toMatchObject({ status: 2, screen: expect.stringContaining('nothing was changed') });
  expect(readFileSync(bench.machineFile, 'utf8')).toBe(before);
  const other = toSecret(`${demo.tokenId}=${secret}`, demo.endpoints[1]);
  const second = await init([['to go on', 'yes\r'], ...toCertificate(), ['cluster cluster has it already', ''], ...other, alone]);
  expect(second.status, second.screen).toBe(0);
  const now = JSON.parse(readFileSync(bench.machineFile, 'utf8')) as { clusters: { name: string }[]; protected: object };
  expect(now.clusters.map(({ name }) => name)).toEqual(['cluster', 'cluster-2']);
  expect({ ...now, clusters: now.clusters.slice(0, 1) }).toEqual(config);
});

it.each([
  { beside: false, says: 'It is not pinned, so that it can be renewed.' },
  { beside: true, says: 'It is pinned. On the node' },
])('pins what it said that it pins, also where the address that needed it is left out: $beside', async ({ beside, says }) => {
  const lan = await startLanCluster();
  onTestFinished(() => lan.close());
  const other = await startOtherServer();
  onTestFinished(() => other.close());
  const authority = join(bench.folder, 'authority.pem');
  writeFileSync(authority, lan.demo.cluster.certificates.authority);
  const host = `127.0.0.1:${lan.port}`;
  const trusted: Dialogue[number] = ['to trust this certificate', 'yes\r'];
  const { status, screen } = await personAt(bench).at(
    ['init'],
    [
      ...toCertificate(beside ? `${host} ${other.address}` : host),
      ...(beside ? [trusted, trusted] : [trusted]),
      ['id of the API token', `${demo.tokenId}\r`],
      ['its secret (not shown)', `${lan.secret}\r`],
      ...(beside ? [alone] : []),
      ['yes` to protect all', '\r'],
    ],
    { NODE_EXTRA_CA_CERTS: authority },
  );
  expect(status, screen).toBe(0);
  expect(screen).toContain(`A public authority vouches for it and for this name.\n${says}`);
  expect(/left out: .* is not the API of Proxmox VE/.test(screen)).toBe(beside);
  const [fingerprint] = lan.demo.cluster.certificates.nodes.values();
  const { clusters } = JSON.parse(readFileSync(bench.machineFile, 'utf8')) as {
    clusters: readonly { endpoints: unknown; tls?: unknown }[];
  };
  expect(clusters.map(({ endpoints, tls }) => ({ endpoints, tls }))).toEqual([
    { endpoints: [`https://${host}`], tls: beside ? { fingerprint: fingerprint?.fingerprint } : undefined },
  ]);
});

it('says that an approver has to agree, where one agreed to what was there', async () => {
  const person = personAt(bench);
  expect((await person.createApprover('ada')).status).toBe(0);
  expect((await person.at(['config', 'agree'], [['passphrase of approver', `${passphrase}\r`]])).status).toBe(0);
  const { status, screen } = await init([
    ['to go on', 'yes\r'],
    ...toSecret(secret),
    alone,
    ['once an approver agrees: `banksman config agree`', ''],
  ]);
  expect(status, screen).toBe(0);
  expect((await bench.run(['config', 'show'])).stdout).toContain('cluster');
});

it.each<[string, () => Dialogue, string]>([
  ['a certificate that is not the right one', () => [...toCertificate(), ['to trust this certificate', 'no\r']], 'nothing was changed'],
  ['a secret that the cluster refuses', () => toSecret('00000000-0000-4000-8000-000000000000'), 'nothing was changed'],
  ['Ctrl+C at the secret', () => [...toSecret('').slice(0, -1), ['its secret (not shown)', '\u0003']], 'nothing was changed'],
  [
    'addresses without anybody, three times',
    () => Array.from({ length: 3 }, () => ['address of a node', '127.0.0.1:1 127.0.0.1:2\r'] as const),
    'none of them can be used: https://127.0.0.1:1, https://127.0.0.1:2',
  ],
  [
    'a token id that is none, three times',
    () => [...toSecret('').slice(0, -2), ...Array.from({ length: 3 }, () => ['id of the API token', 'root\r'] as const)],
    'it must be `user@realm!tokenname`',
  ],
])('writes nothing after %s', async (_name, dialogue, says) => {
  const { status, screen } = await init(dialogue());
  expect(screen).toContain(says);
  expect(status).not.toBe(0);
  expect(written()).toEqual([]);
});

it('needs a terminal, and the machine’s own configuration', async () => {
  expect(await bench.run(['init'])).toMatchObject({ status: 2, stderr: expect.stringContaining('needs a terminal') });
  expect(await bench.run(['init', '--config', 'other.json'])).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('leave `--config`'),
  });
  expect(written()).toEqual([]);
});
