import { describe, expect, it } from 'vitest';
import { mostCalls, mostRounds } from '#hosts/vscode/participant/agent-loop';
import type { Outcome } from '#kernel/outcome';
import { ask, call, denied, ok, scripted, toldIn } from './scripted.ts';

describe('the loop', () => {
  it('runs what the model calls, tells it what came of it, and ends with its answer', async () => {
    const script = scripted([[{ text: 'I look. ' }, call('get_vms')], [{ text: 'Six run.' }]]);
    const { end, said, heard, calls } = await ask(script.model, { outcome: () => ok('6 VMs') });
    expect(end).toEqual({ kind: 'answered' });
    expect(said).toBe('I look. Six run.');
    expect(heard).toBe(said);
    expect(calls).toEqual([{ tool: 'get_vms', input: {}, outcome: ok('6 VMs') }]);
    expect(toldIn(script, 1)).toEqual(['6 VMs\n{"status":"ok","code":"ok","message":"6 VMs","result":{"fine":true}}']);
    expect(script.sent[0]?.map(({ from }) => from)).toEqual(['person', 'person']);
    expect(script.sent[1]?.map(({ from }) => from)).toEqual(['person', 'person', 'model', 'tools']);
  });

  it('stops after its most rounds', async () => {
    const script = scripted([[call('get_vms')]]);
    const { end, calls } = await ask(script.model);
    expect(end).toEqual({ kind: 'rounds' });
    expect(script.sent).toHaveLength(mostRounds);
    expect(calls).toHaveLength(mostRounds);
  });

  it('runs twelve calls of one round in their order, each answered once', async () => {
    const round = Array.from({ length: 12 }, (_, index) => call('get_guest', { vmid: 100 + index }));
    const script = scripted([round, [{ text: 'done' }]]);
    const { calls } = await ask(script.model, { outcome: (_tool, input) => ok(JSON.stringify(input)) });
    expect(calls.map(({ input }) => input)).toEqual(round.map(({ call: { input } }) => input));
    expect(toldIn(script, 1)).toHaveLength(12);
  });

  it('answers what is over the most calls of a round, and does not run it', async () => {
    const round = Array.from({ length: mostCalls + 4 }, (_, index) => call('get_guest', { vmid: 100 + index }));
    const script = scripted([round, [{ text: 'done' }]]);
    const { calls } = await ask(script.model);
    expect(calls).toHaveLength(mostCalls);
    expect(toldIn(script, 1).filter((text) => text.includes('not_run'))).toHaveLength(4);
  });

  it('refuses a tool that was not offered, and says which there are', async () => {
    const script = scripted([[{ call: { id: '1', name: 'rm_rf', input: {} } }], [{ text: 'sorry' }]]);
    const { end, calls } = await ask(script.model);
    expect(calls).toEqual([]);
    expect(toldIn(script, 1)[0]).toMatch(/unknown_tool.*nothing was done.*banksman_get_vms/);
    expect(end.kind).toBe('answered');
  });

  it.each([['{"vmid": 100'], [['vmid', 100]], [null], [42]])('answers arguments that are no object: %j', async (input) => {
    const script = scripted([[call('get_guest', input)], [{ text: 'sorry' }]]);
    const { calls } = await ask(script.model);
    expect(calls).toEqual([]);
    expect(toldIn(script, 1)[0]).toContain('not a JSON object');
  });

  it('gives up on a model that calls nothing that can be', async () => {
    const script = scripted([[call('make_coffee')]]);
    expect((await ask(script.model)).end).toEqual({ kind: 'astray' });
    expect(script.sent).toHaveLength(3);
  });

  it('runs a refused call once, answers it the second time, and stops at the third', async () => {
    const script = scripted([[call('stop_vm', { vmid: 103 })]]);
    const { end, calls } = await ask(script.model, { outcome: () => denied() });
    expect(calls).toHaveLength(1);
    expect(end).toEqual({ kind: 'repeats', call: { tool: 'stop_vm', input: { vmid: 103 }, outcome: denied() } });
    expect(script.sent).toHaveLength(3);
    expect(toldIn(script, 2)[0]).toMatch(/not run: exactly this call ended as `protected_resource` before/);
  });

  it('knows a refused call again with its arguments in another order', async () => {
    const script = scripted([
      [call('stop_vm', { vmid: 103, node: 'pve' })],
      [call('stop_vm', { node: 'pve', vmid: 103 })],
      [{ text: 'no' }],
    ]);
    expect((await ask(script.model, { outcome: () => denied() })).calls).toHaveLength(1);
  });

  it('lets a call that failed be tried again, but not for ever', async () => {
    const busy: Outcome = { status: 'error', code: 'cluster_busy', message: 'later' };
    const script = scripted([[call('get_vms')]]);
    const { end, calls } = await ask(script.model, { outcome: () => busy });
    expect(calls).toHaveLength(3);
    expect(end.kind).toBe('repeats');
  });

  it('does not hold a call that once failed against it after that', async () => {
    const busy: Outcome = { status: 'error', code: 'cluster_busy', message: 'later' };
    const script = scripted([[call('get_vms')], [call('get_vms')], [{ text: 'there' }]]);
    const { end, calls } = await ask(script.model, { outcome: (_tool, _input, done) => (done.length === 0 ? busy : ok()) });
    expect(calls).toHaveLength(2);
    expect(end.kind).toBe('answered');
  });

  it('ends where a call waits for a person, and runs none behind it', async () => {
    const pending: Outcome = { status: 'pending', code: 'approval_pending', message: 'waits', request_id: 'req-0123abcd' };
    const script = scripted([[call('get_vms'), call('stop_vm', { vmid: 100 }), call('stop_vm', { vmid: 101 })]]);
    const { end, calls } = await ask(script.model, { outcome: (tool) => (tool === 'stop_vm' ? pending : ok()) });
    expect(calls.map(({ tool }) => tool)).toEqual(['get_vms', 'stop_vm']);
    expect(end).toEqual({ kind: 'waits', call: { tool: 'stop_vm', input: { vmid: 100 }, outcome: pending } });
    expect(script.sent).toHaveLength(1);
  });

  it('runs nothing more of a round in which a person refused a call, and lets the model answer', async () => {
    const script = scripted([[call('stop_vm', { vmid: 100 }), call('stop_vm', { vmid: 101 })], [{ text: 'You refused it.' }]]);
    const { end, calls } = await ask(script.model, { outcome: () => denied('denied_by_person') });
    expect(calls).toHaveLength(1);
    expect(toldIn(script, 1)[1]).toContain('the person refused a call before it');
    expect(end.kind).toBe('answered');
  });

  it('begins with what it is given to begin with', async () => {
    const script = scripted([[{ text: 'It runs again.' }]]);
    const opening = [{ id: 'continue', name: 'banksman_restart_vm', input: { vmid: 100 } }];
    const { calls, end } = await ask(script.model, { opening });
    expect(calls.map(({ tool }) => tool)).toEqual(['restart_vm']);
    expect(toldIn(script, 0)).toHaveLength(1);
    expect(end.kind).toBe('answered');
  });

  it('gives a call an id of its own where the model gives none, or one twice', async () => {
    const twice = [1, 2, 3].map((vmid) => ({ call: { id: vmid === 3 ? '' : 'same', name: 'banksman_get_guest', input: { vmid } } }));
    const script = scripted([twice, twice, [{ text: 'done' }]]);
    await ask(script.model);
    const messages = script.sent[2] ?? [];
    const ids = messages.flatMap((message) => (message.from === 'model' ? message.calls.map(({ id }) => id) : []));
    const answered = messages.flatMap((message) => (message.from === 'tools' ? message.answers.map(({ id }) => id) : []));
    expect(new Set(ids).size).toBe(6);
    expect(answered).toEqual(ids);
  });
});

