/**
 * *Connect a Cluster…* all the way: the other nodes with what their cluster vouches for, ssh with its host keys, wrong keys and hosts, what is this machine;
 * a second cluster by IPv6; in a folder that nobody trusts, and in a window without one.
 */
import { generateKeyPairSync } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { hostname, networkInterfaces } from 'node:os';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { lookAtHostKey } from '#app/clusters/try-cluster';
import { demoTokens } from '#demo/index';
import type { JsonObject } from '#kernel/json';
import { type LanCluster, startLanCluster, startOtherServer } from '../../integration/app/clusters/lan-cluster.ts';
import { answerStep, startConnecting, waitStep } from '../harness/assistant.ts';
import { launchWorkbench, type Workbench } from '../harness/launch-workbench.ts';
import { waitModal } from '../harness/modal.ts';
import { waitForNotification } from '../harness/notifications.ts';
import { pickRow, pickRows, runCommand, typeInto, waitPickRow } from '../harness/palette.ts';
import { screenshot } from '../harness/screenshot.ts';

let bench: Workbench;
let lan: LanCluster;
let second: LanCluster;
let page: Page;

beforeAll(async () => {
  lan = await startLanCluster(({ guests }) => ({
    guests: guests.map((guest) => ({ ...guest, config: { ...guest.config, ...mine[guest.vmid] } })),
  }));
  second = await startLanCluster();
  bench = await launchWorkbench({ untrusted: true, machineSettings: { 'banksman.clusters': [], 'banksman.protected': {} } });
  page = bench.page;
});
afterEach(async ({ task }) => {
  if (task.result?.state === 'fail') await screenshot(page, `failed-connect-${task.id}`);
});
afterAll(async () => {
  await bench?.close();
  await lan?.close();
  await second?.close();
});

/** What says of a guest that it is the machine that the editor runs on. */
const [ownAddress] = Object.values(networkInterfaces()).flatMap((some = []) =>
  some.flatMap(({ internal, family, cidr }) => (internal || family !== 'IPv4' || cidr === null ? [] : [cidr])),
);
const machineId = idOfMachine();
const [ownName = ''] = hostname().split('.');
const mine: Readonly<Record<number, Record<string, string>>> = {
  ...(ownName === 'localhost' ? {} : { 101: { name: ownName } }),
  ...(machineId === undefined ? {} : { 105: { smbios1: `uuid=${machineId}` } }),
  ...(ownAddress === undefined ? {} : { 201: { net0: `name=eth0,bridge=vmbr0,ip=${ownAddress}` } }),
};

function idOfMachine(): string | undefined {
  try {
    const id = readFileSync('/etc/machine-id', 'utf8').trim();
    return /^[0-9a-f]{32}$/.test(id) ? id.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-') : undefined;
  } catch {
    return undefined;
  }
}

const here = () => ({ ...bench, page });
const settings = () =>
  JSON.parse(readFileSync(path.join(path.dirname(bench.editor.logDir), 'Machine', 'settings.json'), 'utf8')) as JsonObject;
const fingerprintOf = (cluster: LanCluster, node: string) => cluster.demo.cluster.certificates.nodes.get(node)?.fingerprint ?? '';
const sshPort = (node: string) => lan.demo.config.clusters[0].ssh.nodes[node]?.port ?? 0;
const sshAt = (node: string) => `${node}=127.0.0.1:${sshPort(node)}`;

async function giveToken({ secret }: LanCluster): Promise<void> {
  await answerStep(here(), 'Id of an API token', demoTokens.ops);
  await answerStep(here(), 'Secret of', secret);
  await waitStep(here(), 'What the token may do');
  await pickRow(page, 'Go On');
}

const ok = () => page.locator('.quick-input-widget:visible .monaco-button', { hasText: 'OK' }).click();

/** A web view is a frame in a frame. */
const webview = () => page.locator('iframe.webview.ready:visible').last().contentFrame().locator('iframe#active-frame').contentFrame();

