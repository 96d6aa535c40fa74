/** The page that the service serves, as its own user. */
import { chownSync, copyFileSync, rmSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { makeCertificate } from '../page/certificate.ts';
import { type Machine, startMachine, whyNoUsers } from './os-users.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

/** Below the ports that systems give out by themselves. */
const port = 18_443;

function look(host: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, path: '/', headers: { host }, rejectUnauthorized: false };
    request(options, (response) => resolve(response.resume().statusCode))
      .once('error', reject)
      .end();
  });
}

describe.skipIf(whyNoUsers !== undefined)(`the service${whyNoUsers === undefined ? '' : ` (${whyNoUsers})`}`, () => {
  let machine: Machine;
  beforeEach(async () => {
    machine = await startMachine();
  });
  afterEach(() => machine.close());

  it('serves it under an https name, and under no other', async () => {
    const { folder, certFile, keyFile } = makeCertificate('banksman.test');
    const files = { certFile: join(machine.stateDir, 'page.pem'), keyFile: join(machine.stateDir, 'page.key') };
    for (const [from, to] of [
      [certFile, files.certFile],
      [keyFile, files.keyFile],
    ] as const) {
      copyFileSync(from, to);
      chownSync(to, machine.uidOf(machine.users.service), 0);
    }
    rmSync(folder, { recursive: true });
    machine.writeConfig({ page: { origin: `https://banksman.test:${port}`, host: '127.0.0.1', ...files } });
    await machine.start();
    expect(await look(`banksman.test:${port}`)).toBe(200);
    expect(await look('127.0.0.1')).toBe(421);
    const { out, err } = await machine.as(machine.users.alice, ['approvals', 'list', '--json']);
    expect(err, out).not.toContain('service_unavailable');
    await machine.stop();
    await expect(look(`banksman.test:${port}`)).rejects.toThrow('ECONNREFUSED');
  });

  it('does not start where it may not have the place, and says why', async () => {
    machine.writeConfig({ page: { origin: 'http://localhost:779' } });
    expect(await machine.fails()).toMatchObject({ err: expect.stringContaining('cannot listen on 127.0.0.1:779') as string });
    machine.writeConfig({ page: { origin: `http://localhost:${port}` } });
    expect(await machine.fails()).toMatchObject({
      err: expect.stringContaining('any user of this machine can take a port from 1024 on') as string,
    });
  });
});
