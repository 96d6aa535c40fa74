/** `banksman mcp` as a window of the editor starts it: with the window's settings and tokens, and no file of its own. */
import { once } from 'node:events';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import path from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { type EditorSettings, type EditorSettingsOffer, offerEditorSettings, ticketVariable } from '#app/clients/editor-settings';
import { boundToken, type TokenPlace } from '#app/clusters/bound-token';
import type { App } from '#kernel/app';
import { guestStatus, startWorld, type World } from '../app/support.ts';
import { callTool } from './clients.ts';
import { type Machine, program, startMachine } from './support.ts';

let world: World;
let person: App;
let machine: Machine;
let window: EditorSettingsOffer;
let told: EditorSettings;
const closing: (() => Promise<void>)[] = [];

beforeAll(async () => {
  world = await startWorld();
  person = await world.open();
  machine = startMachine({ stateDir: world.stateDir });
});
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
  window.dispose();
});
afterAll(async () => {
  await machine.close();
  await world.close();
});

/** The demo's settings as the editor has them: no token in any file. */
function openWindow(): void {
  const [cluster] = world.demo.config.clusters;
  const { tokenFile, ...rest } = cluster as typeof cluster & { readonly tokenFile: string };
  told = {
    settings: { ...world.demo.config, clusters: [rest], approvalWait: { mcp: 0 }, workspace: { root: machine.folder } },
    tokens: { [rest.name]: readFileSync(tokenFile, 'utf8').trim() },
  };
  window = offerEditorSettings(
    async () => told,
    (error) => {
      throw error;
    },
  );
}

async function startServer(ticket: string): Promise<{ readonly client: Client; said(): string }> {
  const env = Object.fromEntries(Object.entries(machine.env).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])));
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [program, 'mcp', '--state', world.stateDir],
    env: { ...env, [ticketVariable]: ticket },
    stderr: 'pipe',
  });
  let words = '';
  transport.stderr?.on('data', (part: Buffer) => {
    words += part.toString();
  });
  const client = new Client({ name: 'window', version: '1' });
  closing.push(() => client.close());
  await client.connect(transport).catch((error: unknown) => {
    throw new Error(words, { cause: error });
  });
  return { client, said: () => words };
}

describe('a server that a window starts', () => {
  it('works on the window’s clusters with the token that is in no file, in its trail and behind its gate', async () => {
    openWindow();
    const { client } = await startServer(await window.ticket());
    const { outcome } = await callTool(client, 'get_vms');
    expect(outcome, outcome.message).toMatchObject({ status: 'ok' });
    expect(JSON.stringify(outcome.result)).toContain('"vmid":100');

    const asked = await callTool(client, 'stop_vm', { vmid: 100 });
    expect(asked.outcome).toMatchObject({ status: 'pending' });
    expect(guestStatus(world, 100)).toBe('running');
    const pending = await person.approvals.list({ statuses: ['pending'], limit: 10 });
    expect(pending.records.map(({ id }) => id)).toContain(asked.outcome.request_id);
    expect((await callTool(client, 'stop_vm', { vmid: 103 })).outcome).toMatchObject({ status: 'denied' });
  });

  it('hears of stricter settings while it runs', async () => {
    openWindow();
    const { client, said } = await startServer(await window.ticket());
    expect((await callTool(client, 'stop_vm', { vmid: 100 })).outcome.status).toBe('pending');
    told = { ...told, settings: { ...told.settings, protected: { guests: [100, 103] } } };
    window.changed();
    await vi.waitFor(() => expect(said()).toContain('settings changed: new calls run with it'));
    expect((await callTool(client, 'stop_vm', { vmid: 100 })).outcome).toMatchObject({ status: 'denied' });
  });

  it('keeps what it has where the new settings are none', async () => {
    openWindow();
    const { client, said } = await startServer(await window.ticket());
    told = { ...told, settings: { ...told.settings, securityLevel: 'lax' } };
    window.changed();
    await vi.waitFor(() => expect(said()).toContain('securityLevel'));
    expect((await callTool(client, 'get_vms')).outcome.status).toBe('ok');
  });

  it('sends a token to the cluster that it was stored for, and nowhere else, whatever the settings say by then', async () => {
    openWindow();
    const [cluster] = told.settings['clusters'] as readonly TokenPlace[];
    const [[name, secret]] = Object.entries(told.tokens) as [[string, string]];
    if (cluster === undefined) throw new Error('the demo has a cluster');
    told = { ...told, tokens: { [name]: boundToken(secret, { ...cluster, endpoints: ['https://127.0.0.1:1'] }) } };
    const elsewhere = await startServer(await window.ticket());
    expect((await callTool(elsewhere.client, 'get_vms')).outcome).toMatchObject({ status: 'error', code: 'token_elsewhere' });
    told = { ...told, tokens: { [name]: boundToken(secret, cluster) } };
    const { client } = await startServer(await window.ticket());
    const { outcome } = await callTool(client, 'get_vms');
    expect(outcome, outcome.message).toMatchObject({ status: 'ok' });
  });

  it('gets nothing for a ticket that was used, and starts on nothing else', async () => {
    openWindow();
    const ticket = await window.ticket();
    await startServer(ticket);
    await expect(startServer(ticket)).rejects.toThrow(/window of the editor that starts this server does not answer/);
  });
});

describe('whoever finds the address', () => {
  it.each([
    ['nothing', ''],
    ['a ticket that was not given out', `${'0'.repeat(64)}\n`],
    ['much', 'x'.repeat(5_000)],
    ['settings', '{"settings":{}}\n'],
  ])('hears nothing for %s', async (_what, words) => {
    openWindow();
    const address = (await window.ticket()).split('@')[1] ?? '';
    const peer = connect(address);
    let heard = '';
    peer.on('data', (part) => {
      heard += part.toString();
    });
    peer.on('error', () => undefined);
    if (words === '') peer.end();
    else peer.write(words);
    await once(peer, 'close');
    expect(heard).toBe('');
  });

  it('finds a folder that is the user’s alone, which goes with the window', async () => {
    openWindow();
    const folder = path.dirname((await window.ticket()).split('@')[1] ?? '');
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    window.dispose();
    await vi.waitFor(() => expect(existsSync(folder)).toBe(false));
  });
});
