/** Clients that send and do not read, and connections that say nothing. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Machine, program, startMachine } from './support.ts';

let machine: Machine;
const ends: (() => unknown)[] = [];
beforeAll(() => {
  machine = startMachine();
});
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});
afterAll(() => machine.close());

const initialize = {
  jsonrpc: '2.0',
  id: 'first',
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'flood', version: '1' } },
};

describe.skipIf(process.platform !== 'linux')('a client over stdio that does not read', () => {
  it('is not read further, takes bounded memory, and gets every answer once it reads', { timeout: 180_000 }, async () => {
    const child = spawn(process.execPath, [program, 'mcp', ...machine.config], { env: machine.env, stdio: ['pipe', 'pipe', 'ignore'] });
    ends.push(() => child.kill('SIGKILL'));
    const count = 8_000;
    const asked = [
      initialize,
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      ...Array.from({ length: count }, (_none, id) => ({ jsonrpc: '2.0', id, method: 'tools/list' })),
    ];
    child.stdin.write(asked.map((message) => `${JSON.stringify(message)}\n`).join(''));
    await quiet(child);
    expect(mostMegabytes(child)).toBeLessThan(300);
    const ids = new Set<unknown>();
    for await (const line of createInterface({ input: child.stdout })) {
      ids.add(idOf(line));
      if (ids.size > count) break;
    }
    expect(ids.size).toBe(count + 1);
    expect(mostMegabytes(child)).toBeLessThan(300);
    const ended = once(child, 'exit');
    child.stdin.end();
    expect(await ended).toEqual([0, null]);
  });
});

/** Long lines are not parsed whole. */
function idOf(line: string): string | undefined {
  return /"id":("first"|\d+)/.exec(line.slice(0, 100) + line.slice(-100))?.[1];
}

/** Until it neither reads nor writes any more. */
async function quiet(child: ChildProcess): Promise<void> {
  const moved = () => {
    // What it read and wrote, and the time that it worked: `proc_pid_io(5)`, `proc_pid_stat(5)`.
    const io = readFileSync(`/proc/${child.pid}/io`, 'utf8').split('\n').slice(0, 2);
    const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(' ');
    return [...io, Math.floor((Number(fields[13]) + Number(fields[14])) / 10)].join(' ');
  };
  let [last, same] = ['', 0];
  await vi.waitFor(
    () => {
      const now = moved();
      same = now === last ? same + 1 : 0;
      last = now;
      expect(same).toBeGreaterThan(20);
    },
    { timeout: 120_000, interval: 100 },
  );
}

/** The largest that it ever was: `proc_pid_status(5)`. */
function mostMegabytes(child: ChildProcess): number {
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
  return Math.round(Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024);
}

describe('connections that say nothing', () => {
  it('keep nobody out, however many there are', { timeout: 120_000 }, async () => {
    const served = await machine.serve();
    ends.push(() => served.stop());
    const { hostname, port } = new URL(served.health);
    const silent = await Promise.all(Array.from({ length: 1_200 }, () => opened(Number(port), hostname)));
    ends.push(() => silent.map((socket) => socket.destroy()));
    // Each asks on a connection of its own, as clients do that just start.
    for (let times = 0; times < 20; times += 1) expect(await statusOf(served.health)).toBe(200);
    // And who had something to say first is not ended for those who have not.
    expect(silent.filter(({ destroyed }) => !destroyed).length).toBeLessThan(1_024);
  });
});

function opened(port: number, host: string): Promise<Socket> {
  const { promise, resolve } = Promise.withResolvers<Socket>();
  const socket = connect(port, host).resume();
  socket.on('connect', () => resolve(socket));
  socket.on('error', () => resolve(socket));
  return promise;
}

/** 0: the connection was ended without an answer. */
function statusOf(url: string): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  const asked = request(url, { agent: false }, (response) => {
    response.resume();
    resolve(response.statusCode ?? 0);
  });
  asked.on('error', () => resolve(0)).end();
  return promise;
}
