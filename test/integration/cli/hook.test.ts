/** `banksman hook` and `banksman run` as agents start them, each a process of its own, in the shapes that were recorded from the agents. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { windowSocket } from '../../../src/hosts/hook/places.ts';
import { listen } from '../../../src/hosts/hook/serve-hooks.ts';
import { canSandbox } from '../execution/support/bubblewrap.ts';
import { endServers } from './hook-servers.ts';
import { personAt } from './person.ts';
import { cli } from './support.ts';

vi.setConfig({ testTimeout: 120_000 });

const folder = mkdtempSync(join(tmpdir(), 'banksman-hook-'));
const workspace = join(folder, 'ws');
mkdirSync(join(workspace, '.git'), { recursive: true });
mkdirSync(join(workspace, 'src'));
mkdirSync(join(folder, 'config', 'banksman'), { recursive: true });
const configFile = join(folder, 'config', 'banksman', 'config.json');
const env = { ...process.env, XDG_STATE_HOME: join(folder, 'state'), XDG_CONFIG_HOME: join(folder, 'config') };
const sockets = join(folder, 'state', 'banksman', 'hook');
configure({ hooks: { modelTier: 'advanced' } });

afterAll(async () => {
  await endServers(sockets, configFile);
  rmSync(folder, { recursive: true, force: true, maxRetries: 50, retryDelay: 200 });
});

function configure(config: object): void {
  writeFileSync(configFile, JSON.stringify(config));
}

interface Ended {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

async function hook(agent: string, event: unknown, more: readonly string[] = [], cwd = workspace): Promise<Ended> {
  const child = spawn(process.execPath, [cli, 'hook', agent, ...more], { cwd, env });
  child.stdin.on('error', () => undefined).end(typeof event === 'string' || Buffer.isBuffer(event) ? event : JSON.stringify(event));
  const closed = once(child, 'close') as Promise<[number | null]>;
  const [stdout, stderr, [status]] = await Promise.all([text(child.stdout), text(child.stderr), closed]);
  return { status, stdout, stderr };
}

function claude(tool: string, input: object) {
  const common = { session_id: 's', transcript_path: '/x', cwd: workspace, permission_mode: 'bypassPermissions' };
  return { ...common, hook_event_name: 'PreToolUse', tool_name: tool, tool_input: input, tool_use_id: 'toolu_1' };
}

function reasonOf({ status, stdout, stderr }: Ended): string {
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  const { hookSpecificOutput: said } = JSON.parse(stdout) as { hookSpecificOutput: Record<string, string> };
  expect(said).toMatchObject({ hookEventName: 'PreToolUse', permissionDecision: 'deny' });
  return said['permissionDecisionReason'] ?? '';
}

const silent = { status: 0, stdout: '', stderr: '' };

function banksman(words: readonly string[], input?: string) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [cli, ...words], { cwd: workspace, env, encoding: 'utf8', input });
  return { status, stdout, stderr };
}

describe.skipIf(process.platform === 'win32')('banksman hook', () => {
  it('lets nothing but `banksman run` run in an agent’s own shell', async () => {
    const reason = reasonOf(await hook('claude-code', claude('Bash', { command: "rm -rf ~ 'x'", description: 'clean' })));
    const own = `${process.execPath} ${cli} run`;
    expect(reason).toContain(`${own} -- 'rm -rf ~ '\\''x'\\'''`);
    expect(await hook('claude-code', claude('Bash', { command: `${own} -- npm test` }))).toEqual(silent);
    expect(await hook('claude-code', claude('Bash', { command: `${own} --network -- 'a > b\nrm -rf "$HOME"'` }))).toEqual(silent);
    for (const command of [
      `${own} -- true; rm -rf ~`,
      `${own} -- true > ~/.bashrc`,
      `${own} --state /tmp/x -- true`,
      `${own} --config '{}' -- true`,
      `${own} -- "$(rm -rf ~)"`,
      `X=1 ${own} -- true`,
      `./banksman run -- true`,
      `npx banksman run -- true`,
      `${own} --model gpt-5 -- true`,
    ])
      expect(reasonOf(await hook('claude-code', claude('Bash', { command }))), command).toContain('outside the sandbox');
  });

  it('judges edits, reads, fetches, other servers and unlisted tools', async () => {
    expect(await hook('claude-code', claude('Write', { file_path: join(workspace, 'src/a.ts'), content: 'x' }))).toEqual(silent);
    expect(await hook('claude-code', claude('Read', { file_path: 'src/a.ts' }))).toEqual(silent);
    expect(await hook('claude-code', claude('Read', { file_path: '/usr/bin/env' }))).toEqual(silent);
    expect(await hook('claude-code', claude('Grep', { pattern: 'x' }))).toEqual(silent);
    expect(await hook('claude-code', claude('TodoWrite', { todos: [] }))).toEqual(silent);
    expect(await hook('claude-code', claude('mcp__banksman__run_command', { command: 'true' }))).toEqual(silent);
    const refused = async (tool: string, input: object) => reasonOf(await hook('claude-code', claude(tool, input)));
    expect(await refused('Write', { file_path: '/etc/cron.d/x', content: '' })).toContain('outside the workspace');
    expect(await refused('Edit', { file_path: '/tmp/x', old_string: '', new_string: '' })).toContain('outside the workspace');
    expect(await refused('Edit', { file_path: join(workspace, '.claude/settings.json') })).toContain('asks a person: request req-');
    expect(await refused('Read', { file_path: join(workspace, '.env') })).toContain('asks a person: request req-');
    expect(await refused('Read', { file_path: join(folder, 'state/banksman/store.db') })).toContain('own state');
    expect(await refused('WebFetch', { url: 'https://example.com/x', prompt: 'p' })).toContain('asks a person: request req-');
    expect(await refused('SomethingNew', { command: 'id' })).toContain('outside the sandbox');
    expect(await refused('SomethingNew', { file_path: '/etc/passwd' })).toContain('outside the workspace');
  });

  it('an approved call goes through once, exactly as it was asked', async () => {
    const person = personAt({ env }, workspace);
    await person.createApprover('alice');
    const edit = (content: string) => hook('claude-code', claude('Write', { file_path: join(workspace, '.vscode/tasks.json'), content }));
    const id = /request (req-[0-9a-f]{8})/.exec(reasonOf(await edit('{}')))?.[1] ?? '';
    expect(reasonOf(await edit('{}'))).toContain(id);
    expect(await person.approveTyping(id)).toMatchObject({ status: 0, screen: expect.stringContaining('approved once') });
    expect(reasonOf(await edit('{"other":1}'))).not.toContain(id);
    expect(await edit('{}')).toEqual(silent);
    expect(reasonOf(await edit('{}'))).not.toContain(id);
    const trail = banksman(['audit', 'tail', '--count', '200', '--json']).stdout;
    expect(trail).toContain('"gen_ai.tool.name":"agent_write"');
    expect(trail).toContain('"own_tool":"Write"');
    expect(trail).toContain('"host":"hook"');
  });

  it('refuses with 2 whatever goes wrong', async () => {
    const broken = [
      '',
      '{',
      'null',
      '[]',
      '{"tool_name":1}',
      '{"tool_name":"Bash","tool_input":{}}',
      '{"tool_name":"Write","tool_input":{}}',
      'x'.repeat(100_000),
      '{"tool_name":"Bash","tool_input":{"command":"\\ud800"}}',
      Buffer.from('{"tool_name":"Write","tool_input":{"file_path":"a\xff"}}', 'latin1'),
      `{"tool_name":"Bash","tool_input":${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}}`,
    ];
    for (const input of broken) {
      const ended = await hook('claude-code', input);
      expect({ ...ended, input: String(input).slice(0, 50) }).toMatchObject({
        status: 2,
        stdout: '',
        stderr: expect.stringContaining('banksman: refused'),
      });
    }
    expect(await hook('nobody', {})).toMatchObject({ status: 2, stdout: '', stderr: expect.stringContaining('claude-code, codex') });
    const bad = join(folder, 'bad.json');
    writeFileSync(bad, '{"hooks":{"shell":"never"}}');
    const ended = await hook('claude-code', claude('Read', { file_path: 'a' }), ['--config', bad]);
    expect(ended).toMatchObject({ status: 2, stdout: '', stderr: expect.stringContaining('`hooks.shell`') });
  });

  it.each([
    ['an option that nobody knows', ['--nonsense'], 'unknown option `--nonsense`'],
    ['the help, which an agent would take for a yes', ['--help'], 'unknown option `--help`'],
    ['no value where one has to be', ['--config'], '`--config` needs a value'],
    ['an option for a value', ['--state', '--managed'], '`--state` needs a value'],
    ['a value where none can be', ['--managed=yes'], '`--managed` takes no value'],
    ['an empty place', ['--state='], '`--state` must name a directory'],
    ['an empty file', ['--config='], '`--config` must name a file'],
    ['an empty store', ['--store='], '`--store` must name a store'],
    ['one word too many', ['codex'], 'unexpected `codex`'],
  ])('refuses the call, in one line that says what to type: %s', async (_what, words, why) => {
    const ended = await hook('claude-code', claude('Read', { file_path: 'a' }), words);
    expect(ended).toMatchObject({ status: 2, stdout: '' });
    expect(ended.stderr).toBe(`banksman: refused, for this call could not be judged: ${why}; see \`banksman hook --help\`\n`);
  });

  it.skipIf(process.platform !== 'linux')(
    'refuses where its state cannot be kept, and does not wait for the agent’s own limit',
    async () => {
      // `/proc` says of each new folder that its parent is missing.
      const ended = await hook('claude-code', claude('Read', { file_path: 'a' }), ['--state', '/proc/none/state']);
      expect(ended).toMatchObject({ status: 2, stdout: '', stderr: expect.stringContaining('/proc/none') });
    },
  );

  it('waits for no end of its input, and for no more than one object', async () => {
    const child = spawn(process.execPath, [cli, 'hook', 'claude-code'], { cwd: workspace, env });
    const whole = JSON.stringify(claude('Write', { file_path: '/etc/x', content: '}\n}' }));
    child.stdin.write(whole.slice(0, 60));
    child.stdin.write(whole.slice(60));
    const [stdout, [status]] = await Promise.all([text(child.stdout), once(child, 'close')]);
    expect(status).toBe(0);
    expect(stdout).toContain('outside the workspace');
  });

  it('is answered by the window that the agent runs in, while there is one; another folder’s is none of it', async () => {
    const event = (cwd: string) => ({ ...claude('run_in_terminal', { command: 'id' }), cwd });
    const answer = { status: 2, stdout: '', stderr: 'the window says no\n' } as const;
    const asked: unknown[] = [];
    const place = windowSocket(workspace, join(folder, 'state', 'banksman'));
    const listening = await listen(place, async (question) => {
      asked.push(question);
      return answer;
    });
    expect(await hook('vscode', event(workspace), [], folder)).toEqual(answer);
    expect(asked).toEqual([{ agent: 'vscode', event: event(workspace), cwd: folder }]);
    expect(reasonOf(await hook('vscode', event(join(workspace, 'src'))))).toContain('outside the sandbox');
    expect(reasonOf(await hook('claude-code', event(workspace)))).toContain('outside the sandbox');
    listening.withdraw();
    await listening.closed();
    // As a window leaves it that was killed.
    writeFileSync(place, '');
    expect(reasonOf(await hook('vscode', event(workspace)))).toContain('outside the sandbox');
    rmSync(place);
    expect(asked).toHaveLength(1);
  });

  it('takes up a changed configuration, and people’s rules', async () => {
    const rule = {
      id: 'tests',
      surface: 'workspace_command',
      program: 'npm',
      args: ['test'],
      justification: 'harmless',
      match: ['npm test'],
    };
    configure({ hooks: { modelTier: 'advanced', shell: 'ask' }, commandRules: [{ ...rule, effect: 'allow' }] });
    expect(await hook('claude-code', claude('Bash', { command: 'npm test' }))).toEqual(silent);
    expect(reasonOf(await hook('qwen', claude('run_shell_command', { command: 'npm test && id' })))).toContain('asks a person');
    configure({ hooks: { modelTier: 'advanced', shell: 'allow' }, commandRules: [{ ...rule, effect: 'deny' }] });
    expect(await hook('claude-code', claude('Bash', { command: 'make' }))).toEqual(silent);
    expect(reasonOf(await hook('claude-code', claude('Bash', { command: 'make; npm test' })))).toContain('harmless');
    configure({ hooks: { modelTier: 'intermediate', shell: 'allow' } });
    expect(reasonOf(await hook('claude-code', claude('Bash', { command: 'make' })))).toContain('outside the sandbox');
    expect(reasonOf(await hook('claude-code', claude('Write', { file_path: 'src/a.ts' })))).toContain('model tier advanced');
    expect(
      await hook('codex', {
        ...claude('apply_patch', { command: '*** Begin Patch\n*** Add File: src/b.ts\n+x\n*** End Patch' }),
        model: 'gpt-5',
      }),
    ).toEqual(silent);
  });
});

it.skipIf(process.platform === 'win32')('what a process behind hooks left that was killed is gone once another has started', async () => {
  configure({ hooks: { modelTier: 'advanced', shell: 'allow' } });
  // Not as the agent of the tests above: as many of its requests wait by now as may.
  const make = () => hook('qwen', claude('run_shell_command', { command: 'make' }));
  expect(await make()).toEqual(silent);
  const dead = join(sockets, `${'d'.repeat(20)}.sock`);
  const child = spawn(process.execPath, [cli, 'hook', 'serve', dead], { cwd: workspace, env, stdio: 'ignore' });
  await vi.waitFor(() => expect(existsSync(dead)).toBe(true));
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(existsSync(dead)).toBe(true);
  configure({ hooks: { modelTier: 'advanced', shell: 'ask' } });
  expect(reasonOf(await make())).toContain('asks a person');
  expect(existsSync(dead)).toBe(false);
});

describe.skipIf(!canSandbox)('banksman run', () => {
  it('passes on output and exit status, says what changed, and can be undone', () => {
    configure({ hooks: { modelTier: 'advanced' } });
    expect(banksman(['run', '--', 'printf', '%s\n', "a 'b' $HOME"])).toEqual({ status: 0, stdout: "a 'b' $HOME\n", stderr: '' });
    const ran = banksman(['run', '--', 'echo new > made.txt; mkdir .husky; echo x >&2; exit 7']);
    expect(ran).toMatchObject({ status: 7, stdout: '' });
    expect(ran.stderr).toMatch(/^x\n.*1 created.*\.husky.*request req-/s);
    expect(readFileSync(join(workspace, 'made.txt'), 'utf8')).toBe('new\n');
    const id = /banksman runs undo (\S+)/.exec(ran.stderr)?.[1] ?? '';
    expect(banksman(['runs', 'undo', id])).toMatchObject({ status: 0 });
    expect(existsSync(join(workspace, 'made.txt'))).toBe(false);
    expect(banksman(['run', '--stdin', '--', 'cat'], 'no end')).toMatchObject({ status: 0, stdout: 'no end' });
    expect(banksman(['run', '--stdin', '--', 'cat; exit 4'], "it's\n$HOME\n")).toMatchObject({ status: 4, stdout: "it's\n$HOME\n" });
    expect(banksman(['run', '--timeout', '1', '--', 'sleep 30'])).toMatchObject({ status: 124 });
    expect(banksman(['run', '--model', 'nobody', '--', 'echo looks'])).toMatchObject({ status: 126 });
    expect(banksman(['run', '--model', 'claude-haiku-4-5', '--', 'echo looks'])).toEqual({ status: 0, stdout: 'looks\n', stderr: '' });
    expect(banksman(['run', '--model', 'claude-haiku-4-5', '--', 'echo new > looked.txt'])).toMatchObject({
      status: 0,
      stderr: expect.stringMatching(/it may only look, so dropped: 1 created\n.*`--model NAME`, or `hooks\.modelTier`/),
    });
    expect(banksman(['run', '--network', '--', 'true'])).toMatchObject({ status: 126, stderr: expect.stringContaining('req-') });
    expect(banksman(['run', '--', 'banksman approvals list'])).toMatchObject({ status: 126 });
  });
});
