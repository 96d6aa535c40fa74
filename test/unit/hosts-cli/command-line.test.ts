import { userInfo } from 'node:os';
import { describe, expect, it, vi } from 'vitest';
import { catalog } from '#app/catalog';
import { knownOptions, operands, optionsOf, parseCommandLine, wholeNumber } from '#hosts/cli/command-line';
import { commands } from '#hosts/cli/command-table';
import { agentOf, inputOf } from '#hosts/cli/commands/call';
import { runTools } from '#hosts/cli/commands/tools';
import { printError, printJson, printText, stderrLog } from '#hosts/cli/output';
import { run } from '#hosts/cli/run';

const badUsage = expect.objectContaining({ code: 'bad_usage', audience: 'user' });

/** Everything written while `work` ran. */
async function written(work: () => unknown): Promise<{ readonly stdout: string; readonly stderr: string }> {
  const out: string[] = [];
  const err: string[] = [];
  const stdout = vi.spyOn(process.stdout, 'write').mockImplementation((text) => out.push(String(text)) > 0);
  const stderr = vi.spyOn(process.stderr, 'write').mockImplementation((text) => err.push(String(text)) > 0);
  try {
    await work();
  } finally {
    stdout.mockRestore();
    stderr.mockRestore();
  }
  return { stdout: out.join(''), stderr: err.join('') };
}

async function exitOf(argv: readonly string[]): Promise<{ readonly status: unknown; readonly stdout: string; readonly stderr: string }> {
  const before = process.exitCode;
  const text = await written(() => run(argv));
  const status = process.exitCode;
  process.exitCode = before;
  return { status, ...text };
}

describe('the words and options of a command line', () => {
  it('may come in any order', () => {
    const parsed = { words: ['call', 'stop_vm'], options: { input: '{"vmid":100}', json: true } };
    for (const argv of [
      ['call', 'stop_vm', '--input', '{"vmid":100}', '--json'],
      ['--json', 'call', '--input={"vmid":100}', 'stop_vm'],
    ]) {
      expect(parseCommandLine(argv)).toMatchObject(parsed);
    }
    expect(parseCommandLine(['call', '--', '--json'])).toMatchObject({ words: ['call', '--json'] });
  });

  it.each([['--approve'], ['--confirmed'], ['--yes'], ['-y'], ['--force'], ['--json=maybe'], ['--input'], ['--__proto__=x']])(
    '%s is refused by name',
    (option) => {
      expect(() => parseCommandLine(['call', 'stop_vm', option])).toThrow(badUsage);
      expect(() => parseCommandLine(['call', 'stop_vm', option])).toThrow(option.replace(/=.*/, ''));
    },
  );

  it.each([
    ['--nosuch', 'unknown option `--nosuch`'],
    ['-x', 'unknown option `-x`'],
    ['--format', '`--format` needs a value'],
    ['--json=maybe', '`--json` takes no value'],
    ['--config', '`--config` needs a value'],
  ])('%s: %s', (option, message) => {
    expect(() => parseCommandLine(['tools', option])).toThrow(message);
  });

  it.each([
    ['tools', '--sse'],
    ['call', '--as', 'alice'],
    ['demo', '--http', '127.0.0.1:0'],
    ['doctor', '--input', '{}'],
    ['mcp', '--port', '1'],
  ])('%s takes no %s, and says so instead of passing over it', async (...argv) => {
    expect(await exitOf(argv)).toMatchObject({
      status: 1,
      stdout: '',
      stderr: `banksman: \`${argv[0]}\` takes no \`${argv[1]}\`; see \`banksman ${argv[0]} --help\`\n`,
    });
  });

  it('hold no option that no command takes, and each that one takes', () => {
    const taken = new Set(commands.flatMap((command) => [...optionsOf(command)]));
    for (const option of taken) expect(() => parseCommandLine([`--${option}=x`]), option).not.toThrow('unknown option');
    expect(taken).toEqual(new Set(Object.keys(knownOptions)));
  });

  it('are exactly as many as the command takes', () => {
    expect(operands(['a'], ['TOOL'])).toEqual(['a']);
    expect(() => operands([], ['TOOL'])).toThrow('missing TOOL');
    expect(() => operands(['a', 'b'], ['TOOL'])).toThrow('unexpected `b`');
  });

  it.each([
    ['0', 0],
    ['8006', 8006],
    ['65535', 65_535],
  ])('take %s for a number', (text, value) => {
    expect(wholeNumber(text, 'port', { min: 0, max: 65_535 })).toBe(value);
  });

  it.each(['', '-1', '65536', '1.5', '1e3', '0x50', ' 80', '８０', 'x'])('do not take %j for one', (text) => {
    expect(() => wholeNumber(text, 'port', { min: 0, max: 65_535 })).toThrow('`--port` must be a whole number from 0 to 65535');
    expect(() => wholeNumber(text, 'RECORD', { min: 0, max: 65_535 })).toThrow('`RECORD` must be a whole number');
  });
});

