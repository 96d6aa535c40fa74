/** The handlers on a real workspace: what a model gets to see. */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { catalog } from '#app/catalog';
import { programRunner } from '#execution/run-child';
import type { CommandRequest, CommandResult, CommandRunner } from '#kernel/ports/command-runner';
import type { CommandResource, PathResource, Target } from '#kernel/resource';
import { english } from '#kernel/text/message';
import type { Tool, ToolContext } from '#kernel/tool';
import { openTestWorkspace, required, type TestWorkspace } from './support.ts';

function toolOf(name: string): Tool {
  return required(catalog.find((entry) => entry.name === name));
}

/** What classifying adds to a target. */
type Classified = Partial<Pick<PathResource, 'real' | 'agreed'> & Pick<CommandResource, 'text' | 'network' | 'unsandboxed'>>;

const noRunner: CommandRunner = { status: () => expect.fail('no runner'), run: () => expect.fail('no runner') };

/** As the pipeline does: parse, name the targets, call. `target` is what classifying adds. */
function call(
  workspace: TestWorkspace,
  name: string,
  input: object,
  { runner = noRunner, ...target }: Classified & { readonly runner?: CommandRunner } = {},
) {
  const tool = toolOf(name);
  const parsed = tool.input.parse(input);
  const targets = tool.touches(parsed, { holds: () => true }).map((resource) => ({ ...resource, ...target }) as Target);
  const context: ToolContext = {
    agent: { id: 'mcp:laptop', host: 'mcp', modelTier: 'advanced' },
    signal: new AbortController().signal,
    targets,
    cluster: () => expect.fail('no cluster'),
    workspace: () => ({ files: workspace.files, search: workspace.search, runner }),
    requests: {
      get: async () => undefined,
      list: async () => ({ records: [] }),
      countPending: async () => 0,
      countApproved: async () => 0,
    },
    trail: { read: async () => [], ofRequest: async () => [], head: async () => undefined },
    security: { level: 'balanced', limits: async () => [], sandbox: async () => 'enforced', report: () => expect.fail('no report') },
    plans: { rehearse: () => expect.fail('no plan'), start: () => expect.fail('no plan'), progress: async () => undefined },
    clock: { now: Date.now, sleep: async () => undefined },
    progress: () => undefined,
    noteEffect: () => undefined,
    leftMs: () => 60_000,
  };
  return {
    run: () => tool.run(parsed, context),
    preview: async () => (await required(tool.preview).call(tool, parsed, context)).map(english),
    headline: english(tool.headline(parsed, targets)),
  };
}

describe('read_file', () => {
  it('numbers the lines', async () => {
    const workspace = await openTestWorkspace();
    workspace.put({ 'a.txt': 'one\n\nthree\n', empty: '' });
    expect(await call(workspace, 'read_file', { path: 'a.txt' }).run()).toEqual({
      ok: true,
      message: 'a.txt: lines 1 to 3 of 3',
      result: {
        path: 'a.txt',
        content: '1\tone\n2\t\n3\tthree',
        start_line: 1,
        end_line: 3,
        total_lines: 3,
        bytes: 11,
        encoding: 'utf-8',
        hash: 'ee9731974efa9af6',
      },
    });
    expect(await call(workspace, 'read_file', { path: 'a.txt', start_line: 3, end_line: 9 }).run()).toMatchObject({
      message: 'a.txt: line 3 of 3',
      result: { content: '3\tthree' },
    });
    expect(await call(workspace, 'read_file', { path: 'empty' }).run()).toMatchObject({
      message: 'empty: no lines of 0',
      result: { content: '' },
    });
    await expect(call(workspace, 'read_file', { path: 'a.txt', start_line: 3, end_line: 2 }).run()).rejects.toMatchObject({
      code: 'invalid_input',
    });
  });

  it('says how to go on where the rest did not fit', async () => {
    const workspace = await openTestWorkspace();
    workspace.put({ long: `${'x'.repeat(999)}\n`.repeat(500) });
    expect(await call(workspace, 'read_file', { path: 'long' }).run()).toMatchObject({
      message: 'long: lines 1 to 200 of 500; the rest did not fit',
      result: { truncated: true, end_line: 200 },
      next: 'call again with start_line 201',
    });
  });

  it('opens what a person agreed to, and only that', async () => {
    const workspace = await openTestWorkspace();
    workspace.put({ '.env': 'KEY=1' });
    await expect(call(workspace, 'read_file', { path: '.env' }, { real: '.env' }).run()).rejects.toMatchObject({ code: 'SECRET_FILE' });
    expect(await call(workspace, 'read_file', { path: '.env' }, { real: '.env', agreed: true }).run()).toMatchObject({ ok: true });
    await expect(call(workspace, 'read_file', { path: '.env' }, { real: 'other', agreed: true }).run()).rejects.toMatchObject({
      code: 'SECRET_FILE',
    });
  });

  it.each([{}, { path: '' }, { path: 'a', start_line: 0 }, { path: 'a', start_line: '1' }, { path: 'a', confirmed: true }, { path: 5 }])(
    'refuses %j',
    (input) => expect(toolOf('read_file').input.safeParse(input).success).toBe(false),
  );
});

