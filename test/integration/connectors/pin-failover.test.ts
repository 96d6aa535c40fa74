/** Several endpoints, a certificate each, one configured fingerprint: what is known of the others when the pinned node goes away. */

import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createProxmoxClient, type KeptPins, type ProxmoxClient } from '#connectors/proxmox/create-proxmox-client';
import { type DemoCluster, startDemoCluster } from '#demo/index';
import { systemClock } from '#execution/deadline';
import type { Fault } from '#kernel/errors';
import type { Clock } from '#kernel/ports/clock';
import type { Log } from '#kernel/ports/log';
import { useCleanup } from './cleanup.ts';
import { authority, memoryLog, never, startTlsCounter } from './pve-server.ts';

const start = useCleanup();
let demo: DemoCluster;
beforeEach(async () => {
  demo = await startDemoCluster({ taskDurationMs: 20 });
});
afterEach(() => demo.close());

interface Changes {
  readonly endpoints?: readonly string[];
  readonly kept?: KeptPins;
  readonly clock?: Clock;
  readonly token?: string;
  readonly fingerprint?: string;
  readonly log?: Log;
}

const nodes = ['Home', 'pve', 'agent1'] as const;
const of = (node: (typeof nodes)[number]): string => demo.config.clusters[0].endpoints[nodes.indexOf(node)] ?? '';

/** As the README has it: all endpoints, the fingerprint of the first. */
function client(changes: Changes = {}): ProxmoxClient {
  const [config] = demo.config.clusters;
  return start(
    createProxmoxClient({
      name: 'demo',
      endpoints: config.endpoints,
      tokenId: config.tokenId,
      token: async () => changes.token ?? readFile(config.tokenFile, 'utf8'),
      tls: { kind: 'pin', fingerprint: changes.fingerprint ?? demo.fingerprint },
      timeoutMs: 8_000,
      clock: changes.clock ?? systemClock,
      log: changes.log ?? memoryLog(),
      ...(changes.endpoints === undefined ? {} : { endpoints: changes.endpoints }),
      ...(changes.kept === undefined ? {} : { kept: changes.kept }),
    }),
  );
}

/** What several processes of one user keep. */
function memory(): KeptPins & { text: string | undefined } {
  const kept = {
    text: undefined as string | undefined,
    read: async () => kept.text,
    write: async (text: string) => {
      kept.text = text;
    },
  };
  return kept;
}

/** The demo's endpoints are not at the nodes' own addresses: which is which shows on the first contact. */
async function learned(pve: ProxmoxClient): Promise<void> {
  expect((await pve.endpoints()).map((endpoint) => endpoint.certificate)[0]).toBe('pinned');
  await vi.waitFor(async () =>
    expect((await pve.endpoints()).map((endpoint) => endpoint.certificate)).toEqual(['pinned', 'unseen', 'unseen']),
  );
}

describe('the pinned node goes down', () => {
  it('and reads and a start go on over another', async () => {
    const pve = client();
    expect((await pve.endpoints()).map((endpoint) => endpoint.certificate)).toEqual(['unknown', 'unknown', 'unknown']);
    await pve.clusterStatus(never);
    await learned(pve);
    await demo.faults.nodeDown('Home');
    expect((await pve.nodes(never)).find((row) => row.node === 'Home')?.status).toBe('offline');
    const stop = await pve.changeGuest({ node: 'pve', vmid: 100, guestType: 'qemu' }, 'stop', never);
    await vi.waitFor(async () => expect(await pve.taskStatus(stop, never)).toMatchObject({ running: false, exitStatus: 'OK' }));
    const upid = await pve.changeGuest({ node: 'pve', vmid: 100, guestType: 'qemu' }, 'start', never);
    await vi.waitFor(async () => expect(await pve.taskStatus(upid, never)).toMatchObject({ running: false, exitStatus: 'OK' }));
    expect((await pve.endpoints())[1]).toEqual({ origin: of('pve'), node: 'pve', certificate: 'learned' });
  });

  it('and who sits at another endpoint with a certificate that no node vouched for is sent nothing', async () => {
    const stranger = start(await startTlsCounter(authority.issue('pve', ['pve'], ['127.0.0.1']), '127.0.0.1'));
    const pve = client({ endpoints: [of('Home'), stranger.url, of('agent1')] });
    await pve.clusterStatus(never);
    await vi.waitFor(async () => expect((await pve.endpoints())[2]?.certificate).toBe('unseen'));
    await demo.faults.nodeDown('Home');
    await expect(pve.nodes(never)).rejects.toMatchObject({ code: 'pve_tls_fingerprint', message: expect.stringContaining(stranger.url) });
    await expect(pve.changeGuest({ node: 'pve', vmid: 100, guestType: 'qemu' }, 'stop', never)).rejects.toMatchObject({
      code: 'pve_tls_fingerprint',
    });
    expect(stranger.connections()).toBeGreaterThan(1);
    expect(stranger.bytes()).toBe(0);
  });

  it('and a certificate that another node got meanwhile is taken on a third one’s word', async () => {
    const pve = client();
    await pve.clusterStatus(never);
    await learned(pve);
    await demo.faults.nodeDown('Home');
    const before = demo.cluster.certificates.nodes.get('pve')?.fingerprint;
    demo.faults.renewCertificate('pve');
    expect(demo.cluster.certificates.nodes.get('pve')?.fingerprint).not.toBe(before);
    await expect(pve.nodes(never)).resolves.toHaveLength(3);
  });

  it('before anything was learned: the refusal says that, and what helps', async () => {
    await demo.faults.nodeDown('Home');
    await expect(client().nodes(never)).rejects.toMatchObject({
      code: 'pve_tls_fingerprint',
      next: expect.stringMatching(/reached once.*`tls\.fingerprint`.*endpoint/s),
    });
  });
});

