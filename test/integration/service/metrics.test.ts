/** `GET /metrics` of the service, over real connections. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { parseConfig } from '#app/config/config';
import { serveMetrics } from '#hosts/service/serve-metrics';

let folder: string;
let port: number;
const lines: string[] = [];
const note = (line: string) => void lines.push(line);
const log = { debug: note, info: note, warn: note, error: note };
const ends: (() => unknown)[] = [];
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'banksman-metrics-'));
  port = await freePort();
  lines.length = 0;
});
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
  rmSync(folder, { recursive: true, force: true });
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' ? (address?.port ?? 0) : 0;
}

function serve(more: object = {}, metrics = async () => '# HELP a b\n'): void {
  const { sinks } = parseConfig({ sinks: [{ type: 'prometheus', port, ...more }] }, 'test');
  const served = serveMetrics({ sinks, baseDir: folder, metrics, log });
  ends.push(() => served.close());
}

const isServed = () => vi.waitFor(() => expect(lines.some((line) => line.startsWith('metrics are answered'))).toBe(true));

function ask(headers: Record<string, string> = {}, path = '/metrics', method = 'GET'): Promise<readonly [number, string, string]> {
  const { promise, resolve, reject } = Promise.withResolvers<readonly [number, string, string]>();
  const asked = request({ host: '127.0.0.1', port, path, method, headers, agent: false }, (response) => {
    let text = '';
    response.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    response.on('end', () => resolve([response.statusCode ?? 0, response.headers['content-type'] ?? '', text]));
  });
  asked.on('error', reject).end();
  return promise;
}

describe('the service’s metrics', () => {
  it('are answered in the text format, at their path alone', async () => {
    serve();
    await isServed();
    expect(await ask()).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8', '# HELP a b\n']);
    expect((await ask({}, '/')).slice(0, 1)).toEqual([404]);
    expect((await ask({}, '/metrics', 'POST')).slice(0, 1)).toEqual([405]);
  });

  it('are not for a page in a browser, by whatever name it calls this machine', async () => {
    serve();
    await isServed();
    for (const host of ['evil.example', `127.0.0.1.nip.io:${port}`]) expect((await ask({ host }))[0]).not.toBe(200);
    expect((await ask({ host: `localhost:${port}` }))[0]).toBe(200);
  });

  it('with a token are for who sends it', async () => {
    writeFileSync(join(folder, 'token'), 's3cret\n');
    serve({ tokenFile: 'token' });
    await isServed();
    expect((await ask())[0]).toBe(401);
    expect((await ask({ authorization: 'Bearer wrong!' }))[0]).toBe(401);
    expect((await ask({ authorization: 'Bearer s3cret' }))[0]).toBe(200);
    writeFileSync(join(folder, 'token'), '');
    expect((await ask({ authorization: 'Bearer ' }))[0]).toBe(401);
    expect(lines.join('\n')).not.toContain('s3cret');
  });

  it('beyond this machine need a token', () => {
    const beyond = (more: object) => () => parseConfig({ sinks: [{ type: 'prometheus', address: '0.0.0.0', ...more }] }, 'test');
    expect(beyond({})).toThrow('`sinks.0.tokenFile`: is needed where `address` is not this machine’s own');
    expect(beyond({ tokenFile: 'token' })).not.toThrow();
  });

  it('say that they cannot be had, and nothing more', async () => {
    serve({}, async () => {
      throw new Error('a secret reason');
    });
    await isServed();
    expect(await ask()).toEqual([503, '', '']);
  });

  it('on a port that is taken keep nobody from starting, and are answered once it is free', { timeout: 60_000 }, async () => {
    const squatter = createServer((socket) => socket.end());
    await new Promise<void>((resolve) => squatter.listen(port, '127.0.0.1', resolve));
    serve();
    await vi.waitFor(() => expect(lines.some((line) => line.includes('it is tried again'))).toBe(true));
    await new Promise((resolve) => squatter.close(resolve));
    await isServed();
    expect((await ask())[0]).toBe(200);
  });

  it('are not held up by connections that say nothing: more than a few are refused', async () => {
    serve();
    await isServed();
    const silent = Array.from({ length: 40 }, () =>
      connect(port, '127.0.0.1')
        .on('error', () => undefined)
        .resume(),
    );
    ends.push(() => silent.map((socket) => socket.destroy()));
    const closed = () => silent.filter(({ destroyed }) => destroyed).length;
    // At last all of them: nobody waits for who says nothing.
    await vi.waitFor(() => expect(closed()).toBe(40), { timeout: 60_000 });
    expect((await ask())[0]).toBe(200);
  });
});