describe('edit_file', () => {
  const edits = [{ old_text: 'two', new_text: 'zwei' }];

  it('says what it did, and gives the hash for the next edit', async () => {
    const workspace = await openTestWorkspace();
    workspace.put({ 'a.txt': 'one\ntwo\n' });
    const before = await call(workspace, 'read_file', { path: 'a.txt' }).run();
    const edited = await call(workspace, 'edit_file', {
      path: 'a.txt',
      edits,
      if_unchanged: (before.result as { hash: string }).hash,
    }).run();
    expect(edited).toMatchObject({ ok: true, message: 'edited a.txt: 1 replacement, 9 bytes', result: { path: 'a.txt', replacements: 1 } });
    const after = await call(workspace, 'read_file', { path: 'a.txt' }).run();
    expect((edited.result as { hash: string }).hash).toBe((after.result as { hash: string }).hash);
  });

  it('shows a person what changes, and that it would fail', async () => {
    const workspace = await openTestWorkspace();
    workspace.put({ 'a.txt': 'one\ntwo\n', 'b.txt': '' });
    const question = call(workspace, 'edit_file', { path: 'a.txt', edits });
    expect(question.headline).toBe('Edit a.txt (1 replacement)');
    expect(await question.preview()).toEqual(['It removes 1 line of 2 and adds 1 line.', 'The new content has 2 lines (8 bytes).']);
    expect(await call(workspace, 'edit_file', { path: 'b.txt', edits }).preview()).toEqual([expect.stringContaining('do not fit')]);
    expect(await call(workspace, 'edit_file', { path: 'c.txt', edits }).preview()).toEqual([expect.stringContaining('does not exist')]);
  });

  it('writes no placeholder of a secret that was hidden', async () => {
    const workspace = await openTestWorkspace();
    workspace.put({ 'a.txt': 'one\ntwo\n' });
    const copied = [{ old_text: 'two', new_text: '[redacted:api-key]' }];
    await expect(call(workspace, 'edit_file', { path: 'a.txt', edits: copied }).run()).rejects.toMatchObject({ code: 'REDACTED_CONTENT' });
  });
});