describe('the caller', () => {
  it('is the OS user, whatever the model', () => {
    const id = `cli:${userInfo().username}`;
    expect(agentOf({}, 'intermediate')).toEqual({ id, host: 'cli', modelTier: 'intermediate' });
    expect(agentOf({ model: 'gpt-4' }, 'basic')).toEqual({ id, host: 'cli', modelTier: 'advanced', model: 'gpt-4' });
    expect(agentOf({ model: 'nobody-knows' }, 'advanced')).toMatchObject({ id, modelTier: 'basic' });
  });
});

describe('the input', () => {
  it('is JSON, or nothing', async () => {
    expect(await inputOf({})).toEqual({});
    expect(await inputOf({ input: '{"vmid":100}' })).toEqual({ vmid: 100 });
    await expect(inputOf({ input: '{vmid:100}' })).rejects.toMatchObject({
      code: 'invalid_input',
      message: expect.stringContaining('--input: not valid JSON'),
    });
  });
});

describe('output', () => {
  it('goes to stdout as data and to stderr as words', async () => {
    vi.stubEnv('BANKSMAN_DEBUG', '');
    const text = await written(() => {
      printJson({ a: '\u001b' });
      printText('x');
      printText('y\n');
      printError('no');
      stderrLog.debug('hidden');
      stderrLog.info('i');
      stderrLog.warn('w');
      stderrLog.error('e');
    });
    expect(text.stdout).toBe('{"a":"\\u001b"}\nx\ny\n');
    expect(text.stderr).toBe('banksman: no\n[info] i\n[warning] w\n[error] e\n');
    vi.stubEnv('BANKSMAN_DEBUG', '1');
    expect((await written(() => stderrLog.debug('shown'))).stderr).toBe('[debug] shown\n');
  });
});

describe('the tool list', () => {
  const list = async (options: object) => JSON.parse((await written(() => runTools([], options))).stdout) as Record<string, unknown>[];

  it('is the catalog, or one group of it', async () => {
    expect((await list({})).map((tool) => tool['name'])).toEqual(catalog.map((tool) => tool.name));
    for (const tool of await list({ group: 'security' })) expect(tool['group']).toBe('security');
    expect(Object.keys((await list({}))[0] ?? {})).toEqual([
      'name',
      'title',
      'description',
      'group',
      'tier',
      'impact',
      'permission',
      'schema',
    ]);
  });

  it('has the forms of MCP and Ollama', async () => {
    expect((await list({ format: 'ollama' }))[0]).toMatchObject({
      type: 'function',
      function: { name: 'get_cluster_status', parameters: { type: 'object' } },
    });
    const mcp = await list({ format: 'mcp' });
    expect(mcp.find((tool) => tool['name'] === 'stop_vm')).toMatchObject({ annotations: { readOnlyHint: false, destructiveHint: true } });
    expect(mcp.find((tool) => tool['name'] === 'get_vms')).toMatchObject({ annotations: { readOnlyHint: true } });
  });

  it.each([{ format: 'xml' }, { format: 'constructor' }, { format: '__proto__' }, { group: 'x' }])('has nothing for %j', (options) => {
    expect(() => runTools([], options)).toThrow(badUsage);
    expect(() => runTools(['x'], {})).toThrow('unexpected `x`');
  });
});

