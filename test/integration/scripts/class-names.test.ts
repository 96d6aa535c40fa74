/** What needs the names of classes has them in the bundled program, although minifying takes the others. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'ssh2';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Bench, startBench } from '../cli/support.ts';
import { samplePasswords, startValkey, type ValkeyServer } from '../stores/valkey-server.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

let bench: Bench;
let valkey: ValkeyServer;
beforeAll(async () => {
  // Refuses every write, with an answer that is none of those known by their first word.
  [bench, valkey] = await Promise.all([startBench(), startValkey({ config: ['min-replicas-to-write 1'] })]);
});
afterAll(async () => {
  await Promise.all([bench.close(), valkey.close()]);
});

describe('the bundled program', () => {
  it('tells what the Valkey server refuses from a server that does not answer', async () => {
    const state = join(bench.folder, 'shared');
    mkdirSync(state, { mode: 0o700 });
    const { agent, 'log-writer': logWriter, exec } = samplePasswords;
    writeFileSync(join(state, 'credentials.json'), JSON.stringify({ agent, exec, 'log-writer': logWriter }), { mode: 0o600 });
    const { outcome } = await bench.call('get_security_status', {}, ['--state', state, '--store', valkey.url]);
    // Not `cannot be reached`, and no doubt about what was sent.
    const message = expect.stringMatching(/cannot answer now \(NOREPLICAS [^()]*\)$/);
    expect(outcome).toMatchObject({ status: 'error', code: 'store_unavailable', message });
  });

  it('goes on as demo cluster when a client closes an ssh session in which nothing was started', async () => {
    const client = await connected(bench);
    const refused = await new Promise((resolve) => client.shell((error) => resolve(error?.message)));
    expect(refused).toMatch(/^unable to request/i);
    client.end();
    expect((await bench.call('execute_ssh', { node: 'pve', command: 'hostname' })).outcome).toMatchObject({ status: 'ok' });
  });
});

interface SshPart {
  readonly identityFiles: readonly [string];
  readonly nodes: Readonly<Record<string, { readonly host: string; readonly port: number }>>;
}

async function connected({ config }: Bench): Promise<Client> {
  const [{ ssh }] = config['clusters'] as readonly [{ readonly ssh: SshPart }];
  const { host, port } = ssh.nodes['pve']!;
  const client = new Client();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  client.once('ready', resolve).once('error', reject);
  client.connect({ host, port, username: 'root', privateKey: readFileSync(ssh.identityFiles[0]) });
  await promise;
  return client;
}
