/** Who is measured: how each is started and which of its calls does the same job. */
import { hostname } from 'node:os';
import path from 'node:path';
import { program } from '../integration/mcp/support.ts';
import type { SshTarget } from './ssh-target.ts';

export interface MeasuredCall {
  /** Jobs of one name are compared. */
  readonly job: string;
  readonly tool: string;
  readonly input: Readonly<Record<string, unknown>>;
  /** Somewhere in the answer, or the call does not count. */
  readonly expects: string;
}

export interface Contender {
  readonly name: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly calls: readonly MeasuredCall[];
}

export interface Place {
  /** Holds `four-kb.txt`, `hundred/` with 100 files, and `many/` with 2,000 files, one of which holds `needle`. */
  readonly workspace: string;
  /** The machine's `--config` and `--state`. */
  readonly config: readonly string[];
  /** Folder of the installed peers. */
  readonly peers: string;
  readonly ssh: SshTarget;
}

export function contenders({ workspace, config, peers, ssh }: Place): readonly Contender[] {
  const file = path.join(workspace, 'four-kb.txt');
  const bin = (name: string) => path.join(peers, 'node_modules', '.bin', name);
  return [
    {
      name: 'banksman',
      args: [program, 'mcp', ...config],
      calls: [
        { job: 'echo', tool: 'check_request_status', input: { request_id: 'req-00000000' }, expects: 'not_found' },
        { job: 'read 4 KB', tool: 'read_file', input: { path: 'four-kb.txt' }, expects: 'four-kb' },
        { job: 'list 100 with sizes', tool: 'list_directory', input: { path: 'hundred' }, expects: 'file-99' },
        { job: 'search contents of 2,000 files', tool: 'search_files', input: { pattern: 'needle', path: 'many' }, expects: 'needle' },
        { job: 'run echo', tool: 'run_command', input: { command: 'echo hello' }, expects: 'hello' },
        { job: 'ssh hostname', tool: 'execute_ssh', input: { node: 'pve', command: 'hostname' }, expects: hostname() },
      ],
    },
    {
      name: 'server-everything',
      args: [bin('mcp-server-everything'), 'stdio'],
      calls: [{ job: 'echo', tool: 'echo', input: { message: 'not_found' }, expects: 'not_found' }],
    },
    {
      name: 'server-filesystem',
      args: [bin('mcp-server-filesystem'), workspace],
      calls: [
        { job: 'read 4 KB', tool: 'read_text_file', input: { path: file }, expects: 'four-kb' },
        { job: 'list 100 (names only)', tool: 'list_directory', input: { path: path.join(workspace, 'hundred') }, expects: 'file-99' },
        {
          job: 'list 100 with sizes',
          tool: 'list_directory_with_sizes',
          input: { path: path.join(workspace, 'hundred') },
          expects: 'file-99',
        },
        { job: 'search names of 2,000 files', tool: 'search_files', input: { path: workspace, pattern: '**/*1234*' }, expects: '1234' },
      ],
    },
    {
      name: 'desktop-commander',
      args: [bin('desktop-commander')],
      calls: [
        { job: 'read 4 KB', tool: 'read_file', input: { path: file }, expects: 'four-kb' },
        { job: 'list 100 (names only)', tool: 'list_directory', input: { path: path.join(workspace, 'hundred') }, expects: 'file-99' },
        { job: 'run echo', tool: 'start_process', input: { command: 'echo hello', timeout_ms: 5000 }, expects: 'hello' },
      ],
    },
    {
      name: 'ssh-mcp',
      args: [bin('ssh-mcp'), `--host=${ssh.host}`, `--port=${ssh.port}`, `--user=${ssh.user}`, '--hostKeyMode=insecure'],
      env: { SSH_MCP_KEY: ssh.identityFile },
      calls: [{ job: 'ssh hostname', tool: 'read-command', input: { command: 'hostname' }, expects: hostname() }],
    },
    {
      name: 'mcp-ssh-manager',
      args: [bin('mcp-ssh-manager')],
      env: {
        SSH_SERVER_DEMO_HOST: ssh.host,
        SSH_SERVER_DEMO_PORT: String(ssh.port),
        SSH_SERVER_DEMO_USER: ssh.user,
        SSH_SERVER_DEMO_KEYPATH: ssh.identityFile,
      },
      calls: [{ job: 'ssh hostname', tool: 'ssh_execute', input: { server: 'demo', command: 'hostname' }, expects: hostname() }],
    },
  ];
}
