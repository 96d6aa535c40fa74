import { afterEach, describe, expect, it } from 'vitest';
import { findPhrase, type ModelScript, phraseGroups } from '../../../scripts/bench/scripted-agent.ts';
import { type ScriptedModel, startScriptedModel } from '../../../scripts/bench/scripted-model.ts';

let model: ScriptedModel | undefined;

afterEach(async () => {
  await model?.close();
  model = undefined;
});

async function start(script?: ModelScript): Promise<ScriptedModel> {
  model = await startScriptedModel(script ? { script } : {});
  return model;
}

interface Completion {
  readonly choices: readonly [
    { readonly finish_reason: string; readonly message: { readonly content: string | null; readonly tool_calls?: readonly ToolCall[] } },
  ];
}
interface ToolCall {
  readonly function: { readonly name: string; readonly arguments: string };
}

const TOOLS = [
  'banksman_get_cluster_status',
  'banksman_get_cluster_resources',
  'banksman_get_vms',
  'banksman_execute_ssh',
  'banksman_check_request_status',
].map((name) => tool(name));
const STOP_VM = tool('banksman_stop_vm', { node: {}, vmid: {}, reason: {} }, ['node', 'vmid']);

function tool(name: string, properties: object = {}, required: string[] = []): object {
  return { type: 'function', function: { name, parameters: { type: 'object', properties, required } } };
}

function post(body: unknown): Promise<Response> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return fetch(`${model?.url}/chat/completions`, { method: 'POST', body: text });
}

async function complete(messages: readonly object[], tools: readonly object[] = [...TOOLS, STOP_VM]): Promise<Completion['choices'][0]> {
  const response = await post({ model: 'x', messages, tools });
  expect(response.status).toBe(200);
  return ((await response.json()) as Completion).choices[0];
}

function user(content: unknown): object {
  return { role: 'user', content };
}

async function firstCall(prompt: string): Promise<{ name: string | undefined; args: unknown }> {
  const call = (await complete([user(prompt)])).message.tool_calls?.[0]?.function;
  return { name: call?.name, args: JSON.parse(call?.arguments ?? 'null') };
}

describe('the demo script', () => {
  it('turns a phrase into its tool call', async () => {
    await start();
    expect(await firstCall('What is the cluster status?')).toEqual({ name: 'banksman_get_cluster_status', args: {} });
    expect(await firstCall('please list the vms')).toEqual({ name: 'banksman_get_vms', args: {} });
    expect(await firstCall('uptime on pve')).toEqual({ name: 'banksman_execute_ssh', args: { node: 'pve', command: 'uptime' } });
    expect(await firstCall('run `systemctl status nginx` on pve')).toEqual({
      name: 'banksman_execute_ssh',
      args: { node: 'pve', command: 'systemctl status nginx' },
    });
    expect(await firstCall('check req-0a1b2c3d')).toEqual({ name: 'banksman_check_request_status', args: { request_id: 'req-0a1b2c3d' } });
  });

  it('says why, where the tool takes a reason', async () => {
    await start();
    expect(await firstCall('stop vm 100 on pve')).toEqual({
      name: 'banksman_stop_vm',
      args: { vmid: 100, node: 'pve', reason: 'asked for in the chat: stop vm 100 on pve' },
    });
  });

  it("reads the person's words out of Copilot's wrapping", async () => {
    await start();
    const wrapped = [{ type: 'text', text: '<context>list the vms</context>\n<userRequest>\nuptime on pve\n</userRequest>' }];
    const choice = await complete([user(wrapped)]);
    expect(choice.message.tool_calls?.[0]?.function.name).toBe('banksman_execute_ssh');
  });

  it('looks a guest up when the tool wants its node', async () => {
    await start();
    expect((await firstCall('stop vm 100')).name).toBe('banksman_get_cluster_resources');
    const lookup = {
      role: 'assistant',
      content: null,
      tool_calls: [{ function: { name: 'banksman_get_cluster_resources', arguments: '{}' } }],
    };
    const rows = { role: 'tool', content: '{"result":{"resources":[{"vmid":1001,"node":"Home"},{"vmid":100,"name":"web","node":"pve"}]}}' };
    const found = await complete([user('stop vm 100'), lookup, rows]);
    expect(JSON.parse(found.message.tool_calls?.[0]?.function.arguments ?? '{}')).toMatchObject({ vmid: 100, node: 'pve' });
    const lost = await complete([user('stop vm 999'), lookup, rows]);
    expect(lost.message.content).toContain('did not find it');
  });

  it('repeats the result of a tool and says what it is', async () => {
    await start();
    const call = { role: 'assistant', content: null, tool_calls: [{ function: { name: 'banksman_stop_vm', arguments: '{}' } }] };
    const result = { role: 'tool', content: 'PENDING: a person must decide\n{"status":"pending","request_id":"req-11223344"}' };
    const choice = await complete([user('stop vm 100 on pve'), call, result]);
    expect(choice.finish_reason).toBe('stop');
    expect(choice.message.content).toContain('`banksman_stop_vm` answered: **PENDING: a person must decide**');
    expect(choice.message.content).toContain('scripted demo model');
    expect(choice.message.content).toContain('say `check req-11223344`');
  });

  it('shows a list as one line a row', async () => {
    await start();
    const call = { role: 'assistant', content: null, tool_calls: [{ function: { name: 'banksman_get_vms', arguments: '{}' } }] };
    const rows = [
      { vmid: 100, name: 'web', node: 'pve', flags: {} },
      { vmid: 101, name: 'nas', node: 'Home' },
    ];
    const result = { role: 'tool', content: `2 VMs\n${JSON.stringify({ status: 'ok', result: { vms: rows } })}` };
    expect((await complete([user('list vms'), call, result])).message.content).toContain('```\n100  web  pve\n101  nas  Home\n```');
  });

  it('tells what it understands when it does not understand', async () => {
    await start();
    const { content } = (await complete([user('write me a poem')])).message;
    expect(content).toContain('scripted demo model');
    expect(content).toContain('`stop vm 100`');
  });

  it('understands every example that it lists, as that tool', () => {
    for (const phrase of phraseGroups.flatMap((group) => group.phrases)) {
      expect([phrase.example, findPhrase(phrase.example)?.phrase.tool]).toEqual([phrase.example, phrase.tool]);
    }
  });

  it('calls no tool that it was not offered', async () => {
    await start();
    const choice = await complete([user('stop vm 100 on pve')], TOOLS);
    expect(choice.message.tool_calls).toBeUndefined();
    expect(choice.message.content).toContain('does not offer it');
  });

  it("answers the editor's own requests with text", async () => {
    await start();
    const choice = await complete([user('Return only a JSON array of strings')], []);
    expect(JSON.parse(choice.message.content ?? '')).toBeInstanceOf(Array);
  });
});

