/** `banksman mcp`, as clients of both eras meet it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { describeTools } from '#app/catalog';
import type { App } from '#kernel/app';
import { call, guestStatus, startWorld, type World } from '../app/support.ts';
import { callTool, newOverStdio, oldOverStdio, type TestClient } from './clients.ts';
import { type Machine, program, startMachine } from './support.ts';

const me = `mcp:${userInfo().username}`;
const packageVersion = (JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as { version: string }).version;
const approvalWait = { mcp: 300 };
const waitFor = { timeout: 60_000, interval: 100 };
let world: World;
let person: App;
let machine: Machine;
/** A call that waits for a person does so for a minute. */
let patient: Machine;
const clients: { close(): Promise<void> }[] = [];

beforeAll(async () => {
  world = await startWorld();
  person = await world.open();
  const approvers = [{ name: world.person.approver, key: world.person.publicKey }];
  machine = startMachine({ settings: { ...world.demo.config, approvers, approvalWait }, stateDir: world.stateDir });
  patient = startMachine({ settings: { ...world.demo.config, approvers, approvalWait: { mcp: 60_000 } }, stateDir: world.stateDir });
});
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
  // An agent may have only a few requests waiting.
  for (const id of await pendingIds()) await person.approvals.deny(id, world.person.approver);
});
afterAll(async () => {
  await machine.close();
  await patient.close();
  await world.close();
});

const eras = [
  ['2025-11-25', async (on: Machine): Promise<TestClient> => keep((await oldOverStdio(on)).client as unknown as TestClient)],
  ['2026-07-28', async (on: Machine): Promise<TestClient> => keep((await newOverStdio(on)).client as unknown as TestClient)],
] as const;

function keep<Client extends { close(): Promise<void> }>(client: Client): Client {
  clients.push(client);
  return client;
}

/** The trail's last record comes to say this: the record of a read follows its answer. */
async function lastRecord(attributes: Record<string, unknown>): Promise<void> {
  await vi.waitFor(async () => expect((await person.audit.tail(1))[0]?.attributes).toMatchObject(attributes), waitFor);
}

/** The newest request that waits, once there is one that was not there before. */
async function nextRequest(known: ReadonlySet<string>): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const look = async () => {
    const { records } = await person.approvals.list({ statuses: ['pending'], limit: 50 });
    const fresh = records.find(({ id }) => !known.has(id));
    if (fresh !== undefined) resolve(fresh.id);
  };
  const stop = person.approvals.onChange(() => void look());
  await look();
  try {
    return await promise;
  } finally {
    stop();
  }
}

async function pendingIds(): Promise<Set<string>> {
  return new Set((await person.approvals.list({ statuses: ['pending'], limit: 50 })).records.map(({ id }) => id));
}

