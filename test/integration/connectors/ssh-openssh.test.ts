import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { ClosableNodeShell } from '#connectors/ssh/create-node-shell';
import { useCleanup } from './cleanup.ts';
import { knownHosts, openShell, trusted } from './openssh-shell.ts';
import { killAncestor, longSleep, noneLeft, processesWith, processIn } from './processes.ts';
import { never } from './pve-server.ts';
import { makeKey, type Sshd, sshdMissing, startAgent, startSshd } from './sshd.ts';

const start = useCleanup();

function shellOf(...how: Parameters<typeof openShell>): ClosableNodeShell {
  return start(openShell(...how));
}

describe.skipIf(sshdMissing)('a command on a real OpenSSH server', () => {
  let server: Sshd;
  beforeAll(async () => {
    server = await startSshd();
  });
  afterAll(() => server?.close());

  it('gives its output, its errors and its exit code apart', async () => {
    const result = await shellOf(server, trusted(server)).exec('pve', 'echo out; echo err >&2; exit 3', never);
    expect(result).toEqual({ stdout: 'out\n', stderr: 'err\n', exitCode: 3, truncated: false });
  });

  it.each([`it's "quoted" $HOME \`id\``, "'", "'; touch /tmp/never; '", '\\', '$(id)', '!! *', 'ünïcödé ✓', '-n'])(
    'gets its text as it is: %s',
    async (text) => {
      const shell = shellOf(server, trusted(server));
      // The quoting under test is the one around the whole command; the inner word is quoted by hand.
      const result = await shell.exec('pve', `printf '%s' '${text.replaceAll("'", `'\\''`)}'`, never);
      expect(result).toMatchObject({ stdout: text, exitCode: 0 });
    },
  );

  it('has no terminal, no input, no environment and no agent of ours, and speaks English', async () => {
    const shell = shellOf(server, trusted(server));
    const script = 'tty; cat | wc -c; echo "[$SSH_AUTH_SOCK][$DISPLAY][$LC_ALL][$BANKSMAN_SECRET]"';
    vi.stubEnv('BANKSMAN_SECRET', 'x');
    expect((await shell.exec('pve', script, never)).stdout).toBe('not a tty\n0\n[][][C][]\n');
  });

  it('may say what is not UTF-8', async () => {
    const result = await shellOf(server, trusted(server)).exec('pve', String.raw`printf 'a\377\303(b'`, never);
    expect(result.stdout).toBe('a\u{fffd}\u{fffd}(b');
  });

  it('that says much is cut in the middle, and both ends are kept', async () => {
    const result = await shellOf(server, trusted(server)).exec(
      'pve',
      'echo first; head -c 3000000 /dev/zero | tr "\\0" x; echo; echo last',
      never,
    );
    expect(result.truncated).toBe(true);
    expect(result.stdout.startsWith('first\nxxx')).toBe(true);
    expect(result.stdout.endsWith('xxx\nlast\n')).toBe(true);
    expect(result.stdout).toMatch(/\n\[… 2737868 bytes left out …\]\n/);
    expect(result.exitCode).toBe(0);
  });

  it('that is killed by a signal of its own has no exit code of `timeout`', async () => {
    const result = await shellOf(server, trusted(server)).exec('pve', 'kill -9 $$', never);
    expect(result).toMatchObject({ exitCode: 137 });
  });

  it('is ended on the node when its time is over, with all it started', async () => {
    const shell = shellOf(server, { ...trusted(server), timeoutMs: 9_000 });
    const marker = longSleep();
    const refused = shell.exec('pve', `${marker} & ${marker}`, never);
    await expect(refused).rejects.toMatchObject({
      code: 'ssh_timeout',
      message: expect.stringContaining('stopped on the node after its limit of ') as string,
    });
    await noneLeft(marker);
  });

  it('is ended on the node even when it will not hear of it', async () => {
    const shell = shellOf(server, { ...trusted(server), timeoutMs: 9_000 });
    const marker = longSleep();
    const refused = shell.exec('pve', `trap '' TERM; ${marker}; ${marker}`, never);
    await expect(refused).rejects.toMatchObject({ code: 'ssh_timeout' });
    await noneLeft(marker);
  });

  it('that the caller cancels is given up at once, and the node ends it at its own limit', async () => {
    const shell = shellOf(server, { ...trusted(server), timeoutMs: 20_000 });
    const caller = new AbortController();
    const marker = longSleep();
    const refused = expect(shell.exec('pve', marker, caller.signal)).rejects.toMatchObject({
      code: 'cancelled',
      message: expect.stringContaining("node's own `timeout` ends the command") as string,
    });
    await vi.waitFor(() => expect(processesWith(marker)).not.toEqual([]));
    caller.abort();
    await refused;
    await noneLeft(marker);
    await expect(shell.exec('pve', 'echo next', never)).resolves.toMatchObject({ stdout: 'next\n' });
  });

  it('that the caller cancelled before is not run', async () => {
    const marker = join(server.folder, 'ran');
    const shell = shellOf(server, trusted(server));
    await expect(shell.exec('pve', `touch ${marker}`, AbortSignal.abort())).rejects.toMatchObject({ code: 'cancelled' });
    await shell.exec('pve', 'true', never);
    expect(existsSync(marker)).toBe(false);
  });

  it('shares one connection with 19 others, in turns of 8', async () => {
    const shell = shellOf(server, trusted(server));
    const before = server.log().split('Accepted publickey').length;
    const folder = join(server.folder, 'at-once');
    const script = (index: number) =>
      `mkdir -p ${folder}; touch ${folder}/${index}; ls ${folder} | wc -l; sleep 0.2; rm ${folder}/${index}; echo ${index}`;
    const results = await Promise.all(Array.from({ length: 20 }, (_, index) => shell.exec('pve', script(index), never)));
    expect(results.map((result) => result.stdout.trim().split('\n').at(-1))).toEqual(
      Array.from({ length: 20 }, (_, index) => String(index)),
    );
    const atOnce = results.map((result) => Number(result.stdout.split('\n')[0]));
    expect(Math.max(...atOnce)).toBeLessThanOrEqual(8);
    expect(Math.max(...atOnce)).toBeGreaterThan(1);
    expect(server.log().split('Accepted publickey').length).toBe(before + 1);
  });

  it('waiting for its turn is not run when the caller cancels', async () => {
    const shell = shellOf(server, trusted(server));
    const marker = join(server.folder, 'late');
    const caller = new AbortController();
    const gate = join(server.folder, 'gate');
    const busy = Array.from({ length: 8 }, () => shell.exec('pve', `until [ -e ${gate} ]; do sleep 0.05; done`, never));
    const waiting = expect(shell.exec('pve', `touch ${marker}`, caller.signal)).rejects.toMatchObject({ code: 'cancelled' });
    await vi.waitFor(() => expect(processesWith(`-e ${gate}`).length).toBeGreaterThanOrEqual(8));
    caller.abort();
    await waiting;
    writeFileSync(gate, '');
    await Promise.all(busy);
    expect(existsSync(marker)).toBe(false);
  });
});

describe.skipIf(sshdMissing)('the connection', () => {
  it('that dies in the middle of a command is told, and the next command gets a new one', async () => {
    const server = start(await startSshd());
    const shell = shellOf(server, trusted(server));
    const pidFile = join(server.folder, 'pid-of-command');
    const lost = expect(shell.exec('pve', `echo $$ > ${pidFile}; exec ${longSleep()}`, never)).rejects.toMatchObject({
      code: 'ssh_connection_lost',
      message: expect.stringContaining("node's own `timeout` ends it") as string,
    });
    const command = await vi.waitFor(() => processIn(pidFile));
    killAncestor(command, /^sshd(?:-session)?: /);
    await lost;
    await expect(shell.exec('pve', 'echo again', never)).resolves.toMatchObject({ stdout: 'again\n' });
    process.kill(command, 'SIGKILL');
  });

  it('survives more sessions than the server allows, by waiting', async () => {
    const server = start(await startSshd({ config: ['MaxSessions 3'] }));
    const shell = shellOf(server, trusted(server));
    const results = await Promise.all(Array.from({ length: 14 }, () => shell.exec('pve', 'echo ok', never)));
    expect(results.map((result) => result.stdout)).toEqual(Array.from({ length: 14 }, () => 'ok\n'));
  });

  it('without room for a channel says so', async () => {
    const server = start(await startSshd({ config: ['MaxSessions 0'] }));
    await expect(shellOf(server, trusted(server)).exec('pve', 'true', never)).rejects.toMatchObject({ code: 'ssh_channel_failed' });
  });

  it('is checked by `probe` without a command', async () => {
    const server = start(await startSshd({ config: ['MaxSessions 0'] }));
    await expect(shellOf(server, trusted(server)).probe('pve', never)).resolves.toBeUndefined();
  });
});

describe.skipIf(sshdMissing)('host keys', () => {
  let server: Sshd;
  beforeAll(async () => {
    server = await startSshd({ hostKeys: ['rsa', 'ecdsa', 'ed25519'] });
  });
  afterAll(() => server?.close());

  it.each([
    ['ssh-keyscan', []],
    ['ssh-keyscan -H', ['-H']],
  ])('as `%s` writes them', async (_command, options) => {
    const text = server.keyscan(...options);
    expect(text.includes('|1|')).toBe(options.length > 0);
    await expect(shellOf(server, { knownHosts: knownHosts(server, text) }).exec('pve', 'echo ok', never)).resolves.toMatchObject({
      stdout: 'ok\n',
    });
  });

  it.each(['rsa', 'ecdsa', 'ed25519'])('of the kind %s alone are enough, whatever else the server has', async (type) => {
    const shell = shellOf(server, { knownHosts: knownHosts(server, server.keyscan('-t', type, '-H')) });
    await expect(shell.exec('pve', 'echo ok', never)).resolves.toMatchObject({ stdout: 'ok\n' });
  });

  it('that are unknown are refused, with the fingerprint that ssh-keygen shows and a command that really adds it', async () => {
    const file = join(server.folder, 'not there yet');
    const shell = shellOf(server, { knownHosts: file });
    const refused = await shell
      .exec('pve', 'true', never)
      .catch((thrown: unknown) => thrown as { code: string; message: string; next: string });
    if (!('code' in refused)) throw new Error('was let in');
    expect(refused.code).toBe('ssh_host_unknown');
    const shown = execFileSync('ssh-keygen', ['-lf', join(server.folder, 'host_ed25519.pub')], { encoding: 'utf8' }).split(' ')[1];
    expect(refused.message).toContain(`ed25519 ${shown}`);
    expect(refused.next).toMatch(/^a person must first compare/);
    const command = /`(ssh-keyscan[^`]+)`/.exec(refused.next)?.[1];
    execFileSync('sh', ['-c', command ?? 'false'], { stdio: 'ignore' });
    await expect(shell.exec('pve', 'echo ok', never)).resolves.toMatchObject({ stdout: 'ok\n' });
  });

  it('that have changed are refused, and there is no way round', async () => {
    const other = makeKey(server.folder, 'other_host', 'ed25519');
    const line = `[${server.host}]:${server.port} ${readFileSync(`${other}.pub`, 'utf8')}`;
    const shell = shellOf(server, { knownHosts: knownHosts(server, line) });
    await expect(shell.exec('pve', 'true', never)).rejects.toMatchObject({
      code: 'ssh_host_changed',
      next: expect.not.stringContaining('ssh-keyscan') as string,
    });
  });

  it('of another port say nothing about this one', async () => {
    const text = server.keyscan().replaceAll(`[${server.host}]:${server.port}`, server.host);
    const shell = shellOf(server, { knownHosts: knownHosts(server, text) });
    await expect(shell.exec('pve', 'true', never)).rejects.toMatchObject({ code: 'ssh_host_unknown' });
  });

  it('that are revoked are refused although they are listed, too', async () => {
    const text = server.keyscan('-t', 'ed25519');
    const shell = shellOf(server, { knownHosts: knownHosts(server, `${text}@revoked * ${text.split(' ').slice(1).join(' ')}`) });
    await expect(shell.exec('pve', 'true', never)).rejects.toMatchObject({
      code: 'ssh_host_changed',
      message: expect.stringContaining('@revoked') as string,
    });
  });

  it('vouched for by a CA line only are refused, and it is said why', async () => {
    const text = `@cert-authority * ${server.keyscan('-t', 'ed25519').split(' ').slice(1).join(' ')}`;
    const shell = shellOf(server, { knownHosts: knownHosts(server, text) });
    await expect(shell.exec('pve', 'true', never)).rejects.toMatchObject({
      code: 'ssh_host_unknown',
      message: expect.stringContaining('@cert-authority') as string,
    });
  });

  it('in a file that cannot be read are none', async () => {
    await expect(shellOf(server, { knownHosts: server.folder }).exec('pve', 'true', never)).rejects.toMatchObject({
      code: 'ssh_known_hosts_unreadable',
    });
  });
});

describe.skipIf(sshdMissing)('logging in', () => {
  let server: Sshd;
  beforeAll(async () => {
    server = await startSshd();
  });
  afterAll(() => server?.close());

  it('with a key that is not authorized fails', async () => {
    const stranger = makeKey(server.folder, 'stranger', 'ed25519');
    await expect(shellOf(server, { ...trusted(server), identityFiles: [stranger] }).exec('pve', 'true', never)).rejects.toMatchObject({
      code: 'ssh_auth_failed',
    });
  });

  it('tries the next key', async () => {
    const other = makeKey(server.folder, 'other', 'rsa');
    const shell = shellOf(server, { ...trusted(server), identityFiles: [join(server.folder, 'missing'), other, server.identityFile] });
    await expect(shell.exec('pve', 'echo ok', never)).resolves.toMatchObject({ stdout: 'ok\n' });
  });

  it('with an encrypted key and nothing else says what to do', async () => {
    const locked = makeKey(server.folder, 'locked', 'ed25519', 'letmein');
    await expect(shellOf(server, { ...trusted(server), identityFiles: [locked] }).exec('pve', 'true', never)).rejects.toMatchObject({
      code: 'ssh_key_encrypted',
      next: expect.stringContaining(`ssh-add ${locked}`) as string,
    });
  });

  it.each([
    ['missing', 'ENOENT'],
    ['id.pub', 'a public key'],
    ['sshd_config', 'no private key'],
  ])('with the file `%s` alone says why not', async (name, why) => {
    await expect(
      shellOf(server, { ...trusted(server), identityFiles: [join(server.folder, name)] }).exec('pve', 'true', never),
    ).rejects.toMatchObject({
      code: 'ssh_auth_failed',
      message: expect.stringContaining(why) as string,
    });
  });

  it('works with an agent that holds an encrypted key', async () => {
    const locked = makeKey(server.folder, 'held', 'ed25519', 'letmein');
    writeFileSync(
      join(server.folder, 'authorized_keys'),
      `${readFileSync(`${server.identityFile}.pub`, 'utf8')}${readFileSync(`${locked}.pub`, 'utf8')}`,
    );
    const agent = start(await startAgent(server.folder, [locked]));
    const options = { ...trusted(server), identityFiles: [locked], agentSocket: agent.socket };
    await expect(shellOf(server, { ...options, agent: true }).exec('pve', 'echo ok', never)).resolves.toMatchObject({ stdout: 'ok\n' });
    await expect(shellOf(server, { ...options, agent: false }).exec('pve', 'true', never)).rejects.toMatchObject({
      code: 'ssh_key_encrypted',
    });
  });

  it('takes the agent from the environment, and an agent that is gone for no agent', async () => {
    vi.stubEnv('SSH_AUTH_SOCK', join(server.folder, 'gone.sock'));
    const shell = shellOf(server, { ...trusted(server), agent: true });
    await expect(shell.exec('pve', 'echo ok', never)).resolves.toMatchObject({ stdout: 'ok\n' });
    const onlyAgent = shellOf(server, { ...trusted(server), identityFiles: [], agent: true });
    await expect(onlyAgent.exec('pve', 'true', never)).rejects.toMatchObject({ code: 'ssh_auth_failed' });
  });

  it('for an account without a shell reports the command, not a success', async () => {
    const result = await shellOf(server, { ...trusted(server), user: 'no-such-user' })
      .exec('pve', 'true', never)
      .catch((thrown: unknown) => thrown);
    expect(result).toMatchObject({ code: 'ssh_auth_failed' });
  });

  it('finds a node without an entry at its address, on port 22, and says so when there is none', async () => {
    const asked: string[] = [];
    const shell = shellOf(server, {
      ...trusted(server),
      addressOf: (node) => {
        asked.push(node);
        return Promise.resolve(node === 'agent1' ? '127.0.0.77' : undefined);
      },
    });
    await expect(shell.exec('agent1', 'true', never)).rejects.toMatchObject({
      code: 'ssh_unreachable',
      message: expect.stringContaining('127.0.0.77:22') as string,
    });
    await expect(shell.exec('other', 'true', never)).rejects.toMatchObject({ code: 'ssh_not_configured' });
    await expect(shell.exec('constructor', 'true', never)).rejects.toMatchObject({ code: 'ssh_not_configured' });
    expect(asked).toEqual(['agent1', 'other', 'constructor']);
  });
});

describe.skipIf(sshdMissing)('closing', () => {
  it('ends the connection, so that the process can end', async () => {
    const server = start(await startSshd());
    const shell = shellOf(server, trusted(server));
    await shell.exec('pve', 'true', never);
    shell.close();
    await vi.waitFor(() => expect(server.log()).toMatch(/Connection closed|Disconnected|disconnected by user|Close session/));
    await expect(shell.exec('pve', 'true', never)).rejects.toMatchObject({ code: 'cancelled' });
  });
});
