/** The demo's page in a browser without any authenticator; and that nothing of it is anywhere else. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import axe from 'axe-core';
import { type Browser, chromium, type Page as Tab } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { readNewCredential, softwareModel } from '#approval/passkey';
import { demoScript } from '#hosts/page/demo-passkey';
import { softwareKey } from '../approval/software-key.ts';
import { type Bench, cli, startBench } from '../cli/support.ts';
import { chromiumPath, openPageWorld, settle } from './page-world.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const pictures = process.env['BANKSMAN_PICTURES'];

interface Served {
  readonly url: string;
  readonly enrol?: string;
  readonly child: ChildProcess;
}

let bench: Bench;
let browser: Browser;
let served: Served | undefined;
beforeAll(async () => {
  bench = await startBench();
  browser = await chromium.launch({
    executablePath: chromiumPath,
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'],
  });
});
afterEach(async () => {
  served?.child.kill('SIGTERM');
  if (served?.child.exitCode === null) await once(served.child, 'exit');
  served = undefined;
  for (const folder of [bench.state, dirname(bench.machineFile)]) rmSync(folder, { recursive: true, force: true });
});
afterAll(async () => {
  await browser.close();
  await bench.close();
});

/** `banksman page` on the demo cluster, as `npm start` starts it. */
async function serve(changes: { readonly [key: string]: unknown } = {}): Promise<Served> {
  mkdirSync(dirname(bench.machineFile), { recursive: true });
  const page = { origin: 'http://localhost:0', demo: true };
  writeFileSync(bench.machineFile, JSON.stringify({ ...bench.config, page, ...changes }), { mode: 0o600 });
  const child = spawn(process.execPath, [cli, 'page'], { env: bench.env, stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  served = { ...(JSON.parse(line) as { url: string; enrol?: string }), child };
  return served;
}

const call = async (input: object = { vmid: 100 }) =>
  JSON.parse((await bench.run(['call', 'stop_vm', '--input', JSON.stringify(input), '--json'])).stdout) as {
    status: string;
    request_id?: string;
  };
const approvers = () =>
  (JSON.parse(readFileSync(bench.machineFile, 'utf8')) as { approvers?: { name: string; passkey: object }[] }).approvers;

async function newTab(): Promise<Tab> {
  return (await browser.newContext({ viewport: { width: 900, height: 800 }, reducedMotion: 'reduce' })).newPage();
}

async function enrolled(link = ''): Promise<Tab> {
  const tab = await newTab();
  await tab.goto(link);
  await tab.getByRole('button', { name: 'Use a demo passkey' }).click();
  await tab.getByRole('button', { name: 'Make it' }).click();
  return tab;
}

async function picture(tab: Tab, name: string): Promise<void> {
  if (pictures !== undefined) await tab.screenshot({ path: join(pictures, `${name}.png`), fullPage: true });
}

async function axeFaults(tab: Tab): Promise<readonly string[]> {
  await tab.evaluate(axe.source);
  return tab.evaluate(
    `axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] })
      .then(({ violations }) => violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ': ' + html)))`,
  );
}

describe('the demo, in a browser that has no authenticator', () => {
  it('a call that asks, the page, a demo passkey, and the call runs, once', async () => {
    const { url, enrol } = await serve();
    const { request_id: id = '' } = await call();
    const tab = await newTab();
    await tab.goto(enrol ?? '');
    await tab.getByRole('button', { name: 'Use a demo passkey' }).waitFor();
    await picture(tab, 'demo-enrol');
    expect(await axeFaults(tab)).toEqual([]);
    await tab.getByRole('button', { name: 'Use a demo passkey' }).click();
    await tab.getByRole('dialog', { name: 'Make a demo passkey' }).waitFor();
    await tab.getByRole('button', { name: 'Make it' }).click();
    await tab.getByRole('heading', { name: 'This browser' }).waitFor();
    expect(approvers()).toMatchObject([{ name: 'demo', passkey: { origin: new URL(url).origin, display: 'same-account' } }]);

    await tab.goto(`${url}r/${id}`);
    await tab.locator('article').waitFor();
    await settle(tab);
    await tab.getByRole('button', { name: 'Approve once' }).click();
    await tab.getByRole('dialog', { name: 'Use the demo passkey?' }).waitFor();
    await picture(tab, 'demo-use');
    expect(await axeFaults(tab)).toEqual([]);
    await tab.getByRole('button', { name: 'Cancel' }).click();
    await expect.poll(() => tab.locator('#result').textContent()).toContain('Nothing was sent');
    expect((await call()).status).toBe('pending');
    await tab.getByRole('button', { name: 'Approve once' }).click();
    await tab.getByRole('button', { name: 'Use it' }).click();
    await expect.poll(() => tab.locator('#result').textContent()).toContain('Approved once');
    expect((await call()).status).toBe('ok');
    expect((await call()).status).not.toBe('ok');
  });

  it('the link is good once, and nobody else gets in by it', async () => {
    const { enrol } = await serve();
    const first = await enrolled(enrol);
    await first.getByRole('heading', { name: 'This browser' }).waitFor();
    const second = await newTab();
    await second.goto(enrol ?? '');
    await second.getByRole('heading', { name: 'This link does not work' }).waitFor();
    expect(approvers()).toHaveLength(1);
  });

  it('who approves already has to agree to it first', async () => {
    const { enrol } = await serve();
    const file = JSON.parse(readFileSync(bench.machineFile, 'utf8')) as object;
    writeFileSync(bench.machineFile, JSON.stringify({ ...file, approvers: [softwareKey({ name: 'alice-phone' }).pin] }));
    const tab = await enrolled(enrol);
    await tab.getByRole('heading', { name: 'Passkey made' }).waitFor();
    await picture(tab, 'demo-made');
    await expect.poll(() => approvers()?.map(({ name }) => name)).toEqual(['alice-phone', 'demo']);
    const trail = (await bench.run(['audit', 'tail', '--json'])).stdout;
    expect(trail).not.toContain('approver.trusted');
  });
});

describe('outside the demo there is no passkey in software', () => {
  const offered = async (url: string) => ({
    script: (await fetch(new URL('/demo-passkey.js', url))).status,
    named: (await (await fetch(url)).text()).includes('demo-passkey'),
  });
  const none = { script: 404, named: false };

  it('the demo has it', async () => {
    expect(await offered((await serve()).url)).toEqual({ script: 200, named: true });
  });

  it.each<[string, (config: Bench['config']) => Bench['config']]>([
    [
      'a cluster that is not on this machine',
      ({ clusters }) => ({ clusters: [{ ...oneOf(clusters), endpoints: ['https://192.0.2.10:8006'] }] }),
    ],
    [
      'one cluster of several that is not on this machine',
      ({ clusters }) => ({ clusters: [oneOf(clusters), { ...oneOf(clusters), name: 'lab', endpoints: ['https://192.0.2.10:8006'] }] }),
    ],
    ['no cluster', () => ({ clusters: [] })],
  ])('`banksman page` has it not with %s, and makes no link', async (_, changes) => {
    const { url, enrol } = await serve(changes(bench.config));
    expect(enrol).toBeUndefined();
    expect(await offered(url)).toEqual(none);
  });

  it('a page that something else serves has it not, and offers nothing to who opens a link', async () => {
    const world = await openPageWorld();
    try {
      expect(await offered(`${world.page.origin}/`)).toEqual(none);
      const { tab } = await world.device();
      await tab.goto((await world.invite('alice-phone')).url);
      await tab.getByRole('button', { name: 'Make the passkey on this device' }).waitFor();
      expect(await tab.getByRole('button', { name: 'Use a demo passkey' }).count()).toBe(0);
    } finally {
      await world.close();
    }
  });

  it.each([
    ['https://banksman.lan', false],
    ['http://localhost:779', false],
    ['http://localhost', false],
    ['http://localhost:41234', true],
  ])('made for %s, one counts: %s', (origin, counts) => {
    const key = softwareKey({ origin });
    const id = Buffer.from(key.create('c').id, 'base64url');
    const more = Buffer.concat([Buffer.from(softwareModel, 'latin1'), Buffer.from([0, id.length]), id, key.cose]);
    expect(readNewCredential(key.create('c', { more }), { challenge: 'c', origin }).ok).toBe(counts);
    expect(demoScript(({ text }) => JSON.stringify(text))).toContain(`'${softwareModel}'`);
  });
});

function oneOf(clusters: unknown): object {
  const [cluster] = clusters as readonly object[];
  if (cluster === undefined) throw new Error('the demo has no cluster');
  return cluster;
}
