/** The wire formats of the scripted model: one conversation in each, whole and in pieces. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chatCompletions } from '../../../scripts/bench/model-dialect-chat.ts';
import { type ScriptedModel, startScriptedModel } from '../../../scripts/bench/scripted-model.ts';
import { anthropicMessages } from '../../agents/dialects/anthropic-messages.ts';
import { geminiContent } from '../../agents/dialects/gemini-content.ts';
import { openaiResponses } from '../../agents/dialects/openai-responses.ts';

const schema = { type: 'object', properties: { vmid: {} }, required: ['vmid'] };
const args = { vmid: 7 };
const user = { role: 'user', content: 'go' };

/** Where it asks, what it asks first, and what it says once the tool has answered 42. */
const formats = [
  {
    path: '/v1/chat/completions',
    base: { tools: [{ type: 'function', function: { name: 'look', parameters: schema } }], messages: [user] },
    answered: {
      messages: [
        user,
        { role: 'assistant', tool_calls: [{ id: 'c', type: 'function', function: { name: 'look', arguments: '{}' } }] },
        { role: 'tool', tool_call_id: 'c', content: '42' },
      ],
    },
    asksForPieces: { stream: true },
  },
  {
    path: '/v1/messages',
    base: { tools: [{ name: 'look', input_schema: schema }], messages: [user] },
    answered: {
      messages: [
        user,
        { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'look', input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: [{ type: 'text', text: '42' }] }] },
      ],
    },
    asksForPieces: { stream: true },
  },
  {
    path: '/v1/responses',
    base: { tools: [{ type: 'namespace', name: 'ns', tools: [{ type: 'function', name: 'look', parameters: schema }] }], input: [user] },
    answered: {
      input: [
        user,
        { type: 'function_call', call_id: 'c', namespace: 'ns', name: 'look', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c', output: '42' },
      ],
    },
    asksForPieces: { stream: true },
  },
  {
    path: '/v1beta/models/x:generateContent',
    base: {
      tools: [{ functionDeclarations: [{ name: 'look', parametersJsonSchema: schema }] }],
      contents: [{ role: 'user', parts: [{ text: 'go' }] }],
    },
    answered: {
      contents: [
        { role: 'user', parts: [{ text: 'go' }] },
        { role: 'model', parts: [{ functionCall: { name: 'look', args: {} } }] },
        { role: 'user', parts: [{ functionResponse: { name: 'look', response: { output: '42' } } }] },
      ],
    },
    asksForPieces: undefined,
  },
] as const;

let model: ScriptedModel;

beforeAll(async () => {
  model = await startScriptedModel({
    dialects: [chatCompletions, anthropicMessages, openaiResponses, geminiContent],
    script: ({ messages, tools }) => {
      const last = messages.at(-1);
      return last?.role === 'tool' ? { text: `it said ${last.content}` } : { tool: tools[0]?.name ?? '', args };
    },
  });
});
afterAll(() => model.close());

async function post(path: string, body: object): Promise<string> {
  const response = await fetch(new URL(path, model.url), { method: 'POST', body: JSON.stringify(body) });
  expect(response.status).toBe(200);
  return response.text();
}

describe.each(formats)('$path', ({ path, base, answered, asksForPieces }) => {
  it('reads tools, calls and results, whatever they are called there', async () => {
    await post(path, { ...base, ...answered });
    const turn = model.requests.at(-1);
    expect(turn?.tools).toEqual([{ name: expect.stringMatching(/^(?:ns__)?look$/), parameters: ['vmid'], required: ['vmid'] }]);
    expect(turn?.messages.map(({ role, content, calls }) => [role, content, ...calls])).toEqual([
      ['user', 'go'],
      ['assistant', '', 'look'],
      ['tool', '42'],
    ]);
  });

  it('calls a tool and says a text, whole and in pieces', async () => {
    const inPieces = asksForPieces === undefined ? path.replace('generate', 'streamGenerate') : path;
    const called = [await post(path, base), await post(inPieces, { ...base, ...asksForPieces })];
    for (const text of called) expect(text.replaceAll('\\', '')).toMatch(/"name":"look".*"vmid":7/s);
    const said = [await post(path, { ...base, ...answered }), await post(inPieces, { ...base, ...answered, ...asksForPieces })];
    for (const text of said) expect(text).toContain('it said 42');
    expect(said[1]).toMatch(/^(?:event: \S+\n)?data: \{/);
  });
});
