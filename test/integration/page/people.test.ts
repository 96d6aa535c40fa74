/** Who has to approve what, with passkeys in real browsers: two people, a person's two keys, one's own account, a key that is lost. */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Device, openPageWorld, type PageWorld, settle } from './page-world.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

let world: PageWorld;
let phone: Device;
let key: Device;
let bob: Device;
beforeAll(async () => {
  world = await openPageWorld({ approvals: { disruptive: 2, ownUser: false } });
  phone = await world.enrolled('alice-phone');
  key = await world.enrolled('alice-key');
  bob = await world.enrolled('bob-phone');
});
afterAll(() => world?.close());

async function approve({ tab, open }: Device, id: string): Promise<string> {
  await open(`/r/${id}`);
  await settle(tab);
  await tab.getByRole('button', { name: 'Approve once' }).click();
  await tab.locator('#result').waitFor();
  return (await tab.locator('#result').textContent()) ?? '';
}
const statusOf = async (id: string) => (await world.app.approvals.get(id))?.status;

describe('two people', () => {
  it('are counted, not keys: the same person’s second passkey adds nothing, the other person’s does', async () => {
    const id = await world.ask('stop_vm', { vmid: 100 });
    expect(await approve(phone, id)).toContain('1 of 2 people (alice)');
    await key.open(`/r/${id}`);
    await settle(key.tab);
    const digest = (await world.app.approvals.get(id))?.digest ?? '';
    const desk = world.app.passkeyDesk(world.page.origin);
    expect(await desk.beginAnswer({ requestId: id, digest, decision: 'approve', approver: 'alice-key' })).toMatchObject({
      ok: false,
      code: 'counted_already',
    });
    expect((await world.call('stop_vm', { vmid: 100 })).status).toBe('pending');
    expect(await approve(bob, id)).toContain('Approved once');
    expect(await statusOf(id)).toBe('approved');
    expect((await world.call('stop_vm', { vmid: 100 })).status).toBe('ok');
    expect((await world.call('start_vm', { vmid: 100 })).request_id).not.toBe(id);
  });

  it('of whom one was revoked before the use are one', async () => {
    const dave = await world.enrolled('dave-phone');
    const id = await world.ask('stop_container', { vmid: 200 });
    expect(await approve(dave, id)).toContain('1 of 2');
    expect(await approve(bob, id)).toContain('Approved once');
    await world.revoke('dave-phone');
    expect((await world.call('stop_container', { vmid: 200 })).status).not.toBe('ok');
    expect(await statusOf(id)).not.toBe('consumed');
    await world.app.approvals.revoke(id, 'user:test');
    await dave.context.close();
  });
});

it('nobody approves what an agent of their own account asked, with whichever of their passkeys', async () => {
  const id = await world.ask('stop_container', { vmid: 200 }, 'alice');
  for (const device of [phone, key]) {
    await device.open(`/r/${id}`);
    await settle(device.tab);
    const button = device.tab.getByRole('button', { name: 'Approve once' });
    if ((await button.count()) > 0) await button.click();
    await device.tab.waitForTimeout(300);
    expect((await world.app.approvals.get(id))?.grants ?? []).toEqual([]);
  }
  expect(await approve(bob, id)).toContain('1 of 2 people (bob)');
  await world.app.approvals.deny(id, 'user:test');
});

it('a passkey that was lost counts no more, and the new one of the same person does', async () => {
  await world.revoke('alice-phone');
  const id = await world.ask('stop_container', { vmid: 200 });
  await phone.open(`/r/${id}`);
  expect(await phone.tab.locator('main').innerText()).toContain('This browser is not enrolled');
  const fresh = await world.enrolled('alice-new');
  expect(await approve(fresh, id)).toContain('1 of 2 people (alice)');
  expect(await approve(bob, id)).toContain('Approved once');
  expect((await world.call('stop_container', { vmid: 200 })).status).toBe('ok');
  await fresh.context.close();
});
