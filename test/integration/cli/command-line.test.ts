/** The command line's own behaviour: bad input, a bad state, an old Node. */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Bench, cli, startBench } from './support.ts';

let bench: Bench;
beforeAll(async () => {
  bench = await startBench();
});
afterAll(async () => {
  await bench.close();
});

const withConfig = () => ['--config', bench.configFile];

describe('tools', () => {
  it('lists every tool once, with name, description, tier and schema', async () => {
    const { stdout, status } = await bench.run(['tools']);
    const tools = JSON.parse(stdout) as {
      name: string;
      description: string;
      tier: string;
      schema: { type: string; additionalProperties: boolean };
    }[];
    expect(status).toBe(0);
    expect(tools.filter((tool) => tool.schema.type === 'object' && !tool.schema.additionalProperties)).toHaveLength(tools.length);
    expect(new Set(tools.map((tool) => tool.name)).size).toBe(tools.length);
    expect(tools.find((tool) => tool.name === 'reboot_node')?.tier).toBe('black');
  });

  it('gives Ollama’s function-calling form of one group', async () => {
    const { stdout } = await bench.run(['tools', '--format', 'ollama', '--group', 'cluster']);
    const tools = JSON.parse(stdout) as { type: string; function: { name: string; parameters: { type: string } } }[];
    const all = JSON.parse((await bench.run(['tools', '--format', 'json', '--group', 'cluster'])).stdout) as { name: string }[];
    expect(tools.map((tool) => tool.function.name)).toEqual(all.map(({ name }) => name));
    expect(tools.length).toBeGreaterThan(19);
    expect(tools.every((tool) => tool.type === 'function' && tool.function.parameters.type === 'object')).toBe(true);
  });

  it.each([
    ['--format', 'xml'],
    ['--group', 'other'],
  ])('refuses %s %s with what is allowed', async (option, value) => {
    const { status, stderr, stdout } = await bench.run(['tools', option, value]);
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(/must be one of/);
  });
});

describe('usage', () => {
  it.each([
    [[], /^ {2}call {2,}Makes one call/m, 'stdout'],
    [['nosuch'], /no command is named `nosuch`/, 'stderr'],
    [['call'], /missing TOOL/, 'stderr'],
    [['call', 'get_vms', 'extra'], /unexpected `extra`/, 'stderr'],
    [['call', 'get_vms', '--confirmed'], /--confirmed/, 'stderr'],
    [['call', 'get_vms', '--input', '{bad'], /--input: not valid JSON/, 'stderr'],
    [['audit', 'tail', '--count', '0'], /--count/, 'stderr'],
    [['policy', 'guess'], /explain/, 'stderr'],
    [['tools', '--config='], /`--config` must name a file; see `banksman tools --help`/, 'stderr'],
    [['man', '--state='], /`--state` must name a directory/, 'stderr'],
    [['call', 'get_vms', '--store='], /`--store` must name a store/, 'stderr'],
    [['policy', 'check', '--root='], /`--root` must name a folder/, 'stderr'],
    [['audit', 'export', '--as=ada'], /`--as` says who signs: add `--sign`/, 'stderr'],
  ] as const)('%j exits 1 and says why', async (words, message, stream) => {
    const finished = await bench.run(words);
    expect(finished.status).toBe(1);
    expect(finished[stream]).toMatch(message);
  });

  it.each([
    ['bad JSON', ['--input', '{bad'], 'invalid_input', /not valid JSON/],
    ['a bad configuration', ['--config', '{"bogus":1}'], 'bad_config', /bogus/],
  ] as const)('with --json %s is an outcome, too', async (_what, words, code, message) => {
    const { status, stdout, stderr } = await bench.run(['call', 'get_vms', '--json', ...words]);
    expect(status).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ status: 'error', code, message: expect.stringMatching(message) });
    expect(stderr).toMatch(message);
  });

  it('takes the input from standard input', async () => {
    const { stdout, status } = await bench.run(['call', 'get_node_status', '--input', '-', '--json', ...withConfig()], {
      stdin: '{"node":"pve"}',
    });
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ status: 'ok', result: { node: 'pve' } });
  });

  it('takes the configuration that `demo` prints as it is', async () => {
    const { stdout, status } = await bench.run(['call', 'get_vms', '--json', '--config', JSON.stringify(bench.config)]);
    expect(status).toBe(0);
    expect(stdout.trim().split('\n')).toHaveLength(1);
  });

  it('a model that is not known is basic, and may look but not operate', async () => {
    expect((await bench.call('get_vms', {}, ['--model', 'dolphin'])).status).toBe(0);
    const { status, outcome } = await bench.call('stop_vm', { vmid: 100 }, ['--model', 'dolphin']);
    expect(outcome).toMatchObject({ status: 'denied', code: 'model_tier_too_low' });
    expect(status).toBe(2);
  });
});

