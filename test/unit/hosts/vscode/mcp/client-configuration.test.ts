import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { clientConfigurations } from '../../../../../src/hosts/vscode/mcp/client-configuration.ts';

const server = { command: 'node', args: ["/home/o'neil/my ext/dist/cli.cjs", 'mcp'] };

describe('client configurations', () => {
  it('name every client once, and where its text goes', () => {
    const names = clientConfigurations.map(({ client }) => client);
    expect(new Set(names).size).toBe(names.length);
    expect(names).toEqual(expect.arrayContaining(['Claude Code', 'Codex', 'Cursor']));
    for (const { place } of clientConfigurations) expect(place).not.toBe('');
  });

  it('hold the command and its arguments whole, whatever is in the path', () => {
    for (const { client, text } of clientConfigurations.filter(
      (each) => each.text(server).startsWith('{') && !each.client.includes('HTTP'),
    )) {
      const [entry] = Object.values(Object.values(JSON.parse(text(server)) as Record<string, Record<string, unknown>>)[0] ?? {});
      expect(entry, client).toMatchObject(server);
    }
  });

  it('the terminal’s line survives a shell', () => {
    const line = clientConfigurations.find(({ client }) => client === 'Claude Code')?.text(server) ?? '';
    const words = execFileSync('sh', ['-c', line.replace(/^claude/, "printf '%s\\n'")], { encoding: 'utf8' });
    expect(words.trim().split('\n')).toEqual(['mcp', 'add', '--scope', 'user', 'banksman', '--', 'node', ...server.args]);
  });

  it('Codex gets TOML', () => {
    const text = clientConfigurations.find(({ client }) => client === 'Codex')?.text(server);
    expect(text).toBe(`[mcp_servers.banksman]\ncommand = "node"\nargs = ["/home/o'neil/my ext/dist/cli.cjs","mcp"]\n`);
  });

  it('no text holds a secret, only its place', () => {
    const http = clientConfigurations.find(({ client }) => client.includes('HTTP'))?.text(server) ?? '';
    expect(JSON.parse(http)).toMatchObject({ mcpServers: { banksman: { headers: { Authorization: 'Bearer TOKEN' } } } });
  });
});
