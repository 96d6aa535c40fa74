import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createAuthority } from '#demo/certificate';
import { useCleanup } from './cleanup.ts';
import { authority, clientOf, closedPort, data, never, startPve, startTlsCounter } from './pve-server.ts';

const version = { version: '9.1.5', release: '9.1', repoid: 'x' };
const start = useCleanup();

async function pve(options: Parameters<typeof startPve>[1] = {}) {
  return start(await startPve((_request, response) => data(response, version), options));
}

describe('a pinned fingerprint', () => {
  // 127.0.0.2 as well: proxy layers of editors leave `localhost` and 127.0.0.1 alone, and only those.
  it.each(['127.0.0.1', '127.0.0.2'])('lets the right certificate in on %s', async (host) => {
    const server = await pve({ host });
    const client = start(clientOf([server], { tls: { kind: 'pin', fingerprint: server.certificate.fingerprint } }));
    await expect(client.version(never)).resolves.toEqual({ version: '9.1.5', release: '9.1' });
  });

  it('may be written in lower case', async () => {
    const server = await pve();
    const client = start(clientOf([server], { tls: { kind: 'pin', fingerprint: server.certificate.fingerprint.toLowerCase() } }));
    await expect(client.version(never)).resolves.toMatchObject({ version: '9.1.5' });
  });

  it.each(['127.0.0.1', '127.0.0.2'])('keeps a wrong certificate on %s from seeing a single byte', async (host) => {
    const server = start(await startTlsCounter(authority.issue('pve', [], [host]), host));
    const expected = authority.issue('other', [], [host]).fingerprint;
    const client = start(clientOf([server], { tls: { kind: 'pin', fingerprint: expected } }));
    await expect(client.version(never)).rejects.toMatchObject({
      code: 'pve_tls_fingerprint',
      message: expect.stringContaining(`expected ${expected}`) as string,
      next: expect.stringContaining('openssl x509') as string,
    });
    await expect(client.changeGuest({ node: 'pve', vmid: 100, guestType: 'qemu' }, 'stop', never)).rejects.toMatchObject({
      code: 'pve_tls_fingerprint',
    });
    await server.close();
    expect(server.connections()).toBeGreaterThan(1);
    expect(server.bytes()).toBe(0);
  });

  it('counts even where the CA, the name and the dates would do', async () => {
    const server = await pve();
    const renewed = authority.issue('pve', ['localhost'], ['127.0.0.1']);
    const client = start(clientOf([server], { tls: { kind: 'pin', fingerprint: renewed.fingerprint } }));
    await expect(client.version(never)).rejects.toMatchObject({ code: 'pve_tls_fingerprint' });
    expect(server.seen).toEqual([]);
  });

  it('is not a reason to go elsewhere: a wrong one is reported although another endpoint would answer', async () => {
    const [first, second] = [await pve(), await pve()];
    const fingerprint = { [first.url]: second.certificate.fingerprint, [second.url]: second.certificate.fingerprint };
    const client = start(clientOf([first, second], { tls: { kind: 'pin', fingerprint } }));
    await expect(client.version(never)).rejects.toMatchObject({
      code: 'pve_tls_fingerprint',
      message: expect.stringContaining(first.url) as string,
    });
    expect(second.seen).toEqual([]);
  });

  it('per endpoint must be there for every endpoint', async () => {
    const [first, second] = [await pve(), await pve()];
    const options = { tls: { kind: 'pin', fingerprint: { [`${first.url}/`]: first.certificate.fingerprint } } } as const;
    expect(() => clientOf([first, second], options)).toThrow(
      expect.objectContaining({ code: 'bad_config', message: expect.stringContaining(second.url) as string }),
    );
    const client = start(clientOf([first], options));
    await expect(client.version(never)).resolves.toMatchObject({ version: '9.1.5' });
  });
});

describe('one fingerprint for a cluster of several endpoints', () => {
  /** Two nodes that both list what `listed` gives as the certificates of the cluster. */
  async function cluster(listed: (own: readonly string[]) => readonly string[]) {
    const own: string[] = [];
    const nodes = await Promise.all(
      [0, 1].map(() =>
        startPve((_request, response, seen) => {
          if (seen.path === '/api2/json/nodes')
            return data(
              response,
              listed(own).map((one, index) => ({ node: `n${index}`, status: 'online', ssl_fingerprint: one })),
            );
          data(response, version);
        }),
      ),
    );
    for (const node of nodes) own.push(start(node).certificate.fingerprint);
    return nodes as [(typeof nodes)[0], (typeof nodes)[0]];
  }

  it('lets in the others that the pinned node vouches for', async () => {
    const [pinned, other] = await cluster((own) => own);
    const client = start(clientOf([other, pinned], { tls: { kind: 'pin', fingerprint: pinned.certificate.fingerprint } }));
    await expect(client.version(never)).resolves.toMatchObject({ version: '9.1.5' });
    expect(pinned.seen.map((one) => one.path)).toEqual(['/api2/json/nodes']);
    expect(other.seen.map((one) => one.path)).toEqual(['/api2/json/version']);
  });

  it('refuses one that the pinned node does not know', async () => {
    const [pinned, other] = await cluster((own) => own.slice(0, 1));
    const client = start(clientOf([other, pinned], { tls: { kind: 'pin', fingerprint: pinned.certificate.fingerprint } }));
    await expect(client.version(never)).rejects.toMatchObject({
      code: 'pve_tls_fingerprint',
      message: expect.stringContaining(other.url) as string,
    });
    expect(other.seen).toEqual([]);
  });

  it('refuses one when the pinned node is away: nobody can vouch for it', async () => {
    const [pinned, other] = await cluster((own) => own);
    const gone = { url: await closedPort() };
    const client = start(clientOf([other, gone], { tls: { kind: 'pin', fingerprint: pinned.certificate.fingerprint } }));
    await expect(client.version(never)).rejects.toMatchObject({ code: 'pve_tls_fingerprint' });
    expect(other.seen).toEqual([]);
  });

  it('does not let two strangers vouch for each other', async () => {
    const [one, other] = await cluster((own) => own);
    const client = start(clientOf([one, other], { tls: { kind: 'pin', fingerprint: authority.issue('x', [], []).fingerprint } }));
    await expect(client.version(never)).rejects.toMatchObject({ code: 'pve_tls_fingerprint' });
    expect([...one.seen, ...other.seen]).toEqual([]);
  });
});

