/** `banksman connect`, on files as clients have them; and what was written starts a server. */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, lstatSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { entryIn } from '#app/clients/edit-entry';
import { serverName } from '#app/clients/mcp-clients';
import { program } from '../mcp/support.ts';
import { type Dialogue, onTerminal, quoted } from './terminal.ts';

let folder: string;
let env: NodeJS.ProcessEnv;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'banksman-connect-'));
  mkdirSync(path.join(folder, 'project'));
  const { XDG_CONFIG_HOME: _xdg, XDG_STATE_HOME: _state, ...rest } = process.env;
  env = { ...rest, HOME: folder };
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const inHome = (name: string) => path.join(folder, name);
const read = (name: string) => readFileSync(inHome(name), 'utf8');
const cwd = () => path.join(folder, 'project');
const yes: Dialogue = [['[y/N] ', 'y\r']];

function connect(words: readonly string[], dialogue: Dialogue) {
  return onTerminal([process.execPath, program, 'connect', ...words].map(quoted).join(' '), dialogue, { env, cwd: cwd() });
}

function withoutTerminal(words: readonly string[]) {
  return spawnSync(process.execPath, [program, 'connect', ...words], { env, cwd: cwd(), encoding: 'utf8', input: 'y\n' });
}

function put(name: string, text: string): void {
  mkdirSync(path.dirname(inHome(name)), { recursive: true });
  writeFileSync(inHome(name), text);
}

it('shows the difference, writes after a yes, starts from what it wrote, and takes it out again', async () => {
  const mine = '# mine\nmodel = "o9"\n';
  put('.codex/config.toml', mine);
  const { status, screen } = await connect(['codex'], yes);
  expect(status).toBe(0);
  expect(screen).toContain('+[mcp_servers.banksman]');
  const entry = entryIn(read('.codex/config.toml'), { format: 'toml', key: 'mcp_servers' }, serverName) as {
    command: string;
    args: string[];
  };
  expect(read('.codex/config.toml')).toContain(mine);

  writeFileSync(path.join(cwd(), 'notes.txt'), 'noted');
  const client = new Client({ name: 'codex', version: '1' });
  await client.connect(new StdioClientTransport({ ...entry, cwd: cwd(), env: { HOME: folder, PATH: '/usr/bin:/bin' }, stderr: 'ignore' }));
  const { structuredContent } = await client.callTool({ name: 'read_file', arguments: { path: 'notes.txt' } });
  await client.close();
  expect(structuredContent).toMatchObject({ status: 'ok' });

  expect(await connect(['codex', '--remove'], yes)).toMatchObject({ status: 0 });
  expect(read('.codex/config.toml')).toBe(mine);
});

// The edits themselves are tried for every client in test/unit/app/clients.
it.each<[string, readonly string[], string]>([
  ['copilot', [], '"local"'],
  ['claude-desktop', ['--root', 'work'], '"--root"'],
])('%s: written once, found then', async (id, more, part) => {
  expect(await connect([id, ...more], yes)).toMatchObject({ status: 0 });
  const rows: { client: string; file: string; connected: string }[] = JSON.parse(withoutTerminal(['list', '--json']).stdout);
  expect(rows.filter(({ connected }) => connected === 'connected').map(({ client }) => client)).toEqual([id]);
  const text = readFileSync(rows.find(({ client }) => client === id)?.file ?? '', 'utf8');
  expect(text).toContain(program);
  expect(text).toContain(part);
  expect(withoutTerminal([id, ...more])).toMatchObject({ status: 0, stderr: expect.stringContaining('nothing to change') });
});

it('changes nothing without a person: no terminal, a no, a file that changes meanwhile, a file that it cannot read', async () => {
  expect(withoutTerminal(['cursor'])).toMatchObject({ status: 2, stderr: expect.stringContaining('needs a terminal') });
  expect(await connect(['cursor'], [['[y/N] ', '\r']])).toMatchObject({ status: 2 });
  expect(existsSync(inHome('.cursor'))).toBe(false);

  put('.gemini/settings.json', '{}\n');
  const changeAndAgree = () => {
    put('.gemini/settings.json', '{"theme":"x"}\n');
    return 'y\r';
  };
  expect((await connect(['gemini'], [['[y/N] ', changeAndAgree]])).screen).toContain('was changed meanwhile');
  expect(read('.gemini/settings.json')).toBe('{"theme":"x"}\n');

  put('.qwen/settings.json', '{ broken');
  expect(withoutTerminal(['qwen'])).toMatchObject({ status: 1, stderr: expect.stringContaining('line 1') });
  expect(withoutTerminal(['claude-desktop'])).toMatchObject({ status: 1, stderr: expect.stringContaining('--root DIR') });
  expect(withoutTerminal(['emacs'])).toMatchObject({ status: 1, stderr: expect.stringContaining('`claude-code`') });
});

it('a link to where somebody keeps dot files stays one; a project has a file of its own; an entry can be printed', async () => {
  put('dotfiles/cursor.json', '{\n  "mcpServers": {}\n}\n');
  mkdirSync(inHome('.cursor'));
  symlinkSync(inHome('dotfiles/cursor.json'), inHome('.cursor/mcp.json'));
  expect(await connect(['cursor'], yes)).toMatchObject({ status: 0 });
  expect(lstatSync(inHome('.cursor/mcp.json')).isSymbolicLink()).toBe(true);
  expect(read('dotfiles/cursor.json')).toContain(program);

  expect(await connect(['vscode', '--project'], yes)).toMatchObject({ status: 0 });
  expect(JSON.parse(read('project/.vscode/mcp.json'))).toEqual({
    servers: { banksman: { type: 'stdio', command: process.execPath, args: [program, 'mcp'] } },
  });

  const printed = execFileSync(process.execPath, [program, 'connect', 'zed', '--print'], { env, cwd: cwd(), encoding: 'utf8' });
  expect(JSON.parse(printed)).toEqual({
    context_servers: { banksman: { source: 'custom', command: process.execPath, args: [program, 'mcp'] } },
  });
  expect(existsSync(inHome('.config/zed'))).toBe(false);
});
