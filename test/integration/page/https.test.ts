/** Under an https name, as a phone has it. */
import { rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { expect, it } from 'vitest';
import { makeCertificate } from './certificate.ts';
import { openPageWorld, settle } from './page-world.ts';

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => void server.close(resolve));
  return typeof address === 'object' && address !== null ? address.port : 0;
}

it('a phone enrols and approves', async () => {
  const { folder, certFile, keyFile } = makeCertificate('banksman.test');
  const origin = `https://banksman.test:${await freePort()}`;
  const world = await openPageWorld({}, { origin, host: '127.0.0.1', certFile, keyFile });
  try {
    const phone = await world.enrolled('alice-phone', { width: 360 });
    const id = await world.ask('stop_container', { vmid: 200 });
    await phone.open(`/r/${id}`);
    await settle(phone.tab);
    await phone.tab.getByRole('button', { name: 'Approve once' }).click();
    await phone.tab.locator('#result').waitFor();
    expect(await world.app.approvals.get(id)).toMatchObject({ status: 'approved', decision: { via: 'page' } });
    expect((await world.call('stop_container', { vmid: 200 })).status).toBe('ok');
  } finally {
    await world.close();
    rmSync(folder, { recursive: true });
  }
});