describe('a model that does not do its part', () => {
  it('is asked once more when it says nothing, and then given up', async () => {
    const script = scripted([[call('get_vms')], []]);
    expect((await ask(script.model)).end).toEqual({ kind: 'empty' });
    expect(script.sent).toHaveLength(3);
    expect(script.sent[2]?.at(-1)).toMatchObject({ from: 'person' });
  });

  it.each([
    ['{"name": "banksman_get_vms", "arguments": {}}'],
    ['```json\n{"name": "get_vms", "parameters": {}}\n```'],
    ['<tool_call>{"name": "get_vms"}</tool_call>'],
  ])('is told apart where it writes its call: %s', async (text) => {
    expect((await ask(scripted([[{ text }]]).model)).end).toEqual({ kind: 'written_call' });
  });

  it.each(['Use `get_vms` to see them.', '{"vms": 6}', '```json\n{"cores": 4}\n```'])('may answer with anything else: %s', async (text) => {
    expect((await ask(scripted([[{ text }]]).model)).end.kind).toBe('answered');
  });

  it('ends the loop with what it threw, also half-way', async () => {
    const thrown = new Error('quota');
    const { end, calls } = await ask(scripted([[call('get_vms')], thrown]).model);
    expect(end).toEqual({ kind: 'failed', thrown });
    expect(calls).toHaveLength(1);
  });

  it('is cut short where it never stops talking', async () => {
    const endless = (): readonly { readonly text: string }[] => Array.from({ length: 10_000 }, () => ({ text: 'and on and on ' }));
    const { said } = await ask(scripted([endless]).model);
    expect(said.length).toBeLessThan(61_000);
  });
});

