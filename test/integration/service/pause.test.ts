/** "Pause all agents" over the service's sockets: any user may, in their own name; every user's agents are held, and no socket lifts it. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { App } from '#kernel/app';
import { call } from '../app/support.ts';
import { rawClient, type ServiceWorld, startService } from './support.ts';

let service: ServiceWorld;
let alice: App;
let bob: App;
beforeAll(async () => {
  service = await startService();
  alice = await service.connect('alice');
  bob = await service.connect('bob');
});
afterAll(() => service.close());

it('holds the agents of every user, tells every window, and names who did it', async () => {
  const told = new Promise<void>((resolve) => bob.security.onChange(resolve));
  expect(await alice.security.pause('user:root', 'the array is being rebuilt')).toMatchObject({ ok: true });
  await told;
  expect((await bob.security.level()).paused).toMatchObject({ by: 'user:alice', reason: 'the array is being rebuilt' });
  for (const app of [alice, bob])
    expect(await call(app, 'start_vm', { vmid: 101 })).toMatchObject({
      status: 'denied',
      code: 'agents_paused',
      message: expect.stringContaining('user:alice'),
    });
  expect(await call(bob, 'get_vms')).toMatchObject({ status: 'ok' });
});

it('is not paused twice: who did it first stands', async () => {
  expect(await bob.security.pause('user:bob')).toMatchObject({ message: 'agents are paused already' });
  expect((await alice.security.level()).paused).toMatchObject({ by: 'user:alice' });
});

it('is lifted by no socket, whatever is sent, and by a person inside', async () => {
  expect(await alice.security.resume(service.world.person)).toMatchObject({ ok: false, code: 'not_here' });
  const raw = await rawClient(service.socketOf('alice'));
  const pausedAt = (await alice.security.level()).paused?.at;
  const payload = { version: 1, setting: 'agents_resumed', pausedAt, approver: 'user:alice', issuedAt: Date.now() };
  for (const values of [[], [payload], [{ payload, proof: { kind: 'ed25519', keyId: 'x', signature: 'x' } }]])
    for (const method of ['security.resume', 'plans.resume']) expect(await raw.ask(method, ...values)).toMatchObject({ kind: 'refusal' });
  raw.socket.destroy();
  expect((await bob.security.level()).paused).toBeDefined();
  const told = new Promise<void>((resolve) => bob.security.onChange(resolve));
  expect(await service.inside.security.resume(service.world.person)).toMatchObject({ ok: true });
  await told;
  expect((await bob.security.level()).paused).toBeUndefined();
  expect(await call(alice, 'start_vm', { vmid: 101 })).toMatchObject({ status: 'pending' });
});