describe('the pinned node itself gets a new certificate', () => {
  /** What the words tell a person to run, on a copy of what lies on that node. */
  async function followTheWords(words: string, node: (typeof nodes)[number]): Promise<string> {
    const [, command = '', file = ''] = /`(openssl [^`]* -in (\/[^`]+))`/.exec(words) ?? [];
    expect(file).toBe('/etc/pve/local/pve-ssl.pem');
    const folder = await mkdtemp(path.join(tmpdir(), 'banksman-pin-'));
    const copy = path.join(folder, 'pve-ssl.pem');
    await writeFile(copy, demo.cluster.certificates.nodes.get(node)?.certificatePem ?? '');
    const [program = '', ...args] = command.replace(file, copy).split(' ');
    const { stdout } = await promisify(execFile)(program, args);
    await rm(folder, { recursive: true });
    return stdout.trim().replace(/^.*=/, '');
  }

  it.each(nodes)('and the others vouch for it; log and check say how to renew the pin, which works with what %s prints', async (node) => {
    const log = memoryLog();
    let ahead = 0;
    const pve = client({ log, clock: { ...systemClock, now: () => systemClock.now() + ahead } });
    await pve.clusterStatus(never);
    await learned(pve);
    expect(await pve.checkPin()).toBeUndefined();
    demo.faults.renewCertificate('Home');
    await expect(pve.nodes(never)).resolves.toHaveLength(3);
    await pve.checkEndpoints(never);
    const outdated = await pve.checkPin();
    expect(outdated?.message).toMatch(/^no node of the cluster has the certificate of `tls\.fingerprint` any more.* until \d{4}-\d\d-\d\d/);
    // What is learned anew after an hour is no news.
    ahead = 2 * 3_600_000;
    await pve.nodes(never);
    await pve.checkPin();
    const warnings = log.lines.filter((line) => line.includes('no node of the cluster'));
    expect(warnings).toEqual([`demo: ${outdated?.message}; ${outdated?.remedy}`]);
    const fingerprint = await followTheWords(outdated?.remedy ?? '', node);
    const renewed = client({ fingerprint, endpoints: [of(node), ...nodes.filter((one) => one !== node).map(of)] });
    await expect(renewed.nodes(never)).resolves.toHaveLength(3);
    expect((await renewed.checkEndpoints(never)).map(({ fault }) => fault)).toEqual([undefined, undefined, undefined]);
    expect(await renewed.checkPin()).toBeUndefined();
  });

  it('and nothing was learned before: the refusal’s words work, too', async () => {
    demo.faults.renewCertificate('Home');
    const refused = await client()
      .nodes(never)
      .catch((thrown: unknown) => thrown as Fault);
    expect(refused).toMatchObject({ code: 'pve_tls_fingerprint' });
    const words = (refused as Fault).next ?? '';
    expect(words).toContain('where that node itself got a new certificate, set `tls.fingerprint` to what the command prints there');
    await expect(client({ fingerprint: await followTheWords(words, 'Home') }).nodes(never)).resolves.toHaveLength(3);
  });
});

describe('what was learned, in a later process', () => {
  async function learnIn(kept: KeptPins, clock?: Clock): Promise<void> {
    const first = client({ kept, ...(clock === undefined ? {} : { clock }) });
    await first.version(never);
    // A short process: what it learns is kept by the time it has ended.
    await first.close();
  }

  it('counts although the pinned node is down by then', async () => {
    const kept = memory();
    await learnIn(kept);
    await demo.faults.nodeDown('Home');
    await expect(client({ kept }).nodes(never)).resolves.toHaveLength(3);
  });

  it('does not count for a configuration that pins another certificate since', async () => {
    const kept = memory();
    await learnIn(kept);
    const fingerprint = demo.cluster.certificates.nodes.get('pve')?.fingerprint ?? '';
    await demo.faults.nodeDown('pve');
    await expect(client({ kept, fingerprint }).nodes(never)).rejects.toMatchObject({ code: 'pve_tls_fingerprint' });
  });

  it.each([
    ['of another pin', (text: string) => text.replaceAll(demo.fingerprint, authority.issue('x', [], []).fingerprint)],
    ['of another cluster', (text: string) => text.replace('"demo"', '"other"')],
    ['with a fingerprint that somebody changed', (text: string) => text.replace(/"agent1":"../, '"agent1":"00')],
    ['that is no JSON', () => '{'],
    ['that is JSON of another kind', () => '[1]'],
    ['that is empty', () => ''],
  ])('does not count from a file %s', async (_what, change) => {
    const kept = memory();
    await learnIn(kept);
    const changed = change(kept.text ?? '');
    expect(changed).not.toBe(kept.text);
    kept.text = changed;
    await demo.faults.nodeDown('Home');
    await expect(client({ kept }).nodes(never)).rejects.toMatchObject({ code: 'pve_tls_fingerprint' });
  });

  it('does not count for who does not know the token: the file alone cannot be forged', async () => {
    const kept = memory();
    await learnIn(kept);
    await demo.faults.nodeDown('Home');
    const other = client({ kept, token: '00000000-0000-4000-8000-000000000000' });
    await expect(other.nodes(never)).rejects.toMatchObject({ code: 'pve_tls_fingerprint' });
  });

  it('does not count for ever after the pinned node last vouched for it', async () => {
    const kept = memory();
    await learnIn(kept);
    const days = (count: number): Clock => ({ ...systemClock, now: () => systemClock.now() + count * 86_400_000 });
    await demo.faults.nodeDown('Home');
    await expect(client({ kept, clock: days(29) }).nodes(never)).resolves.toHaveLength(3);
    await expect(client({ kept, clock: days(31) }).nodes(never)).rejects.toMatchObject({ code: 'pve_tls_fingerprint' });
  });

  it('holds no secret, and is written only when there is something new', async () => {
    const kept = memory();
    const writes = vi.spyOn(kept, 'write');
    await learnIn(kept);
    await learnIn(kept);
    expect(writes).toHaveBeenCalledTimes(1);
    expect(kept.text).not.toContain((await readFile(demo.config.clusters[0].tokenFile, 'utf8')).trim());
  });
});

describe('each endpoint, looked at on its own', () => {
  it('says its node, how its certificate is known and that it takes the token', async () => {
    expect(await client().checkEndpoints(never)).toEqual([
      { origin: of('Home'), node: 'Home', certificate: 'pinned' },
      { origin: of('pve'), node: 'pve', certificate: 'learned' },
      { origin: of('agent1'), node: 'agent1', certificate: 'learned' },
    ]);
  });

  it('says what is wrong with which', async () => {
    const stranger = start(await startTlsCounter(authority.issue('pve', ['pve'], ['127.0.0.1']), '127.0.0.1'));
    const pve = client({ endpoints: [of('Home'), stranger.url, of('agent1')] });
    await demo.faults.nodeDown('agent1');
    expect(await pve.checkEndpoints(never)).toMatchObject([
      { origin: of('Home'), certificate: 'pinned' },
      { origin: stranger.url, certificate: 'unseen', fault: { code: 'pve_tls_fingerprint' } },
      { origin: of('agent1'), fault: { code: 'pve_unreachable' } },
    ]);
    demo.faults.revokeToken(demo.config.clusters[0].tokenId);
    expect((await pve.checkEndpoints(never))[0]).toMatchObject({ fault: { code: 'pve_unauthorized' } });
    expect(stranger.bytes()).toBe(0);
  });
});
