/** The service by hand, on this machine, with users of the operating system: what the agents' account can do with everything that is its own. */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  closeSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { credentialOf, loadServiceConfig } from '#app/config/service-config';
import { type Machine, startMachine, whyNoUsers } from './os-users.ts';
import { rawClient } from './support.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

/** Leaves no byte free, as a program of root's might. @returns what frees it again */
function fillDisk(folder: string): () => void {
  const file = join(folder, 'filler');
  const descriptor = openSync(file, 'w');
  for (const size of [65_536, 4_096, 1]) {
    try {
      for (;;) writeSync(descriptor, Buffer.alloc(size));
    } catch {
      // Full for pieces of this size.
    }
  }
  closeSync(descriptor);
  return () => rmSync(file);
}

describe.skipIf(whyNoUsers !== undefined)(`a service of its own user${whyNoUsers === undefined ? '' : ` (${whyNoUsers})`}`, () => {
  let machine: Machine;
  let alice: string;
  let bob: string;
  beforeAll(async () => {
    machine = await startMachine();
    ({ alice, bob } = machine.users);
    await machine.start();
  });
  afterAll(() => machine?.close());

  const call = async (user: string, tool: string, input: object = {}) => {
    const { out, err } = await machine.as(user, ['call', tool, '--input', JSON.stringify(input), '--model', 'claude-opus-4-5', '--json']);
    return out === '' ? { failed: err } : (JSON.parse(out) as Record<string, unknown>);
  };

  it('serves the cluster to whoever has a socket', async () => {
    expect(await call(alice, 'get_cluster_status')).toMatchObject({ status: 'ok' });
    const tail = (await machine.as(alice, ['audit', 'tail', '--json'])).out;
    expect(tail).toContain(`"id":"${alice}/cli:${alice}"`);
    expect((await machine.as(bob, ['audit', 'tail', '--json'])).out).not.toContain(alice);
  });

  it('runs as its own user, without capabilities, root’s groups or a way to more', async () => {
    const status = (await machine.run(alice, ['cat', `/proc/${machine.servicePid()}/status`])).out;
    expect(status).toMatch(new RegExp(`Uid:\\s+${machine.uidOf(machine.users.service)}\\s`));
    for (const set of ['CapEff', 'CapPrm', 'CapBnd', 'CapInh', 'CapAmb']) expect(status).toMatch(new RegExp(`${set}:\\s+0+$`, 'm'));
    expect(status).toMatch(/NoNewPrivs:\s+1/);
    expect(status).toMatch(/Groups:\s*$/m);
  });

  it.each([
    ['the token', () => ['cat', join(machine.folder, 'etc/secrets/token0')]],
    ['the store', () => ['cat', join(machine.stateDir, 'banksman.db')]],
    ['the state directory', () => ['ls', machine.stateDir]],
    ['the service’s memory', () => ['head', '-c1', `/proc/${machine.servicePid()}/mem`]],
    ['the service’s environment', () => ['cat', `/proc/${machine.servicePid()}/environ`]],
    ['the service’s descriptors', () => ['ls', `/proc/${machine.servicePid()}/fd`]],
    ['the configuration, to write it', () => ['sh', '-c', `echo '{}' >> ${machine.configFile}`]],
    ['the configuration’s folder', () => ['sh', '-c', `mv ${machine.configFile} ${machine.configFile}.old`]],
    ['the service, to end it', () => ['kill', '-9', String(machine.servicePid())]],
    ['another user’s socket, to take its place', () => ['rm', '-f', join(machine.sockets, `${machine.users.bob}.sock`)]],
    ['their own socket’s place', () => ['mv', join(machine.sockets, `${machine.users.alice}.sock`), join(machine.sockets, 'x')]],
    ['the program', () => ['sh', '-c', `echo >> ${join(machine.folder, 'lib/cli.cjs')}`]],
  ])('%s is out of the agents’ account’s reach', async (_what, command) => {
    const { status, err } = await machine.run(alice, command());
    expect(status, err).not.toBe(0);
    expect(err).toMatch(/denied|not permitted/i);
  });

  it('another user’s socket cannot be connected to', async () => {
    const file = join(machine.sockets, `${bob}.sock`);
    const program = `require('net').connect(${JSON.stringify(file)}).on('error', (e) => { console.log(e.code); process.exit(3); }).on('connect', () => console.log('in'))`;
    expect(await machine.run(alice, [join(machine.folder, 'lib/node'), '-e', program])).toMatchObject({ status: 3, out: 'EACCES\n' });
  });

  it('approves, sets and trusts nothing with all that is its own, and says where that is done', async () => {
    const asked = await call(alice, 'stop_vm', { vmid: 100 });
    expect(asked).toMatchObject({ status: 'pending' });
    const id = String(asked['request_id']);
    for (const words of [
      ['level', 'set', 'relaxed'],
      ['auto-approve', 'set', 'tool:execute_ssh', 'allow'],
      ['approvals', 'approve', id],
    ])
      expect((await machine.as(alice, words)).status, words.join(' ')).not.toBe(0);
    const file = join(machine.sockets, `${alice}.sock`);
    // Root speaks for alice here: the very bytes that her account could send.
    const client = await rawClient(file);
    for (const method of ['approvals.approve', 'approvals.trust', 'security.setLevel', 'security.setRule', 'security.removeRule'])
      expect(await client.ask(method, id, { approver: 'user:x' })).toMatchObject({
        fault: { code: 'answered_elsewhere', message: expect.stringContaining('approver') },
      });
    client.socket.destroy();
    expect(await call(alice, 'stop_vm', { vmid: 100 })).toMatchObject({ status: 'pending', request_id: id });
    // The other account, with the same words, is another agent and sees nothing.
    expect((await machine.as(bob, ['approvals', 'show', id])).err).toContain('no request');
    const root = await machine.inside();
    expect(await root.approvals.approve(id, machine.person)).toMatchObject({ ok: true });
    expect(await call(bob, 'stop_vm', { vmid: 100 })).toMatchObject({ status: 'pending' });
    expect(await call(alice, 'stop_vm', { vmid: 100 })).toMatchObject({ status: 'ok' });
    expect(await root.audit.verify()).toMatchObject({ ok: true });
    await root.close();
    // What root wrote, the service can write on.
    const files = ['', '-wal', '-shm'].map((end) => lstatSync(join(machine.stateDir, `banksman.db${end}`), { throwIfNoEntry: false }));
    const own = machine.uidOf(machine.users.service);
    expect(files.flatMap((found) => (found === undefined || found.uid === own ? [] : [found.uid]))).toEqual([]);
    expect(await call(alice, 'get_vms')).toMatchObject({ status: 'ok' });
  });

  it('a state and a configuration of one’s own reach no cluster: there is no token', async () => {
    const own = join(machine.folder, alice, 'own.json');
    const clusters = (machine.demo.config as unknown as { clusters: { tokenFile?: string }[] }).clusters;
    const token = join(machine.folder, 'etc/secrets/token0');
    writeFileSync(own, JSON.stringify({ clusters: clusters.map((cluster) => ({ ...cluster, tokenFile: token })) }), { mode: 0o644 });
    const { out, err } = await machine.as(alice, [
      'call',
      'get_vms',
      '--json',
      '--config',
      own,
      '--state',
      join(machine.folder, alice, 'state'),
    ]);
    expect(`${out}${err}`).toMatch(/EACCES|permission denied|cannot be read|not_private/i);
  });

  it('a workspace’s tool runs as the user, with its record in the service', async () => {
    expect(await call(alice, 'write_file', { path: 'note.txt', content: 'x' })).toMatchObject({ status: 'ok' });
    expect(statSync(join(machine.folder, alice, 'work', 'note.txt')).uid).toBe(machine.uidOf(alice));
    expect((await machine.as(alice, ['audit', 'tail', '--json'])).out).toContain(`"reported_by":"${alice}"`);
  });

  it('a home that cannot be written keeps nobody from the cluster, nor from reading their files', async () => {
    const home = join(machine.folder, alice);
    const own = join(home, '.local');
    chownSync(home, 0, 0);
    chmodSync(home, 0o755);
    renameSync(own, `${own}.kept`);
    try {
      expect(await call(alice, 'get_cluster_status')).toMatchObject({ status: 'ok' });
      expect(await call(alice, 'read_file', { path: 'note.txt' })).toMatchObject({ status: 'ok' });
    } finally {
      renameSync(`${own}.kept`, own);
      chownSync(home, machine.uidOf(alice), machine.uidOf(alice));
      chmodSync(home, 0o700);
    }
  });

  it('a second launcher, for others, does not close the sockets of the first while it finds that out', async () => {
    const modes = new Set<number>();
    const watch = setInterval(() => modes.add(lstatSync(machine.sockets).mode & 0o777), 1);
    const second = await machine.fails([machine.users.stranger]);
    clearInterval(watch);
    expect(second.err).toMatch(/another service works on/);
    expect([...modes]).toEqual([0o755]);
    expect(await call(alice, 'get_vms')).toMatchObject({ status: 'ok' });
    expect(readdirSync(machine.sockets).toSorted()).toEqual([`${alice}.sock`, `${bob}.sock`].toSorted());
  });

  it('while the folder of sockets is closed, as a starting service has it, that is said, and nothing runs embedded', async () => {
    chmodSync(machine.sockets, 0o700);
    try {
      expect((await machine.as(alice, ['doctor'])).err).toContain('its sockets are being made');
    } finally {
      chmodSync(machine.sockets, 0o755);
    }
  });

  it('an MCP client gets the service without knowing of it', async () => {
    const client = new Client({ name: 'test', version: '1' });
    const command = machine.command(alice, ['mcp']);
    await client.connect(new StdioClientTransport(command));
    const { structuredContent } = await client.callTool({ name: 'get_cluster_status', arguments: {} });
    expect(structuredContent).toMatchObject({ status: 'ok' });
    expect((await machine.as(alice, ['audit', 'tail', '--json'])).out).toContain(`"id":"${alice}/mcp:${alice}"`);
    await manyReads(client);
    await client.close();
  });

  /** More at once than go to the service in one message. */
  async function manyReads(client: Client): Promise<void> {
    const numbers = Array.from({ length: 200 }, (_, index) => index);
    const search = (number: number) => client.callTool({ name: 'search_files', arguments: { pattern: `nowhere-${number}` } });
    const answers = await Promise.all(numbers.map(search));
    expect(answers.filter(({ structuredContent }) => (structuredContent as { status?: string }).status !== 'ok')).toEqual([]);
    const { out } = await machine.as(alice, ['audit', 'tail', '--count', '300', '--json']);
    const records = out.split('\n').filter((line) => line.includes('"search_files"'));
    expect(records.every((line) => line.includes(`"reported_by":"${alice}"`))).toBe(true);
    const reported = records.map((line) => Number(/nowhere-(\d+)/.exec(line)?.[1]));
    expect(reported.toSorted((one, other) => one - other)).toEqual(numbers);
  }

  it('root sees who is served, a user themselves alone', async () => {
    const words = ['service', 'status', '--sockets', machine.sockets];
    const asRoot = await machine.as('root', words);
    expect(asRoot.status).toBe(0);
    for (const user of [alice, bob]) expect(asRoot.out).toContain(`${user}: version`);
    expect((await machine.as(alice, words)).out).toMatch(new RegExp(`${bob}: .*another user`));
  });

  it('a user in no group is served like any other', async () => {
    const { out } = await machine.as(alice, ['call', 'get_vms', '--json'], '54321');
    expect(JSON.parse(out)).toMatchObject({ status: 'ok' });
  });

  it('a user without a socket has no service, and their own configuration reaches nothing', async () => {
    const { out } = await machine.as(machine.users.stranger, ['doctor', '--json']);
    expect(out).not.toContain('"topic":"service"');
    expect(out).toContain('no cluster');
  });

  it('a full disk at the service: what must be written down is refused, and it goes on once there is room', async () => {
    const free = fillDisk(machine.stateDir);
    try {
      const refused = await call(alice, 'stop_vm', { vmid: 103 });
      expect(refused['status']).not.toBe('ok');
      const read = await call(alice, 'get_cluster_status');
      expect(read).toMatchObject({ status: 'error', code: expect.stringMatching(/audit_unavailable|store_/) });
    } finally {
      free();
    }
    await expect.poll(async () => (await call(alice, 'get_cluster_status'))['status']).toBe('ok');
    expect((await machine.as(alice, ['audit', 'verify'])).status).toBe(0);
  });

  it('a second service on the same state is refused', async () => {
    const second = await machine.fails();
    expect(second.status).not.toBe(0);
    expect(second.err).toMatch(/another service listens for/);
    // The first one is as reachable as before.
    expect(await call(alice, 'get_vms')).toMatchObject({ status: 'ok' });
    // Without sockets of its own it is the state that says so.
    const bare = await machine.fails([]);
    expect(bare.err).toMatch(/another service works on/);
  });

  it('killed inside a call: the call ends with what is known, and the next service knows it, too', async () => {
    const pid = machine.servicePid();
    const client = await rawClient(join(machine.sockets, `${alice}.sock`));
    const input = { tool: 'start_vm', input: { vmid: 101 }, agent: { id: 'x', host: 'cli', modelTier: 'advanced' }, waitMs: 60_000 };
    client.send({ kind: 'call', id: 1, method: 'call', values: [input] });
    const asked = await client.until(({ kind }) => kind === 'ask' || kind === 'answer' || kind === 'refusal');
    const id = asked.kind === 'ask' ? asked.request.id : '';
    process.kill(pid, 'SIGKILL');
    await client.ended;
    expect(client.messages.some(({ kind }) => kind === 'answer')).toBe(false);
    expect((await machine.as(alice, ['call', 'get_vms', '--json'])).status).not.toBe(0);
    await machine.stop();
    await machine.start();
    expect(await call(alice, 'check_request_status', { request_id: id })).toMatchObject({ status: 'ok', result: { status: 'pending' } });
    expect((await machine.as(alice, ['audit', 'verify'])).status).toBe(0);
  });

  it.each([
    ['a key that is none', { protcted: { guests: [103] } }, /config\.json: line \d+: `\(top level\)`: unknown key `protcted`/],
    ['a value that is none', { securityLevel: 'lax' }, /config\.json: line \d+: `securityLevel`/],
  ])('a typo (%s) is refused with file, line and key', async (_what, more, words) => {
    await machine.stop();
    machine.writeConfig(more);
    const { status, err } = await machine.fails();
    expect(status).not.toBe(0);
    expect(err).toMatch(words);
    machine.writeConfig();
  });

  it('what systemd hands over stands in for root’s own files', async () => {
    const handed = join(machine.folder, 'handed');
    mkdirSync(handed);
    writeFileSync(join(handed, 'secret_token0'), 'the-token\n');
    vi.stubEnv('CREDENTIALS_DIRECTORY', handed);
    const config = loadServiceConfig(machine.configFile);
    const [cluster] = config.clusters;
    expect(cluster?.tokenFile).toBe(join(handed, 'secret_token0'));
    expect(await credentialOf(config, cluster?.name ?? '')).toBe('the-token');
    vi.unstubAllEnvs();
    expect(loadServiceConfig(machine.configFile).clusters[0]?.tokenFile).toBe(join(machine.folder, 'etc/secrets/token0'));
    expect(await credentialOf(config, cluster?.name ?? '')).toBeUndefined();
  });

  it.each([
    ['the configuration', () => machine.configFile, 0o666],
    ['its folder', () => dirname(machine.configFile), 0o777],
    ['a folder above', () => machine.folder, 0o775],
  ])('%s that others can write is refused, and named', async (_what, place, mode) => {
    const [file, before] = [place(), statSync(place()).mode & 0o7777];
    chmodSync(file, mode);
    const { status, err } = await machine.fails();
    chmodSync(file, before);
    expect(status).not.toBe(0);
    expect(err).toContain(`${file} can be written by others`);
  });

  it.skipIf(spawnSync('python3', ['-c', '']).status !== 0)('an access list that lets a user write it is refused, and named', async () => {
    // `setfacl -m u:alice:rw`, which not every machine has (acl(5)): owner, alice, group, mask, others.
    const entries = [
      [1, 6, -1],
      [2, 6, machine.uidOf(alice)],
      [4, 4, -1],
      [16, 6, -1],
      [32, 4, -1],
    ];
    const setList = `import os, struct, sys; os.setxattr(sys.argv[1], 'system.posix_acl_access', struct.pack('<I', 2) + b''.join(struct.pack('<HHi', *one) for one in ${JSON.stringify(entries)}))`;
    execFileSync('python3', ['-c', setList, machine.configFile]);
    const write = await machine.run(alice, ['sh', '-c', `echo >> ${machine.configFile}`]);
    const { status, err } = await machine.fails();
    machine.writeConfig();
    execFileSync('python3', ['-c', "import os, sys; os.removexattr(sys.argv[1], 'system.posix_acl_access')", machine.configFile]);
    chmodSync(machine.configFile, 0o644);
    expect(write.status).toBe(0);
    expect(status).not.toBe(0);
    expect(err).toContain(`${machine.configFile} can be written by others`);
  });

  it('a token that every user can read is refused, and named; in a folder that they cannot enter it is nobody’s', async () => {
    const token = join(machine.folder, 'etc/secrets/token0');
    chmodSync(token, 0o644);
    expect((await machine.fails()).err).toContain(`${token} can be read by every user of this machine`);
    const folder = dirname(token);
    chmodSync(folder, 0o700);
    expect(loadServiceConfig(machine.configFile).clusters).toHaveLength(1);
    chmodSync(folder, 0o755);
    chmodSync(token, 0o600);
  });

  it('one that is a link, lies behind one, or belongs to somebody else, is refused, and named', async () => {
    const [file, folder] = [machine.configFile, dirname(machine.configFile)];
    for (const place of [file, folder]) {
      renameSync(place, `${place}.real`);
      symlinkSync(`${place}.real`, place);
      expect((await machine.fails()).err).toContain(`${place} is a link`);
      rmSync(place);
      renameSync(`${place}.real`, place);
    }
    chownSync(file, machine.uidOf(alice), 0);
    expect((await machine.fails()).err).toContain(`${file} belongs to another user`);
    machine.writeConfig();
    chownSync(file, 0, 0);
  });

  it('a configuration with a key twice, and a state that others can read, are refused', async () => {
    writeFileSync(machine.configFile, '{\n  "securityLevel": "strict",\n  "securityLevel": "relaxed"\n}\n');
    expect((await machine.fails()).err).toMatch(/config\.json: line 3: `securityLevel` is there twice/);
    machine.writeConfig();
    chmodSync(machine.stateDir, 0o755);
    expect((await machine.fails()).err).toMatch(/must be a directory of the service's own user, mode 0700/);
    chmodSync(machine.stateDir, 0o700);
  });
});