describe.each(eras)('a client of %s', (_era, connect) => {
  it('sees a short list at first, the whole catalog where it was asked for, and reaches every tool either way', async () => {
    const client = await connect(machine);
    const { tools } = await client.listTools();
    expect(Buffer.byteLength(JSON.stringify(tools))).toBeLessThanOrEqual(20_000);
    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(['get_vms', 'stop_vm', 'read_file', 'more_tools']));
    const all = await connect({ ...machine, config: [...machine.config, '--all-tools'] });
    const { tools: whole } = (await all.listTools()) as unknown as { tools: Record<string, unknown>[] };
    const catalog = describeTools();
    expect(whole).toEqual(
      catalog.map(({ name, title, description, inputSchema }) => expect.objectContaining({ name, title, description, inputSchema })),
    );
    // A rare one: by its own name, through the drawer, and what the drawer says of it.
    const direct = await callTool(client, 'get_ha_status');
    expect(direct.outcome).toMatchObject({ status: 'ok' });
    const inside = await callTool(client, 'more_tools', { tool: 'get_ha_status', arguments: {} });
    expect(inside.outcome.result).toEqual(direct.outcome.result);
    const told = await callTool(client, 'more_tools', { tool: 'reset_vm' });
    expect(told.outcome).toMatchObject({ status: 'ok', result: { required: ['vmid'] } });
    await lastRecord({ 'gen_ai.tool.name': 'get_ha_status' });
    // What is refused is refused there, too.
    const stranger = await callTool(client, 'more_tools', { tool: 'reset_vm', arguments: { vmid: 100, confirmed: true } });
    expect(stranger).toMatchObject({ isError: true, outcome: { code: 'invalid_input' } });
    const asked = await callTool(client, 'more_tools', { tool: 'reset_vm', arguments: { vmid: 100 } });
    expect(asked).toMatchObject({ isError: false, outcome: { status: 'pending' } });
    expect(await callTool(all, 'more_tools', { tool: 'reset_vm' })).toMatchObject({ outcome: { code: 'unknown_tool' } });
  });

  it('gets a result as structure and as text', async () => {
    const { outcome, isError } = await callTool(await connect(machine), 'get_vms', { limit: 2 });
    expect(isError).toBe(false);
    expect(outcome).toMatchObject({ status: 'ok', code: 'ok', result: { total: 6 } });
  });

  it('gets the status object, marked as an error for what is refused, unknown or malformed, and not for what waits', async () => {
    const client = await connect(machine);
    const denied = await callTool(client, 'reboot_node', { node: 'pve' });
    expect(denied).toMatchObject({ isError: true, outcome: { status: 'denied' } });
    expect(await callTool(client, 'no_such_tool')).toMatchObject({ isError: true, outcome: { status: 'error', code: 'unknown_tool' } });
    const confirmed = await callTool(client, 'stop_vm', { vmid: 100, confirmed: true });
    expect(confirmed).toMatchObject({ isError: true, outcome: { status: 'error', code: 'invalid_input' } });
    expect(confirmed.outcome.message).toContain('Only a person can confirm');
    const pending = await callTool(client, 'stop_vm', { vmid: 100 });
    expect(pending).toMatchObject({
      isError: false,
      outcome: { status: 'pending', request_id: expect.stringMatching(/^req-[a-f0-9]{8}$/) },
    });
    expect(guestStatus(world, 100)).toBe('running');
  });

  it('is one agent to the policy and the audit, whatever the client calls itself', async () => {
    await callTool(await connect(machine), 'get_storage');
    await lastRecord({
      agent: expect.objectContaining({ id: me, host: 'mcp', label: expect.stringMatching(/^(?:old|new)-client \d/) }),
      source: 'llm',
      'gen_ai.tool.name': 'get_storage',
    });
  });

  it('waits for a person, runs once when approved, and asks anew the next time', async () => {
    const client = await connect(patient);
    const known = await pendingIds();
    const waiting = callTool(client, 'restart_container', { vmid: 200 });
    const id = await nextRequest(known);
    expect(await person.approvals.approve(id, world.person)).toMatchObject({ ok: true });
    expect((await waiting).outcome).toMatchObject({ status: 'ok', request_id: id });
    const started = (await person.audit.tail(1000)).filter(
      ({ name, attributes }) => name === 'tool.started' && attributes['request_id'] === id,
    );
    expect(started).toHaveLength(1);
  });
});

