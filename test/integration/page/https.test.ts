/** Under an https name, as a phone has it. */
import { rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import type { Page as Tab } from 'playwright-core';
import { decodeQR } from 'qr/decode.js';
import { expect, it } from 'vitest';
import { Fault } from '#kernel/errors';
import { makeCertificate } from './certificate.ts';
import { openPageWorld, settle } from './page-world.ts';

/** Where somebody wants to look. */
const pictures = process.env['BANKSMAN_PICTURES'];

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => void server.close(resolve));
  return typeof address === 'object' && address !== null ? address.port : 0;
}

/** On a port that was free a moment ago: where somebody has taken it since, on another one. */
async function openOverHttps(certificate: ReturnType<typeof makeCertificate>, tries = 5) {
  const { certFile, keyFile } = certificate;
  const origin = `https://banksman.test:${await freePort()}`;
  try {
    return { origin, world: await openPageWorld({}, { origin, host: '127.0.0.1', certFile, keyFile }) };
  } catch (thrown) {
    if (!(thrown instanceof Fault) || thrown.code !== 'port_taken' || tries === 1) throw thrown;
    return openOverHttps(certificate, tries - 1);
  }
}

/** What a camera sees: the picture's pixels, as RGBA. */
async function pixelsOf(
  picture: Buffer,
  tab: Tab,
): Promise<{ readonly width: number; readonly height: number; readonly data: Uint8Array }> {
  const { width, height, data } = await tab.evaluate<{ width: number; height: number; data: number[] }>(
    `fetch('data:image/png;base64,${picture.toString('base64')}').then((got) => got.blob()).then(createImageBitmap).then((image) => {
      const canvas = new OffscreenCanvas(image.width, image.height).getContext('2d');
      canvas.drawImage(image, 0, 0);
      const { width, height, data } = canvas.getImageData(0, 0, image.width, image.height);
      return { width, height, data: [...data] };
    })`,
  );
  return { width, height, data: Uint8Array.from(data) };
}

it('a phone enrols, finds the request by its picture, and approves', async () => {
  const certificate = makeCertificate('banksman.test');
  const { origin, world } = await openOverHttps(certificate);
  try {
    const phone = await world.enrolled('alice-phone', { width: 360 });
    const id = await world.ask('stop_container', { vmid: 200 });
    await phone.open(`/r/${id}`);
    await phone.tab.getByText('Open it on a phone').click();
    const picture = await phone.tab.getByRole('img', { name: 'QR code' }).screenshot();
    if (pictures !== undefined) await phone.tab.screenshot({ path: join(pictures, 'qr.png'), fullPage: true });
    if (pictures !== undefined) writeFileSync(join(pictures, 'qr-alone.png'), picture);
    const blank = await phone.context.newPage();
    expect(decodeQR(await pixelsOf(picture, blank))).toBe(`${origin}/r/${id}`);
    await settle(phone.tab);
    await phone.tab.getByRole('button', { name: 'Approve once' }).click();
    await phone.tab.locator('#result').waitFor();
    expect(await world.app.approvals.get(id)).toMatchObject({ status: 'approved', decision: { via: 'page' } });
    expect((await world.call('stop_container', { vmid: 200 })).status).toBe('ok');
  } finally {
    await world.close();
    rmSync(certificate.folder, { recursive: true });
  }
});
