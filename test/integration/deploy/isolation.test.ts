/**
 * The deployment without a container engine: the servers of `deploy/compose.yaml`, on its networks and under its users' ids, with what
 * `deploy/prepare.sh` makes; and an agent's user beside them who tries to get further than the tool port.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { passphrase } from '../cli/person.ts';
import { cli } from '../cli/support.ts';
import { type Dialogue, onTerminal } from '../cli/terminal.ts';
import { buildTopology, readCompose, type Topology, whyNoTopology } from './topology.ts';

const why = whyNoTopology();
const deploy = (name: string): string => fileURLToPath(new URL(`../../../deploy/${name}`, import.meta.url));
const compose = readCompose();
const agentUid = 20_001;
/** Containers that are somebody else's: an agent's, and one on the way to the clusters. */
const guests = {
  agent: { agents: '10.10.1.50' },
  person: { people: '10.10.4.50' },
  stranger: { outside: '10.10.3.50' },
  world: { outside: '10.10.3.60' },
};
const [toolPort, storePort, pagePort] = ['10.10.1.2:8080', '10.10.2.4:6379', '10.10.4.2:8443'];

/** For a `node -e` in a container: connects, and says how that ended. */
const reach = `
const { createConnection } = require('node:net');
for (const place of process.argv.slice(1)) {
  const [host, port] = place.split(':');
  const socket = createConnection({ host, port: Number(port), timeout: 1500 });
  const end = (word) => { console.log(place, word); socket.destroy(); };
  socket.once('connect', () => end('open')).once('timeout', () => end('silence')).once('error', ({ code }) => end(code));
}`;

/** For a `node -e` in a container: asks the page about an enrolment's link, as its script does. */
const openLink = `
const [name, ca, link] = process.argv.slice(1);
const origin = 'https://' + name + ':8443';
const headers = { host: name + ':8443', origin, 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' };
const options = { host: '10.10.4.2', port: 8443, path: '/api/enrol', method: 'POST', servername: name, headers, ca: require('node:fs').readFileSync(ca) };
require('node:https').request(options, (answer) => answer.pipe(process.stdout)).end(JSON.stringify({ link }));`;

/** For a `node -e` in a container: the page's status under its own name, by a certificate of this authority. */
const lookAt = `
const [name, ca] = process.argv.slice(1);
const options = { host: '10.10.4.2', port: 8443, servername: name, headers: { host: name + ':8443' }, ca: require('node:fs').readFileSync(ca) };
require('node:https').get(options, (answer) => console.log(answer.resume().statusCode)).on('error', ({ code }) => console.log(code));`;

/** For a `node -e` in a container: an MCP client with a token, which prints one JSON line. */
const speak = `
const [url, token, method, params, from] = process.argv.slice(1);
const { request } = require('node:http');
const post = (body, session) => new Promise((resolve, reject) => {
  const headers = { authorization: 'Bearer ' + token, 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...(session ? { 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' } : {}) };
  request(url, { method: 'POST', headers, localAddress: from || undefined }, (answer) => {
    let text = '';
    answer.on('data', (data) => { text += data; }).on('end', () => resolve({ status: answer.statusCode, session: answer.headers['mcp-session-id'], text }));
  }).on('error', reject).end(JSON.stringify({ jsonrpc: '2.0', ...body }));
});
const dataOf = (text) => JSON.parse(text.startsWith('{') ? text : text.split('\\n').filter((line) => line.startsWith('data: {')).at(-1).slice(6));
(async () => {
  const hello = await post({ id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'agent', version: '1' } } });
  if (hello.status !== 200) return console.log(JSON.stringify({ status: hello.status, text: hello.text }));
  await post({ method: 'notifications/initialized' }, hello.session);
  const answer = await post({ id: 2, method, params: JSON.parse(params) }, hello.session);
  console.log(JSON.stringify({ status: answer.status, ...dataOf(answer.text) }));
})().catch((thrown) => console.log(JSON.stringify({ failed: String(thrown) })));`;