describe('write_file', () => {
  it('refuses what a model copied from a result: the secret behind a placeholder would be lost', async () => {
    const workspace = await openTestWorkspace();
    workspace.put({ '.npmrc.example': 'token=[redacted:password]\n', 'app.conf': 'port=1\n' });
    const write = (path: string, content: string) => call(workspace, 'write_file', { path, content }).run();
    await expect(write('app.conf', 'password=[redacted:password]\nport=2\n')).rejects.toMatchObject({ code: 'REDACTED_CONTENT' });
    await expect(write('new.conf', 'key=[redacted:api-key]')).rejects.toMatchObject({ code: 'REDACTED_CONTENT' });
    await expect(write('app.conf', '<outside-0a1b2c3d>\nport=2\n</outside-0a1b2c3d>')).rejects.toMatchObject({ code: 'MARKED_CONTENT' });
    expect(readFileSync(workspace.absolute('app.conf'), 'utf8')).toBe('port=1\n');
    // A file that has such words of its own may keep them, and no more of them.
    expect(await write('.npmrc.example', 'a=1\ntoken=[redacted:password]\n')).toMatchObject({ ok: true });
    await expect(write('.npmrc.example', '[redacted:password] [redacted:password]')).rejects.toMatchObject({ code: 'REDACTED_CONTENT' });
    await expect(write('.npmrc.example', '[redacted:known]')).rejects.toMatchObject({ code: 'REDACTED_CONTENT' });
  });

  it('finds the words of a long file’s own, wherever they stand', async () => {
    const workspace = await openTestWorkspace();
    const long = `${`${'x'.repeat(999)}\n`.repeat(450)}[redacted:password]\n`;
    workspace.put({ 'long.txt': long });
    expect(await call(workspace, 'write_file', { path: 'long.txt', content: `${long}more\n` }).run()).toMatchObject({ ok: true });
  });

  it('writes exactly what it was given, and says what it did', async () => {
    const workspace = await openTestWorkspace();
    const content = '  leading\ttab \u200b\u001b[0m é\r\n'.repeat(1_000);
    const made = call(workspace, 'write_file', { path: 'src/new.txt', content });
    expect(made.headline).toBe('Write src/new.txt');
    const bytes = Buffer.byteLength(content);
    expect(await made.run()).toEqual({
      ok: true,
      message: `created src/new.txt (${bytes} bytes)`,
      result: { path: 'src/new.txt', bytes, created: true, run_id: expect.any(String) },
    });
    expect(readFileSync(workspace.absolute('src/new.txt'), 'utf8')).toBe(content);
  });

  it('says before and after that it cannot be undone, where nothing is kept', async () => {
    const workspace = await openTestWorkspace({ journal: 'there is no place for it' });
    workspace.put({ 'a.txt': 'one\n' });
    const written = call(workspace, 'write_file', { path: 'a.txt', content: 'two\n' });
    expect(await written.preview()).toContain('It cannot be undone afterwards: there is no place for it.');
    expect(await written.run()).toMatchObject({
      message: 'replaced a.txt (4 bytes); it cannot be undone: there is no place for it',
      result: { not_undoable: 'there is no place for it' },
    });
    const edited = call(workspace, 'edit_file', { path: 'a.txt', edits: [{ old_text: 'two', new_text: 'three' }] });
    expect(await edited.preview()).toContain('It cannot be undone afterwards: there is no place for it.');
    expect(await edited.run()).toMatchObject({ result: { not_undoable: 'there is no place for it' } });
    const own = call(workspace, 'write_file', { path: '/tmp/a.txt', content: '' });
    expect(await own.preview()).toContainEqual(expect.stringContaining('agent’s own sandbox'));
    expect((await own.run()).result).toEqual({ path: '/tmp/a.txt', bytes: 0, created: true });
  });

  it('tells a person what it changes', async () => {
    const workspace = await openTestWorkspace();
    workspace.put({ 'a.txt': 'one\ntwo\nthree\n', binary: Buffer.from([0, 1]) });
    const facts = (path: string, content: string) => call(workspace, 'write_file', { path, content }).preview();
    expect(await facts('a.txt', 'one\nthree\nfour\nfive\n')).toEqual([
      'It removes 1 line of 3 and adds 2 lines.',
      'The new content has 4 lines (20 bytes).',
    ]);
    expect(await facts('a.txt', 'one\ntwo\nthree\n')).toEqual(['The content stays the same.', 'The new content has 3 lines (14 bytes).']);
    expect(await facts('new.txt', '')).toEqual(['There is no such file yet.', 'The new content has 0 lines (0 bytes).']);
    expect((await facts('binary', 'x'))[0]).toBe('What is there cannot be compared: this is a binary file of 2 bytes, not text.');
    expect(readFileSync(workspace.absolute('a.txt'), 'utf8')).toBe('one\ntwo\nthree\n');
  });
});

describe('list_directory and search_files', () => {
  it('tell what they found, and how much they left out', async () => {
    const workspace = await openTestWorkspace({ listing: { entries: 2, visits: 100, depth: 5 } });
    workspace.put({ '.gitignore': '*.log', 'a.log': '', 'b.ts': 'needle', 'c/d.ts': 'needle\nneedle' });
    expect(await call(workspace, 'list_directory', { path: '.' }).run()).toEqual({
      ok: true,
      message: '.: 2 entries, 1 more left out, 1 hidden by .gitignore',
      result: {
        entries: [
          { path: '.gitignore', type: 'file', bytes: 5 },
          { path: 'b.ts', type: 'file', bytes: 6 },
        ],
        omitted: 1,
        ignored: 1,
      },
      next: 'name a directory further down, or a pattern',
    });
    expect(await call(workspace, 'search_files', { pattern: 'needle', max_results: 2 }).run()).toMatchObject({
      message: '2 matches in 2 files, there are more',
      result: { matches: [{ path: 'b.ts', line: 1, text: 'needle' }, { path: 'c/d.ts' }], truncated: true },
    });
    expect(await call(workspace, 'search_files', { pattern: 'nothing', path: 'c' }).run()).toMatchObject({ ok: true, message: 'no match' });
  });
});

