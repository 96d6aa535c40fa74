/** Decodes the install links as the editors do: README and docs/mcp.md hold nothing that starts anything but `banksman mcp`. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import packageJson from '../../../package.json' with { type: 'json' };

const read = (page: string) => readFileSync(new URL(`../../../${page}`, import.meta.url), 'utf8');
const [readme, manual] = ['README.md', 'docs/mcp.md'].map(read) as [string, string];
const inBoth = readme + manual;

/** `vscode:mcp/install?` and the whole entry as JSON, escaped. */
const direct = [...inBoth.matchAll(/(vscode(?:-insiders)?):mcp\/install\?([^`)\s]+)/g)].map(([, scheme = '', query = '']) => ({
  scheme,
  entry: JSON.parse(decodeURIComponent(query)) as unknown,
}));
/** The maker's page: name and entry apart. */
const redirected = [...inBoth.matchAll(/https:\/\/((?:insiders\.)?vscode\.dev)\/redirect\/mcp\/install\?([^`)\s]+)/g)];
const cursor = [
  ...inBoth.matchAll(/(?:https:\/\/cursor\.com\/install-mcp|cursor:\/\/anysphere\.cursor-deeplink\/mcp\/install)\?([^`)\s]+)/g),
];

const started = { command: 'banksman', args: ['mcp'] };

describe('install links', () => {
  it('of VS Code and its Insiders hold the server in the address itself', () => {
    expect(direct.map(({ scheme }) => scheme)).toEqual(['vscode', 'vscode-insiders']);
    for (const { entry } of direct) expect(entry).toEqual({ name: 'banksman', type: 'stdio', ...started });
  });

  it('of VS Code lead through its maker’s page with the same server', () => {
    expect(redirected.map(([, site]) => site)).toEqual(['vscode.dev', 'insiders.vscode.dev', 'vscode.dev', 'insiders.vscode.dev']);
    for (const [, site, text] of redirected) {
      const query = new URLSearchParams(text);
      expect(query.get('name')).toBe('banksman');
      expect(JSON.parse(query.get('config') ?? '')).toEqual({ type: 'stdio', ...started });
      expect(query.get('quality')).toBe(site === 'vscode.dev' ? null : 'insiders');
    }
  });

  it('of Cursor hold it in base64', () => {
    expect(cursor).toHaveLength(3);
    for (const [, text] of cursor) {
      const query = new URLSearchParams(text);
      expect(query.get('name')).toBe('banksman');
      expect(JSON.parse(Buffer.from(query.get('config') ?? '', 'base64').toString())).toEqual(started);
    }
  });

  it('start what the package installs', () => {
    expect(Object.keys(packageJson.bin)).toEqual([started.command]);
    expect(readme).toContain('<!-- install:begin -->');
  });
});