describe('a command line as a whole', () => {
  it.each([
    [['--help'], 0, /^ {2}call {2,}Makes one call/m],
    [[], 1, /^ {2}call {2,}Makes one call/m],
    [['help'], 0, /^ {2}call {2,}Makes one call/m],
    [['help', 'call'], 0, /banksman call TOOL/],
    [['--version'], 0, /^\d+\.\d+\.\d+/],
  ])('%j exits %d', async (argv, status, stdout) => {
    expect(await exitOf(argv)).toMatchObject({ status, stdout: expect.stringMatching(stdout) });
  });

  it.each([
    ['approvals', 'approve', 'req-00000000'],
    ['approvals', 'deny', 'req-00000000', '--message', 'x'],
    ['approvals', 'revoke', 'req-00000000'],
    ['approvers', 'create', 'mallory'],
    ['approvers', 'revoke', 'mallory'],
    ['level', 'set', 'relaxed'],
    ['auto-approve', 'set', 'tool:run_command', 'allow'],
    ['auto-approve', 'remove', 'tool:run_command'],
    ['audit', 'export', '--sign'],
  ])('%s %s is refused with status 2 where nobody sits at a terminal', async (...argv) => {
    expect(await exitOf(argv)).toMatchObject({
      status: 2,
      stdout: '',
      stderr: expect.stringMatching(/needs a terminal with a person at it/),
    });
  });

  it('installs no hook on Windows, and says why', async () => {
    const { platform } = process;
    Object.defineProperty(process, 'platform', { value: 'win32' });
    try {
      const { status, stderr } = await exitOf(['hook', 'install', 'claude-code', '--user']);
      expect({ status, stderr }).toEqual({ status: 2, stderr: expect.stringMatching(/on Linux and macOS only/) });
    } finally {
      Object.defineProperty(process, 'platform', { value: platform });
    }
  });

  it('has a usage of its own for each command', async () => {
    const { stdout: whole } = await exitOf(['--help']);
    const names = Array.from(whole.matchAll(/^ {2}([a-z-]+) {2,}\S/gm), ([, name]) => name);
    expect(names).toEqual(commands.map(({ name }) => name));
    // At a terminal of usual height the first of it must not be gone.
    expect(whole.split('\n').length).toBeLessThan(45);
    for (const name of names) {
      const { stdout, status } = await exitOf([name ?? '', '--help']);
      expect(status).toBe(0);
      expect(new Set([...stdout.matchAll(/^ {2}banksman ([a-z-]+)/gm)].map(([, found]) => found))).toEqual(new Set([name]));
    }
  });

  it.each([
    [['nope'], /no command is named `nope`; there are tools, call/],
    [['nope', '--help'], /no command is named `nope`/],
    [['help', 'nope'], /no command is named `nope`/],
    [['constructor'], /no command is named/],
    [['call'], /missing TOOL; see `banksman call --help`/],
    [['policy'], /`policy` takes `check`, `explain` or `replay`; see `banksman policy --help`/],
    [['call', '--nope'], /unknown option `--nope`; see `banksman call --help`/],
    [['connect', 'codex', '--print', '--remove'], /exclude each other/],
    [['call', 'get_vms', '--input', '{'], /--input: not valid JSON/],
    [['audit', 'forge'], /not `forge`/],
    [['approvals'], /takes `list`, `show`/],
    [['approvals', 'constructor'], /not `constructor`/],
    [['approvals', 'show'], /missing ID/],
    [['approvals', 'show', 'req-1'], /`req-1` is no request’s id/],
    [['approvals', 'approve', '../../etc/passwd'], /is no request’s id/],
    [['approvals', 'list', 'x'], /unexpected `x`/],
    [['approvals', 'list', '--status', 'pending,gone'], /not `gone`/],
    [['approvals', 'list', '--all', '--status', 'denied'], /exclude each other/],
    [['approvals', 'list', '--count', '0'], /--count/],
    [['approvers', 'destroy'], /takes `list`, `create`, `enroll` or `revoke`/],
    [['approvers', 'create'], /missing NAME/],
    [['approvers', 'create', 'Mallory!'], /lower-case letters/],
    [['level', 'set'], /missing LEVEL/],
    [['level', 'set', 'none'], /relaxed, balanced, strict, not `none`/],
    [['auto-approve', 'set', 'tool:run_command'], /missing allow\|prompt\|block/],
    [['auto-approve', 'set', 'tool:run_command', 'yes'], /allow, prompt, block, not `yes`/],
    [['auto-approve', 'set', 'tool:run_command', 'allow', '--expires', 'never'], /--expires/],
    [['auto-approve', 'set', 'tool:run_command', 'allow', '--expires', '0h'], /--expires/],
    [['audit', 'export', '--format', 'csv'], /must be jsonl/],
    [['call', 'get_vms', '--config', '/nonexistent/banksman.json'], /cannot be read/],
    [['call', 'get_vms', '--config', '{"securityLevel":"x"}'], /`securityLevel`: must be one of `relaxed`/],
  ])('%j exits 1 and says why on stderr only', async (argv, stderr) => {
    expect(await exitOf(argv)).toMatchObject({ status: 1, stdout: '', stderr: expect.stringMatching(stderr) });
  });
});
