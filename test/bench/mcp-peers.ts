/**
 * `npm run bench:peers [-- JOBS]`: banksman side by side with the filesystem server and the npm peers for commands and ssh, in one run on
 * one machine under one Node, all over stdio with the independent older client. Ours runs with policy and durable audit on; ssh goes to a
 * real OpenSSH server for all. Then the inspector, strict, over stdio, HTTP and SSE. Installs the peers into the cache folder once. Figures
 * are printed, not judged: machines differ. JOBS are parts of jobs' names (`ssh`, `read`): only those then, and no inspector.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { startDemoCluster } from '#demo/index';
import { cacheFolder } from '../../scripts/lib/cache-folder.mjs';
import { startMachine } from '../integration/mcp/support.ts';
import { type Contender, contenders, type MeasuredCall } from './mcp-contenders.ts';
import { figure, measure, residentMb } from './measure.ts';
import { type SshTarget, startSshTarget } from './ssh-target.ts';

const wanted = process.argv.slice(2);
const peers = installPeers();
const folder = mkdtempSync(path.join(tmpdir(), 'banksman-bench-'));
const workspace = path.join(folder, 'workspace');
fillWorkspace(workspace);
const demo = await startDemoCluster({ taskDurationMs: 50 });
const ssh = await startSshTarget();
const machine = startMachine({ settings: settingsWith(ssh) });
try {
  const place = { workspace, config: machine.config, peers, ssh };
  const rows: Record<string, string | number>[] = [];
  for (const contender of contenders(place)
    .map(wantedOf)
    .filter(({ calls }) => calls.length > 0))
    rows.push(...(await run(contender)));
  console.table(rows);
  if (wanted.length === 0) await inspect();
} finally {
  await machine.close();
  await demo.close();
  await ssh.close();
  rmSync(folder, { recursive: true, force: true });
}

function settingsWith(target: SshTarget): Readonly<Record<string, unknown>> {
  const clusters = demo.config.clusters.map((cluster) => target.asNode(cluster));
  return { ...demo.config, clusters, workspace: { root: workspace }, defaultModelTier: 'advanced', securityLevel: 'relaxed' };
}

function wantedOf(contender: Contender): Contender {
  return { ...contender, calls: contender.calls.filter(({ job }) => wanted.length === 0 || wanted.some((part) => job.includes(part))) };
}

async function run(contender: Contender): Promise<Record<string, string | number>[]> {
  const client = new Client({ name: 'bench', version: '1' });
  const env = { ...(process.env as Record<string, string>), ...(machine.env as Record<string, string>), ...contender.env };
  const transport = new StdioClientTransport({ command: process.execPath, args: [...contender.args], env, stderr: 'ignore' });
  const startedAt = performance.now();
  try {
    await client.connect(transport);
    const start = performance.now() - startedAt;
    const { tools } = await client.listTools();
    const rows: Record<string, string | number>[] = [];
    for (const call of contender.calls) rows.push({ server: contender.name, job: call.job, ...(await timed(client, call)) });
    const memory = await residentMb(transport.pid ?? 0);
    const first = {
      'start ms': figure(start),
      MB: figure(memory),
      tools: tools.length,
      'list KB': figure(JSON.stringify(tools).length / 1000),
    };
    return rows.map((row, index) => (index === 0 ? { ...row, ...first } : row));
  } catch (thrown) {
    return [{ server: contender.name, job: `did not work: ${String(thrown).slice(0, 80)}` }];
  } finally {
    await client.close();
  }
}

async function timed(client: Client, { tool, input, expects }: MeasuredCall): Promise<Record<string, string>> {
  const call = async () => {
    const answer = await client.callTool({ name: tool, arguments: { ...input } }, undefined, { timeout: 20_000 });
    // Not in the whole answer as JSON: making that takes as long as some of the calls.
    const said = (answer.content as readonly { readonly text?: string }[]).some(({ text }) => text?.includes(expects));
    if (!said) throw new Error(JSON.stringify(answer).slice(0, 200));
  };
  try {
    const one = await measure(call, { warmUp: 5, calls: 300, atOnce: 1, limitMs: 6000 });
    const many = await measure(call, { warmUp: 0, calls: 600, atOnce: 16, limitMs: 4000 }).then(
      ({ perSecond }) => figure(perSecond),
      () => 'failed',
    );
    return { 'p50 ms': figure(one.p50), 'p99 ms': figure(one.p99), '/s': figure(one.perSecond), '/s at 16': many };
  } catch (thrown) {
    return { 'p50 ms': `failed: ${String(thrown).slice(0, 160)}` };
  }
}

async function inspect(): Promise<void> {
  const token = await machine.createToken('inspector');
  const server = await machine.serve(['--sse']);
  const [file, ...state] = machine.config;
  const header = ['--header', `Authorization: Bearer ${token}`];
  const ways: readonly (readonly [string, readonly string[]])[] = [
    // The inspector takes our `--config` for its own: the file goes in through the environment's default place.
    ['stdio', [process.execPath, contenders({ workspace, config: [], peers, ssh })[0]!.args[0]!, 'mcp']],
    ['http', [server.url, '--transport', 'http', ...header]],
    ['sse', [server.sse ?? '', '--transport', 'sse', ...header]],
  ];
  if (file === undefined || state.length === 0) throw new Error('the machine has no configuration');
  for (const [name, target] of ways) {
    const words = [path.join(peers, 'node_modules', '.bin', 'mcp-inspector'), '--cli', ...target, '--method', 'tools/list', '--strict'];
    const { status, stderr } = spawnSync(process.execPath, words, { env: machine.env, encoding: 'utf8', timeout: 60_000 });
    const problems = /\d+ errors?, \d+ warnings?/.exec(stderr)?.[0] ?? 'no problems';
    console.log(`inspector --cli --strict over ${name}: exit ${status}, ${problems}`);
    if (status !== 0) process.exitCode = 1;
  }
  await server.stop();
}

function installPeers(): string {
  const target = path.join(cacheFolder(), 'mcp-peers');
  mkdirSync(target, { recursive: true });
  cpSync(path.join(import.meta.dirname, 'peers', 'package.json'), path.join(target, 'package.json'));
  if (existsSync(path.join(target, 'node_modules', '.package-lock.json'))) return target;
  const { status } = spawnSync('npm', ['install', '--ignore-scripts', '--no-audit'], { cwd: target, stdio: 'inherit' });
  if (status !== 0) throw new Error('the peers could not be installed');
  return target;
}

function fillWorkspace(root: string): void {
  mkdirSync(path.join(root, 'hundred'), { recursive: true });
  writeFileSync(path.join(root, 'four-kb.txt'), 'four-kb '.repeat(512));
  for (let index = 0; index < 100; index += 1) writeFileSync(path.join(root, 'hundred', `file-${index}.txt`), 'x');
  for (let index = 0; index < 2000; index += 1) {
    const subfolder = path.join(root, 'many', String(index % 50));
    mkdirSync(subfolder, { recursive: true });
    writeFileSync(path.join(subfolder, `file-${index}.txt`), `${'some line of text\n'.repeat(50)}${index === 1234 ? 'needle\n' : ''}`);
  }
}
