/** The workspace tools for Ollama: its client takes them as they are, and sends what the command line prints. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Ollama, type Tool } from 'ollama';
import { describe, expect, expectTypeOf, it, onTestFinished } from 'vitest';
import { describeTools, type OllamaTool, ollamaTool } from '#app/catalog';
import { required } from './support.ts';

const offered = describeTools()
  .filter((tool) => tool.group === 'workspace')
  .map(ollamaTool);

const properties = (name: string) => offered.find((tool) => tool.function.name === name)?.function.parameters;

describe('the workspace tools for Ollama', () => {
  it('are exactly seven, typed as its client wants them', () => {
    expectTypeOf<OllamaTool>().toExtend<Tool>();
    expect(offered.map((tool) => tool.function.name).toSorted()).toEqual([
      'edit_file',
      'list_directory',
      'read_file',
      'run_command',
      'search_files',
      'undo_run',
      'write_file',
    ]);
    for (const tool of offered) {
      expect(Object.keys(tool)).toEqual(['type', 'function']);
      expect(tool.function.parameters).toMatchObject({ type: 'object', additionalProperties: false });
      for (const [key, part] of Object.entries(tool.function.parameters.properties)) {
        expect(part.type, key).toMatch(/^(?:string|integer|boolean|array)$/);
        expect(part.description.length, key).toBeGreaterThan(10);
      }
    }
  });

  it.each([
    ['read_file', ['path', 'start_line', 'end_line'], ['path'], {}],
    ['write_file', ['path', 'content', 'create_dirs'], ['path', 'content'], { create_dirs: true }],
    ['edit_file', ['path', 'edits', 'if_unchanged'], ['path', 'edits'], {}],
    ['list_directory', ['path', 'recursive', 'pattern'], ['path'], { recursive: false }],
    ['run_command', ['command', 'timeout_ms', 'network'], ['command'], { timeout_ms: 30_000 }],
    ['undo_run', ['run_id'], ['run_id'], {}],
    ['search_files', ['pattern', 'path', 'file_pattern', 'max_results'], ['pattern'], { path: '.', max_results: 50 }],
  ])('%s takes what it must', (name, keys, needed, defaults) => {
    const parameters = required(properties(name));
    expect(Object.keys(parameters.properties)).toEqual(keys);
    expect(parameters.required).toEqual(needed);
    const given = Object.entries(parameters.properties).filter(([, part]) => part.default !== undefined);
    expect(Object.fromEntries(given.map(([key, part]) => [key, part.default]))).toEqual(defaults);
  });

  it('arrive as they are through the real client', async () => {
    const bodies: unknown[] = [];
    const server = createServer((request, response) => {
      let text = '';
      request.on('data', (chunk) => {
        text += chunk;
      });
      request.on('end', () => {
        bodies.push(JSON.parse(text));
        response.end(JSON.stringify({ model: 'm', created_at: '', done: true, message: { role: 'assistant', content: '' } }));
      });
    }).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const client = new Ollama({ host: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
    await client.chat({ model: 'm', messages: [{ role: 'user', content: 'hi' }], tools: offered });
    expect(bodies).toMatchObject([{ tools: JSON.parse(JSON.stringify(offered)) }]);
  });
});
