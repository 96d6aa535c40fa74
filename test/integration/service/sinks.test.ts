/** The service tells its trail elsewhere: as root configured it, whatever a user sets. */
import { chmodSync, chownSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Collector, startCollector } from '../sinks/receivers.ts';
import { type Machine, startMachine, whyNoUsers } from './os-users.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });
const patient = { timeout: 60_000, interval: 100 };

describe.skipIf(whyNoUsers !== undefined)(`the service’s sinks${whyNoUsers === undefined ? '' : ` (${whyNoUsers})`}`, () => {
  let machine: Machine;
  let collector: Collector;
  let port: number;
  let alice: string;
  let file: string;
  let secret: string;
  beforeAll(async () => {
    machine = await startMachine();
    ({ alice } = machine.users);
    collector = await startCollector();
    port = await freePort();
    file = join(machine.stateDir, 'ocsf.jsonl');
    secret = join(machine.folder, 'etc', 'secrets', 'otlp');
    writeFileSync(secret, 'Bearer of-the-service\n', { mode: 0o600 });
    chownSync(secret, machine.uidOf(machine.users.service), 0);
    const otlp = { type: 'otlp', endpoint: collector.endpoint, headers: { authorization: { file: secret } } };
    machine.writeConfig({ sinks: [otlp, { type: 'ocsf', to: file }, { type: 'prometheus', port }] });
    await machine.start();
  });
  afterAll(async () => {
    await machine?.close();
    await collector?.close();
  });

  const callAs = (words: readonly string[]) => machine.as(alice, ['call', 'get_cluster_status', '--json', ...words]);
  const scraped = (): Promise<string> => {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const asked = request({ host: '127.0.0.1', port, path: '/metrics', agent: false }, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => {
        text += chunk.toString();
      });
      response.on('end', () => resolve(text));
    });
    asked.on('error', reject).end();
    return promise;
  };

  it('are told a user’s call: collector, file, and numbers without a name in them', async () => {
    const { out } = await callAs([]);
    expect(JSON.parse(out)).toMatchObject({ status: 'ok' });
    await vi.waitFor(() => expect(collector.logged('gen_ai.tool.name')).toContain('get_cluster_status'), patient);
    expect(collector.posted.at(-1)?.headers.authorization).toBe('Bearer of-the-service');
    expect(collector.logged('gen_ai.agent.id').some((id) => id.startsWith(`${alice}/`))).toBe(true);
    await vi.waitFor(() => expect(readFileSync(file, 'utf8')).toContain('"operation":"get_cluster_status"'), patient);
    await vi.waitFor(
      async () => expect(await scraped()).toContain('banksman_calls_total{tool="get_cluster_status",tier="green",outcome="ok"} 1\n'),
      patient,
    );
    expect(await scraped()).not.toContain(alice);
  });

  it('are named in a user’s doctor, without the secret', async () => {
    const { out } = await machine.as(alice, ['doctor', '--json']);
    expect(out).toContain('sink otlp');
    expect(out).toContain('sink prometheus');
    expect(out).not.toContain('of-the-service');
  });

  it('are not what a user’s own configuration says', async () => {
    const own = join(machine.folder, alice, 'stolen.jsonl');
    const config = join(machine.folder, alice, 'own.json');
    writeFileSync(config, JSON.stringify({ sinks: [{ type: 'ocsf', to: own }] }), { mode: 0o644 });
    const before = readFileSync(file, 'utf8').split('\n').length;
    await callAs(['--config', config]);
    await callAs([]);
    await vi.waitFor(() => expect(readFileSync(file, 'utf8').split('\n').length).toBeGreaterThan(before), patient);
    expect(existsSync(own)).toBe(false);
  });

  it('with a secret that every user can read keep the service from starting', async () => {
    await machine.stop();
    chmodSync(secret, 0o644);
    const { status, err } = await machine.fails();
    expect(status).not.toBe(0);
    expect(err).toContain(`${secret} can be read by every user of this machine`);
    chmodSync(secret, 0o600);
  });
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' ? (address?.port ?? 0) : 0;
}