describe.skipIf(why !== undefined)(`the deployment${why === undefined ? '' : ` (skipped: ${why})`}`, { timeout: 120_000 }, () => {
  let folder: string;
  let node: string;
  let topology: Topology;
  let token: string;
  /** What the tools' container wrote to its log. */
  const logged: string[] = [];
  /** Where the image says that the configuration is. */
  let configured: NodeJS.ProcessEnv;
  const secret = (name: string) => path.join(folder, 'private', name);

  beforeAll(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'banksman-deploy-'));
    chmodSync(folder, 0o755);
    // What an image holds: a Node that everybody may run, and the bundles.
    node = path.join(folder, 'node');
    copyFileSync(realpathSync(process.execPath), node);
    for (const name of [cli, path.join(path.dirname(cli), 'store-worker.cjs'), deploy('healthcheck.mjs')])
      copyFileSync(name, path.join(folder, path.basename(name)));
    execFileSync(deploy('prepare.sh'), [path.join(folder, 'private')], { stdio: 'pipe' });
    chmodSync(path.join(folder, 'private'), 0o711);
    mkdirSync(path.join(folder, 'etc'));
    symlinkSync(secret('config'), path.join(folder, 'etc', 'banksman'));
    configured = { XDG_CONFIG_HOME: path.join(folder, 'etc') };
    topology = buildTopology(compose, guests);
    await startStore();
    ({ token } = JSON.parse(banksman('tools', ['tokens', 'create', 'laptop', '--json']).out.split('\n')[0] ?? '') as { token: string });
    await startTools();
    await startPage();
  }, 120_000);

  afterAll(async () => {
    await topology?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** `/etc/valkey` and `/data` are mounts in the container; here the same file with the places as they are. */
  async function startStore(): Promise<void> {
    const place = secret('valkey/valkey.conf');
    const text = readFileSync(place, 'utf8').replaceAll('/etc/valkey', secret('valkey')).replace('/data', secret('valkey-data'));
    writeFileSync(place, text);
    const program = spawnSync('valkey-server', ['--version']).status === 0 ? 'valkey-server' : 'redis-server';
    const child = topology.start('valkey', compose.services['valkey']?.uid ?? 0, [program, place]);
    await lineOf(child, /Ready to accept/);
  }

  /** As `compose.yaml` starts it, except for where the mounts are. */
  async function startTools(): Promise<void> {
    const words = ['serve', '--http', toolPort, '--private-network', '--allow-host', 'tools', ...placesOf('tools')];
    const child = topology.start('tools', compose.services['tools']?.uid ?? 0, [node, path.join(folder, 'cli.cjs'), ...words], configured);
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => logged.push(chunk.toString()));
    await lineOf(child, /"url"/);
  }

  async function startPage(): Promise<void> {
    const words = [node, path.join(folder, 'cli.cjs'), 'page', ...placesOf('admin')];
    await lineOf(topology.start('page', compose.services['page']?.uid ?? 0, words, configured), /"url"/);
  }

  function placesOf(service: 'tools' | 'admin'): readonly string[] {
    const store = `valkeys://${storePort}/0?prefix=molis&ca=${secret('config/valkey-ca.pem')}`;
    return ['--state', secret(service), '--store', store];
  }

  function banksman(service: 'tools' | 'admin', words: readonly string[]) {
    const { uid = 0 } = compose.services[service] ?? {};
    return topology.run(service, uid, [node, path.join(folder, 'cli.cjs'), ...words, ...placesOf(service)], configured);
  }

  function ask(where: string, method: string, params: object = {}, from = ''): { readonly [key: string]: unknown } {
    const { out } = topology.run(where, agentUid, [
      node,
      '-e',
      speak,
      `http://${toolPort}/mcp`,
      token,
      method,
      JSON.stringify(params),
      from,
    ]);
    return JSON.parse(out.trim().split('\n').at(-1) ?? '{}') as { readonly [key: string]: unknown };
  }

  /** How each place answered, from there. */
  function reached(where: string, ...places: readonly string[]): Readonly<Record<string, string>> {
    const { out } = topology.run(where, agentUid, [node, '-e', reach, ...places]);
    return Object.fromEntries(
      out
        .trim()
        .split('\n')
        .map((line) => line.split(' ') as [string, string]),
    );
  }

  /** With the administrator's credential, where that may come from. */
  function asAdmin(...words: readonly string[]): string {
    const { admin } = JSON.parse(readFileSync(secret('admin/credentials.json'), 'utf8')) as { admin: { password: string } };
    const at = ['-h', '10.10.2.4', '--tls', '--cacert', secret('config/valkey-ca.pem'), '--user', 'mcp-admin'];
    return topology.run('admin', 0, ['redis-cli', ...at, ...words], { REDISCLI_AUTH: admin.password }).out.trim();
  }

  it('lets an agent list and call tools over its network, none of which approves', () => {
    const { tools } = ask('agent', 'tools/list')['result'] as { tools: readonly { name: string }[] };
    expect(tools.length).toBeGreaterThan(25);
    expect(tools.map(({ name }) => name).filter((name) => /approve|deny|configure|set_security/.test(name))).toEqual([]);
    const report = { request_id: 'req-5eed00aa', reason: 'url_blocked', destination: 'files.example.com', pattern: 'matched-words' };
    expect(JSON.stringify(ask('agent', 'tools/call', { name: 'report_block', arguments: report }))).toMatch(/req-5eed00aa.*/);
    const life = Number(asAdmin('TTL', 'molis:blocked:req-5eed00aa'));
    expect(life).toBeGreaterThan(0);
    expect(life).toBeLessThanOrEqual(3600);
    expect(JSON.stringify(ask('agent', 'tools/call', { name: 'list_pending_approvals', arguments: {} }))).not.toContain('matched-words');
    ask('agent', 'tools/call', { name: 'report_block', arguments: { ...report, request_id: 'req-ZZ; FLUSHALL' } });
    expect(asAdmin('ZCARD', 'molis:idx:pending')).toBe('1');
  });

  it('lets it reach nothing else: not the store, not who administers, not the machine, not the world', () => {
    const open = reached('admin', storePort);
    expect(open).toEqual({ [storePort]: 'open' });
    const nowhere = [
      storePort,
      pagePort,
      '10.10.2.5:8443',
      '10.10.4.1:22',
      '10.10.2.2:8080',
      '10.10.2.3:22',
      '10.10.3.2:8080',
      '10.10.3.1:22',
      '10.10.2.1:22',
      '1.1.1.1:443',
    ];
    const found = reached('agent', toolPort, '10.10.1.1:8080', ...nowhere);
    expect(found[toolPort]).toBe('open');
    expect(found['10.10.1.1:8080']).toBe('ECONNREFUSED');
    for (const place of nowhere) expect(found[place], place).toBe('ENETUNREACH');
  });

  it('answers on the agents’ network alone, though its container is on three', () => {
    expect(reached('admin', '10.10.2.2:8080')).toEqual({ '10.10.2.2:8080': 'ECONNREFUSED' });
    expect(reached('stranger', '10.10.3.2:8080')).toEqual({ '10.10.3.2:8080': 'ECONNREFUSED' });
    expect(reached('stranger', storePort)[storePort]).not.toBe('open');
  });

  it('shows the page to people, on their network alone, and lets them no further', () => {
    const look = (where: string) =>
      topology.run(where, agentUid, [node, '-e', lookAt, 'banksman.home.arpa', secret('config/valkey-ca.pem')]).out.trim();
    expect(look('person')).toBe('200');
    expect(look('agent')).toBe('ENETUNREACH');
    expect(reached('admin', '10.10.2.5:8443')).toEqual({ '10.10.2.5:8443': 'ECONNREFUSED' });
    expect(reached('person', storePort)[storePort]).not.toBe('open');
    // The key of its certificate is the administration's.
    for (const [where, uid] of [
      ['person', agentUid],
      ['tools', compose.services['tools']?.uid ?? 0],
    ] as const)
      expect(topology.run(where, uid, ['cat', secret('config/page.key')]).out).toMatch(/Permission denied/);
  });

  it('refuses an agent without a token, and a peer with a public address although it has one', () => {
    const { out } = topology.run('agent', agentUid, [
      node,
      '-e',
      speak,
      `http://${toolPort}/mcp`,
      'bkm.laptop.wrong',
      'tools/list',
      '{}',
      '',
    ]);
    expect(JSON.parse(out)).toMatchObject({ status: 401 });
    for (const words of [
      ['-n', `bkm${process.pid}-agent`, 'addr', 'add', '203.0.113.9/32', 'dev', 'lo'],
      ['-n', `bkm${process.pid}-tools`, 'route', 'add', '203.0.113.9/32', 'via', '10.10.1.50'],
    ])
      execFileSync('ip', words);
    expect(ask('agent', 'tools/list', {}, '203.0.113.9')).toMatchObject({ status: 403, text: expect.stringContaining('private network') });
    expect(ask('agent', 'tools/list')).toMatchObject({ status: 200 });
  });

  it('shows the agent’s user no secret, nor the tools’ user the administrator’s', () => {
    const files = [
      'tools/credentials.json',
      'admin/credentials.json',
      'valkey/users.acl',
      'valkey/health',
      'valkey/server.key',
      'valkey-data',
    ];
    for (const file of files) {
      expect(existsSync(secret(file)), file).toBe(true);
      expect(topology.run('agent', agentUid, ['cat', secret(file)]).out, file).toMatch(/Permission denied/);
    }
    const tools = compose.services['tools']?.uid ?? 0;
    for (const file of files.slice(1)) expect(topology.run('tools', tools, ['cat', secret(file)]).out, file).toMatch(/Permission denied/);
    expect(topology.run('tools', tools, ['sh', '-c', `echo >> ${secret('config/config.json')}`]).out).toMatch(/Permission denied/);
    expect(topology.run('tools', tools, ['cat', secret('tools/credentials.json')]).out).not.toContain('admin');
  });

  it('lets who administers answer at a terminal, from their own network, and nobody else', async () => {
    const { out } = banksman('admin', ['approvals', 'list']);
    expect(out).toContain('req-5eed00aa');
    const at = (service: 'tools' | 'admin', words: readonly string[], dialogue: Dialogue = []) => {
      const all = [node, path.join(folder, 'cli.cjs'), ...words, ...placesOf(service)];
      const line = topology.line(service, compose.services[service]?.uid ?? 0, all);
      return onTerminal(line, dialogue, { env: { PATH: process.env['PATH'], HOME: '/', TERM: 'dumb', ...configured } });
    };
    const status = (id: string) => {
      const asked = ask('agent', 'tools/call', { name: 'check_request_status', arguments: { request_id: id } })['result'];
      return (asked as { structuredContent: { result: { status: string } } }).structuredContent.result.status;
    };
    // A shell in the tools' container is at a terminal, too. It has no credential for that, and pins nobody.
    expect(await at('tools', ['approvals', 'deny', 'req-5eed00aa'])).toMatchObject({
      status: 1,
      screen: expect.stringContaining('`admin`'),
    });
    const asked = [`new passphrase for alice`, `the same again`].map((sees) => [sees, `${passphrase}\r`] as const);
    expect(await at('tools', ['approvers', 'create', 'alice'], asked)).toMatchObject({ status: 1 });
    expect(status('req-5eed00aa')).toBe('pending');
    expect(await at('admin', ['approvals', 'deny', 'req-5eed00aa'])).toMatchObject({ status: 0 });
    expect(status('req-5eed00aa')).toBe('denied');

    expect(await at('admin', ['approvers', 'create', 'alice'], asked)).toMatchObject({ status: 0 });
    // A passkey: the link is made here, and opened on the page by a person.
    let page = '';
    const open = (screen: string) => {
      const link = /enrol#([A-Za-z0-9_-]{43})/.exec(screen)?.[1] ?? '';
      const words = [node, '-e', openLink, 'banksman.home.arpa', secret('config/valkey-ca.pem'), link];
      page = topology.run('person', agentUid, words).out;
      return '\u0003';
    };
    const enroll = ['approvers', 'enroll', 'bob-phone', '--display', 'outside'];
    await at('admin', enroll, [
      ['passphrase of approver', `${passphrase}\r`],
      ['waiting', open],
    ]);
    expect(page).toContain('Make a passkey for bob-phone');

    const report = { request_id: 'req-5eed00bb', reason: 'url_blocked', destination: 'other.example.com' };
    expect(JSON.stringify(ask('agent', 'tools/call', { name: 'report_block', arguments: report }))).toContain('"status":"ok"');
    const { screen } = await at('admin', ['approvals', 'show', 'req-5eed00bb']);
    const code = /one-time code: (ott-\w{8})/.exec(screen)?.[1] ?? '';
    const signed = [
      ['one-time code (', `${code}\r`],
      ['passphrase of approver', `${passphrase}\r`],
    ] as const;
    expect(await at('admin', ['approvals', 'approve', 'req-5eed00bb'], signed)).toMatchObject({ status: 0 });
    expect(status('req-5eed00bb')).toBe('approved');
  });

  it('has no workspace, tells whose the configuration is, and logs a line for a call without its arguments', async () => {
    const read = { name: 'read_file', arguments: { path: 'etc/word-of-the-argument' } };
    expect(JSON.stringify(ask('agent', 'tools/call', read))).toContain('workspace_too_wide');
    const { out } = banksman('tools', ['doctor']);
    expect(out).toMatch(/ok +approvers: .*alice/);
    expect(out).toMatch(/config\.json.*another user/);
    // What it says of itself is so here: pins and store are elsewhere.
    expect(out).toMatch(/warning embedded: the cluster token lies in your account.*/);
    expect(out).not.toMatch(/embedded:.*(?:pins|store)/);
    await expect.poll(() => logged.join('').match(/.*read_file.*/g)).toHaveLength(1);
    expect(logged.join('')).not.toContain('word-of-the-argument');
    // And for one that does what it was asked to.
    const report = {
      request_id: 'req-5eed00cc',
      reason: 'url_blocked',
      destination: 'word-of-a-destination.example.com',
      pattern: 'word-of-a-pattern',
    };
    expect(JSON.stringify(ask('agent', 'tools/call', { name: 'report_block', arguments: report }))).toContain('"status":"ok"');
    await expect.poll(() => logged.join('')).toMatch(/report_block.*ok/);
    expect(logged.join('')).not.toMatch(/word-of-a-(?:destination|pattern)/);
  });

  it('is well by its own health checks, and ill where nothing answers', () => {
    const check = (url: string) =>
      topology.run('tools', compose.services['tools']?.uid ?? 0, [node, path.join(folder, 'healthcheck.mjs'), url]).status;
    expect([check(`http://${toolPort}/health`), check(`http://${toolPort}/nothing`), check('http://10.10.1.2:1/health')]).toEqual([
      0, 1, 1,
    ]);
    const page = (file: string) =>
      topology.run('page', compose.services['page']?.uid ?? 0, [node, path.join(folder, 'healthcheck.mjs'), 'page', file]).status;
    writeFileSync(path.join(folder, 'elsewhere.json'), '{"page":{"origin":"https://banksman.home.arpa:1","host":"10.10.4.2"}}');
    expect([page(secret('config/config.json')), page(path.join(folder, 'elsewhere.json'))]).toEqual([0, 1]);
    const at = ['--tls', '--cacert', secret('valkey/ca.pem'), '-h', '10.10.2.4', '--user', 'healthcheck'];
    const health = { REDISCLI_AUTH: readFileSync(secret('valkey/health'), 'utf8') };
    const valkey = compose.services['valkey']?.uid ?? 0;
    expect(topology.run('valkey', valkey, ['redis-cli', ...at, 'ping'], health).out).toContain('PONG');
    expect(topology.run('valkey', valkey, ['redis-cli', ...at, 'get', 'molis:config:security_level'], health).out).toContain('NOPERM');
  });
});

/** The first line of either output that fits. */
async function lineOf(child: ReturnType<Topology['start']>, wanted: RegExp): Promise<string> {
  const seen: string[] = [];
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  for (const stream of [child.stdout, child.stderr])
    if (stream)
      createInterface({ input: stream }).on('line', (line) => {
        seen.push(line);
        if (wanted.test(line)) resolve(line);
      });
  child.once('exit', () => reject(new Error(`ended: ${seen.join(' | ')}`)));
  return promise;
}