describe('in a folder that nobody trusts', () => {
  it('shows the other nodes with what their cluster vouches for, and leaves out who shows another certificate', async () => {
    lan.demo.faults.swapCertificate('pve');
    const other = await startOtherServer();
    onTestFinished(() => other.close());
    // Nothing answers at the second, and the third is no cluster.
    const modal = await startConnecting(here(), [`127.0.0.1:${lan.port}`, '127.0.0.1:1', other.address]);
    await screenshot(page, 'v0-one-left-out');
    expect(modal.title).toContain('Trust these certificates');
    expect(modal.detail).toMatch(/Left out: .*127\.0\.0\.1:1\b/);
    expect(modal.detail.replaceAll('\n', '')).toContain(fingerprintOf(lan, 'Home').slice(0, 47));
    await modal.click('Trust and Go On');
    await waitForNotification(page, `Left out: what answers at https://${other.address} is not the API of Proxmox VE`);
    await screenshot(page, 'v0-no-cluster');
    await giveToken(lan);
    await waitStep(here(), 'Other nodes of the cluster');
    await waitPickRow(page, 'pve');
    const rows = await pickRows(page);
    const rowOf = (node: string) => rows.find((row) => row.startsWith(node)) ?? '';
    expect(rowOf('agent1')).toContain(`https://127.0.0.3:${lan.port} · its cluster vouches for it`);
    expect(rowOf('agent1')).toContain(fingerprintOf(lan, 'agent1'));
    expect(rowOf('pve')).toContain('it shows another certificate than its cluster says');
    await screenshot(page, 'v1-nodes');
    await ok();
  });

  it('tries ssh: says where nobody answers and which key is not taken, and pins the host keys that were compared', async () => {
    await waitStep(here(), 'by ssh');
    await pickRow(page, 'Set Up ssh');
    await answerStep(here(), 'User on the nodes', 'root');
    const wrong = path.join(bench.folder, 'wrong-key');
    writeFileSync(wrong, generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'sec1', format: 'pem' }), {
      mode: 0o600,
    });
    await answerStep(here(), 'Private key files', wrong);
    const hosts = await waitStep(here(), 'Where each node answers by ssh');
    const proposed = (await hosts.locator('input').first().inputValue()).split(', ').toSorted();
    expect(proposed).toEqual(['Home=127.0.0.1', 'agent1=127.0.0.3', 'pve=127.0.0.2']);
    await typeInto(page, `${sshAt('Home')}, pve=127.0.0.1:1`, 'Where each node answers by ssh');
    await page.keyboard.press('Enter');
    const refused = await waitStep(here(), '127.0.0.1:1');
    expect(await refused.innerText()).toMatch(/no ssh connection to node .?pve.? \(127\.0\.0\.1:1\): connection refused/);
    await screenshot(page, 'v2-unreachable');
    await typeInto(page, `${sshAt('Home')}, ${sshAt('pve')}`);
    await page.keyboard.press('Enter');
    const modal = await waitModal(page, 'Trust these ssh host keys');
    await screenshot(page, 'v3-host-keys');
    for (const node of ['Home', 'pve']) {
      const seen = await lookAtHostKey({ node, host: '127.0.0.1', port: sshPort(node) }, AbortSignal.timeout(60_000));
      expect(modal.detail.replaceAll(/\s+/g, ' ')).toContain(`${node} (127.0.0.1:${sshPort(node)}) ed25519 ${seen.fingerprint}`);
    }
    await modal.click('Trust and Go On');
    await waitStep(here(), 'Logins as root');
    const rows = (await pickRows(page)).join('\n');
    expect(rows).toMatch(/Home[\s\S]*did not accept any key[\s\S]*What to do: .*authorized_keys on the node/);
    expect(rows).not.toContain('logged in');
    await screenshot(page, 'v4-wrong-key');
  });

  it('goes back from a login that failed to the key, and on with the right one', async () => {
    const [right = ''] = lan.demo.config.clusters[0].ssh.identityFiles;
    for (const step of ['Where each node answers by ssh', 'Private key files']) {
      await page.locator('.quick-input-widget:visible .quick-input-titlebar .action-label').first().click();
      await waitStep(here(), step);
    }
    await answerStep(here(), 'Private key files', right);
    await waitStep(here(), 'Where each node answers by ssh');
    await page.keyboard.press('Enter');
    await (await waitModal(page, 'Trust these ssh host keys')).click('Trust and Go On');
    await waitStep(here(), 'Logins as root');
    expect((await pickRows(page)).filter((row) => row.includes('logged in'))).toHaveLength(2);
    await screenshot(page, 'v5-logins');
    await pickRow(page, 'Go On');
  });

  it('proposes what is the machine that this runs on, by name, machine id and address, and ends on a page of checks', async () => {
    await waitStep(here(), 'Agents should probably not touch these');
    const rows = (await pickRows(page)).join('\n');
    const words = { 101: 'has the name of', 105: 'has the machine id of', 201: 'is' } as Readonly<Record<string, string>>;
    for (const vmid of Object.keys(mine)) expect(rows).toContain(`${words[vmid]} the machine that this runs on`);
    await screenshot(page, 'v6-protection');
    await ok();
    await page.locator('.tab', { hasText: 'Banksman Doctor' }).first().waitFor({ timeout: 60_000 });
    await webview().locator('.banner').first().waitFor({ timeout: 60_000 });
    await screenshot(page, 'v7-doctor');
    const [cluster] = settings()['banksman.clusters'] as [JsonObject & { readonly ssh: JsonObject }];
    expect(cluster).toMatchObject({
      endpoints: [`https://127.0.0.1:${lan.port}`, `https://127.0.0.3:${lan.port}`],
      ssh: { user: 'root', nodes: { Home: { host: '127.0.0.1', port: sshPort('Home') }, pve: { port: sshPort('pve') } } },
    });
    const known = readFileSync(String(cluster.ssh['knownHosts']), 'utf8');
    expect(known.trim().split('\n')).toHaveLength(2);
    expect(known).toContain(`[127.0.0.1]:${sshPort('pve')} ssh-ed25519 `);
    const { guests } = settings()['banksman.protected'] as { readonly guests: readonly { readonly vmid: number }[] };
    expect(guests.map(({ vmid }) => vmid)).toEqual(expect.arrayContaining(Object.keys(mine).map(Number)));
  });
});

