/**
 * What the service's socket adds to a call: the same App, asked in this process and through a user's socket, in turns. `node
 * test/bench/service-socket.ts` prints p50 and p99 of both, and exits 1 where the socket adds more than 0.5 ms: the median of the differences of two calls
 * that ran one right after the other, so under the same load. (The difference of the two medians swings between 0.15 and 1 ms on a machine that does other
 * things: each of them is a wait for the processor, too.) Both ends share this process and its thread, so two processes add less.
 */

import { call } from '../integration/app/support.ts';
import { startService } from '../integration/service/support.ts';
import { quantiles } from './measure.ts';

const limitMs = 0.5;
const rounds = { warmUp: 100, counted: 600 };

const service = await startService(['alice']);
const [inside, remote] = [service.inside, await service.connect('alice')];
let failed = false;
try {
  const kinds = {
    get_cluster_status: (app: typeof remote) => call(app, 'get_cluster_status'),
    get_security_status: (app: typeof remote) => call(app, 'get_security_status'),
    'security.level': (app: typeof remote) => app.security.level(),
    'audit.tail(100)': (app: typeof remote) => app.audit.tail(100),
  };
  for (const [name, ask] of Object.entries(kinds)) {
    await inTurns(ask, rounds.warmUp);
    const times = await inTurns(ask, rounds.counted);
    const [here, there] = [quantiles(times.map(([first]) => first)), quantiles(times.map(([, second]) => second))];
    const added = quantiles(times.map(([first, second]) => second - first)).p50;
    // What lists records filters them, too: a call of a tool is what the limit is for.
    failed ||= name.startsWith('get_') && added > limitMs;
    const words = ({ p50, p99 }: typeof here) => `p50 ${p50.toFixed(3)} ms, p99 ${p99.toFixed(2)} ms`;
    console.log(`${name.padEnd(20)} in process ${words(here)}; through the socket ${words(there)}; added ${added.toFixed(3)} ms`);
  }
} finally {
  await service.close();
}
process.exitCode = failed ? 1 : 0;

async function inTurns(ask: (app: typeof remote) => Promise<unknown>, count: number): Promise<readonly (readonly [number, number])[]> {
  const times: (readonly [number, number])[] = [];
  for (let round = 0; round < count; round += 1) {
    // Neither always comes second, into what the first has warmed or left to do.
    const [first, second] = round % 2 === 0 ? [inside, remote] : [remote, inside];
    const pair = [await timed(() => ask(first)), await timed(() => ask(second))] as const;
    times.push(round % 2 === 0 ? pair : [pair[1], pair[0]]);
  }
  return times;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
}
