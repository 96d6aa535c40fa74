/** A client that starts its servers in `/` names its folder itself (`roots/list`); without that, the refusal says what to do. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { Client as NewClient } from '@modelcontextprotocol/client';
import { StdioClientTransport as NewStdio } from '@modelcontextprotocol/client/stdio';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as OldStdio } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ListRootsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { callTool, type TestClient } from './clients.ts';
import { type Machine, program, startMachine } from './support.ts';

let machine: Machine;
let folder: string;
const clients: { close(): Promise<void> }[] = [];

beforeAll(() => {
  machine = startMachine();
  folder = mkdtempSync(path.join(tmpdir(), 'banksman-roots-'));
  writeFileSync(path.join(folder, 'a.txt'), 'of the client’s folder\n');
});
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
});
afterAll(async () => {
  await machine.close();
  rmSync(folder, { recursive: true, force: true });
});

interface Named {
  readonly roots: readonly string[];
  /** Calls of `roots/list` so far. */
  readonly asked: { times: number };
}

function parameters(cwd: string, more: readonly string[]) {
  const env = Object.fromEntries(Object.entries(machine.env).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])));
  return { command: process.execPath, args: [program, 'mcp', ...machine.config, ...more], env, cwd, stderr: 'ignore' as const };
}

const info = { name: 'desktop', version: '1.0.0' };
const answer = ({ roots, asked }: Named) => {
  asked.times += 1;
  return { roots: roots.map((uri) => ({ uri })) };
};

const eras = [
  [
    '2025-11-25',
    async (cwd: string, named?: Named, more: readonly string[] = []): Promise<TestClient> => {
      const client = new OldClient(info, { capabilities: named === undefined ? {} : { roots: {} } });
      if (named !== undefined) client.setRequestHandler(ListRootsRequestSchema, () => answer(named));
      await client.connect(new OldStdio(parameters(cwd, more)));
      clients.push(client);
      return client;
    },
  ],
  [
    '2026-07-28',
    async (cwd: string, named?: Named, more: readonly string[] = []): Promise<TestClient> => {
      const capabilities = named === undefined ? {} : { roots: {} };
      const client = new NewClient(info, { capabilities, versionNegotiation: { mode: 'auto' } });
      if (named !== undefined) client.setRequestHandler('roots/list', () => answer(named));
      await client.connect(new NewStdio(parameters(cwd, more)));
      clients.push(client);
      return client;
    },
  ],
] as const;

const url = (place: string) => pathToFileURL(place).href;

describe.each(eras)('a client of %s that starts servers in `/`', (_era, connect) => {
  it('works in the folder that it names, and is asked for it once', async () => {
    const named = { roots: [url('/'), url(homedir()), url(path.join(folder, 'missing')), url(folder)], asked: { times: 0 } };
    const client = await connect('/', named);
    expect((await callTool(client, 'read_file', { path: 'a.txt' })).outcome).toMatchObject({
      status: 'ok',
      result: expect.objectContaining({ content: expect.stringContaining('of the client’s folder') }),
    });
    expect((await callTool(client, 'list_directory', { path: '.' })).outcome.status).toBe('ok');
    expect(named.asked.times).toBe(1);
  });

  it.each([
    ['names none', undefined],
    ['names only what is none', ['file:///', url(homedir())]],
  ])('is told what to do where it %s', async (_what, roots) => {
    const client = await connect('/', roots === undefined ? undefined : { roots, asked: { times: 0 } });
    for (const name of ['read_file', 'list_directory']) {
      const { outcome, isError } = await callTool(client, name, { path: 'etc' });
      expect({ isError, ...outcome }).toMatchObject({ isError: true, status: 'denied', code: 'workspace_too_wide' });
      expect(outcome.message).toMatch(/root of the file system, which is no workspace; .*`--root DIR`/);
    }
  });

  it('is asked again where its folder could not be taken for a reason that is none of the folder', async () => {
    const named = { roots: [url(folder)], asked: { times: 0 } };
    const client = await connect('/', named);
    const read = async () => (await callTool(client, 'read_file', { path: 'a.txt' })).outcome;
    const configFile = path.join(machine.folder, 'config.json');
    const written = readFileSync(configFile, 'utf8');
    // It has started by then: its first configuration is whole.
    await client.listTools();
    writeFileSync(configFile, '{');
    expect(await read()).toMatchObject({ code: 'workspace_too_wide' });
    writeFileSync(configFile, written);
    expect(await read()).toMatchObject({ status: 'ok' });
    expect(named.asked.times).toBe(2);
  });

  it('is not asked where a person named the folder', async () => {
    const named = { roots: [url(tmpdir())], asked: { times: 0 } };
    const client = await connect('/', named, ['--root', folder]);
    expect((await callTool(client, 'read_file', { path: 'a.txt' })).outcome.status).toBe('ok');
    expect(named.asked.times).toBe(0);
  });
});