describe('in a window without a folder', () => {
  it('connects a second cluster beside the first, by an address of IPv6', async () => {
    page = await bench.openWindow('nothing');
    const modal = await startConnecting(here(), [second.overIpv6]);
    expect(modal.detail).toContain(`https://[::1]:${second.port} shows the certificate of`);
    await modal.click('Trust and Go On');
    await giveToken(second);
    await waitStep(here(), 'Other nodes of the cluster');
    await ok();
    await waitStep(here(), 'by ssh');
    await pickRow(page, 'Leave ssh Out');
    await waitStep(here(), 'Agents should probably not touch these');
    await ok();
    await page.locator('.tab', { hasText: 'Banksman Doctor' }).first().waitFor({ timeout: 60_000 });
    await webview().locator('.banner').first().waitFor({ timeout: 60_000 });
    await screenshot(page, 'v8-second');
    const clusters = settings()['banksman.clusters'] as readonly JsonObject[];
    expect(clusters.map(({ name }) => name)).toEqual(['cluster', 'cluster-2']);
    const endpoints = clusters[1]?.['endpoints'] as readonly string[];
    expect(endpoints[0]).toBe(`https://[::1]:${second.port}`);
    expect(endpoints.toSorted()).toEqual(['127.0.0.2', '127.0.0.3', '[::1]'].map((host) => `https://${host}:${second.port}`));
    await runCommand(page, 'Banksman: Refresh Clusters');
    await page.locator('.part.sidebar .monaco-list-row', { hasText: 'cluster-2' }).first().waitFor({ timeout: 60_000 });
  });

  it('says of an address that a cluster has it already', async () => {
    await runCommand(page, 'Banksman: Connect a Cluster');
    await answerStep(here(), 'Address of a node', `127.0.0.3:${lan.port}`);
    expect(await (await waitStep(here(), 'has it already')).innerText()).toContain('the cluster cluster has it already');
    await page.keyboard.press('Escape');
  });
});
