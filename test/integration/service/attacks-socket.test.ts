/** What one user's program can do to the service and to the other users through its own socket: lies, forged records, floods, half messages. */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { LocalApp } from '#app/create-app';
import { wireProtocol } from '#kernel/wire';
import { programOf } from './hostile.ts';
import { type Machine, startMachine, whyNoUsers } from './os-users.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

interface Said {
  readonly kind: string;
  readonly value?: unknown;
  readonly fault?: { readonly code: string };
}

describe.skipIf(whyNoUsers !== undefined)(`one user’s socket${whyNoUsers === undefined ? '' : ` (${whyNoUsers})`}`, () => {
  let machine: Machine;
  let root: LocalApp;
  let alice: string;
  let bob: string;
  /** A request of alice's. */
  let id: string;
  const as = <T = unknown>(user: string, body: string, args: object = {}) => programOf<T>(machine, user, body, { id, alice, bob, ...args });
  beforeAll(async () => {
    machine = await startMachine();
    ({ alice, bob } = machine.users);
    await machine.start();
    root = await machine.inside();
    ({ request_id: id } = await as<{ request_id: string }>(alice, `return (await connect()).call('stop_vm', { vmid: 100 });`));
  });
  afterAll(async () => {
    await root?.close();
    await machine?.close();
  });

  it('tells nothing of another user’s requests: not by method, not by tool, not by search', async () => {
    const said = await as<unknown[]>(
      bob,
      `const link = await connect();
       const found = [];
       for (const method of ['approvals.get', 'approvals.card', 'records.waitOf', 'whyNotHere']) found.push(await link.ask(method, args.id));
       found.push(await link.ask('records.ofRequest', args.id, 0), await link.ask('approvals.list', { limit: 500 }), await link.ask('approvals.list', { limit: 500, search: args.alice }));
       found.push(await link.ask('approvals.countPending'), await link.ask('audit.tail', 1000));
       found.push(await link.call('list_pending_approvals'), await link.call('list_pending_approvals', { filter: 'stop' }), await link.call('get_security_log', { limit: 50 }), await link.call('get_security_status'));
       return found;`,
    );
    // A refusal repeats what was asked for.
    const text = JSON.stringify(said).replaceAll(`there is no request ${id} of yours`, '');
    for (const word of [id, alice, 'stop_vm']) expect(text).not.toContain(word);
    expect(said.at(-1)).toMatchObject({ result: { pending_approvals: 0 } });
    const [unknown, other] = await as<{ result: object }[]>(
      bob,
      `const link = await connect();
       return [await link.call('check_request_status', { request_id: 'req-00000000' }), await link.call('check_request_status', { request_id: args.id })];`,
    );
    expect(JSON.stringify(other)).toBe(JSON.stringify(unknown).replaceAll('req-00000000', id));
  });

  it('its own are told to it as before', async () => {
    const said = await as<unknown[]>(
      alice,
      `const link = await connect();
       return [await link.call('list_pending_approvals'), await link.call('check_request_status', { request_id: args.id }), await link.call('get_security_log')];`,
    );
    for (const one of said) expect(JSON.stringify(one)).toContain(id);
  });

  it('decides, consumes and runs nothing of another user’s, also once it is approved', async () => {
    expect(await root.approvals.approve(id, machine.person)).toMatchObject({ ok: true });
    const said = await as<Said[]>(
      bob,
      `const link = await connect();
       const agents = ['cli:' + args.alice, args.alice + '/cli:' + args.alice].map((id) => ({ id, host: 'cli', modelTier: 'advanced' }));
       const calls = await Promise.all(agents.map((agent) => link.ask('call', { tool: 'stop_vm', input: { vmid: 100 }, agent, waitMs: 0 })));
       const acts = [['approvals.deny', args.id, null], ['approvals.revoke', args.id, null], ['approvals.cancel', args.id], ['runApproved', args.id, {}], ['records.noteWait', args.id, 'x', 1000], ['records.consume', args.id, 'x', 'x']];
       return [...calls, ...(await Promise.all(acts.map((act) => link.ask(...act))))];`,
    );
    for (const { value } of said.slice(0, 2)) expect(value).toMatchObject({ status: 'pending' });
    for (const { fault } of said.slice(2)) expect(fault).toMatchObject({ code: 'not_found' });
    expect(await root.approvals.get(id)).toMatchObject({ status: 'approved' });
  });

  it('one approval is used once, however many of its connections ask at once', async () => {
    const statuses = await as<string[]>(
      alice,
      `const links = await Promise.all(Array.from({ length: 8 }, () => connect()));
       const said = await Promise.all(links.flatMap((link) => [1, 2, 3].map(() => link.call('stop_vm', { vmid: 100 }))));
       return said.map((one) => one?.status ?? 'refused');`,
    );
    expect(statuses.filter((status) => status === 'ok')).toHaveLength(1);
    expect((await root.audit.tail(500)).filter(({ name }) => name === 'approval.consumed')).toHaveLength(1);
  });

  it('writes down nothing that looks like the service’s own, another user’s, or a cluster’s call', async () => {
    const head = await root.audit.head();
    const { request_id: workspace } = await as<{ request_id: string }>(
      alice,
      `const { spawnSync } = require('node:child_process');
       const said = spawnSync(process.execPath, [args.cli, 'call', 'write_file', '--input', JSON.stringify({ path: '.vscode/tasks.json', content: '{}' }), '--model', 'claude-opus-4-5', '--json'], { encoding: 'utf8' });
       return JSON.parse(said.stdout);`,
      { cli: `${machine.folder}/lib/cli.cjs` },
    );
    const own = { 'gen_ai.tool.name': 'write_file', agent: { id: `${alice}/x` } };
    const drafts: readonly (readonly [what: string, name: string, attributes: object])[] = [
      ['an approval', 'approval.approved', { ...own, request_id: workspace }],
      ['a use', 'approval.consumed', { ...own, request_id: workspace }],
      ['an approver', 'approver.trusted', { approver: 'user:mallory', key: 'x' }],
      ['a level', 'policy.changed', { change: 'level', to: 'relaxed' }],
      ['a checkpoint', 'audit.checkpoint', { base: 1 }],
      ['the end of a task', 'task.ended', own],
      ['a cluster’s call', 'tool.finished', { ...own, 'gen_ai.tool.name': 'stop_vm' }],
      ['a call of no tool', 'tool.finished', { agent: own.agent }],
      ['a cluster’s request', 'tool.finished', { ...own, request_id: id, status: 'ok', code: 'ok' }],
      ['a request that is none', 'tool.finished', { ...own, request_id: ['x'] }],
      ['another tool’s request', 'tool.finished', { ...own, 'gen_ai.tool.name': 'run_command', request_id: workspace }],
      ['another user’s agent', 'tool.finished', { ...own, agent: { id: `${bob}/x` } }],
      ['a second agent', 'tool.finished', { ...own, 'gen_ai.agent.id': `${bob}/x` }],
      ['a third one', 'standing.changed', { agent: own.agent, agentId: `${bob}/x` }],
      ['an agent that is no text', 'tool.finished', { ...own, agent: { id: 7 } }],
      ['no agent', 'tool.finished', { 'gen_ai.tool.name': 'write_file' }],
      ['very much', 'tool.finished', { ...own, message: 'x'.repeat(70_000) }],
    ];
    const said = await as<Said[]>(
      alice,
      `const link = await connect();
       const said = [];
       for (const [, name, attributes] of args.drafts) said.push(await link.ask('records.append', [{ name, attributes }]));
       return said;`,
      { drafts },
    );
    for (const [index, { kind }] of said.entries()) expect(kind, drafts[index]?.[0]).toBe('refusal');
    const mine = await as<Said>(
      alice,
      `const link = await connect();
       return link.ask('records.append', [{ name: 'tool.finished', attributes: { ...args.own, reported_by: args.bob, request_id: args.workspace } }]);`,
      { own, workspace },
    );
    expect(mine.kind).toBe('answer');
    const records = (await root.audit.tail(500)).filter(({ sequence }) => sequence > (head?.sequence ?? 0));
    expect(records.at(-1)).toMatchObject({ name: 'tool.finished', attributes: { reported_by: alice } });
    expect(records.filter(({ name }) => /trusted|policy|checkpoint|consumed|approved/.test(name))).toEqual([]);
    expect(await root.audit.verify()).toMatchObject({ ok: true });
  });

  it('shows people what a request is, whatever its title, tier and risk say', async () => {
    const opened = await as<Said & { value?: { record?: { id: string } } }>(
      alice,
      `const link = await connect();
       const said = require('node:child_process').spawnSync(process.execPath, [args.cli, 'call', 'write_file', '--input', JSON.stringify({ path: '.vscode/launch.json', content: 'rm -rf /' }), '--model', 'claude-opus-4-5', '--json'], { encoding: 'utf8' });
       const { request_id } = JSON.parse(said.stdout);
       const { id, status, createdAt, expiresAt, wait, ...draft } = (await link.ask('approvals.get', request_id)).value;
       await link.ask('approvals.cancel', request_id);
       return link.ask('records.open', { ...draft, title: 'Read \`README.md\`', tier: 'green', impact: 'none', risk: [], reason: 'harmless' });`,
      { cli: `${machine.folder}/lib/cli.cjs` },
    );
    expect(opened.kind).toBe('answer');
    const card = await root.approvals.card(opened.value?.record?.id ?? '');
    expect(card?.detail).toContain('.vscode/launch.json');
    expect(card?.detail).toContain('rm -rf /');
  });

  it.each([
    ['deep JSON', `'{"kind":"call","id":1,"method":"call","values":[' + '['.repeat(400000) + ']'.repeat(400000) + ']}\\n'`],
    [
      'a deep argument',
      `'{"kind":"call","id":1,"method":"call","values":[{"tool":"get_vms","agent":{"id":"x","host":"cli","modelTier":"advanced"},"waitMs":0,"input":' + '{"a":'.repeat(200000) + '1' + '}'.repeat(200000) + '}]}\\n'`,
    ],
    [
      'a prototype',
      `'{"kind":"call","id":1,"method":"call","values":[{"__proto__":{"tool":"get_vms"},"constructor":{"prototype":{}}}]}\\n'`,
    ],
    ['numbers beyond all', `'{"kind":"call","id":1e308,"method":"audit.tail","values":[1e308]}\\n'`],
    [
      'the same id twice',
      `'{"kind":"call","id":1,"method":"doctor","values":[]}\\n{"kind":"call","id":1,"method":"doctor","values":[]}\\n'`,
    ],
    ['a second hello', `'{"kind":"hello","protocol":${wireProtocol},"version":"x"}\\n'`],
    ['bytes that are no text', `Buffer.from([0xff, 0xfe, 0x00, 0x0a])`],
    ['a message without end', `Buffer.alloc(3 * 2 ** 20, 0x20)`],
  ])('%s ends at most its own connection', async (_what, bytes) => {
    await as(
      alice,
      `const link = await connect();
       link.socket.write(${bytes});
       const over = await Promise.race([link.ended, link.until(({ kind }) => kind !== 'welcome' && kind !== 'changed'), new Promise((resolve) => setTimeout(resolve, 3000))]);
       return over;`,
    );
    expect(await as(bob, `return (await connect()).call('get_cluster_status');`)).toMatchObject({ status: 'ok' });
    expect(await as(alice, `return (await connect()).call('get_cluster_status');`)).toMatchObject({ status: 'ok' });
  });

  it.each([
    [
      '32 connections that say half a message',
      `const links = await Promise.all(Array.from({ length: 32 }, () => connect())); for (const { socket } of links) socket.write('{"kind":"call","id":1,'.padEnd(2 * 2 ** 20, ' '));`,
    ],
    [
      'single bytes without end',
      `const links = await Promise.all(Array.from({ length: 8 }, () => connect())); const drip = () => { for (const { socket } of links) socket.write(' '); setImmediate(drip); }; drip();`,
    ],
    [
      'calls',
      `const links = await Promise.all(Array.from({ length: 20 }, () => connect())); const storm = () => { for (const link of links) for (let n = 0; n < 20; n += 1) void link.call('get_cluster_status'); setTimeout(storm, 5); }; storm();`,
    ],
    [
      'looks through the whole trail',
      `const links = await Promise.all(Array.from({ length: 20 }, () => connect())); const storm = () => { for (const link of links) { void link.ask('audit.verify', null); void link.ask('audit.tail', 1000); } setTimeout(storm, 5); }; storm();`,
    ],
    [
      'large messages',
      `const links = await Promise.all(Array.from({ length: 20 }, () => connect())); const text = JSON.stringify({ kind: 'cancel', id: 1, x: 'x'.repeat(2 ** 20) }) + '\\n'; const storm = () => { for (const { socket } of links) if (socket.writableLength < 2 ** 22) socket.write(text); setTimeout(storm, 5); }; storm();`,
    ],
    [
      'answers that it does not read',
      `const links = await Promise.all(Array.from({ length: 32 }, () => connect())); for (const link of links) { link.socket.pause(); for (let n = 0; n < 200; n += 1) link.send({ kind: 'call', id: n + 1, method: 'audit.tail', values: [1000] }); }`,
    ],
    [
      'connections',
      `const storm = () => { for (let n = 0; n < 40; n += 1) { const socket = net.connect(socketOf(me)).on('error', () => undefined); setTimeout(() => socket.destroy(), 50); } setTimeout(storm, 5); }; storm();`,
    ],
  ])('a flood of %s leaves the other user served', async (_what, flood) => {
    const flooding = as(
      alice,
      `const begun = Date.now(); ${flood} await new Promise((resolve) => setTimeout(resolve, 6000)); return Date.now() - begun;`,
    ).catch(String);
    const served = await as<string[]>(
      bob,
      `await new Promise((resolve) => setTimeout(resolve, 1000));
       const said = [];
       const link = await connect();
       for (let turn = 0; turn < 10; turn += 1) { said.push((await link.call('get_cluster_status')).status); await new Promise((resolve) => setTimeout(resolve, 50)); }
       return said;`,
    );
    expect(served).toEqual(Array.from({ length: 10 }, () => 'ok'));
    await flooding;
    // What the flood left in the pipes is still being taken off.
    const again = () => as(alice, `return (await connect()).call('get_cluster_status');`).catch(String);
    await expect.poll(again).toMatchObject({ status: 'ok' });
  });
});