describe('the server', () => {
  it('streams a tool call in the format of chat completions', async () => {
    await start();
    const response = await post({ messages: [user('cluster status')], tools: TOOLS, stream: true });
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    const events = (await response.text()).split('\n\n').filter((event) => event !== '');
    expect(events.at(-1)).toBe('data: [DONE]');
    const deltas = events.slice(0, -1).map((event) => JSON.parse(event.slice('data: '.length)));
    expect(deltas[1].choices[0].delta.tool_calls[0].function).toEqual({ name: 'banksman_get_cluster_status', arguments: '{}' });
    expect(deltas[2].choices[0].finish_reason).toBe('tool_calls');
    expect(deltas[3].usage.total_tokens).toBe(2);
  });

  it('streams text', async () => {
    await start(() => ({ text: 'hello' }));
    const response = await post({ messages: [], tools: TOOLS, stream: true });
    expect(await response.text()).toContain('"content":"hello"');
  });

  it('lists its model', async () => {
    await start();
    const response = await fetch(`${model?.url}/models`);
    expect(await response.json()).toMatchObject({ data: [{ id: 'scripted-demo' }] });
  });

  it.each([
    ['not JSON', '{', 400],
    ['not an object', '[]', 400],
    ['without messages', '{}', 400],
    ['too large', `"${'x'.repeat(17 * 1024 * 1024)}"`, 413],
  ])('refuses a body that is %s and goes on', async (_what, body, status) => {
    await start();
    const response = await post(body);
    expect(response.status).toBe(status);
    expect(await response.json()).toHaveProperty('error.message');
    expect((await post({ messages: [] })).status).toBe(200);
  });

  it('ignores parts that make no sense', async () => {
    await start();
    expect((await post({ messages: [null, 7, { role: 1, content: [{}, 'x'] }], tools: [null, {}, { function: 3 }] })).status).toBe(200);
  });

  it('answers an unknown address with 404 and a broken script with 500', async () => {
    await start(() => {
      throw new Error('broken script');
    });
    expect((await fetch(`${model?.url}/nothing`)).status).toBe(404);
    expect((await post({ messages: [] })).status).toBe(500);
  });

  it('keeps what it was asked', async () => {
    const { requests } = await start();
    await post({ messages: [user('hi')], tools: [STOP_VM] });
    expect(requests).toEqual([
      {
        tools: [{ name: 'banksman_stop_vm', parameters: ['node', 'vmid', 'reason'], required: ['node', 'vmid'] }],
        messages: [{ role: 'user', content: 'hi', calls: [] }],
      },
    ]);
  });

  it('refuses a taken port', async () => {
    const first = await start();
    await expect(startScriptedModel({ port: Number(new URL(first.url).port) })).rejects.toThrow(/EADDRINUSE/);
  });

  it('closes at once, with a request open', async () => {
    const running = await start();
    await fetch(`${running.url}/models`);
    const open = fetch(`${running.url}/chat/completions`, {
      method: 'POST',
      body: new ReadableStream({ pull: () => undefined }),
      duplex: 'half',
    });
    const failed = open.catch((error: unknown) => error);
    await new Promise((done) => setTimeout(done, 50));
    await running.close();
    expect(await failed).toBeInstanceOf(TypeError);
  });
});
