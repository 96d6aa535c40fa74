/** A cluster is tried before anything is written: what a person sees at each step of `banksman init` and of the editor's assistant. */
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { hostname, networkInterfaces, tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { lookAtCertificate, pinning } from '#app/clusters/new-cluster';
import { apiPort, checkProxmox, lookAtHostKey, lookAtNode, tryCluster, trySsh, withNodes } from '#app/clusters/try-cluster';
import { type DemoCluster, demoTokens, startDemoCluster } from '#demo/index';
import { demoSeed } from '#demo/initial-state';
import type { JsonObject } from '#kernel/json';
import { english } from '#kernel/text/message';
import { closedPort, startPve } from '../../connectors/pve-server.ts';
import { startLanCluster } from './lan-cluster.ts';

let demo: DemoCluster;
const closing: (() => Promise<unknown>)[] = [];
beforeEach(async () => {
  const seed = demoSeed(Date.now(), Object.fromEntries(Object.values(demoTokens).map((id) => [id, randomUUID()])));
  // Where their endpoints are.
  const nodes = seed.nodes.map((node, index) => ({ ...node, ip: `127.0.0.${index + 1}` }));
  demo = await startDemoCluster({ state: { ...seed, nodes } });
});
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
  await demo.close();
});

const soon = () => AbortSignal.timeout(20_000);
const endpoints = () => demo.config.clusters[0].endpoints;
const fingerprintAt = (index: number) =>
  demo.cluster.certificates.nodes.get([...demo.cluster.state.nodes.keys()][index] ?? '')?.fingerprint ?? '';

async function entry(token: keyof typeof demoTokens = 'ops', urls = endpoints()): Promise<JsonObject> {
  const seen = new Map(await Promise.all(urls.map(async (url) => [url, await lookAtCertificate(url, soon())] as const)));
  return { name: 'lab', endpoints: [...urls], tokenId: demoTokens[token], ...pinning(seen) };
}

const secretOf = (token: keyof typeof demoTokens) => demo.authorization[demoTokens[token]]?.replace(/^.*=/, '') ?? '';

async function open(token: keyof typeof demoTokens = 'ops', { secret = secretOf(token), urls = endpoints() } = {}) {
  const trial = await tryCluster(await entry(token, urls), secret, '/');
  closing.push(() => trial.close());
  return trial;
}

describe('an address', () => {
  it('shows each node’s certificate', async () => {
    for (const [index, url] of endpoints().entries())
      expect(await lookAtCertificate(url, soon())).toMatchObject({ fingerprint: fingerprintAt(index), isPublic: false });
    await expect(checkProxmox(endpoints()[0] ?? '', fingerprintAt(0), soon())).resolves.toBeUndefined();
  });

  it.each([
    ['a name that nobody has', () => 'https://no-such-host.invalid:8006', /its name cannot be resolved/, /IP address/],
    ['a port at which nobody listens', () => closedPort(), /connection refused/, /8006/],
    ['what speaks no TLS', () => plainServer(), /no TLS is spoken there/, /port is 8006/],
  ])('that is %s says so, and what to do', async (_what, urlOf, message, next) => {
    const url = await urlOf();
    await expect(lookAtCertificate(url, soon())).rejects.toMatchObject({
      message: expect.stringMatching(message),
      next: expect.stringMatching(next),
    });
  });

  it('that answers nothing ends by its time', async () => {
    const url = await plainServer(false);
    await expect(lookAtCertificate(url, AbortSignal.timeout(300))).rejects.toMatchObject({
      message: expect.stringContaining('no answer in time'),
    });
  });

  it('with TLS, but without Proxmox VE, asks for no token', async () => {
    const other = await startPve((_request, response) => response.writeHead(200).end('hello'));
    closing.push(() => other.close());
    await expect(checkProxmox(other.url, other.certificate.fingerprint, soon())).rejects.toMatchObject({
      code: 'not_proxmox',
      next: expect.stringContaining('8006'),
    });
  });

  it('whose certificate changed since it was shown gets nothing', async () => {
    const [url = ''] = endpoints();
    const { fingerprint } = await lookAtCertificate(url, soon());
    demo.faults.swapCertificate();
    await expect(checkProxmox(url, fingerprint, soon())).rejects.toMatchObject({
      message: expect.stringContaining('does not answer as before'),
    });
  });
});

/** @param answers whether it says something that is no TLS */
async function plainServer(answers = true): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    if (answers) socket.end('HTTP/1.1 400 Bad Request\r\n\r\n');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(async () => void server.close());
  const address = server.address();
  return `https://127.0.0.1:${address !== null && typeof address === 'object' ? address.port : 0}`;
}

