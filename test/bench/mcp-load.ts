/**
 * `npm run bench:mcp [-- CALLS]`: `banksman mcp` over stdio under load, with policy, redaction and the durable trail on: reads of a small file one at a
 * time and 16 at once, then CALLS (50,000) of them; its resident memory and its list of tools. Beside it the reference server for files, the same
 * file and the same client, where it is installed: `BANKSMAN_PEERS` names the folder with its `node_modules`, else the cache of `bench:peers`.
 * Exit 1 when an answer is wrong or a call has no record. The other figures are printed, not judged: machines differ.
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { cacheFolder } from '../../scripts/lib/cache-folder.mjs';
import { program, startMachine } from '../integration/mcp/support.ts';
import { type Figures, figure, measure, residentMb } from './measure.ts';

const [calls = 50_000] = process.argv.slice(2).map(Number);
const atOnce = 16;
/** Before the CALLS are counted. */
const warm = 10_300;
const text = `${'A line of the small file that is read again and again.\n'.repeat(4)}the end\n`;
const peers = process.env['BANKSMAN_PEERS'] ?? path.join(cacheFolder(), 'mcp-peers');
const filesystem = path.join(peers, 'node_modules', '.bin', 'mcp-server-filesystem');

interface Contestant {
  readonly name: string;
  readonly args: readonly string[];
  readonly tool: string;
  readonly input: Readonly<Record<string, unknown>>;
}

/** As lean as a client can be: what is measured is the server. */
function connect(args: readonly string[], env: NodeJS.ProcessEnv) {
  const child: ChildProcessByStdio<Writable, Readable, null> = spawn(process.execPath, [...args], {
    env,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const waiting = new Map<number, (line: string) => void>();
  let last = 0;
  createInterface({ input: child.stdout }).on('line', (line) => {
    // The id is at the beginning of an answer or at its end; the rest is looked at by who asked.
    const id = Number(
      /"id":(\d+)\}?$|^\{(?:"jsonrpc":"2\.0",)?"id":(\d+)/.exec(line)?.slice(1).find(Boolean) ?? /"id":(\d+)/.exec(line)?.[1],
    );
    waiting.get(id)?.(line);
    waiting.delete(id);
  });
  const send = (message: object) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  const ask = async (method: string, params: object): Promise<string> => {
    last += 1;
    const { promise, resolve } = Promise.withResolvers<string>();
    waiting.set(last, resolve);
    send({ id: last, method, params });
    return promise;
  };
  return { child, ask, notify: (method: string) => send({ method }) };
}

async function run({ name, args, tool, input }: Contestant, env: NodeJS.ProcessEnv): Promise<Record<string, string>> {
  const { child, ask, notify } = connect(args, env);
  const exited = new Promise((resolve) => child.once('exit', resolve));
  try {
    const clientInfo = { name: 'bench', version: '1' };
    await ask('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo });
    notify('notifications/initialized');
    const list = await ask('tools/list', {});
    const call = async () => {
      const answer = await ask('tools/call', { name: tool, arguments: input });
      if (!answer.includes('the end') || answer.includes('"isError":true')) throw new Error(answer.slice(0, 300));
    };
    const one = await measure(call, { warmUp: 300, calls: 2_000, atOnce: 1, limitMs: 60_000 });
    const many = await measure(call, { warmUp: 0, calls: 8_000, atOnce, limitMs: 60_000 });
    const memory = [await memoryAfter(0, child.pid)];
    const rates: string[] = [];
    const stops = [5_000, 20_000].filter((stop) => stop < calls);
    for (const [index, stop] of [...stops, calls].entries()) {
      const more = stop - (stops[index - 1] ?? 0);
      const long = await measure(call, { warmUp: 0, calls: more, atOnce, limitMs: 600_000 });
      if (long.calls !== more) throw new Error(`only ${long.calls} of ${more} calls in time`);
      rates.push(words(long));
      memory.push(await memoryAfter(stop, child.pid));
    }
    const result = (JSON.parse(list) as { result: { tools: unknown[] } }).result.tools;
    return {
      server: name,
      'list bytes': `${Buffer.byteLength(JSON.stringify(result))} (${result.length} tools)`,
      'one at a time': words(one),
      [`${atOnce} at once`]: words(many),
      [`${calls} more`]: rates.join('; '),
      'resident MB': memory.join('; '),
    };
  } finally {
    child.stdin.end();
    await exited;
  }
}

async function memoryAfter(more: number, pid = 0): Promise<string> {
  const [now, most] = [await residentMb(pid), await residentMb(pid, true)];
  return `${figure(now)} after ${warm + more} calls (at most ${figure(most)})`;
}

function words({ p50, p99, perSecond }: Figures): string {
  return `${figure(perSecond)}/s, p50 ${figure(p50)}, p99 ${figure(p99)} ms`;
}

const folder = mkdtempSync(path.join(tmpdir(), 'banksman-load-'));
const file = path.join(folder, 'small.txt');
writeFileSync(file, text);
const machine = startMachine({ settings: { workspace: { root: folder } } });
try {
  const rows = [
    await run(
      { name: 'banksman', args: [program, 'mcp', ...machine.config], tool: 'read_file', input: { path: 'small.txt' } },
      machine.env,
    ),
  ];
  const verified = await machine.run(['audit', 'verify', ...machine.config, '--json']);
  const asked = warm + calls;
  const records = (JSON.parse(verified.stdout) as { records?: number }).records;
  if (existsSync(filesystem))
    rows.push(await run({ name: 'filesystem', args: [filesystem, folder], tool: 'read_text_file', input: { path: file } }, machine.env));
  for (const row of rows)
    console.log(
      Object.entries(row)
        .map(([key, value]) => `${key}: ${value}`)
        .join('\n'),
      '\n',
    );
  console.log(`${records} records of ${asked} calls; ${verified.stdout.trim()}`);
  process.exitCode = verified.status === 0 && records === asked ? 0 : 1;
} finally {
  await machine.close();
  rmSync(folder, { recursive: true, force: true });
}
