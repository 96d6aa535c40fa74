/** `banksman serve`, as clients of every era and transport meet it, with tokens made by `banksman tokens`. */
import { once } from 'node:events';
import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { App } from '#kernel/app';
import { isJsonObject, type JsonObject } from '#kernel/json';
import { startWorld, type World } from '../app/support.ts';
import { callTool, newOverHttp, oldOverHttp, oldOverSse, type TestClient } from './clients.ts';
import { type HttpProgram, type Machine, startMachine } from './support.ts';

const patience = { timeout: 60_000, interval: 50 };

let world: World;
let person: App;
let machine: Machine;
let server: HttpProgram;
const clients: { close(): Promise<void> }[] = [];

beforeAll(async () => {
  world = await startWorld();
  person = await world.open();
  const approvers = [{ name: world.person.approver, key: world.person.publicKey }];
  machine = startMachine({ settings: { ...world.demo.config, approvers, approvalWait: { mcp: 60_000 } }, stateDir: world.stateDir });
  server = await machine.serve(['--sse']);
});
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
});
afterAll(async () => {
  await machine.close();
  await world.close();
});

function keep(client: TestClient): TestClient {
  clients.push(client);
  return client;
}

const ways = [
  ['2025-11-25 over Streamable HTTP', async (token: string) => keep(await oldOverHttp(server.url, token))],
  ['2026-07-28 over Streamable HTTP', async (token: string) => keep(await newOverHttp(server.url, token))],
  ['2024-11-05 over SSE', async (token: string) => keep(await oldOverSse(server.sse ?? '', token))],
] as const;

describe.each(ways)('%s', (way, connect) => {
  const name = `way-${way.slice(0, 4)}`;
  let token: string;
  beforeAll(async () => {
    token = await machine.createToken(name);
  });

  it('lists tools, shortly, and calls them as the agent that the token names', async () => {
    const client = await connect(token);
    const { tools } = await client.listTools();
    expect(tools.map((tool) => tool.name)).toEqual(expect.arrayContaining(['get_vms', 'stop_vm', 'more_tools']));
    expect(Buffer.byteLength(JSON.stringify(tools))).toBeLessThanOrEqual(20_000);
    expect((await callTool(client, 'get_vms', { limit: 1 })).outcome).toMatchObject({ status: 'ok', result: { total: 6 } });
    // The record of a read follows its answer.
    await auditOf(`mcp:${name}`, 'ok');
    const last = (await person.audit.tail(50)).findLast(({ attributes }) => agentOf(attributes) === `mcp:${name}`);
    expect(last?.attributes['agent']).toMatchObject({ id: `mcp:${name}`, host: 'mcp', model_tier: 'intermediate' });
  });

  it('waits for a person while other calls go on, and runs once', async () => {
    const client = await connect(token);
    const waiting = callTool(client, 'restart_vm', { vmid: 100 });
    const id = await requestOf(`mcp:${name}`);
    expect((await callTool(client, 'get_storage')).outcome.status).toBe('ok');
    await person.approvals.approve(id, world.person);
    expect((await waiting).outcome).toMatchObject({ status: 'ok', request_id: id });
  });

  it('a client that goes away in the middle of a call leaves nothing running', async () => {
    const client = await connect(token);
    const gone = callTool(client, 'start_vm', { vmid: 101 }).catch(() => 'gone');
    const id = await requestOf(`mcp:${name}`);
    await client.close();
    await gone;
    await auditOf(`mcp:${name}`, 'cancelled');
    // Another call, so that all is over that the server does for the one before.
    expect((await callTool(await connect(token), 'get_vms', { limit: 1 })).outcome.status).toBe('ok');
    // The question is still there for the person; the call is not.
    expect(await person.approvals.get(id)).toMatchObject({ status: 'pending' });
    await person.approvals.deny(id, world.person.approver);
  });
});