describe('approval from outside', () => {
  it('a call that was left pending runs once after the approval, by the agent that asked', async () => {
    const client = keep((await oldOverStdio(machine)).client) as unknown as TestClient;
    const { outcome } = await callTool(client, 'stop_container', { vmid: 201 });
    expect(outcome.status).toBe('pending');
    const id = outcome.request_id ?? '';
    expect((await callTool(client, 'check_request_status', { request_id: id })).outcome).toMatchObject({ result: { status: 'pending' } });
    await person.approvals.approve(id, world.person);
    // Another process, the same agent: ids last over restarts.
    const again = keep((await oldOverStdio(machine)).client) as unknown as TestClient;
    expect((await callTool(again, 'stop_container', { vmid: 201 })).outcome).toMatchObject({ status: 'ok', request_id: id });
    expect(guestStatus(world, 201)).toBe('stopped');
  });

  it('check_request_status waits for the decision if it is told to, holds up no other call, and can be cancelled', async () => {
    const { client } = await oldOverStdio(machine);
    keep(client);
    const plain = client as unknown as TestClient;
    const { outcome } = await callTool(plain, 'restart_container', { vmid: 200 });
    const input = { request_id: outcome.request_id ?? '', wait_seconds: 50 };
    const cancel = new AbortController();
    const given = client.callTool({ name: 'check_request_status', arguments: input }, undefined, { signal: cancel.signal });
    let answered = false;
    const waiting = callTool(plain, 'check_request_status', input).finally(() => {
      answered = true;
    });
    expect((await callTool(plain, 'get_storage')).outcome.status).toBe('ok');
    cancel.abort('enough');
    await expect(given).rejects.toThrow('enough');
    expect(answered).toBe(false);
    await person.approvals.deny(input.request_id, world.person.approver, 'not today');
    expect((await waiting).outcome).toMatchObject({ status: 'ok', result: { status: 'denied' } });
    // A decided one is answered at once, and a longer wait is refused by name.
    expect((await callTool(plain, 'check_request_status', input)).outcome).toMatchObject({ result: { status: 'denied' } });
    expect((await callTool(plain, 'check_request_status', { ...input, wait_seconds: 51 })).outcome).toMatchObject({
      code: 'invalid_input',
    });
  });

  it('a person runs it by hand, and its result goes to the agent that asked, in a later session, and to no other', async () => {
    const client = keep((await oldOverStdio(machine)).client) as unknown as TestClient;
    const { outcome } = await callTool(client, 'restart_container', { vmid: 200 });
    const id = outcome.request_id ?? '';
    const window = await world.open({}, undefined, packageVersion);
    await window.approvals.approve(id, world.person);
    const run = { by: 'user:alice', signal: new AbortController().signal };
    expect(await window.runApproved(id, run)).toMatchObject({ status: 'ok', request_id: id });
    const again = keep((await oldOverStdio(machine)).client) as unknown as TestClient;
    expect((await callTool(again, 'check_request_status', { request_id: id })).outcome).toMatchObject({
      result: { status: 'consumed', outcome: { status: 'ok', started_by: 'user:alice', result: { vmid: 200, status: 'running' } } },
    });
    const other = await call(person, 'check_request_status', { request_id: id });
    expect(other).toMatchObject({ result: { status: 'consumed', mine: false } });
    expect(other.result).not.toHaveProperty('outcome');
    expect((await callTool(again, 'restart_container', { vmid: 200 })).outcome).toMatchObject({ code: 'already_run', request_id: id });
  });

  it('elicitation points to where the answer counts; accepting it approves nothing (2025-11-25)', async () => {
    const shown: string[] = [];
    const { client } = await oldOverStdio(machine, { capabilities: { elicitation: {} } }, (unconnected) =>
      unconnected.setRequestHandler(ElicitRequestSchema, ({ params }) => {
        shown.push(params.message);
        return { action: 'accept', content: { approved: true, confirm: 'yes' } };
      }),
    );
    keep(client);
    const { outcome } = await callTool(client, 'stop_vm', { vmid: 100 });
    expect(outcome.status).toBe('pending');
    expect(shown).toHaveLength(1);
    expect(shown[0]).toContain(outcome.request_id);
    expect(shown[0]).toContain('approves nothing');
    expect(await person.approvals.get(outcome.request_id ?? '')).toMatchObject({ status: 'pending' });
    expect(guestStatus(world, 100)).toBe('running');
  });

  it.each(['accept', 'decline'] as const)('the same between rounds, answered with %s (2026-07-28)', async (action) => {
    const shown: string[] = [];
    const { client } = await newOverStdio(machine, { capabilities: { elicitation: { form: {} } } }, (unconnected) =>
      unconnected.setRequestHandler('elicitation/create', ({ params }) => {
        shown.push(params.message);
        return action === 'accept' ? { action, content: { approved: true } } : { action };
      }),
    );
    keep(client);
    const { outcome } = await callTool(client, 'restart_vm', { vmid: 100 });
    expect(outcome.status).toBe('pending');
    expect(shown).toHaveLength(1);
    expect(shown[0]).toContain(outcome.request_id);
    expect(await person.approvals.get(outcome.request_id ?? '')).toMatchObject({ status: 'pending' });
  });
});