describe('policy explain', () => {
  it('names every stage and executes nothing', async () => {
    const { stdout, status } = await bench.run([
      'policy',
      'explain',
      'stop_vm',
      '--input',
      '{"vmid":100}',
      '--json',
      ...withConfig(),
      '--state',
      `${bench.state}-explain`,
    ]);
    expect(status).toBe(3);
    const { stages, decision } = JSON.parse(stdout) as { stages: { stage: string }[]; decision: { effect: string; code: string } };
    expect(stages.map((entry) => entry.stage)).toEqual([
      'identify',
      'validate',
      'authorize',
      'pause',
      'protect',
      'scope',
      'times',
      'classify',
    ]);
    expect(decision).toMatchObject({ effect: 'ask', code: 'confirmation_required' });
    const { stdout: trail } = await bench.run(['audit', 'tail', '--json', '--state', `${bench.state}-explain`]);
    expect(trail).toBe('');
  });

  it('explains why a dependency is protected', async () => {
    const config = { ...bench.config, protected: { guests: [103] } };
    const { stdout, status } = await bench.run([
      'policy',
      'explain',
      'restart_service',
      '--input',
      '{"node":"agent1","service":"nginx"}',
      '--config',
      JSON.stringify(config),
    ]);
    expect(status).toBe(2);
    expect(stdout).toMatch(/hosts protected guest 103/);
  });
});

describe('configuration', () => {
  it.each([
    [
      '{"clusters":[{"name":"x","endpoints":["http://10.0.0.1:8006"],"tokenId":"a@pve!b"}]}',
      /clusters\.0\.endpoints\.0.*http:\/\/10\.0\.0\.1/,
    ],
    ['{"clusters":[{"name":"x","endpoints":["https://h:8006"],"tokenId":"a@pve!b","tls":{"verify":false}}]}', /tls/],
    ['{"securityLevel":"none"}', /securityLevel.*relaxed.*found `"none"`/],
    ['{"unknown":1}', /unknown.*allowed here: clusters, protected/],
    [
      '{"clusters":[{"name":"x","endpoints":["https://h:8006"],"tokenId":"a@pve!b","token":"hush-hush-hush"}]}',
      /allowed here: name, endpoints/,
    ],
    ['[1', /not valid JSON/],
  ])('%s exits 1 and names the field', async (text, message) => {
    const file = join(bench.state, '..', 'bad.json');
    writeFileSync(file, text);
    const { status, stderr } = await bench.run(['call', 'get_vms', '--config', file]);
    expect(status).toBe(1);
    expect(stderr).toMatch(message);
    expect(stderr).not.toMatch(/\n\s+at |hush/);
  });

  it('a file that was named has to be there', async () => {
    const { status, stderr } = await bench.run(['doctor', '--config', '/nowhere/banksman.json']);
    expect(status).toBe(1);
    expect(stderr).toMatch(/\/nowhere\/banksman\.json/);
  });
});

describe('the store', () => {
  it('that is no database is left as it is, and said', async () => {
    const state = `${bench.state}-corrupt`;
    mkdirSync(state, { recursive: true });
    writeFileSync(join(state, 'banksman.db'), 'this is not a database, but somebody may want it');
    const { status, stderr } = await bench.run(['call', 'get_vms', '--state', state, ...withConfig()]);
    expect(status).toBe(1);
    expect(stderr).toContain('banksman.db');
    expect(stderr).not.toMatch(/\n\s+at /);
  });

  it('held by another process: refused after a while, retryable, and the handler does not run', async () => {
    const state = `${bench.state}-locked`;
    await bench.run(['audit', 'tail', '--state', state]);
    const holder = new DatabaseSync(join(state, 'banksman.db'));
    holder.exec('BEGIN EXCLUSIVE');
    const { status, stdout, stderr } = await bench.run([
      'call',
      'restart_service',
      '--input',
      '{"node":"pve","service":"nginx"}',
      '--json',
      '--state',
      state,
      ...withConfig(),
    ]);
    holder.exec('ROLLBACK');
    holder.close();
    expect(status).toBe(1);
    expect(`${stdout}${stderr}`).toMatch(/banksman\.db|busy|locked/);
    expect(stdout).not.toMatch(/"status":"ok"/);
  });

  it.runIf(process.platform === 'linux').each([
    ['a call', ['call', 'get_vms']],
    ['a token', ['tokens', 'create', 'nobody']],
  ] as const)('in a folder that cannot be made: %s ends, and says which', async (_what, words) => {
    const { status, stderr } = await bench.run([...words, '--state', '/proc/banksman-state']);
    expect(status).toBe(1);
    expect(stderr).toContain('/proc/banksman-state');
    expect(stderr).not.toMatch(/internal error/);
  });

  it('in a file of its own is made where its absolute path says', async () => {
    const file = join(bench.folder, 'elsewhere', 'own.db');
    const { status } = await bench.run(['call', 'get_vms', '--store', `sqlite:${file}`, ...withConfig()]);
    expect({ status, there: existsSync(file) }).toEqual({ status: 0, there: true });
  });

  it('a name that no engine has exits 1', async () => {
    const { status, stderr } = await bench.run(['doctor', '--store', 'mysql://x']);
    expect(status).toBe(1);
    expect(stderr).toMatch(/sqlite:/);
  });
});

