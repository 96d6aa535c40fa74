/** TLS to a server whose certificate a private authority issued. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { openValkeyStore } from '#stores/valkey/open-valkey-store';
import { createAuthority } from '../../../src/demo/certificate.ts';
import { startLosingProxy } from './losing-proxy.ts';
import { approved, createApprover, temporaryFolder } from './store-fixtures.ts';
import { openTestValkey } from './valkey-fixtures.ts';
import { sampleCredentials, startValkey, type ValkeyServer } from './valkey-server.ts';

const alice = createApprover();
let server: ValkeyServer;
beforeAll(async () => {
  server = await startValkey({ tls: true });
}, 300_000);
afterAll(() => server.close());

describe('over TLS', () => {
  it.each(['127.0.0.1', 'localhost'])('everything works with the private authority’s file, by the name %s', async (host) => {
    const store = await openTestValkey(server, { url: `valkeys://${host}:${server.port}/0` });
    const record = await approved(store, alice, Date.now());
    expect(await store.requests.consume(record.id, record.digest, 'x')).toMatchObject({ ok: true });
    expect(store.location).toBe(`valkeys://${host}:${server.port}/0?prefix=molis`);
  });

  it('a certificate that the system does not know is refused', async () => {
    const opening = openValkeyStore({ url: server.url, credentials: sampleCredentials() });
    await expect(opening).rejects.toMatchObject({
      code: 'store_unavailable',
      message: expect.stringMatching(/certificate of the store .* cannot be verified \(.*(self.signed|unable to verify)/i),
      // No waiting makes it another one.
      retryable: false,
      next: expect.stringContaining('`ca=FILE`'),
    });
  });

  it('another authority’s certificate is refused', async () => {
    const caFile = join(temporaryFolder(), 'ca.pem');
    writeFileSync(caFile, createAuthority('Somebody else', Date.now()).certificatePem);
    await expect(openTestValkey(server, { caFile })).rejects.toMatchObject({ code: 'store_unavailable' });
  });

  it('a certificate for another name is refused', async () => {
    const proxy = await startLosingProxy(server.port, '127.0.0.2');
    onTestFinished(() => proxy.close());
    await expect(openTestValkey(server, { url: `valkeys://127.0.0.2:${proxy.port}/0` })).rejects.toMatchObject({
      code: 'store_unavailable',
      message: expect.stringContaining('ERR_TLS_CERT_ALTNAME_INVALID'),
      next: expect.stringContaining('as its certificate does'),
    });
  });

  it('a client without TLS gets nowhere, and neither does one with TLS where there is none', async () => {
    await expect(openTestValkey(server, { url: `valkey://127.0.0.1:${server.port}/0`, timeoutMs: 1000 })).rejects.toMatchObject({
      code: 'store_unavailable',
    });
    const plain = await startValkey();
    try {
      await expect(openTestValkey(plain, { url: `valkeys://127.0.0.1:${plain.port}/0`, timeoutMs: 1000 })).rejects.toMatchObject({
        code: 'store_unavailable',
      });
    } finally {
      await plain.close();
    }
  });

  it('an authority’s file that is not there is said', async () => {
    await expect(openTestValkey(server, { caFile: '/nowhere/ca.pem' })).rejects.toMatchObject({ code: 'bad_store_url' });
  });
});
