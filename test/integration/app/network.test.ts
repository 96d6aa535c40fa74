/** A run that fails for the network alone says so; a person is asked when it is repeated with the network. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { App } from '#kernel/app';
import { cacheFolder } from '../../../scripts/lib/cache-folder.mjs';
import { canSandbox } from '../execution/support/bubblewrap.ts';
import { call, startWorld, type World } from './support.ts';

let world: World;
let root: string;
let server: net.Server;
beforeEach(async () => {
  world = await startWorld();
  mkdirSync(cacheFolder(), { recursive: true });
  root = mkdtempSync(join(cacheFolder(), 'network-'));
  server = net.createServer((socket) => socket.end('HOST\n'));
  await new Promise<void>((resolve) => server.listen({ port: 0, host: '127.0.0.1' }, resolve));
});
afterEach(async () => {
  server.close();
  await world.close();
  rmSync(root, { recursive: true, force: true });
});

const at = (name: string) => join(root, name);
const open = (changes = {}) => world.open(changes, root);
/** The kernel refuses to send it anywhere: 192.0.2.0/24 is for documentation (RFC 5737), and there is no way out. */
const outside = ': > /dev/tcp/192.0.2.1/80';
/** Gets a line from this machine's loopback; without it leaves a mark and fails at what is outside. */
const fetches = () =>
  `exec 3<>/dev/tcp/127.0.0.1/${(server.address() as net.AddressInfo).port} && cat <&3 > got || { echo x > left; ${outside}; }`;
const names = async (app: App) =>
  (await app.audit.tail(100)).map(({ name, attributes: { status, code } }) => [name, status, code].join(' ').trim());

describe.skipIf(!canSandbox)('a command that fails for the network', () => {
  it('says so and keeps what it did like any that fails; nobody is asked until it is repeated with the network', async () => {
    const app = await open();
    const failed = await call(app, 'run_command', { command: fetches() });
    expect(failed).toMatchObject({
      status: 'error',
      code: 'network_needed',
      result: { exit_code: 1, changes: { created: ['left'] } },
      next: 'it failed for want of the network: repeat it with `network: true`, for which a person is asked, or do without',
    });
    expect(failed.message).toBe('the command ended with exit code 1; 1 try to reach the network failed; 1 created');
    expect(existsSync(at('left'))).toBe(true);
    expect(await app.approvals.list({ limit: 9 })).toMatchObject({ records: [] });

    const asked = await call(app, 'run_command', { command: fetches(), network: true });
    expect(asked).toMatchObject({ status: 'pending', code: 'approval_pending', effect: { state: 'not_sent' } });
    const { request_id: id = '' } = asked;
    expect(await app.approvals.get(id)).toMatchObject({
      code: 'network_blocked',
      reason: 'this run is to have the network',
      action: { arguments: { network: true }, targets: [{ network: true }] },
    });
    expect((await names(app)).filter((name) => name.startsWith('tool.'))).toEqual([
      'tool.started',
      'tool.finished error network_needed',
      'tool.finished pending approval_pending',
    ]);
    await app.approvals.approve(id, world.person);
    const done = await call(app, 'run_command', { command: fetches(), network: true });
    expect(done).toMatchObject({ status: 'ok', request_id: id, result: { exit_code: 0, changes: { created: ['got'] } } });
    expect(readFileSync(at('got'), 'utf8')).toBe('HOST\n');
    expect(await app.approvals.get(id)).toMatchObject({ status: 'consumed' });
    const again = await call(app, 'run_command', { command: fetches(), network: true });
    expect(again).toMatchObject({ status: 'pending' });
    expect(again.request_id).not.toBe(id);
  });

  it('and so does one that tries again and again until its time is up', async () => {
    const app = await open();
    const ended = await call(app, 'run_command', { command: `echo x > left; while :; do ${outside}; sleep 0.2; done`, timeout_ms: 1_500 });
    expect(ended).toMatchObject({ status: 'error', code: 'command_timeout', message: expect.stringContaining('was ended after 1500 ms') });
    expect(ended.next).toContain('it failed for want of the network: repeat it with `network: true`');
    expect(existsSync(at('left'))).toBe(true);
  });

  it('repeated with it, follows the level: relaxed runs it at once, strict refuses', async () => {
    const relaxed = await open({ securityLevel: 'relaxed' });
    expect(await call(relaxed, 'run_command', { command: fetches(), network: true })).toMatchObject({ status: 'ok' });
    const strict = await open({ securityLevel: 'strict' });
    const gate = { ask: (request: { readonly id: string }) => void strict.approvals.approve(request.id, world.person) };
    const refused = await call(strict, 'run_command', { command: `echo y > y; ${outside}`, network: true }, { waitMs: 30_000, gate });
    expect(refused).toMatchObject({ status: 'denied', code: 'network_blocked' });
    expect(existsSync(at('y'))).toBe(false);
  });
});

describe.skipIf(!canSandbox)('a command that only tried', () => {
  it('where the command did without: what it tried is said', async () => {
    const app = await open();
    const done = await call(app, 'run_command', { command: `${outside} || true; echo x > kept` });
    expect(done).toMatchObject({ status: 'ok', message: expect.stringContaining('1 try to reach the network failed; 1 created') });
    expect(existsSync(at('kept'))).toBe(true);
  });

  it('where it failed for another reason than the network that it tried: what it did is kept, and the tries are said', async () => {
    const app = await open();
    const failed = await call(app, 'run_command', { command: `(${outside}) 2>/dev/null; echo x > kept; exit 4` });
    expect(failed).toMatchObject({
      status: 'error',
      code: 'command_failed',
      message: expect.stringContaining('1 try to reach the network failed; 1 created'),
      next: expect.stringContaining('repeat it with `network: true`'),
    });
    expect(existsSync(at('kept'))).toBe(true);
    const late = await call(app, 'run_command', { command: `(${outside}) 2>/dev/null; echo x > late; sleep 60`, timeout_ms: 1_500 });
    expect(late).toMatchObject({ code: 'command_timeout', next: expect.stringContaining('repeat it with `network: true`') });
    expect(existsSync(at('late'))).toBe(true);
  });

  it('where it failed without leaving the machine', async () => {
    const app = await open();
    const failed = await call(app, 'run_command', { command: 'echo x > kept; exec 3<>/dev/tcp/127.0.0.1/9 || exit 3' });
    expect(failed).toMatchObject({ status: 'error', code: 'command_failed', result: { exit_code: 3 } });
    expect(existsSync(at('kept'))).toBe(true);
  });
});

describe.skipIf(!canSandbox)('`network: true`', () => {
  it('asks before anything runs, and a text that names an address does not', async () => {
    const app = await open();
    const asked = await call(app, 'run_command', { command: 'echo x > kept', network: true });
    expect(asked).toMatchObject({ status: 'pending', message: expect.stringContaining('with the network') });
    expect(existsSync(at('kept'))).toBe(false);
    expect(await call(app, 'run_command', { command: 'echo curl https://example.org > kept' })).toMatchObject({ status: 'ok' });
  });
});