describe('audit', () => {
  it('verifies a whole trail, and names the record that was changed', async () => {
    const state = `${bench.state}-audit`;
    for (const tool of ['get_vms', 'get_containers', 'reboot_node'])
      await bench.call(tool, tool === 'reboot_node' ? { node: 'pve' } : {}, ['--state', state]);
    expect((await bench.run(['audit', 'verify', '--state', state])).status).toBe(0);
    const { stdout } = await bench.run(['audit', 'tail', '--state', state]);
    expect(stdout).toMatch(/get_vms[\s\S]*get_containers[\s\S]*reboot_node/);

    const database = new DatabaseSync(join(state, 'banksman.db'));
    const triggers = database.prepare("SELECT name FROM sqlite_master WHERE type = 'trigger'").all() as { name: string }[];
    for (const { name } of triggers) database.exec(`DROP TRIGGER "${name}"`);
    const { sql } = database.prepare("SELECT sql FROM sqlite_master WHERE name LIKE 'audit%' AND type = 'table'").get() as { sql: string };
    expect(sql).toBeTypeOf('string');
    const table = /CREATE TABLE\s+"?(\w+)/.exec(sql)?.[1] ?? '';
    const columns = (database.prepare(`PRAGMA table_info("${table}")`).all() as { name: string }[]).map((column) => column.name);
    const text = columns.find((column) => ['record', 'body', 'attributes', 'json'].includes(column)) ?? '';
    const changed = database
      .prepare(
        `UPDATE "${table}" SET "${text}" = replace("${text}", 'get_containers', 'get_nothing___') WHERE "${text}" LIKE '%get_containers%'`,
      )
      .run();
    expect(changed.changes).toBe(1);
    database.close();
    const broken = await bench.run(['audit', 'verify', '--state', state, '--json']);
    expect(broken.status).toBe(1);
    expect(JSON.parse(broken.stdout)).toMatchObject({ ok: false, broken: 2 });
  });

  it('a missing trail is not a whole one', async () => {
    const { status } = await bench.run(['audit', 'verify', '--state', `${bench.state}-none`]);
    expect(status).toBe(1);
  });
});

describe('demo', () => {
  it('says when its port is taken', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const address = taken.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const { status, stderr } = await bench.run(['demo', '--port', String(port)]);
    taken.close();
    expect(status).toBe(1);
    expect(stderr).toMatch(new RegExp(`port ${port} is taken`));
  });
});

describe('the sandbox', () => {
  it('is the same to get_security_status as to doctor, and no record says a state that nobody looked at', async () => {
    const workspace = join(bench.folder, 'sandbox-workspace');
    mkdirSync(workspace);
    const config = ['--config', JSON.stringify({ ...bench.config, workspace: { root: workspace } }), '--state', `${bench.state}-sandbox`];
    const checked = JSON.parse((await bench.run(['doctor', '--json', ...config])).stdout) as { topic: string; message: string }[];
    const { stdout } = await bench.run(['call', 'get_security_status', '--json', ...config]);
    const { result } = JSON.parse(stdout) as { result: { sandbox: string } };
    expect(checked.find(({ topic }) => topic === 'sandbox')?.message).toMatch(new RegExp(`^${result.sandbox}:`));
    await bench.run(['call', 'get_vms', ...config]);
    const trail = await bench.run(['audit', 'tail', '--count', '2', '--json', ...config]);
    const said = trail.stdout
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { attributes: { sandbox: string } }).attributes.sandbox);
    expect(said).toEqual([result.sandbox, 'not_checked']);
  });
});

describe('doctor', () => {
  it('finds the demo cluster and its nodes working', async () => {
    const { status, stdout } = await bench.run(['doctor', '--json', ...withConfig()]);
    const findings = JSON.parse(stdout) as { topic: string; state: string; message: string }[];
    expect(findings.find((finding) => finding.topic === 'cluster demo')).toMatchObject({
      state: 'ok',
      message: expect.stringMatching(/quorate, 3 of 3 nodes online/),
    });
    expect(findings.filter((finding) => finding.topic.startsWith('cluster demo ssh'))).toHaveLength(3);
    expect(status).toBe(0);
  });
});

/** A Node that is too old for the program, where this machine has one. */
const oldNode = (process.env['PATH'] ?? '')
  .split(':')
  .map((folder) => join(folder, 'node'))
  .find((program) => /^v(?:18|20|22)\./.test(spawnSync(program, ['--version'], { encoding: 'utf8' }).stdout ?? ''));

describe.runIf(oldNode !== undefined)('under an old Node', () => {
  it('starts itself again with a newer one', async () => {
    const { status, stdout } = await bench.run(['call', 'get_vms', '--json', ...withConfig()], {
      program: oldNode ?? '',
      env: { BANKSMAN_NODE: process.execPath },
    });
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ status: 'ok' });
  });

  it('finds the one beside the program, through the link that `npm link` makes, too', () => {
    const folder = mkdtempSync(join(tmpdir(), 'banksman-link-'));
    try {
      const link = join(folder, 'banksman');
      symlinkSync(cli, link);
      const { status, stdout, stderr } = spawnSync(oldNode ?? '', [link, '--version'], {
        encoding: 'utf8',
        env: { PATH: folder, HOME: folder },
      });
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
      expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
