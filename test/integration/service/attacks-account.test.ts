/**
 * The attempts of docs/attacks.md against the service: each is made by a program of the agents' account, a real user of the operating system,
 * with everything that is that user's. At the end of each the request still waits, and nothing that the service holds is another.
 */
import { chmodSync, chownSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { LocalApp } from '#app/create-app';
import { generateApproverKey } from '#app/for-hosts';
import { answeredElsewhere, wireMethods, wireProtocol } from '#kernel/wire';
import { programOf } from './hostile.ts';
import { type Machine, startMachine, whyNoUsers } from './os-users.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

describe.skipIf(whyNoUsers !== undefined)(`the agents’ account${whyNoUsers === undefined ? '' : ` (${whyNoUsers})`}`, () => {
  let machine: Machine;
  let root: LocalApp;
  let alice: string;
  /** What waits for a person, and must wait on. */
  let id: string;
  let before: { readonly config: string; readonly head: { readonly sequence: number; readonly hash: string } };
  const asAlice = <T = unknown>(body: string, args: object = {}) =>
    programOf<T>(machine, alice, body, { id, stateDir: machine.stateDir, configFile: machine.configFile, ...args });
  beforeAll(async () => {
    machine = await startMachine();
    ({ alice } = machine.users);
    machine.writeConfig({ approvalWait: { mcp: 1_000 } });
    await machine.start();
    root = await machine.inside();
    ({ request_id: id } = await asAlice<{ request_id: string }>(`return (await connect()).call('stop_vm', { vmid: 100 });`));
    before = { config: readFileSync(machine.configFile, 'utf8'), head: (await root.audit.head()) ?? { sequence: 0, hash: '' } };
  });
  const untouched = async () => {
    expect(await root.approvals.get(id)).toMatchObject({ status: 'pending' });
    expect(await root.security.level()).toMatchObject({ level: 'balanced' });
    expect(await root.security.rules()).toEqual([]);
    expect(readFileSync(machine.configFile, 'utf8')).toBe(before.config);
    expect(await root.audit.verify(before.head)).toMatchObject({ ok: true });
    expect((await root.approvals.list({ statuses: ['approved', 'consumed'], limit: 10 })).records).toEqual([]);
  };
  afterEach(() => untouched());
  afterAll(async () => {
    await root?.close();
    await machine?.close();
  });

  it('has no row to write, no store to copy, link, move or put another in place of', async () => {
    const said = await asAlice<readonly string[]>(`
      const store = path.join(args.stateDir, 'banksman.db'), own = path.join(os.homedir(), '..', me, 'copy.db');
      const { DatabaseSync } = require('node:sqlite');
      return [
        await tried(() => new DatabaseSync(store).exec("UPDATE requests SET status = 'approved'")),
        await tried(() => fs.copyFileSync(store, own)),
        await tried(() => fs.linkSync(store, own)),
        await tried(() => fs.readdirSync(args.stateDir)),
        await tried(() => fs.renameSync(args.stateDir, args.stateDir + '.old')),
        await tried(() => fs.appendFileSync(store, 'x')),
        await tried(() => fs.truncateSync(store)),
        await tried(() => fs.writeFileSync(path.join(args.stateDir, 'own'), 'x')),
        await tried(() => fs.rmSync(args.stateDir, { recursive: true })),
      ];`);
    for (const word of said) expect(word).toMatch(/^(?:EACCES|EPERM|ERR_SQLITE_ERROR)$/);
  });

  it('cannot pin a key where the service reads them, agree to one, or loosen what is protected', async () => {
    const said = await asAlice<readonly string[]>(`
      const beside = (name) => path.join(path.dirname(args.configFile), name);
      return [
        await tried(() => fs.writeFileSync(args.configFile, '{"approvers":[]}')),
        await tried(() => fs.chmodSync(args.configFile, 0o666)),
        await tried(() => fs.writeFileSync(beside('agreed.json'), '[]')),
        await tried(() => fs.symlinkSync('/tmp', beside('approver-keys'))),
        await tried(() => fs.renameSync(path.dirname(args.configFile), beside('..') + '/old')),
        await tried(() => fs.readFileSync(beside('secrets/token0'))),
        await tried(() => fs.writeFileSync(beside('secrets/token0'), 'mine')),
      ];`);
    for (const word of said) expect(word).toMatch(/^(?:EACCES|EPERM)$/);
  });

  it('a pin, a level and protection of its own are for its own process alone', async () => {
    const key = generateApproverKey();
    const own = { approvers: [{ name: 'user:mallory', key: key.publicKey }], protected: {}, tiers: {}, securityLevel: 'relaxed' };
    await asAlice(
      `const folder = path.join(process.env.HOME, '.config/banksman');
       fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
       fs.writeFileSync(path.join(folder, 'config.json'), args.text, { mode: 0o600 });`,
      { text: JSON.stringify(own) },
    );
    const call = async (vmid: number) =>
      JSON.parse((await machine.as(alice, ['call', 'stop_vm', '--input', JSON.stringify({ vmid }), '--json'])).out) as object;
    expect(await call(103)).toMatchObject({ status: 'denied' });
    expect(await call(100)).toMatchObject({ status: 'pending', request_id: id });
    expect((await machine.as(alice, ['approvers', 'list', '--json'])).out).not.toContain('carol');
  });

  it('no method of its socket approves, whatever is sent with it: a grant, a signature, a row, words', async () => {
    const pair = generateApproverKey();
    const record = await root.approvals.get(id);
    const invented = [
      'approve',
      'requests.approve',
      'records.approve',
      'passkey.finish',
      'page.finish',
      'call.approve',
      'toString',
      '__proto__',
    ];
    const stops = ['approvals.deny', 'approvals.revoke', 'approvals.cancel', 'security.pause'];
    const methods = [...Object.keys(wireMethods), ...answeredElsewhere, ...invented].filter((name) => !stops.includes(name));
    const kinds = await asAlice<readonly string[]>(
      `const link = await connect();
       const payload = { requestId: args.id, digest: args.record.digest, decision: 'approve', approver: 'user:carol', person: 'carol', issuedAt: Date.now(), expiresAt: Date.now() + 300000, nonce: 'x'.repeat(32) };
       const grant = { payload, proof: { kind: 'ed25519', keyId: 'x', signature: 'x' } };
       const approved = { ...args.record, status: 'approved', grants: [grant], decision: { by: 'user:carol', via: 'page', at: Date.now() } };
       const shapes = [[args.id], [args.id, grant], [args.id, args.record.digest, 'user:carol'], [{ id: args.id, grant }], [approved], [[approved]], [args.id, { approver: 'user:carol', publicKey: args.key }], []];
       const kinds = new Set();
       for (const method of args.methods) for (const shape of shapes) {
         const said = await link.ask(method, ...shape);
         kinds.add(said.kind === 'ended' ? 'ended' : said.fault?.code ?? 'answer');
       }
       return [...kinds];`,
      { record, key: pair.publicKey, methods },
    );
    expect(kinds).not.toContain('ended');
    expect(kinds).toContain('answered_elsewhere');
  });

  it('opens no request that is approved already, and consumes none that nobody approved', async () => {
    const said = await asAlice<{ opened: { kind: string }; consumed: { value?: { ok: boolean } }[] }>(
      `const link = await connect();
       const agent = { id: me + '/cli:x', host: 'cli', modelTier: 'advanced' };
       const { digest } = args.record;
       const forged = { ...args.record, agent, status: 'approved', grants: [{}], decision: { by: 'user:carol' } };
       return {
         opened: await link.ask('records.open', forged),
         consumed: [await link.ask('records.consume', args.id, digest, 'me'), await link.ask('runApproved', args.id, {})],
       };`,
      { record: await root.approvals.get(id) },
    );
    expect(said.opened.kind).toBe('refusal');
    expect(JSON.stringify(said.consumed)).not.toMatch(/"(?:ok":true|status":"ok)/);
  });

  it('confirms nothing by argument, by name, by model or by host', async () => {
    const agents = [
      { id: 'root', host: 'cli', modelTier: 'advanced' },
      { id: `${machine.users.bob}/cli:${machine.users.bob}`, host: 'palette', modelTier: 'advanced', model: 'a person', label: 'root' },
      { id: 'user:carol', host: 'palette', modelTier: 'advanced' },
      { id: 'x\n\u202eorac', host: 'mcp', modelTier: 'advanced' },
    ];
    const said = await asAlice<readonly { status?: string }[]>(
      `const link = await connect();
       const more = [{ confirmed: true }, { approved: true }, { approver: 'user:carol' }, { byHand: true }, { request_id: args.id }];
       const inputs = await Promise.all(more.map((one) => link.call('stop_vm', { vmid: 100, ...one })));
       const agents = await Promise.all(args.agents.map((agent) => link.call('stop_vm', { vmid: 100 }, { agent })));
       const fields = await Promise.all([{ confirmed: true }, { byHand: { requestId: args.id, by: 'user:carol' } }, { user: 'root' }].map((one) => link.call('stop_vm', { vmid: 100 }, one)));
       return [...inputs, ...agents, ...fields];`,
      { agents },
    );
    for (const one of said) expect(one?.status).not.toBe('ok');
    const { records } = await root.approvals.list({ statuses: ['pending'], limit: 50 });
    for (const { agent } of records) expect(agent.id.startsWith(`${alice}/`), agent.id).toBe(true);
  });

  it('an MCP client that accepts every question of its server has answered none', async () => {
    const client = new Client({ name: 'test', version: '1' }, { capabilities: { elicitation: { form: {}, url: {} } } });
    client.setRequestHandler('elicitation/create', () => ({ action: 'accept' as const, content: { approve: true, confirmed: true } }));
    await client.connect(new StdioClientTransport(machine.command(alice, ['mcp'])));
    try {
      const { content } = await client.callTool({ name: 'stop_vm', arguments: { vmid: 100 } }, { timeout: 60_000 });
      expect(content).toEqual([{ type: 'text', text: expect.stringMatching(/^\{"status":"(?:pending|denied|error)"/) }]);
    } finally {
      await client.close();
    }
  });

  it('a terminal of its own (script, tmux), and a command line of its own, answer nothing', async () => {
    const program = `${join(machine.folder, 'lib/node')} ${join(machine.folder, 'lib/cli.cjs')}`;
    for (const words of [`approvals approve ${id}`, 'level set relaxed', 'auto-approve set tool:stop_vm allow']) {
      const { status, out } = await machine.run(alice, ['script', '-qec', `${program} ${words}`, '/dev/null']);
      expect(status, words).not.toBe(0);
      expect(out, words).toContain('not decided here');
    }
  });

  it('a command in the sandbox reaches no socket of the service', async () => {
    const command = `ls ${machine.sockets} /run/banksman; test -S ${machine.sockets}/${alice}.sock && echo reached; echo end`;
    const { out } = await machine.as(alice, ['call', 'run_command', '--input', JSON.stringify({ command }), '--json']);
    const { status, result } = JSON.parse(out) as { status: string; result?: { stdout?: string; sandbox?: string } };
    // Where the sandbox is not enforced, the command asks and does not run.
    expect(status === 'ok' ? result?.sandbox : status).toMatch(/^(?:enforced|pending)$/);
    expect(result?.stdout ?? 'end').not.toMatch(/reached|\.sock/);
  });

  it('whoever serves another socket to it deceives itself alone', async () => {
    const own = join(machine.folder, alice, 'sockets');
    const said = await asAlice<string>(
      `fs.mkdirSync(args.own, { mode: 0o700 });
       const server = net.createServer((socket) => socket.on('data', () => socket.write(JSON.stringify({ kind: 'welcome', protocol: ${wireProtocol}, version: 'x', user: 'root', config: {}, clusters: ['demo'], level: 'relaxed', requireSandbox: false, storeLocation: 'mine' }) + '\\n')));
       await new Promise((resolve) => server.listen(path.join(args.own, me + '.sock'), resolve));
       process.env.BANKSMAN_SERVICE = args.own;
       const link = await connect();
       return link.messages[0].user;`,
      { own },
    );
    expect(said).toBe('root');
    // A directory that others can write is refused, so that nobody deceives somebody else.
    chmodSync(own, 0o777);
    chownSync(own, machine.uidOf(machine.users.stranger), 0);
    const { command, args, ...place } = machine.command(alice, ['call', 'get_vms', '--json']);
    expect(statSync(own).uid).not.toBe(machine.uidOf(alice));
    const { status, out } = await machine.run(alice, ['env', `BANKSMAN_SERVICE=${own}`, ...args.slice(3)]);
    expect({ status, command, place: place.cwd }).not.toMatchObject({ status: 0 });
    expect(out).not.toContain('"status":"ok"');
  });

  it('nothing of the service’s can be traced, signalled or entered', async () => {
    const pid = machine.servicePid();
    const said = await asAlice<readonly string[]>(
      `const proc = (name) => path.join('/proc', String(args.pid), name);
       return [
         await tried(() => process.kill(args.pid, 'SIGSTOP')), await tried(() => process.kill(args.pid, 'SIGUSR1')), await tried(() => process.kill(args.launcher, 'SIGTERM')),
         await tried(() => fs.readlinkSync(proc('cwd'))), await tried(() => fs.readdirSync(proc('root'))), await tried(() => fs.openSync(proc('mem'), 'r+')),
         await tried(() => fs.writeFileSync(proc('oom_score_adj'), '1000')), await tried(() => fs.readFileSync(proc('environ'))),
       ];`,
      { pid, launcher: Number(/PPid:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) },
    );
    for (const word of said) expect(word).toMatch(/^(?:EACCES|EPERM)$/);
  });
});
