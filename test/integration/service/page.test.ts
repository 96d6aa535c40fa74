/** The page that the service serves, as its own user. */
import { chownSync, copyFileSync, readFileSync, rmSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { makeCertificate } from '../page/certificate.ts';
import { programOf } from './hostile.ts';
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

  const startWithPage = async () => {
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
  };

  it('serves it under an https name, and under no other', async () => {
    await startWithPage();
    expect(await look(`banksman.test:${port}`)).toBe(200);
    expect(await look('127.0.0.1')).toBe(421);
    const { out, err } = await machine.as(machine.users.alice, ['approvals', 'list', '--json']);
    expect(err, out).not.toContain('service_unavailable');
    await machine.stop();
    await expect(look(`banksman.test:${port}`)).rejects.toThrow('ECONNREFUSED');
  });

  it('counts by the user who connects: a flood of one leaves the other served', async () => {
    await startWithPage();
    const looks = (user: string, count: number) =>
      programOf<readonly (number | string)[]>(
        machine,
        user,
        `const options = { host: '127.0.0.1', port: args.port, path: '/icon.svg', headers: { host: 'banksman.test:' + args.port }, rejectUnauthorized: false, agent: false };
         return Promise.all(Array.from({ length: args.count }, () => new Promise((resolve) => {
           require('node:https').get(options, (response) => resolve(response.resume().statusCode)).on('error', ({ code }) => resolve(code));
         })));`,
        { port, count },
      );
    const { alice, bob } = machine.users;
    const [flood] = await Promise.all([looks(alice, 300), looks(bob, 1)]);
    expect(flood).toContain(429);
    // At once: what all users of this machine share is one address.
    expect(await looks(bob, 5)).toEqual([200, 200, 200, 200, 200]);
  });

  it('by hand it may have a port below 1024, and nothing else that root may', async () => {
    const low = 781;
    machine.writeConfig({ page: { origin: `http://localhost:${low}` } });
    await machine.start();
    const status = readFileSync(`/proc/${machine.servicePid()}/status`, 'utf8');
    // CAP_NET_BIND_SERVICE is number 10.
    for (const set of ['CapEff', 'CapPrm', 'CapBnd', 'CapAmb']) expect(status).toMatch(new RegExp(`${set}:\\s+0{13}400$`, 'm'));
    const said = await programOf(machine, machine.users.alice, `return (await fetch('http://localhost:' + args.low + '/')).status;`, {
      low,
    });
    expect(said).toBe(200);
  });

  it('serves no demo’s page', async () => {
    machine.writeConfig({ page: { origin: `http://localhost:${port}`, demo: true } });
    expect(await machine.fails()).toMatchObject({ err: expect.stringContaining('the service serves no demo’s page') as string });
  });

  it('does not start where others could have its place, and says why', async () => {
    machine.writeConfig({ page: { origin: `http://localhost:${port}` } });
    expect(await machine.fails()).toMatchObject({
      err: expect.stringContaining('any user of this machine can take a port from 1024 on') as string,
    });
  });
});
