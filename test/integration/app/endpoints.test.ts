/** A cluster as the README configures it: all endpoints, a certificate each, the fingerprint of one. */
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { App, Finding } from '#kernel/app';
import { call, guestStatus, startWorld, type World } from './support.ts';

let world: World;
beforeEach(async () => {
  world = await startWorld();
});
afterEach(() => world.close());

const never = new AbortController().signal;

const onePin = (): Promise<App> =>
  world.open({ clusters: [{ ...world.demo.config.clusters[0], tls: { fingerprint: world.demo.fingerprint } }] });

const folder = () => join(world.stateDir, 'certificates');
const keptFile = () => join(folder(), readdirSync(folder())[0] ?? '');

async function endpointFindings(app: App): Promise<readonly Finding[]> {
  return (await app.doctor(never)).filter(({ topic }) => topic.includes(' endpoint '));
}

/** One process that came and went while all nodes were up. */
async function learnInAnEarlierProcess(): Promise<void> {
  const app = await onePin();
  expect(await call(app, 'get_vms')).toMatchObject({ status: 'ok' });
  await app.close();
  expect(existsSync(keptFile())).toBe(true);
}

it('a process that starts while the pinned node is down reads, and stops a guest with approval, over another', async () => {
  await learnInAnEarlierProcess();
  await world.demo.faults.nodeDown('Home');
  const app = await onePin();
  expect(await call(app, 'get_cluster_status')).toMatchObject({
    status: 'ok',
    message: 'cluster demo is degraded: 2 of 3 nodes online, quorate',
    result: { endpoints: [{ certificate: 'unseen' }, { node: 'pve', certificate: 'learned' }, { certificate: 'unseen' }] },
  });
  const stop = { vmid: 100 };
  const asked = await call(app, 'stop_vm', stop);
  expect(asked).toMatchObject({ status: 'pending' });
  await app.approvals.approve(asked.request_id ?? '', world.person);
  expect(await call(app, 'stop_vm', stop)).toMatchObject({ status: 'ok' });
  expect(guestStatus(world, 100)).toBe('stopped');
});

it('a process says of the certificates what it knows once its first answer is there, and what an earlier one learned', async () => {
  for (let processes = 1; processes <= 2; processes += 1) {
    const app = await onePin();
    expect(await call(app, 'get_cluster_status')).toMatchObject({
      message: 'cluster demo is healthy: 3 of 3 nodes online, quorate',
      result: { endpoints: [{ certificate: 'pinned' }, { certificate: 'unseen' }, { certificate: 'unseen' }] },
    });
    await app.close();
  }
});

it('what was learned lies in the state directory, for this user only', async () => {
  await learnInAnEarlierProcess();
  expect(statSync(folder()).mode & 0o777).toBe(0o700);
  expect(statSync(keptFile()).mode & 0o777).toBe(0o600);
});

it.each([
  ['others may write', (file: string) => chmodSync(file, 0o666)],
  [
    'is a link',
    (file: string) => {
      writeFileSync(`${file}.elsewhere`, readFileSync(file));
      rmSync(file);
      symlinkSync(`${file}.elsewhere`, file);
    },
  ],
])('a file of it that %s does not count, and the log says so', async (_what, spoil) => {
  await learnInAnEarlierProcess();
  spoil(keptFile());
  await world.demo.faults.nodeDown('Home');
  expect(await call(await onePin(), 'get_vms')).toMatchObject({ code: 'pve_tls_fingerprint' });
  expect(world.lines.join('\n')).toMatch(/certificates does not count: .*(written by others|is a link)/);
});

it('doctor looks at every endpoint', async () => {
  const [home, pve, agent] = world.demo.config.clusters[0].endpoints;
  const app = await onePin();
  expect(await endpointFindings(app)).toMatchObject([
    { topic: `cluster demo endpoint ${home} (Home)`, state: 'ok', message: 'certificate is the pinned one, token accepted' },
    { topic: `cluster demo endpoint ${pve} (pve)`, state: 'ok', message: 'certificate vouched for by a verified node, token accepted' },
    {
      topic: `cluster demo endpoint ${agent} (agent1)`,
      state: 'ok',
      message: 'certificate vouched for by a verified node, token accepted',
    },
  ]);
  await world.demo.faults.nodeDown('agent1');
  world.demo.faults.swapCertificate('pve');
  const [first, swapped, away] = await endpointFindings(app);
  expect(first).toMatchObject({ state: 'ok' });
  expect(swapped).toMatchObject({
    state: 'failed',
    message: expect.stringMatching(/^pve_tls_fingerprint/),
    remedy: expect.stringContaining('openssl'),
  });
  expect(away).toMatchObject({ state: 'warning', message: expect.stringMatching(/^pve_unreachable/), remedy: expect.any(String) });
});

it('doctor says how to renew a pin that no node has any more', async () => {
  const app = await onePin();
  await endpointFindings(app);
  world.demo.faults.renewCertificate('Home');
  await endpointFindings(app);
  const findings = await app.doctor(new AbortController().signal);
  expect(findings.find(({ topic }) => topic === 'cluster demo pin')).toMatchObject({
    state: 'warning',
    message: expect.stringContaining('no node of the cluster has the certificate'),
    remedy: expect.stringMatching(/^renew the pin: run `openssl .*set `tls\.fingerprint`/),
  });
});

it('doctor says of each endpoint that the token is not valid there', async () => {
  world.demo.faults.revokeToken(world.demo.config.clusters[0].tokenId);
  const findings = await endpointFindings(await onePin());
  expect(findings).toHaveLength(3);
  // With nobody to vouch, the two others stay unknown.
  expect(findings[0]).toMatchObject({
    state: 'failed',
    message: expect.stringMatching(/^pve_unauthorized/),
    remedy: expect.stringContaining('pveum'),
  });
});
