/** The service ends, starts anew, is upgraded, loses a pin or its configuration's safety, while users and approvals are under way. */
import { chmodSync, lstatSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { LocalApp } from '#app/create-app';
import type { RequestRecord } from '#kernel/approval/request';
import { wireProtocol } from '#kernel/wire';
import { callTool } from '../mcp/clients.ts';
import { type Machine, startMachine, whyNoUsers } from './os-users.ts';
import { rawClient } from './support.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

describe.skipIf(whyNoUsers !== undefined)(`a service under way${whyNoUsers === undefined ? '' : ` (${whyNoUsers})`}`, () => {
  let machine: Machine;
  let root: LocalApp;
  let alice: string;
  beforeAll(async () => {
    machine = await startMachine();
    ({ alice } = machine.users);
    await machine.start();
    root = await machine.inside();
  });
  afterAll(async () => {
    await root?.close();
    await machine?.close();
  });

  const call = async (tool: string, input: object): Promise<Record<string, unknown>> => {
    const { out, err } = await machine.as(alice, ['call', tool, '--input', JSON.stringify(input), '--json']);
    return out === '' ? { failed: err } : (JSON.parse(out) as Record<string, unknown>);
  };
  const approved = async (tool: string, input: object): Promise<string> => {
    const id = String((await call(tool, input))['request_id']);
    expect(await root.approvals.approve(id, machine.person)).toMatchObject({ ok: true });
    return id;
  };
  const recordOf = (id: string): Promise<RequestRecord | undefined> => root.approvals.get(id);

  it('an approver who was taken out of the file has approved nothing that is not used yet', async () => {
    const id = await approved('stop_vm', { vmid: 100 });
    machine.writeConfig({ approvers: [] });
    expect((await call('stop_vm', { vmid: 100 }))['status']).not.toBe('ok');
    expect(await recordOf(id)).not.toMatchObject({ status: 'consumed' });
    machine.writeConfig();
    await root.approvals.revoke(id, 'user:test');
  });

  it('while others can write the configuration, nobody’s approval counts; then it does again', async () => {
    const id = await approved('stop_vm', { vmid: 100 });
    chmodSync(machine.configFile, 0o666);
    const refused = await call('stop_vm', { vmid: 100 });
    chmodSync(machine.configFile, 0o644);
    expect(refused).toMatchObject({
      status: 'error',
      code: 'config_not_safe',
      message: expect.stringContaining('can be written by others'),
    });
    expect(await recordOf(id)).toMatchObject({ status: 'approved' });
    expect(await call('stop_vm', { vmid: 100 })).toMatchObject({ status: 'ok' });
  });

  it('killed between the approval and its use: it is good once, for the next one', async () => {
    await approved('start_vm', { vmid: 100 });
    process.kill(machine.servicePid(), 'SIGKILL');
    await machine.stop();
    await machine.start();
    expect(await call('start_vm', { vmid: 100 })).toMatchObject({ status: 'ok' });
    expect(await call('start_vm', { vmid: 100 })).not.toMatchObject({ status: 'ok' });
  });

  it('killed after the use, inside the call: nothing runs again by itself, and it is said that nobody knows', async () => {
    const id = await approved('stop_vm', { vmid: 100 });
    const client = await rawClient(join(machine.sockets, `${alice}.sock`));
    const agent = { id: `cli:${alice}`, host: 'cli', modelTier: 'advanced' };
    client.send({ kind: 'call', id: 1, method: 'call', values: [{ tool: 'stop_vm', input: { vmid: 100 }, agent, waitMs: 0 }] });
    await vi.waitFor(async () => expect(await recordOf(id)).toMatchObject({ status: 'consumed' }), { interval: 1 });
    process.kill(machine.servicePid(), 'SIGKILL');
    await client.ended;
    await machine.stop();
    await machine.start();
    const { result } = (await call('check_request_status', { request_id: id })) as { result?: { status: string; outcome: unknown } };
    expect(result).toMatchObject({ status: 'consumed' });
    expect((await root.audit.verify()).ok).toBe(true);
    const again = await call('stop_vm', { vmid: 100 });
    expect(again).not.toMatchObject({ status: 'ok', request_id: id });
  });

  it('stopped: who comes meanwhile is told so, and runs nothing embedded', async () => {
    await machine.stop();
    expect(await call('get_security_status', {})).toMatchObject({
      status: 'error',
      code: 'service_unavailable',
      message: expect.stringContaining('nobody listens; nothing was sent'),
    });
    expect(lstatSync(join(machine.sockets, `${alice}.sock`)).uid).toBe(machine.uidOf(alice));
    await machine.start();
    expect(await call('get_security_status', {})).toMatchObject({ status: 'ok' });
  });

  it('stopped: an MCP server that is started meanwhile waits for it, and says so', async () => {
    await machine.stop();
    const transport = new StdioClientTransport({ ...machine.command(alice, ['mcp']), stderr: 'pipe' });
    let said = '';
    transport.stderr?.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
    const client = new Client({ name: 'test', version: '1' });
    const connected = client.connect(transport);
    try {
      await vi.waitFor(() => expect(said).toContain('waiting for the service'));
      await machine.start();
      await connected;
      const { structuredContent } = await client.callTool({ name: 'get_cluster_status', arguments: {} });
      expect(structuredContent).toMatchObject({ status: 'ok' });
    } finally {
      await connected.catch(() => undefined);
      await client.close();
    }
  });

  it('upgraded under a client that stays: its calls end with a clear error, and go on once both sides fit', async () => {
    const client = new Client({ name: 'test', version: '1' });
    await client.connect(new StdioClientTransport(machine.command(alice, ['mcp'])));
    const ask = async () => (await callTool(client, 'get_cluster_status')).outcome;
    const bundle = join(machine.folder, 'lib/cli.cjs');
    const text = readFileSync(bundle, 'utf8');
    try {
      expect(await ask()).toMatchObject({ status: 'ok' });
      // Built small, the constant goes by a name that only this sentence tells.
      const name = /the service speaks protocol \$\{([\w$]+)\}/.exec(text)?.[1] ?? 'wireProtocol';
      const other = text.replace(
        new RegExp(`(?<![\\w$])${name.replaceAll('$', '\\$')}\\s*=\\s*${wireProtocol}(?=[,;])`),
        `${name}=${wireProtocol + 1}`,
      );
      expect(other).not.toBe(text);
      await machine.stop();
      writeFileSync(bundle, other);
      await machine.start();
      expect(await ask()).toMatchObject({ status: 'error', code: 'service_unavailable', message: expect.stringContaining('protocol') });
      await machine.stop();
      writeFileSync(bundle, text);
      await machine.start();
      await expect.poll(async () => (await ask()).status, { timeout: 60_000 }).toBe('ok');
    } finally {
      writeFileSync(bundle, text);
      await client.close();
    }
  });

  it('a program, a directory of sockets or a link that others could put there is not started', async () => {
    await machine.stop();
    for (const place of [join(machine.folder, 'lib/cli.cjs'), join(machine.folder, 'lib'), machine.sockets, machine.folder]) {
      const before = lstatSync(place).mode & 0o7777;
      chmodSync(place, before | 0o022);
      const { status, err } = await machine.fails();
      chmodSync(place, before);
      expect(status, place).not.toBe(0);
      expect(err).toContain(`${place} can be written by others`);
    }
    await machine.start();
  });
});