describe('a client that refuses every form by itself (2026-07-28, without a screen)', () => {
  it('waits for the person all the same, and the form names the guest', async () => {
    const shown = Promise.withResolvers<string>();
    const { client } = await newOverStdio(patient, { capabilities: { elicitation: { form: {} } } }, (unconnected) =>
      unconnected.setRequestHandler('elicitation/create', ({ params }) => {
        shown.resolve(params.message);
        return { action: 'decline' };
      }),
    );
    keep(client);
    const waiting = callTool(client, 'restart_vm', { vmid: 100 });
    const message = await shown.promise;
    expect(message).toMatch(/^Restart VM 100 \(.+\) on pve/);
    const id = /req-[0-9a-f]{8}/.exec(message)?.[0] ?? '';
    expect(await person.approvals.approve(id, world.person)).toMatchObject({ ok: true });
    expect((await waiting).outcome).toMatchObject({ status: 'ok', request_id: id });
  });
});

describe('long calls', () => {
  it('report progress to who asked for it', async () => {
    const { client } = await oldOverStdio(machine);
    keep(client);
    const seen: { progress: number; message?: string | undefined }[] = [];
    await client.callTool({ name: 'restart_vm', arguments: { vmid: 100 } }, undefined, {
      onprogress: (progress) => void seen.push(progress),
    });
    expect(seen[0]).toMatchObject({ progress: 1, message: expect.stringMatching(/^waiting for a person: req-/) });
  });

  it('end when the client cancels, and the next call works', async () => {
    const { client } = await oldOverStdio(patient);
    keep(client);
    const cancel = new AbortController();
    const known = await pendingIds();
    const cancelled = client.callTool({ name: 'restart_container', arguments: { vmid: 200 } }, undefined, { signal: cancel.signal });
    const id = await nextRequest(known);
    cancel.abort('enough');
    await expect(cancelled).rejects.toThrow('enough');
    expect((await callTool(client as unknown as TestClient, 'get_containers')).outcome.status).toBe('ok');
    // Nobody is asked for it any more, and the trail says both.
    await vi.waitFor(async () => expect(await person.approvals.get(id)).toMatchObject({ status: 'cancelled' }), waitFor);
    const records = await person.audit.tail(50);
    expect(records.some(({ name, attributes }) => name === 'approval.cancelled' && attributes['request_id'] === id)).toBe(true);
    expect(records.some(({ attributes }) => attributes['code'] === 'cancelled')).toBe(true);
  });
});