describe('a CA file', () => {
  it.each(['127.0.0.1', '127.0.0.2'])('lets in what it has signed for %s', async (host) => {
    const server = await pve({ host });
    const client = start(clientOf([server]));
    await expect(client.version(never)).resolves.toMatchObject({ release: '9.1' });
  });

  const strangers = createAuthority('Strangers', Date.now());
  const longAgo = createAuthority('Long ago', Date.now() - 11 * 366 * 86_400_000);
  it.each([
    ['of another CA', strangers.issue('pve', [], ['127.0.0.1']), authority.certificatePem],
    ['for another host', authority.issue('pve', ['pve.lan'], ['127.0.0.9']), authority.certificatePem],
    ['that has expired', longAgo.issue('pve', [], ['127.0.0.1']), longAgo.certificatePem],
  ])('refuses a certificate %s and sends nothing', async (_what, certificate, pem) => {
    const server = await pve({ certificate });
    const client = start(clientOf([server], { tls: { kind: 'ca', pem } }));
    await expect(client.version(never)).rejects.toMatchObject({
      code: 'pve_tls_untrusted',
      next: expect.stringContaining('tls.fingerprint') as string,
    });
    await expect(client.changeGuest({ node: 'pve', vmid: 100, guestType: 'qemu' }, 'stop', never)).rejects.toMatchObject({
      code: 'pve_tls_untrusted',
    });
    expect(server.seen).toEqual([]);
  });
});

describe('the system CAs', () => {
  it('refuse a private CA', async () => {
    const server = await pve();
    const client = start(clientOf([server], { tls: { kind: 'system' } }));
    await expect(client.version(never)).rejects.toMatchObject({ code: 'pve_tls_untrusted' });
    expect(server.seen).toEqual([]);
  });

  it('are those of the operating system too, not only the list inside Node', async () => {
    // Synchronous on purpose: what the child sees is the store it was started with; it needs no server of ours.
    const folder = mkdtempSync(join(tmpdir(), 'banksman-ca-'));
    try {
      const bundle = join(folder, 'ca.pem');
      writeFileSync(bundle, authority.certificatePem);
      const script = `
        const { createServer } = require('node:https');
        (async () => {
          const { createProxmoxClient } = await import('#connectors/proxmox/create-proxmox-client');
          const { systemClock } = await import('#execution/deadline');
          const { cert, key } = JSON.parse(process.env.SERVER);
          const server = createServer({ cert, key }, (request, response) => response.end(JSON.stringify({ data: { version: 'x', release: 'y' } })));
          server.listen(0, '127.0.0.1', async () => {
            const log = { debug() {}, info() {}, warn() {}, error() {} };
            const client = createProxmoxClient({ name: 'lab', endpoints: ['https://127.0.0.1:' + server.address().port], tokenId: 'a@b!cc',
              token: async () => 'secret', tls: { kind: 'system' }, timeoutMs: 60000, clock: systemClock, log });
            console.log(await client.version(new AbortController().signal).then((v) => v.version, (fault) => fault.code));
            server.closeAllConnections(); server.close(); await client.close();
          });
        })();`;
      const { certificatePem: cert, privateKeyPem: key } = authority.issue('pve', [], ['127.0.0.1']);
      const run = (extra: NodeJS.ProcessEnv) =>
        spawnSync(process.execPath, ['--experimental-strip-types', '-e', script], {
          encoding: 'utf8',
          env: { ...process.env, NODE_OPTIONS: '', SERVER: JSON.stringify({ cert, key }), ...extra },
        });
      expect(run({ SSL_CERT_FILE: bundle }).stdout.trim()).toBe('x');
      expect(run({}).stdout.trim()).toBe('pve_tls_untrusted');
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe('endpoints', () => {
  it.each(['http://127.0.0.1:8006', 'https://root:secret@127.0.0.1:8006', 'nonsense'])('`%s` is refused at once', (url) => {
    expect(() => clientOf([{ url }])).toThrow(expect.objectContaining({ code: 'bad_config' }));
  });

  it('must be there', () => {
    expect(() => clientOf([])).toThrow(expect.objectContaining({ code: 'bad_config' }));
  });

  it('may stand behind a path', async () => {
    const server = await pve();
    const client = start(clientOf([{ url: `${server.url}/pve/` }]));
    await client.version(never);
    expect(server.seen[0]?.path).toBe('/pve/api2/json/version');
  });
});
