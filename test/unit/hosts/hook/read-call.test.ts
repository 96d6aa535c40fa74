import { describe, expect, it } from 'vitest';
import type { JsonObject } from '#kernel/json';
import { hookAgent } from '../../../../src/hosts/hook/agents.ts';
import { readCall } from '../../../../src/hosts/hook/read-call.ts';

function read(name: string, event: JsonObject) {
  const agent = hookAgent(name);
  if (agent === undefined) throw new Error(`no agent ${name}`);
  return readCall(agent, { cwd: '/w', ...event }, '/elsewhere');
}

const patch = '*** Begin Patch\n*** Update File: a.txt\n*** Move to: ../b.txt\n*** Add File: /etc/c\n*** End Patch';

describe('what an agent asks about', () => {
  it.each<[string, JsonObject, object]>([
    ['claude-code', { tool_name: 'Bash', tool_input: { command: 'ls' } }, { kind: 'shell', input: { command: 'ls', cwd: '/w' } }],
    [
      'codex',
      { tool_name: 'shell', tool_input: { command: ['bash', '-lc', 'ls -l'], workdir: 'src' } },
      { kind: 'shell', input: { command: 'ls -l', cwd: '/w/src' } },
    ],
    ['codex', { tool_name: 'Bash', tool_input: { command: ['ls', 'a b'] } }, { kind: 'shell', input: { command: "ls 'a b'" } }],
    ['copilot', { toolName: 'bash', toolArgs: '{"command":"ls"}' }, { kind: 'shell', input: { command: 'ls' } }],
    ['cursor', { command: 'ls' }, { kind: 'shell', input: { command: 'ls' } }],
    [
      'claude-code',
      { tool_name: 'MultiEdit', tool_input: { file_path: 'a', edits: [{ old_string: 'x' }] } },
      { kind: 'write', input: { paths: ['/w/a'] } },
    ],
    [
      'codex',
      { tool_name: 'apply_patch', tool_input: { command: patch } },
      { kind: 'write', input: { paths: ['/w/a.txt', '/b.txt', '/etc/c'] } },
    ],
    [
      'vscode',
      { tool_name: 'replace_string_in_file', tool_input: { filePath: 'file:///w/x' } },
      { kind: 'write', input: { paths: ['/w/x'] } },
    ],
    ['claude-code', { tool_name: 'Grep', tool_input: { pattern: 'x' } }, { kind: 'read', input: { paths: ['/w'] } }],
    [
      'gemini',
      { tool_name: 'web_fetch', tool_input: { prompt: 'look at https://a.example/x and tell' } },
      { kind: 'fetch', input: { urls: ['https://a.example/x'] } },
    ],
    ['claude-code', { tool_name: 'mcp__banksman__stop_vm', tool_input: { vmid: 1, path: '/etc' } }, { kind: 'other' }],
    ['qwen', { tool_name: 'tool_call', tool_input: { name: 'run_shell_command', arguments: { command: 'ls' } } }, { kind: 'shell' }],
    ['claude-code', { tool_name: 'NewTool', tool_input: { script: 'ls' } }, { kind: 'shell' }],
    // A repository's server names its tools as it likes.
    ['cursor', { hook_event_name: 'beforeMCPExecution', tool_name: 'TodoWrite', tool_input: '{"path":"/etc"}' }, { kind: 'other' }],
    // The name alone proves nothing.
    ['vscode', { tool_name: 'banksman_run_command', tool_input: { command: 'npm test' } }, { kind: 'shell' }],
    ['vscode', { tool_name: 'banksman_notes', tool_input: { path: '/etc/x' } }, { kind: 'write' }],
    ['vscode', { tool_name: 'mcp_banksman_run_command', tool_input: { command: 'npm test' } }, { kind: 'other' }],
    ['claude-code', { tool_name: 'banksman_run_command', tool_input: { command: 'npm test' } }, { kind: 'shell' }],
    ['vscode', { tool_name: 'run_notebook_cell', tool_input: { filePath: '/w/a.ipynb', cellId: '1' } }, { kind: 'start' }],
    ['vscode', { tool_name: 'run_task', tool_input: { workspaceFolder: '/w', id: 'build' } }, { kind: 'start' }],
    [
      'claude-code',
      { tool_name: 'NewTool', tool_input: { deep: { er: [{ target_file: 'x' }] } } },
      { kind: 'write', input: { paths: ['/w/x'] } },
    ],
  ])('%s: %j', (name, event, call) => {
    expect(read(name, event)).toMatchObject(call);
  });

  it.each<[string, 'own' | 'foreign', string]>([
    ['banksman_run_command', 'own', 'quiet'],
    ['banksman_run_command', 'foreign', 'shell'],
    // As tools of the agent and of MCP servers are called.
    ['memory', 'foreign', 'shell'],
    ['mcp_files_run', 'foreign', 'shell'],
  ])('%s is, where the window knows it as %s: %s', (tool_name, owner, kind) => {
    const agent = hookAgent('vscode');
    if (agent === undefined) throw new Error('no agent');
    const event = { tool_name, tool_input: { command: 'npm test' } };
    expect(readCall(agent, event, '/w', (tool) => (tool === tool_name ? owner : undefined))).toMatchObject({ kind });
  });

  it.each<[string, 'own' | 'foreign' | undefined, string]>([
    ['banksman_run_command', undefined, 'shell'],
    ['banksman_run_command', 'foreign', 'shell'],
    ['memory', 'foreign', 'shell'],
  ])('%s that a tool (%s) calls by its name is judged by its arguments', (name, outer, kind) => {
    const agent = hookAgent('vscode');
    if (agent === undefined) throw new Error('no agent');
    const event = { tool_name: 'call_tool', tool_input: { name, arguments: { command: 'npm test' } } };
    const ownerOf = (tool: string) => (tool === 'call_tool' ? outer : tool.startsWith('banksman_') ? 'own' : undefined);
    expect(readCall(agent, event, '/w', ownerOf)).toMatchObject({ kind });
  });

  it('every file of many is looked at', () => {
    const edits = Array.from({ length: 1_999 }, (_none, index) => ({ path: `f${index}` }));
    const { input } = read('vscode', {
      tool_name: 'multi_replace_string_in_file',
      tool_input: { edits: [...edits, { path: '/etc/passwd' }] },
    });
    expect(input['paths']).toHaveLength(2_000);
    expect(input['paths']).toContain('/etc/passwd');
  });

  const deep = (levels: number): JsonObject => (levels === 0 ? { path: '/etc/passwd' } : { in: deep(levels - 1) });
  it.each<[string, JsonObject]>([
    ['no tool', { session_id: 'x' }],
    ['no command', { tool_name: 'Bash', tool_input: {} }],
    ['no file', { tool_name: 'Write', tool_input: { content: 'x' } }],
    ['no address', { tool_name: 'WebFetch', tool_input: { prompt: 'x' } }],
    ['arguments that are no object', { tool_name: 'Bash', tool_input: 7 }],
    [
      'more files than are looked at',
      { tool_name: 'MultiEdit', tool_input: { edits: Array.from({ length: 2_001 }, () => ({ path: '/w/a' })) } },
    ],
    ['files deeper than is looked', { tool_name: 'Write', tool_input: { path: 'a', more: deep(9) } }],
    ['a tool in a tool in itself', { tool_name: 'tool_call', tool_input: { name: 'call_tool', arguments: {} } }],
    ['half a character', { tool_name: 'Bash', tool_input: { command: '\ud800' } }],
  ])('%s cannot be understood, and does not run', (_what, event) => {
    expect(() => read('claude-code', event)).toThrow('cannot be understood');
  });
});