describe('run_command', () => {
  /** Runs it for real, without the OS sandbox, whose own tests are elsewhere. */
  const runnerIn = (workspace: TestWorkspace, seen: CommandRequest[], changes: Partial<CommandResult> = {}): CommandRunner => ({
    status: async () => ({ state: 'degraded', reason: 'this is a test' }),
    run: async (request, signal, onOutput) => {
      seen.push(request);
      const ended = await programRunner.run(
        {
          program: '/bin/sh',
          args: ['-c', request.command],
          cwd: workspace.root,
          env: { PATH: '/usr/bin:/bin' },
          timeoutMs: request.timeoutMs,
          keepBytes: 10_000,
        },
        signal,
        onOutput,
      );
      return { ...ended, networkTries: 0, sandbox: 'degraded', planted: [], scanIncomplete: false, ...changes };
    },
  });

  it('runs the text that was checked, on the surface that the caller holds', async () => {
    const workspace = await openTestWorkspace();
    const seen: CommandRequest[] = [];
    const made = call(
      workspace,
      'run_command',
      { command: 'whatever' },
      { text: 'echo out; echo err >&2', runner: runnerIn(workspace, seen) },
    );
    expect(made.headline).toBe('Run "echo out; echo err >&2" in the workspace');
    expect(await made.run()).toEqual({
      ok: true,
      message: 'the command ended with exit code 0',
      result: { stdout: 'out\n', stderr: 'err\n', exit_code: 0, sandbox: 'degraded' },
    });
    expect(await made.preview()).toEqual(['The sandbox is degraded: this is a test.']);
    expect(seen).toEqual([
      { command: 'echo out; echo err >&2', surface: 'workspace_command', network: false, timeoutMs: 30_000, agentId: 'mcp:laptop' },
    ]);
  });

  it('hands on only what a person granted', async () => {
    const workspace = await openTestWorkspace();
    const seen: CommandRequest[] = [];
    await call(
      workspace,
      'run_command',
      { command: 'true' },
      { text: 'true', network: true, unsandboxed: true, runner: runnerIn(workspace, seen) },
    ).run();
    await call(workspace, 'run_command', { command: 'true' }, { text: 'true', runner: runnerIn(workspace, seen) }).run();
    expect(seen.map((request) => [request.network, request.allowUnsandboxed])).toEqual([
      [true, true],
      [false, undefined],
    ]);
  });

  it('tells failures, signals, time-outs and limits apart', async () => {
    const workspace = await openTestWorkspace();
    const run = (text: string, changes: Partial<CommandResult> = {}, input = {}) =>
      call(workspace, 'run_command', { command: text, ...input }, { text, runner: runnerIn(workspace, [], changes) }).run();
    expect(await run('echo half; exit 3')).toMatchObject({
      ok: false,
      code: 'command_failed',
      message: 'the command ended with exit code 3',
      result: { stdout: 'half\n', exit_code: 3 },
    });
    expect(await run('kill -9 $$')).toMatchObject({
      code: 'command_failed',
      message: 'the command ended with signal SIGKILL',
      result: { exit_code: null, signal: 'SIGKILL' },
    });
    expect(await run('exec sleep 60', {}, { timeout_ms: 100 })).toMatchObject({
      code: 'command_timeout',
      message: 'the command was ended after 100 ms, with all that it had started; what it did until then stays done',
    });
    expect(await run('true', { stoppedBy: 'memory' })).toMatchObject({
      code: 'command_limit',
      message: 'the command was ended: it went over the limit for memory',
    });
    const notApplied = {
      ...{ created: [], changed: [], deleted: [], leftOut: [], dropped: false },
      nothingApplied: 'the disk is full',
      instead: 'make room',
    };
    expect(await run('true', { effects: notApplied })).toMatchObject({
      ok: false,
      code: 'not_applied',
      message: 'the command ended with exit code 0; the disk is full',
      next: 'make room',
    });
    const secret = { path: '.env', kind: 'modify', reason: 'refused', rule: 'hidden_secret', why: 'it was not shown' } as const;
    const refused = { created: [], changed: [], deleted: [], leftOut: [secret], dropped: false };
    expect(await run('true', { effects: refused })).toMatchObject({
      code: 'not_applied',
      next: expect.stringContaining('a person is asked'),
    });
    const some = {
      ...refused,
      runId: 'x-00000000',
      created: ['n'],
      leftOut: [{ ...secret, reason: 'conflict', rule: 'conflict' } as const],
    };
    expect(await run('true', { effects: some })).toMatchObject({ ok: true, next: expect.stringContaining('look at what is there now') });
    expect(await run('true', { planted: ['.git/hooks/x (hook)'], scanIncomplete: true })).toMatchObject({
      result: { left_behind: ['.git/hooks/x (hook)'], left_behind_incomplete: true },
    });
  });

  it('asks for the surface that its caller may use, the lesser one where nobody is known', () => {
    const { touches, input } = toolOf('run_command');
    const parsed = input.parse({ command: 'ls' });
    const surfaces = [
      touches(parsed),
      touches(parsed, { holds: () => false }),
      touches(parsed, { holds: (permission) => permission === 'system:execute' }),
    ];
    expect(surfaces.map(([resource]) => resource)).toMatchObject([
      { surface: 'readonly_bash' },
      { surface: 'readonly_bash' },
      { surface: 'workspace_command' },
    ]);
  });

  it('wishes for the network where its caller does, and says so in its title', () => {
    const { touches, headline, input } = toolOf('run_command');
    const wish = input.parse({ command: 'npm ci', network: true });
    const command: CommandResource = { kind: 'command', access: 'operate', surface: 'workspace_command', text: 'npm ci' };
    expect(touches(wish)).toMatchObject([{ text: 'npm ci', network: true }]);
    expect(english(headline(wish, [{ ...command, network: true }]))).toBe('Run "npm ci" in the workspace with the network');
    for (const plain of [{ command: 'npm ci' }, { command: 'npm ci', network: false }]) {
      expect(touches(input.parse(plain))[0]).not.toHaveProperty('network');
      expect(english(headline(input.parse(plain), []))).toBe('Run "npm ci" in the workspace');
    }
  });

  it('takes as many bytes as Linux takes in one argument, and runs them', async () => {
    const { input } = toolOf('run_command');
    expect(input.safeParse({ command: `echo ${'€'.repeat(50_000)}` }).success).toBe(false);
    const long = `cat > long <<'E'\n${'€'.repeat(39_900)}\nE\nwc -c < long`;
    expect(input.safeParse({ command: long }).success).toBe(true);
    const workspace = await openTestWorkspace();
    const ran = await call(workspace, 'run_command', { command: long }, { text: long, runner: runnerIn(workspace, []) }).run();
    expect(ran).toMatchObject({ ok: true, result: { stdout: '119701\n' } });
  });

  it('takes its limit from timeout_ms, up to ten minutes', () => {
    const { limitMs, input } = toolOf('run_command');
    expect(limitMs?.(input.parse({ command: 'ls' }))).toBe(40_000);
    expect(limitMs?.(input.parse({ command: 'ls', timeout_ms: 600_000 }))).toBe(610_000);
    for (const timeout of [600_001, 0, 1.5, '1000']) expect(input.safeParse({ command: 'ls', timeout_ms: timeout }).success).toBe(false);
  });

  it('does not change the command before it is judged', () => {
    const { touches, input } = toolOf('run_command');
    const hidden = 'ls \u202e\u0007  ';
    expect(touches(input.parse({ command: hidden }))).toMatchObject([{ text: hidden }]);
  });
});

describe.runIf(process.platform === 'linux' && process.getuid?.() === 0)('on a full disk', () => {
  it('the old file stays, nothing is left over, and the fault says why', async () => {
    const workspace = await openTestWorkspace();
    workspace.put({ 'disk/.keep': '' });
    const disk = workspace.absolute('disk');
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=128k', 'tmpfs', disk]);
    try {
      await call(workspace, 'write_file', { path: 'disk/a.txt', content: 'old' }).run();
      const full = call(workspace, 'write_file', { path: 'disk/a.txt', content: 'x'.repeat(500_000) }).run();
      await expect(full).rejects.toMatchObject({ code: 'DISK_FULL', message: expect.stringContaining('what was there is unchanged') });
      expect(readFileSync(`${disk}/a.txt`, 'utf8')).toBe('old');
      expect(
        (await workspace.files.list('disk', { recursive: false }, { agentId: 'x' }, new AbortController().signal)).entries,
      ).toHaveLength(1);
    } finally {
      execFileSync('umount', [disk]);
    }
  });
});