describe('the process', () => {
  const params = { protocolVersion: '1999-01-01', capabilities: {}, clientInfo: { name: 'raw', version: '0' } };
  const begin = (id: number) => `${JSON.stringify({ jsonrpc: '2.0', id, method: 'initialize', params })}\n`;

  it('ends with status 0 when stdin ends, in the middle of a call, and says nothing but messages on stdout', async () => {
    const child = spawn(process.execPath, [program, 'mcp', ...patient.config], { env: patient.env });
    const [stdout, stderr] = [text(child.stdout), text(child.stderr)];
    const known = await pendingIds();
    const send = (message: object) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
    const clientInfo = { name: 'raw', version: '0' };
    send({ id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo } });
    send({ method: 'notifications/initialized' });
    send({ id: 2, method: 'tools/call', params: { name: 'start_vm', arguments: { vmid: 101 } } });
    await nextRequest(known);
    child.stdin.end();
    const [status] = (await once(child, 'exit')) as [number | null];
    expect(status).toBe(0);
    const messages = (await stdout)
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { id?: number });
    expect(messages.map(({ id }) => id)).toEqual([1, 2]);
    expect(messages[1]).toMatchObject({ result: { isError: true, content: [{ text: expect.stringContaining('"code":"cancelled"') }] } });
    expect(await stderr).toContain('cancelled');
  });

  it('answers who writes all messages at once and closes stdin, with or without a last newline', async () => {
    const child = spawn(process.execPath, [program, 'mcp', ...machine.config], { env: machine.env });
    child.stderr.resume();
    const last = { jsonrpc: '2.0', id: 8, method: 'tools/call', params: { name: 'get_vms', arguments: { limit: 1 } } };
    child.stdin.end(`${begin(7)}${JSON.stringify(last)}\n${JSON.stringify({ ...last, id: 9 })}`);
    const lines = (await text(child.stdout)).trim().split('\n');
    const answers = new Map(lines.map((line) => JSON.parse(line) as { id: number; result: unknown }).map(({ id, result }) => [id, result]));
    expect(new Set(answers.keys())).toEqual(new Set([7, 8, 9]));
    for (const id of [8, 9]) expect(answers.get(id)).toMatchObject({ structuredContent: { status: 'ok', result: { total: 6 } } });
  });

  it.each(['SIGTERM', 'SIGINT'] as const)('ends with status 0 on %s', async (signal) => {
    const { client, pid } = await oldOverStdio(machine);
    keep(client);
    const closed = Promise.withResolvers<void>();
    Object.assign(client, { onclose: closed.resolve });
    process.kill(pid, signal);
    await closed.promise;
    expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  });

  /** Raw messages in, and the answer to the last of them, which has the id 7; what came before it. */
  async function exchange(input: string): Promise<{ readonly before: Record<string, unknown>[]; readonly last: Record<string, unknown> }> {
    const child = spawn(process.execPath, [program, 'mcp', ...machine.config], { env: machine.env });
    child.stderr.resume();
    child.stdin.write(input);
    const messages: Record<string, unknown>[] = [];
    for await (const line of createInterface({ input: child.stdout })) {
      messages.push(JSON.parse(line) as Record<string, unknown>);
      if (messages.at(-1)?.['id'] === 7) break;
    }
    const exited = once(child, 'exit');
    child.stdin.end();
    expect(await exited).toEqual([0, null]);
    return { before: messages.slice(0, -1), last: messages.at(-1) ?? {} };
  }

  it('survives what is no JSON and no request, and says so of JSON that is no message', async () => {
    const { before, last } = await exchange(`not json\n\n{"jsonrpc":"1.0"}\n[]\n{"jsonrpc":"2.0","id":1}\n${begin(7)}`);
    expect(before.map(({ error }) => error)).toEqual(
      Array.from({ length: 3 }, () => ({ code: -32_600, message: expect.stringContaining('no JSON-RPC 2.0') })),
    );
    expect(last).toMatchObject({
      result: { protocolVersion: '2025-11-25', serverInfo: { name: 'banksman' }, capabilities: { tools: { listChanged: true } } },
    });
  });

  it('refuses a message that is too long, by its id, and goes on', async () => {
    const content = 'x'.repeat(5 * 1024 * 1024);
    const write = { method: 'tools/call', params: { name: 'write_file', arguments: { path: 'big', content } }, jsonrpc: '2.0', id: 6 };
    const ping = { jsonrpc: '2.0', id: 7, method: 'ping' };
    const { before, last } = await exchange(`${begin(5)}${JSON.stringify(write)}\n${JSON.stringify(ping)}\n`);
    expect(before.find(({ id }) => id === 6)).toMatchObject({
      error: { code: -32_600, message: expect.stringContaining('4194304 bytes') },
    });
    expect(last).toMatchObject({ result: {} });
  });
});
