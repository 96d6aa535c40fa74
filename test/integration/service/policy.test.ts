/** The policy over the service's sockets: any user sees who may do what and tests a call; settings, trail and replays are the service's own. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { App } from '#kernel/app';
import { call } from '../app/support.ts';
import { rawClient, type ServiceWorld, startService } from './support.ts';

let service: ServiceWorld;
let alice: App;
beforeAll(async () => {
  const scopes = [
    { name: 'his', agents: ['user:bob'], changesPerDay: 1, reason: 'he is new, too' },
    { name: 'gentle', agents: ['user:alice'], impact: 'reversible', reason: 'she is new' },
  ];
  service = await startService(['alice', 'bob'], { scopes });
  alice = await service.connect('alice');
  await call(await service.connect('bob'), 'stop_vm', { vmid: 100 });
});
afterAll(() => service.close());

const agent = { id: 'chat:0f3a', host: 'chat', modelTier: 'advanced' } as const;

it('says what a user’s agents may do, by the service’s settings and that user’s scopes', async () => {
  const { rows, limits, level, scopes } = await alice.policy.matrix(agent);
  const stop = rows.find(({ tool }) => tool === 'stop_vm');
  expect(level).toBe('balanced');
  expect(stop?.cells.map(({ decision }) => decision.rules)).toEqual([['scopes.gentle'], ['scopes.gentle'], ['scopes.gentle']]);
  expect(limits.join()).toContain('she is new');
  expect(stop?.scopes.map(({ rules }) => rules)).toEqual([['scopes.gentle']]);
  expect(scopes.map(({ name }) => name)).toEqual(['gentle']);
});

it('takes nobody’s word for whose agent it is', async () => {
  const { agent: seen, limits } = await alice.policy.matrix({ ...agent, id: 'bob/chat:0f3a' });
  expect([seen.id, limits.length]).toEqual(['alice/bob/chat:0f3a', 1]);
});

it('tests a call at another level', async () => {
  const asked = { tool: 'execute_ssh', input: { node: 'pve', command: 'uptime' }, agent } as const;
  expect(await alice.explain(asked)).toMatchObject({ status: 'ok' });
  expect(await alice.explain({ ...asked, level: 'strict' })).toMatchObject({ status: 'pending' });
  expect(await service.inside.security.level()).toMatchObject({ level: 'balanced' });
});

it('replays for nobody on a socket: the trail is every user’s', async () => {
  const { signal } = new AbortController();
  await expect(alice.policy.replay({}, { signal })).rejects.toMatchObject({ code: 'not_here' });
  await expect(alice.policy.settings()).rejects.toMatchObject({ code: 'not_here' });
  const raw = await rawClient(service.socketOf('alice'));
  for (const method of ['policy.replay', 'policy.settings']) expect(await raw.ask(method, {})).toMatchObject({ kind: 'refusal' });
  raw.socket.destroy();
  expect(await service.inside.policy.replay({}, { signal })).toMatchObject({ calls: 1, trail: { ok: true } });
});