describe('a token', () => {
  it('is tried, and its rights are said by groups of tools', async () => {
    const { message, rights } = await (await open()).look(soon());
    expect(english(message)).toMatch(/^Proxmox VE \S+, quorate, 3 of 3 nodes online$/);
    expect(rights.may).toContain('power');
    expect(rights.lacks.map(({ group }) => group)).toEqual(['updates']);
  });

  it('that only looks lacks the rest, with the commands', async () => {
    const { rights } = await (await open('readOnly')).look(soon());
    expect(rights.lacks.map(({ group }) => group)).toEqual(expect.arrayContaining(['power', 'snapshots', 'delete']));
    expect(rights.commands.join()).toContain("--tokens 'audit@pve!banksman'");
  });

  it('that holds nothing is let in, and everything is named as missing', async () => {
    const { message, rights } = await (await open('nobody')).look(soon());
    expect(english(message)).toContain('holds no privilege on any path');
    expect(rights.may).toEqual([]);
  });

  it.each([
    ['wrong', () => open('ops', { secret: '00000000-0000-4000-8000-000000000000' })],
    ['expired', () => open('expired')],
  ])('that is %s is refused, with where to look', async (_what, trial) => {
    await expect((await trial()).look(soon())).rejects.toMatchObject({
      code: 'pve_unauthorized',
      next: expect.stringContaining('pveum user token list'),
    });
  });

  it('is not sent where the certificate changed meanwhile', async () => {
    const trial = await open();
    demo.faults.swapCertificate();
    await expect(trial.look(soon())).rejects.toMatchObject({ code: 'pve_tls_fingerprint' });
  });
});

describe('the other nodes', () => {
  /** One endpoint was typed. */
  async function others(typed: number, port: (name: string) => number) {
    const url = endpoints()[typed] ?? '';
    const trial = await open('ops', { urls: [url] });
    const found = await Promise.all((await trial.otherNodes(soon())).map((other) => lookAtNode(other, port(other.node), soon())));
    return { url, found };
  }
  const portOf = (name: string) => Number(new URL(endpoints()[[...demo.cluster.state.nodes.keys()].indexOf(name)] ?? '').port);

  it('are found by the cluster, looked at, and pinned to what it vouches for', async () => {
    const { url, found } = await others(0, portOf);
    expect(found.map(({ node, shows }) => [node, shows])).toEqual([
      ['agent1', 'same'],
      ['pve', 'same'],
    ]);
    const { endpoints: all, tls } = withNodes(await entry('ops', [url]), found);
    expect(all).toHaveLength(3);
    expect(new Set(Object.values((tls as { fingerprint: object }).fingerprint))).toEqual(new Set([0, 1, 2].map(fingerprintAt)));
  });

  it('that show another certificate are said to, and stay out', async () => {
    demo.faults.swapCertificate('pve');
    const { url, found } = await others(0, portOf);
    expect(found.find(({ node }) => node === 'pve')).toMatchObject({
      shows: 'other',
      note: expect.stringMatching(/shows another certificate.*[0-9A-F]{2}:/),
    });
    expect(withNodes(await entry('ops', [url]), found).endpoints).toHaveLength(2);
  });

  it('that are down are pinned all the same', async () => {
    await demo.faults.nodeDown('pve');
    const { url, found } = await others(0, portOf);
    expect(found.find(({ node }) => node === 'pve')).toMatchObject({
      shows: 'away',
      note: expect.stringContaining('refused'),
    });
    expect(withNodes(await entry('ops', [url]), found).endpoints).toHaveLength(3);
  });

  it('are none where all were named', async () => {
    expect(await (await open()).otherNodes(soon())).toEqual([]);
  });
});

const leftOvers = () => readdirSync(tmpdir()).filter((name) => /^banksman-(?:ssh|trial)-/.test(name));

it('a cluster that cannot be tried leaves no file behind', async () => {
  const before = leftOvers();
  const missing = { ...(await entry()), tls: { caFile: '/nowhere/ca.pem' } };
  await expect(tryCluster(missing, secretOf('ops'), '/')).rejects.toMatchObject({ code: 'bad_config' });
  await expect(trySsh(missing, { secret: secretOf('ops'), lines: [], nodes: [] }, soon())).rejects.toMatchObject({ code: 'bad_config' });
  expect(leftOvers().filter((name) => !before.includes(name))).toEqual([]);
});

