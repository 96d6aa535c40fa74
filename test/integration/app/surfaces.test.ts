/** No surface that an agent can look at offers a tool that approves, denies or sets anything. */

import { readFileSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describeTools, ollamaTool } from '#app/catalog';
import { newOverHttp, newOverStdio, oldOverHttp, oldOverSse, oldOverStdio, type TestClient } from '../mcp/clients.ts';
import { type HttpProgram, type Machine, startMachine } from '../mcp/support.ts';

const forbidden = ['approve_request', 'deny_request', 'configure_auto_approve', 'set_security_level'];
/** Anything of that meaning. `list_pending_approvals` only lists; `set_tags` and `set_guest_config` set what a guest has, under a grant. */
const writes =
  /^(?!(?:banksman_)?list_pending_approvals$).*(?:approv|deny|grant|revoke|confirm|(?<!re)set_(?!tags$|guest_config$)|configure|trust|level|cancel|unlock|allow|permit)/i;
const names = describeTools().map((tool) => tool.name);
/** What agents are shown at first, in the editor and over MCP; the rest answers to its name and through `more_tools`. */
const offered = [...describeTools().flatMap((tool) => (tool.rare === true ? [] : [tool.name])), 'more_tools'];

let machine: Machine;
let server: HttpProgram;
let token: string;
const clients: { close(): Promise<void> }[] = [];
beforeAll(async () => {
  machine = startMachine();
  token = await machine.createToken('surfaces', 'advanced');
  server = await machine.serve(['--sse']);
});
afterAll(async () => {
  await Promise.all(clients.map((client) => client.close()));
  await machine.close();
});

function kept(client: { close(): Promise<void> }): TestClient {
  clients.push(client);
  return client as unknown as TestClient;
}
const overMcp: readonly (readonly [string, () => Promise<TestClient>])[] = [
  ['stdio, 2025-11-25', async () => kept((await oldOverStdio(machine)).client)],
  ['stdio, 2026-07-28', async () => kept((await newOverStdio(machine)).client)],
  ['Streamable HTTP, 2025-11-25', async () => kept(await oldOverHttp(server.url, token))],
  ['Streamable HTTP, 2026-07-28', async () => kept(await newOverHttp(server.url, token))],
  ['legacy SSE', async () => kept(await oldOverSse(server.sse ?? expect.fail('no sse'), token))],
];

function expectNoWrites(found: readonly string[]): void {
  expect(found.filter((name) => forbidden.includes(name) || writes.test(name))).toEqual([]);
}

describe('no write tool', () => {
  it('is in the catalog, nor in Ollama’s form of it', () => {
    expectNoWrites(names);
    expectNoWrites(describeTools().map((tool) => ollamaTool(tool).function.name));
  });

  it.each(['json', 'mcp', 'ollama'])('is printed by `banksman tools --format %s`, of any group', async (format) => {
    for (const group of [[], ...['cluster', 'workspace', 'security'].map((name) => ['--group', name])]) {
      const { stdout, status } = await machine.run(['tools', '--format', format, ...group]);
      expect(status).toBe(0);
      const found = (JSON.parse(stdout) as { name?: string; function?: { name: string } }[]).map(
        (tool) => tool.name ?? tool.function?.name ?? '',
      );
      expect(found.every((name) => names.includes(name))).toBe(true);
      expect(group.length > 0 || found.join() === names.join()).toBe(true);
      expectNoWrites(found);
    }
  });

  it('is among the editor’s language-model tools', () => {
    const manifest = JSON.parse(readFileSync(path.join(import.meta.dirname, '../../../package.json'), 'utf8')) as {
      contributes: { languageModelTools: { name: string; toolReferenceName: string }[] };
    };
    const found = manifest.contributes.languageModelTools.flatMap((tool) => [tool.name, tool.toolReferenceName]);
    expect(new Set(found)).toEqual(new Set(offered.map((name) => `banksman_${name}`)));
    expectNoWrites(found);
  });

  it.each(overMcp)('is listed over %s, whenever asked', async (_name, connect) => {
    const client = await connect();
    for (let time = 0; time < 3; time += 1) {
      const found = (await client.listTools()).tools.map((tool) => tool.name);
      expect(found.toSorted()).toEqual(offered.toSorted());
      expectNoWrites(found);
    }
  });

  it.each(overMcp.slice(0, 2))('answers when called by such a name over %s', async (_name, connect) => {
    const client = await connect();
    const word = fc.constantFrom('approve', 'deny', 'set', 'configure', 'revoke', 'request', 'auto', 'level', 'security', 'trust', 'key');
    const name = fc.oneof(
      fc.constantFrom(...forbidden),
      fc.array(word, { minLength: 2, maxLength: 4 }).map((words) => words.join('_')),
    );
    await fc.assert(
      fc.asyncProperty(name, fc.constantFrom('req-00000000', 'strict', 'destination:.com'), async (tool, value) => {
        const said = await client.callTool({ name: tool, arguments: { request_id: value, level: value, pattern: value } }).then(
          (answer) => JSON.stringify(answer),
          (thrown: unknown) => String(thrown),
        );
        expect(said).toMatch(/unknown_tool|no tool is named|not found|unknown tool/i);
      }),
      { numRuns: 20 },
    );
  });
});
