/** The users' sockets: one App for hosts, whoever holds it; what they refuse; what a call knows when the service goes away. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { cliAgent } from '#app/for-hosts';
import { connectService } from '#connectors/service/service-link';
import type { App } from '#kernel/app';
import type { RequestRecord } from '#kernel/approval/request';
import { wireLimits, wireProtocol } from '#kernel/wire';
import { cacheFolder } from '../../../scripts/lib/cache-folder.mjs';
import { call, guestStatus } from '../app/support.ts';
import { rawClient, type ServiceWorld, startService } from './support.ts';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let service: ServiceWorld;
let alice: App;
let bob: App;
beforeAll(async () => {
  service = await startService(['alice', 'bob', 'carol', 'dave']);
  alice = await service.connect('alice');
  bob = await service.connect('bob');
});
afterAll(() => service.close());

const ask = (app: App) => call(app, 'start_vm', { vmid: 101 });

describe('an App through the socket', () => {
  it('runs what is green, and the caller is whose socket it is, whatever it says', async () => {
    const status = await call(alice, 'get_cluster_status', {}, { agent: cliAgent('root', 'advanced') });
    expect(status).toMatchObject({ status: 'ok', code: 'ok' });
    const [record] = await alice.audit.tail(1);
    expect(record?.attributes).toMatchObject({ agent: { id: 'alice/cli:root' }, 'gen_ai.tool.name': 'get_cluster_status' });
  });

  it('asks, is told of the wait, and runs once a person in the service approves', async () => {
    const asked: string[] = [];
    const over = Promise.withResolvers<void>();
    const gate = {
      ask: (request: { id: string }, done: AbortSignal) => {
        asked.push(request.id);
        done.addEventListener('abort', () => over.resolve());
        void service.inside.approvals.approve(request.id, service.world.person);
      },
    };
    const progress: string[] = [];
    const outcome = await call(alice, 'stop_vm', { vmid: 100 }, { waitMs: 30_000, gate, onProgress: (line) => void progress.push(line) });
    expect(outcome).toMatchObject({ status: 'ok' });
    await over.promise;
    expect(progress[0]).toBe(`waiting for a person: ${asked[0]}`);
    expect(guestStatus(service.world, 100)).toBe('stopped');
  });

  it('is cancelled where its caller cancels, and nothing stays open', async () => {
    const caller = new AbortController();
    const waiting = call(alice, 'start_vm', { vmid: 101 }, { waitMs: 60_000, signal: caller.signal, gate: { ask: () => caller.abort() } });
    expect(await waiting).toMatchObject({ status: 'error', code: 'cancelled' });
  });

  it('whose request lapses while it waits for a person ends at once, and what shows the question is told to end', async () => {
    const first = (await call(alice, 'shutdown_container', { vmid: 200 })).request_id ?? '';
    await service.inside.approvals.deny(first, 'user:carol');
    // The same question, asked almost an hour ago.
    const database = new DatabaseSync(join(service.world.stateDir, 'banksman.db'));
    const ends = Date.now() + 10_000;
    database
      .prepare(
        `INSERT INTO requests (id, status, digest, agent_id, agent_host, draft, created_at, expires_at, due_at)
         SELECT 'req-0e0e0e0e', 'pending', digest, agent_id, agent_host, draft, ?, ?, ? FROM requests WHERE id = ?`,
      )
      .run(ends - 3_600_000, ends, ends, first);
    database.close();
    const shown: string[] = [];
    const over = Promise.withResolvers<void>();
    const gate = {
      ask: ({ id }: { id: string }, done: AbortSignal) => {
        shown.push(id);
        done.addEventListener('abort', () => over.resolve());
      },
    };
    const outcome = await call(alice, 'shutdown_container', { vmid: 200 }, { waitMs: 60_000, gate });
    expect(outcome).toMatchObject({ request_id: 'req-0e0e0e0e' });
    expect(outcome.status).not.toBe('ok');
    expect(`${outcome.code} ${outcome.message}`).toMatch(/expired/);
    await over.promise;
    expect(shown).toEqual(['req-0e0e0e0e']);
    expect(await alice.approvals.get('req-0e0e0e0e')).toMatchObject({ status: 'expired' });
    expect(await alice.approvals.deny('req-0e0e0e0e', 'user:alice')).toMatchObject({ ok: false });
  });

  it('explains, lists, counts, reads the trail and the level', async () => {
    expect(await alice.explain({ tool: 'stop_vm', input: { vmid: 103 }, agent: cliAgent('x', 'advanced') })).toMatchObject({
      status: 'denied',
    });
    expect(await alice.security.level()).toMatchObject({ level: 'balanced' });
    expect(alice.config).toMatchObject({ answersAt: 'open http://localhost:780', approvalWait: { cli: 0 } });
    const cluster = alice.live.clusters[0] ?? '';
    const signal = AbortSignal.timeout(10_000);
    expect((await alice.live.guests(cluster, signal)).map(({ vmid }) => vmid)).toContain(100);
    expect((await alice.live.protectedNames(cluster, signal)).guests.has(103)).toBe(true);
    const { resources, tasks = [] } = await alice.live.overview(cluster, signal);
    expect(new Set(resources.map(({ type }) => type))).toEqual(new Set(['node', 'qemu', 'lxc', 'storage']));
    const sheet = await alice.live.guest(cluster, { vmid: 100, node: 'pve', guestType: 'qemu' }, signal);
    expect(sheet).toMatchObject({
      status: { status: expect.any(String) },
      config: { name: expect.any(String) },
      metrics: expect.arrayContaining([]),
    });
    const look = await alice.live.task(cluster, String(tasks[0]?.['upid']), signal);
    expect(look).toMatchObject({ running: false, exitStatus: 'OK' });
    expect(await alice.audit.verify()).toMatchObject({ ok: true });
    expect((await alice.doctor(signal)).map(({ topic }) => topic)).toEqual(expect.arrayContaining(['service', 'sandbox', 'audit']));
  });

  it('rings at a change', async () => {
    const rang = Promise.withResolvers<void>();
    const off = bob.approvals.onChange(() => rang.resolve());
    const { request_id: id = '' } = await ask(bob);
    await rang.promise;
    off();
    expect((await bob.approvals.card(id))?.title).toMatch(/^Start VM 101/);
    expect(await bob.approvals.deny(id, 'user:mallory', 'no')).toMatchObject({ ok: true });
    expect(await service.inside.approvals.get(id)).toMatchObject({ status: 'denied', decision: { by: 'user:bob', message: 'no' } });
  });
});

describe('another user', () => {
  it('sees no request of mine, no record, and cannot deny or run it', async () => {
    const { request_id: id = '' } = await ask(alice);
    expect((await alice.approvals.list({ limit: 50, statuses: ['pending'] })).records.map((record) => record.id)).toContain(id);
    expect(await bob.approvals.get(id)).toBeUndefined();
    expect(await bob.approvals.card(id)).toBeUndefined();
    expect((await bob.approvals.list({ limit: 50 })).records.filter(({ agent }) => agent.id.startsWith('alice'))).toEqual([]);
    expect(JSON.stringify(await bob.audit.tail(500))).not.toContain('alice/');
    await expect(bob.approvals.deny(id, 'user:bob')).rejects.toMatchObject({ code: 'not_found' });
    await service.inside.approvals.approve(id, service.world.person);
    expect(await bob.runApproved(id, { by: 'user:bob', signal: new AbortController().signal })).toMatchObject({ code: 'not_found' });
    // The very same call in the same words, with a grant lying there: it is another agent's.
    expect(await call(bob, 'start_vm', { vmid: 101 }, { agent: cliAgent('tester', 'advanced') })).toMatchObject({ status: 'pending' });
    expect(guestStatus(service.world, 101)).toBe('stopped');
    await alice.approvals.revoke(id, 'user:alice');
  });
});

describe('no method of a user’s socket', () => {
  it.each(['approvals.approve', 'approvals.trust', 'security.setLevel', 'security.setRule', 'security.removeRule'])(
    '%s: it is said where that is done',
    async (method) => {
      const client = await rawClient(service.socketOf('carol'));
      expect(await client.ask(method, 'req-00000000', {})).toMatchObject({
        kind: 'refusal',
        fault: { code: 'answered_elsewhere', message: expect.stringContaining('http://localhost:780') },
      });
      client.socket.destroy();
    },
  );

  it.each(['approvals.wait', 'records.consumeAll', 'constructor', '__proto__', 'close', 'records', 'approvals.pin'])(
    '%s is none',
    async (method) => {
      const client = await rawClient(service.socketOf('carol'));
      expect(await client.ask(method)).toMatchObject({ kind: 'refusal', fault: { code: 'no_such_method' } });
      client.socket.destroy();
    },
  );

  it('takes what a call may not say of itself', async () => {
    const client = await rawClient(service.socketOf('carol'));
    const plain = { tool: 'stop_vm', input: { vmid: 101 }, agent: cliAgent('x', 'advanced'), waitMs: 0 };
    for (const more of [{ byHand: { requestId: 'req-00000000', by: 'user:a' } }, { internal: true }, { user: 'root' }])
      expect(await client.ask('call', { ...plain, ...more })).toMatchObject({ kind: 'refusal', fault: { code: 'invalid_input' } });
    client.socket.destroy();
  });

  it('the App says it too: approving, trusting, a level, a rule', async () => {
    const { request_id: id = '' } = await ask(alice);
    expect(await alice.approvals.approve(id, service.world.person)).toMatchObject({ ok: false, code: 'not_here' });
    await expect(alice.approvals.trust(service.world.person)).rejects.toMatchObject({ code: 'answered_elsewhere' });
    expect(await alice.security.setLevel('relaxed', service.world.person)).toMatchObject({ ok: false, code: 'not_here' });
    expect(await service.inside.approvals.get(id)).toMatchObject({ status: 'pending' });
    await alice.approvals.cancel(id, 'user:alice');
  });

  it('opens, consumes or records for a tool of the cluster, or in another’s name', async () => {
    const client = await rawClient(service.socketOf('carol'));
    const { request_id: id = '' } = await ask(alice);
    const record = await service.inside.approvals.get(id);
    const { digest, action, tier, impact, title, risk, code, reason, agent } = record as RequestRecord;
    const draft = { digest, action, tier, impact, title, risk, code, reason, agent };
    expect(await client.ask('records.open', draft)).toMatchObject({ kind: 'refusal', fault: { code: 'not_here' } });
    expect(await client.ask('records.open', { ...draft, action: { ...action, tool: 'run_command' } })).toMatchObject({
      fault: { code: 'not_yours' },
    });
    expect(await client.ask('records.consume', id, digest, 'x')).toMatchObject({ fault: { code: 'not_found' } });
    const attributes = { 'gen_ai.tool.name': 'run_command', agent: { id: 'carol/x' } };
    const tries = [
      { name: 'approval.approved', attributes },
      { name: 'audit.checkpoint', attributes },
      { name: 'tool.finished', attributes: { ...attributes, agent: { id: 'alice/x' } } },
      { name: 'tool.finished', attributes: { ...attributes, 'gen_ai.tool.name': 'stop_vm' } },
      { name: 'tool.finished', attributes: { ...attributes, request_id: id } },
    ];
    const { sequence } = (await service.inside.audit.head()) ?? { sequence: 0 };
    for (const one of tries) expect(await client.ask('records.append', [one])).toMatchObject({ kind: 'refusal' });
    expect(await service.inside.audit.head()).toMatchObject({ sequence });
    expect(await client.ask('records.append', [{ name: 'tool.finished', attributes }])).toMatchObject({ kind: 'answer' });
    expect((await service.inside.audit.tail(1))[0]?.attributes).toMatchObject({ reported_by: 'carol' });
    await alice.approvals.cancel(id, 'user:alice');
    client.socket.destroy();
  });
});

describe('a proof of a record', () => {
  it('has the record for whose it is, and its hash alone for another user', async () => {
    const { request_id: id = '' } = await ask(alice);
    const sequence = (await alice.audit.tail(1))[0]?.sequence ?? 0;
    const carol = await rawClient(service.socketOf('carol'));
    const proof = await alice.audit.prove(sequence);
    expect(JSON.parse(proof.record ?? '{}')).toMatchObject({ sequence });
    const answer = await carol.ask('audit.prove', sequence);
    expect(answer).toMatchObject({ kind: 'answer', value: { leaf: proof.leaf, index: proof.index } });
    expect(JSON.stringify(answer)).not.toContain(id);
    expect(await carol.ask('audit.checkpoint')).toMatchObject({
      kind: 'answer',
      value: { key: expect.stringContaining('banksman/trail/') },
    });
    expect(await carol.ask('audit.prove', 1_000_000)).toMatchObject({ kind: 'refusal', fault: { code: 'not_found' } });
    await alice.approvals.cancel(id, 'user:alice');
    carol.socket.destroy();
  });
});

describe('tools of the workspace', () => {
  let root: string;
  beforeAll(() => {
    root = mkdtempSync(join(cacheFolder(), 'service-workspace-'));
  });
  afterAll(() => rmSync(root, { recursive: true, force: true }));

  it('run in the user’s process; asking, granting and the trail are the service’s', async () => {
    const app = await service.connect('carol', root);
    expect(await call(app, 'write_file', { path: 'a.txt', content: 'x\n' })).toMatchObject({ status: 'ok' });
    expect(readFileSync(join(root, 'a.txt'), 'utf8')).toBe('x\n');
    expect((await service.inside.audit.tail(1))[0]).toMatchObject({
      name: 'tool.finished',
      attributes: { 'gen_ai.tool.name': 'write_file', agent: { id: 'carol/cli:tester' }, reported_by: 'carol' },
    });
    const asks = { path: '.vscode/tasks.json', content: '{}\n' };
    const { request_id: id = '', ...asked } = await call(app, 'write_file', asks);
    expect(asked).toMatchObject({ status: 'pending' });
    expect(existsSync(join(root, '.vscode'))).toBe(false);
    expect(await service.inside.approvals.approve(id, service.world.person)).toMatchObject({ ok: true });
    expect(await call(app, 'write_file', asks)).toMatchObject({ status: 'ok' });
    expect(existsSync(join(root, '.vscode', 'tasks.json'))).toBe(true);
    expect(await service.inside.approvals.get(id)).toMatchObject({ status: 'consumed', consumedBy: expect.stringMatching(/^carol: /) });
  });

  it('are not run by the service', async () => {
    const client = await rawClient(service.socketOf('carol'));
    const answer = await client.ask('call', {
      tool: 'read_file',
      input: { path: '/etc/shadow' },
      agent: cliAgent('x', 'advanced'),
      waitMs: 0,
    });
    expect(answer).toMatchObject({ kind: 'answer', value: { status: 'error', code: 'not_here' } });
    client.socket.destroy();
  });
});

describe('bad input', () => {
  // 1: what a cluster says now was plain text there, which this version's clients do not read.
  it.each([1, 99])('another version is refused by name, on both sides (%i)', async (protocol) => {
    const client = await rawClient(service.socketOf('carol'), false);
    client.send({ kind: 'hello', protocol, version: '9.0.0' });
    expect(await client.until(({ kind }) => kind === 'refusal')).toMatchObject({
      fault: { code: 'service_version', message: expect.stringContaining('9.0.0') },
    });
    await client.ended;
  });

  it.each([
    ['no JSON', 'hello\n'],
    ['a call before hello', `${JSON.stringify({ kind: 'call', id: 1, method: 'doctor', values: [] })}\n`],
    ['another key', `${JSON.stringify({ kind: 'hello', protocol: wireProtocol, version: 'x', user: 'root' })}\n`],
    ['bytes that are no text', Buffer.from([0xff, 0xfe, 0x0a])],
  ])('%s ends the connection', async (_what, bytes) => {
    const client = await rawClient(service.socketOf('carol'), false);
    client.socket.write(bytes);
    expect(await client.until(({ kind }) => kind === 'refusal')).toMatchObject({ id: 0, fault: { code: 'bad_message' } });
    await client.ended;
  });

  it('a line that is too long ends the connection, a half one costs only itself', async () => {
    const half = await rawClient(service.socketOf('carol'));
    half.socket.write('{"kind":"call","id":1,');
    const long = await rawClient(service.socketOf('carol'));
    long.socket.write(Buffer.alloc(wireLimits.messageBytes + 10, 0x20));
    await long.ended;
    expect(await call(alice, 'get_cluster_status')).toMatchObject({ status: 'ok' });
    half.socket.write('"method":"security.level","values":[]}\n');
    expect(await half.until(({ kind }) => kind === 'answer')).toMatchObject({ id: 1, value: { level: 'balanced' } });
    half.socket.destroy();
  });

  it('a socket that is there and nobody answers is said to be one', async () => {
    const file = join(service.folder, 'mute.sock');
    const mute = createServer(() => undefined);
    await new Promise<void>((resolve) => void mute.listen(file, resolve));
    await expect(connectService({ socket: file, version: 'test', helloMs: 200 })).rejects.toMatchObject({
      code: 'service_unavailable',
      message: expect.stringContaining('nobody answers'),
    });
    mute.close();
    await expect(connectService({ socket: join(service.folder, 'none.sock'), version: 'test' })).rejects.toMatchObject({
      code: 'service_unavailable',
    });
  });
});

describe('a flood of one user', () => {
  it('does not fill the others’ places, and leaves the other served', async () => {
    const clients = await Promise.all(Array.from({ length: 20 }, () => rawClient(service.socketOf('carol'))));
    const message = (id: number) =>
      `${JSON.stringify({ kind: 'call', id, method: 'call', values: [{ tool: 'start_vm', input: { vmid: 101 }, agent: cliAgent(`f${id}`, 'advanced'), waitMs: 0 }] })}\n`;
    for (const client of clients) client.socket.write(Array.from({ length: 200 }, (_, index) => message(index + 1)).join(''));
    const times: number[] = [];
    for (let round = 0; round < 10; round += 1) {
      const begun = performance.now();
      expect(await bob.security.level()).toMatchObject({ level: 'balanced' });
      times.push(performance.now() - begun);
    }
    // Answered while the flood lasts, which is what counts: how fast, the bench says.
    expect(clients.some(({ messages }) => messages.filter(({ kind }) => kind !== 'welcome').length < 200)).toBe(true);
    expect(await ask(bob)).toMatchObject({ status: 'pending' });
    const said = await Promise.all(
      clients.map((client) => client.until((one) => one.kind === 'refusal' && one.fault.code === 'user_busy')),
    );
    expect(said).toHaveLength(20);
    for (const { socket } of clients) socket.destroy();
    const waiting = (await service.inside.approvals.list({ statuses: ['pending'], limit: 500 })).records;
    expect(waiting.filter(({ agent }) => agent.id.startsWith('carol/')).length).toBeLessThanOrEqual(50);
  });

  it('is refused its 33rd connection', async () => {
    const clients = await Promise.all(Array.from({ length: 32 }, () => rawClient(service.socketOf('dave'))));
    const more = await rawClient(service.socketOf('dave'), false);
    expect(await more.until(({ kind }) => kind === 'refusal')).toMatchObject({ fault: { code: 'too_many_connections' } });
    for (const { socket } of clients) socket.destroy();
  });
});

// Last: it ends the service under everybody.
describe('a service that goes away', () => {
  it('ends calls with what is known, is connected to again, and feeds catch up', async () => {
    const rang = vi.fn<() => void>();
    alice.approvals.onChange(rang);
    const seen: (boolean | undefined)[] = [alice.isAway];
    alice.security.onChange(() => seen.push(alice.isAway));
    const asked = Promise.withResolvers<string>();
    const waiting = call(alice, 'start_vm', { vmid: 101 }, { waitMs: 60_000, gate: { ask: ({ id }) => asked.resolve(id) } });
    const id = await asked.promise;
    await service.stop();
    expect(await waiting).toMatchObject({ status: 'error', code: 'service_lost', effect: { state: 'sent' } });
    await expect.poll(() => seen.at(-1)).toBe(true);
    rang.mockClear();
    const gone = await call(alice, 'get_cluster_status');
    expect(gone).toMatchObject({ status: 'error', code: 'service_unavailable', message: expect.stringContaining('nothing was sent') });
    await service.restart();
    await expect.poll(() => rang.mock.calls.length).toBeGreaterThan(0);
    expect(await call(alice, 'get_cluster_status')).toMatchObject({ status: 'ok' });
    expect(await alice.approvals.get(id)).toMatchObject({ id });
    expect(seen[0]).toBe(false);
    expect(alice.isAway).toBe(false);
  });
});