describe('tokens', () => {
  it('have a ceiling: what the model tier does not hold is refused, and says so', async () => {
    const client = keep(await oldOverHttp(server.url, await machine.createToken('small', 'basic')));
    const { outcome, isError } = await callTool(client, 'stop_vm', { vmid: 100 });
    expect({ isError, status: outcome.status, code: outcome.code }).toEqual({
      isError: true,
      status: 'denied',
      code: 'model_tier_too_low',
    });
    expect((await callTool(client, 'get_vms')).outcome.status).toBe('ok');
  });

  it('are separate agents: one cannot use what the other was granted', async () => {
    const [one, two] = [await machine.createToken('one'), await machine.createToken('two')];
    const asker = keep(await oldOverHttp(server.url, one));
    const waiting = callTool(asker, 'stop_vm', { vmid: 100 });
    const id = await requestOf('mcp:one');
    const other = keep(await oldOverHttp(server.url, two));
    const stolen = callTool(other, 'stop_vm', { vmid: 100 });
    const second = await requestOf('mcp:two');
    expect(second).not.toBe(id);
    await person.approvals.deny(second, world.person.approver);
    expect((await stolen).outcome).toMatchObject({ status: 'denied', request_id: second });
    await person.approvals.deny(id, world.person.approver);
    await waiting;
  });

  it('stop counting the moment they are revoked, open sessions and streams included', async () => {
    const token = await machine.createToken('fleeting');
    const client = await oldOverHttp(server.url, token);
    expect((await client.listTools()).tools.length).toBeGreaterThan(0);
    expect(await machine.run(['tokens', 'revoke', 'fleeting', '--state', machine.stateDir])).toMatchObject({ status: 0 });
    await expect(client.listTools()).rejects.toThrow(/401|Unauthorized|bearer/i);
    await client.close().catch(() => undefined);
  });

  it('are stored hashed, readable by their owner alone, and shown once', async () => {
    const token = await machine.createToken('stored');
    const folder = path.join(machine.stateDir, 'mcp-tokens');
    const files = await readdir(folder);
    expect(files).toContain('stored.json');
    expect(files.every((file) => file.endsWith('.json'))).toBe(true);
    for (const file of files) expect((await stat(path.join(folder, file))).mode & 0o777).toBe(0o600);
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
    expect(await readFile(path.join(folder, 'stored.json'), 'utf8')).not.toContain(token.split('.')[2]);
    const { stdout } = await machine.run(['tokens', 'list', '--json', '--state', machine.stateDir]);
    expect(stdout).not.toContain(token.split('.')[2]);
    expect(JSON.parse(stdout)).toContainEqual(expect.objectContaining({ name: 'stored', modelTier: 'intermediate' }));
  });

  it('never reach the log, the audit or an answer', async () => {
    const token = await machine.createToken('quiet');
    await fetch(server.url, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}x`, 'content-type': 'application/json' },
      body: '{}',
    });
    const client = keep(await oldOverHttp(server.url, token));
    await callTool(client, 'get_vms');
    expect(server.said()).not.toContain(token.split('.')[2]);
    expect(JSON.stringify(await person.audit.tail(1000))).not.toContain(token.split('.')[2]);
  });
});

describe('the process', () => {
  it('ends with status 0 on SIGTERM, in the middle of calls and with streams open', async () => {
    const own = await machine.serve(['--sse']);
    const token = await machine.createToken('last');
    const client = await oldOverHttp(own.url, token);
    const stream = await oldOverSse(own.sse ?? '', token);
    const waiting = callTool(client, 'stop_vm', { vmid: 100 });
    await requestOf('mcp:last');
    own.child.kill('SIGTERM');
    expect(await once(own.child, 'exit')).toEqual([0, null]);
    // It is told, instead of being left to its own time limit.
    expect((await waiting).outcome).toMatchObject({ status: 'error', code: 'cancelled' });
    await Promise.all([client.close(), stream.close()]).catch(() => undefined);
    expect(own.said()).toContain('cancelled');
  });

  it.each([
    [['--allow-host', 'https://tool.example'], '`--allow-host` takes a host name'],
    [['--allow-host', 'tool.example:443'], '`--allow-host` takes a host name'],
    [['--allow-origin', '*'], '`--allow-origin` takes one whole web origin'],
    [['--allow-origin', 'https://tool.example/'], '`--allow-origin` takes one whole web origin'],
    [['--tls-cert', '/etc/passwd', '--tls-key', '/etc/passwd'], '`--tls-cert` and `--tls-key` must be a certificate and its key'],
  ])('%j is refused: it would count for nothing', async (options, said) => {
    const { status, stdout, stderr } = await machine.run(['serve', '--http', '127.0.0.1:0', ...options, ...machine.config]);
    expect({ status, stdout, stderr }).toEqual({ status: 1, stdout: '', stderr: expect.stringContaining(said) });
  });

  it('says which port is taken, and that it wants TLS beyond loopback', async () => {
    const port = new URL(server.url).port;
    const taken = await machine.run(['serve', '--http', `127.0.0.1:${port}`, ...machine.config]);
    expect(taken).toMatchObject({ status: 1, stdout: '', stderr: expect.stringContaining(`port ${port} on 127.0.0.1 is taken`) });
    for (const host of ['0.0.0.0', '[::]', '192.0.2.1']) {
      const refused = await machine.run(['serve', '--http', `${host}:0`, ...machine.config]);
      expect(refused).toMatchObject({ status: 1, stdout: '', stderr: expect.stringContaining('--tls-cert') });
    }
  });
});

/** The pending request of an agent, once there is one. */
function requestOf(agentId: string): Promise<string> {
  return vi.waitFor(async () => {
    const { records } = await person.approvals.list({ statuses: ['pending'], limit: 50 });
    const mine = records.find(({ agent }) => agent.id === agentId);
    if (mine === undefined) throw new Error(`${agentId} asks nobody`);
    return mine.id;
  }, patience);
}

/** Resolves once the trail has a record of that agent with this code. */
async function auditOf(agentId: string, code: string): Promise<void> {
  await vi.waitFor(async () => {
    const codes = (await person.audit.tail(50)).flatMap(({ attributes }) => (agentOf(attributes) === agentId ? [attributes['code']] : []));
    expect(codes).toContain(code);
  }, patience);
}

function agentOf({ agent }: JsonObject): unknown {
  return isJsonObject(agent) ? agent.id : undefined;
}