describe('ssh', () => {
  const at = (node: string) => ({ node, host: '127.0.0.1', port: demo.config.clusters[0].ssh.nodes[node]?.port ?? 0 });
  const ssh = () => ({
    user: 'root',
    identityFiles: demo.config.clusters[0].ssh.identityFiles,
    agent: false,
    nodes: { pve: at('pve'), Home: at('Home') },
  });
  const withSsh = async () => {
    const { pve, Home } = { pve: at('pve'), Home: at('Home') };
    const { user, identityFiles, agent } = ssh();
    const nodes = Object.fromEntries([pve, Home].map(({ node, host, port }) => [node, { host, port }]));
    return { ...(await entry()), ssh: { user, identityFiles: [...identityFiles], agent, nodes } };
  };

  it('shows host keys, and logs in with those that were confirmed alone', async () => {
    const seen = await lookAtHostKey(at('pve'), soon());
    expect(seen).toMatchObject({ fingerprint: expect.stringMatching(/^SHA256:\S{43}$/), type: 'ssh-ed25519' });
    const tried = await trySsh(await withSsh(), { secret: secretOf('ops'), lines: [seen.line], nodes: ['pve', 'Home'] }, soon());
    expect(tried.get('pve')).toBeUndefined();
    expect(tried.get('Home')).toMatchObject({ code: 'ssh_host_unknown' });
  });

  it('names a key that no node takes, and what to check', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'wrong-key-'));
    const wrong = path.join(folder, 'key');
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    writeFileSync(wrong, privateKey.export({ type: 'sec1', format: 'pem' }), { mode: 0o600 });
    const entryOf = await withSsh();
    const { line } = await lookAtHostKey(at('pve'), soon());
    const cluster = { ...entryOf, ssh: { ...entryOf.ssh, identityFiles: [wrong] } };
    const tried = await trySsh(cluster, { secret: secretOf('ops'), lines: [line], nodes: ['pve'] }, soon());
    rmSync(folder, { recursive: true });
    expect(tried.get('pve')).toMatchObject({
      code: 'ssh_auth_failed',
      message: expect.stringContaining('did not accept any key'),
      next: expect.stringContaining('authorized_keys'),
    });
  });

  it('says where nobody answers', async () => {
    await expect(
      lookAtHostKey({ node: 'pve', host: '127.0.0.1', port: Number(new URL(await closedPort()).port) }, soon()),
    ).rejects.toMatchObject({ code: 'ssh_unreachable' });
  });

  it('leaves no file behind', async () => {
    const before = leftOvers();
    const { line } = await lookAtHostKey(at('pve'), soon());
    await trySsh(await withSsh(), { secret: secretOf('ops'), lines: [line], nodes: ['pve'] }, soon());
    expect(leftOvers().filter((name) => !before.includes(name))).toEqual([]);
  });
});

describe('a cluster as it is in a network', () => {
  const [ownName = ''] = hostname().split('.');
  const [ownAddress] = Object.values(networkInterfaces()).flatMap((some = []) =>
    some.flatMap(({ internal, family, cidr }) => (internal || family !== 'IPv4' ? [] : [cidr ?? ''])),
  );
  const machineId = idOfMachine();

  async function lan(config: Readonly<Record<number, Readonly<Record<string, string>>>> = {}) {
    const cluster = await startLanCluster(({ guests }) => ({
      guests: guests.map((guest) => ({ ...guest, config: { ...guest.config, ...config[guest.vmid] } })),
    }));
    closing.push(() => cluster.close());
    return cluster;
  }

  async function trialAt(url: string, secret: string) {
    const cluster = {
      name: 'lan',
      endpoints: [url],
      tokenId: demoTokens.ops,
      ...pinning(new Map([[url, await lookAtCertificate(url, soon())]])),
    };
    const trial = await tryCluster(cluster, secret, '/');
    closing.push(() => trial.close());
    return { cluster, trial };
  }

  it('is reached by IPv6; its other nodes at addresses of their own on the same port', async () => {
    const { secret, overIpv6, port } = await lan();
    const { cluster, trial } = await trialAt(`https://${overIpv6}`, secret);
    expect(english((await trial.look(soon())).message)).toContain('3 of 3 nodes online');
    const others = await trial.otherNodes(soon());
    const found = await Promise.all(others.map((other) => lookAtNode(other, apiPort(cluster), soon())));
    expect(found.map(({ shows }) => shows)).toEqual(['same', 'same']);
    expect((withNodes(cluster, found)['endpoints'] as string[]).toSorted()).toEqual(
      ['127.0.0.2', '127.0.0.3', '[::1]'].map((host) => `https://${host}:${port}`),
    );
  });

  it.each([
    ['name', ownName === 'localhost' ? undefined : { name: ownName }, 101, 'has the name of the machine that this runs on'],
    ['machine id', machineId && { smbios1: `uuid=${machineId}` }, 105, 'has the machine id of the machine that this runs on'],
    ['address', ownAddress && { net0: `name=eth0,bridge=vmbr0,ip=${ownAddress}` }, 201, 'is the machine that this runs on'],
  ] as const)('proposes for protection what is this machine by its %s', async (_what, own, vmid, why) => {
    // A container without an id, a name or a network of its own has nothing to be found by.
    if (own === undefined || own === '') return;
    const { secret, port } = await lan({ [vmid]: own });
    const { trial } = await trialAt(`https://127.0.0.1:${port}`, secret);
    const found = (await trial.suggestions(soon())).find(({ name }) => name === String(vmid));
    expect(found && english(found.why)).toContain(why);
  });
});

/** As the firmware of a VM has it. */
function idOfMachine(): string | undefined {
  try {
    const id = readFileSync('/etc/machine-id', 'utf8').trim();
    return /^[0-9a-f]{32}$/.test(id) ? id.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-') : undefined;
  } catch {
    return undefined;
  }
}
