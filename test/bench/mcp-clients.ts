/**
 * `npm run bench:clients -- [CLIENTS] [CALLS]`: many clients of both protocol eras at once over HTTP, each with a token of its own, policy
 * and audit on. Every answer must be the one to its own call and every call must be in the audit under its own agent. Exit 1 otherwise.
 */
import { type CallAnswer, callTool, newOverHttp, oldOverHttp, oldOverSse, type TestClient } from '../integration/mcp/clients.ts';
import { startMachine } from '../integration/mcp/support.ts';
import { figure, quantiles, residentMb } from './measure.ts';

const [clients = 50, calls = 200] = process.argv.slice(2).map(Number);

interface Tally {
  readonly times: number[];
  wrong: number;
}

async function runClient(client: TestClient, number: number, tally: Tally): Promise<void> {
  for (let call = 0; call < calls; call += 1) {
    const id = `req-${(number * 0x10000 + call).toString(16).padStart(8, '0')}`;
    const begun = performance.now();
    const { outcome }: CallAnswer = await callTool(client, 'check_request_status', { request_id: id });
    tally.times.push(performance.now() - begun);
    if ((outcome.result as { request_id?: string } | undefined)?.request_id !== id) tally.wrong += 1;
  }
  await client.close();
}

const machine = startMachine();
try {
  const tokens: string[] = [];
  for (let number = 0; number < clients; number += 1) tokens.push(await machine.createToken(`client-${number}`));
  const server = await machine.serve(['--sse']);
  const ways = [
    (token: string) => oldOverHttp(server.url, token),
    (token: string) => newOverHttp(server.url, token),
    (token: string) => oldOverSse(server.sse ?? '', token),
  ];
  const connected = await Promise.all(tokens.map((token, number) => ways[number % ways.length]!(token)));
  const tally: Tally = { times: [], wrong: 0 };
  const startedAt = performance.now();
  await Promise.all(connected.map((client, number) => runClient(client, number, tally)));
  const seconds = (performance.now() - startedAt) / 1000;
  const memory = await residentMb(server.child.pid ?? 0);
  await server.stop();
  const audit = await machine.run(['audit', 'tail', '--count', '100000', '--json', ...machine.config]);
  const verified = await machine.run(['audit', 'verify', ...machine.config]);
  const misattributed = audit.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { attributes: Record<string, Record<string, string>> })
    .filter(({ attributes }) => {
      const id = Number.parseInt(String(attributes['gen_ai.tool.call.arguments']?.['request_id']).slice(4), 16);
      return attributes['agent']?.['id'] !== `mcp:client-${id >> 16}`;
    }).length;
  const recorded = audit.stdout.trim().split('\n').length;
  const { p50, p99 } = quantiles(tally.times);
  console.log(`${clients} clients × ${calls} calls (a third each over 2025-11-25, 2026-07-28 and SSE), policy and durable audit on`);
  console.log(`answers ${tally.times.length} of ${clients * calls}, crossed ${tally.wrong}`);
  console.log(`audit records ${recorded}, of another agent ${misattributed}; ${verified.stdout.trim()}`);
  console.log(`${figure(tally.times.length / seconds)} calls/s, p50 ${figure(p50)} ms, p99 ${figure(p99)} ms, server ${figure(memory)} MB`);
  const fine =
    tally.times.length === clients * calls &&
    tally.wrong === 0 &&
    recorded === clients * calls &&
    misattributed === 0 &&
    verified.status === 0;
  process.exitCode = fine ? 0 : 1;
} finally {
  await machine.close();
}
