/**
 * Cursor's contract, which cannot be tried with Cursor itself: the JSON of its published events (https://cursor.com/docs/hooks), each asked by a process of
 * its own, and answered in the form that is published for it.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { endServers } from './hook-servers.ts';
import { cli } from './support.ts';

vi.setConfig({ testTimeout: 120_000 });

const folder = mkdtempSync(join(tmpdir(), 'banksman-cursor-'));
const workspace = join(folder, 'ws');
const elsewhere = join(folder, 'elsewhere');
for (const place of [workspace, elsewhere, join(folder, 'config', 'banksman')]) mkdirSync(place, { recursive: true });
const configFile = join(folder, 'config', 'banksman', 'config.json');
writeFileSync(configFile, JSON.stringify({ hooks: { modelTier: 'advanced' } }));
const env = { ...process.env, XDG_STATE_HOME: join(folder, 'state'), XDG_CONFIG_HOME: join(folder, 'config') };

afterAll(async () => {
  await endServers(join(folder, 'state', 'banksman', 'hook'), configFile);
  rmSync(folder, { recursive: true, force: true, maxRetries: 50, retryDelay: 200 });
});

/** What every event holds. */
const common = {
  conversation_id: '668320d2-2fd8-4888-b33c-2a466fec86e7',
  generation_id: '490b90b7-a2ce-4c2c-bb76-cb77b125df2f',
  cursor_version: '3.9.16',
  workspace_roots: [workspace],
  user_email: null,
};

/** Cursor starts hooks of a user in a directory of its own: which project it is stands in the event. */
async function answerTo(
  event: object,
): Promise<{ readonly status: number; readonly stderr: string; readonly said: Record<string, string> }> {
  const child = spawn(process.execPath, [cli, 'hook', 'cursor'], { cwd: elsewhere, env });
  child.stdin.on('error', () => undefined).end(JSON.stringify({ ...common, ...event }));
  const closed = once(child, 'close') as Promise<[number]>;
  const [stdout, stderr, [status]] = await Promise.all([text(child.stdout), text(child.stderr), closed]);
  return { status, stderr, said: stdout === '' ? {} : (JSON.parse(stdout) as Record<string, string>) };
}

/** Silence counts as a failure, which `failClosed` refuses. */
const allowed = { status: 0, stderr: '', said: { permission: 'allow' } };

const refused = (why: RegExp) => ({
  ...{ status: 0, stderr: '' },
  said: { permission: 'deny', user_message: expect.stringMatching(why), agent_message: expect.stringMatching(why) },
});

const pre = (tool_name: string, tool_input: object) => ({
  ...{ hook_event_name: 'preToolUse', tool_name, tool_input, tool_use_id: 'abc123', cwd: workspace, model: 'claude-sonnet-4-20250514' },
  agent_message: 'I will do this now.',
});

describe.skipIf(process.platform === 'win32')('Cursor’s published events', () => {
  // A slow machine may need more than the hook's own limit to start the process behind it.
  beforeAll(async () => {
    while ((await answerTo(pre('Read', { file_path: join(workspace, 'a.txt') }))).status !== 0);
  }, 240_000);

  it.each([
    ['preToolUse, a shell command', pre('Shell', { command: 'npm install', working_directory: workspace }), /nothing but `banksman run`/],
    ['preToolUse, an edit outside', pre('Write', { file_path: '/etc/cron.d/x', contents: 'x' }), /outside the workspace/],
    [
      'preToolUse, an edit of a control file',
      pre('Write', { file_path: join(workspace, '.vscode/tasks.json'), contents: '{}' }),
      /asks a person: request req-/,
    ],
    ['preToolUse, a deletion outside', pre('Delete', { file_path: '/etc/hosts' }), /outside the workspace/],
    ['preToolUse, a look at a secret', pre('Read', { file_path: join(workspace, '.env') }), /asks a person: request req-/],
    [
      'beforeShellExecution',
      { hook_event_name: 'beforeShellExecution', command: 'npm install', cwd: '', sandbox: false },
      /nothing but `banksman run`/,
    ],
    [
      'beforeReadFile',
      {
        hook_event_name: 'beforeReadFile',
        file_path: join(workspace, '.env'),
        content: 'KEY=1',
        attachments: [{ type: 'rule', file_path: '/x' }],
      },
      /asks a person: request req-/,
    ],
  ])('%s is refused in its form', async (_what, event, why) => {
    expect(await answerTo(event)).toEqual(refused(why));
  });

  it.each([
    ['preToolUse, an edit', pre('Write', { file_path: join(workspace, 'a.txt'), contents: 'x' })],
    ['preToolUse, a read', pre('Read', { file_path: join(workspace, 'a.txt') })],
    ['preToolUse, a search', pre('Grep', { pattern: 'x', path: workspace })],
    ['preToolUse, a server’s tool', pre('MCP:get_vms', { node: 'a' })],
    ['beforeReadFile', { hook_event_name: 'beforeReadFile', file_path: join(workspace, 'a.txt'), content: 'x', attachments: [] }],
    [
      'beforeMCPExecution',
      { hook_event_name: 'beforeMCPExecution', tool_name: 'query', tool_input: '{"path":"/etc/x","command":"ls"}', command: 'npx server' },
    ],
  ])('%s is let through in its form', async (_what, event) => {
    expect(await answerTo(event)).toEqual(allowed);
  });

  it('whatever else it may ask ends with 2 and the reason', async () => {
    for (const event of [
      {},
      { hook_event_name: 'preToolUse', tool_name: 'Write', tool_input: {} },
      { hook_event_name: 'beforeMCPExecution', tool_name: '' },
    ])
      expect(await answerTo(event)).toMatchObject({ status: 2, said: {}, stderr: expect.stringContaining('banksman: refused') });
  });
});