describe('a person who cancels', () => {
  it('ends the loop though the model never does', async () => {
    const controller = new AbortController();
    const model = {
      room: 10_000,
      async *send() {
        yield { text: 'I think' };
        controller.abort();
        await new Promise(() => undefined);
      },
    };
    const { end, said } = await ask(model, { signal: controller.signal });
    expect(end).toEqual({ kind: 'cancelled', unsure: [] });
    expect(said).toBe('I think');
  });

  it.each([
    [{ state: 'task', upid: 'UPID:x', last_seen: 'running' }, 1],
    [{ state: 'sent' }, 1],
    [{ state: 'task', upid: 'UPID:x', last_seen: 'ended' }, 0],
    [{ state: 'not_sent' }, 0],
  ])('hears of a call that may still run: %j', async (effect, unsure) => {
    const controller = new AbortController();
    const outcome: Outcome = { status: 'error', code: 'cancelled', message: 'cancelled by the caller', effect };
    const script = scripted([[call('stop_vm', { vmid: 100 }), call('get_vms')]]);
    const { end, calls } = await ask(script.model, {
      signal: controller.signal,
      outcome: () => {
        controller.abort();
        return outcome;
      },
    });
    expect(calls).toHaveLength(1);
    expect(end).toMatchObject({ kind: 'cancelled' });
    expect(end.kind === 'cancelled' ? end.unsure : []).toHaveLength(unsure);
  });
});

describe('a model with little room', () => {
  const long = (length: number) => ok('x'.repeat(length));

  it('is sent what fits, whatever the tools answer', async () => {
    const script = scripted(
      [...Array.from({ length: 30 }, (_, index) => [call('get_guest', { vmid: index + 100 })]), [{ text: 'done' }]],
      12_000,
    );
    const { end } = await ask(script.model, { here: { room: 12_000 }, outcome: () => long(7_000) });
    expect(end.kind).toBe('answered');
    for (const messages of script.sent) expect(JSON.stringify(messages).length / 3).toBeLessThan(12_000);
    // What came last is there in full.
    expect(toldIn(script, 30)[0]).not.toContain('for want of room');
    expect(JSON.stringify(script.sent[30])).toContain('left out for want of room');
  });

  it('is told less when it says that it was too much, once', async () => {
    const tooMuch = new Error('This model’s maximum context length is 4096 tokens');
    const before = Array.from({ length: 40 }, (_, index) => [{ from: 'person' as const, text: `${index} ${'word '.repeat(500)}` }]);
    const script = scripted([tooMuch, [{ text: 'I see' }]]);
    expect((await ask(script.model, { before })).end.kind).toBe('answered');
    const [first = [], second = []] = script.sent;
    expect(second.length).toBeLessThan(first.length);
    expect((await ask(scripted([tooMuch]).model)).end).toEqual({ kind: 'too_long' });
  });

  it('is not asked at all where the question alone is too long', async () => {
    const script = scripted([[{ text: 'never' }]], 6_000);
    expect((await ask(script.model, { here: { room: 6_000 }, question: 'why? '.repeat(10_000) })).end).toEqual({ kind: 'too_long' });
    expect(script.sent).toEqual([]);
  });
});
