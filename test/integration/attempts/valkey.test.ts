/** The same over a shared Valkey: calls of killed processes end once, and outcomes outlast an outage of the server. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { LocalApp } from '#app/create-app';
import { cliAgent } from '#app/for-hosts';
import { callOf } from '#kernel/attempt';
import type { AuditDraft } from '#kernel/audit-event';
import { keysOf } from '#stores/valkey/keys';
import type { ValkeyRole } from '#stores/valkey/store-url';
import { agent, approvedCall, startWorld, type World } from '../app/support.ts';
import { untilCopied } from '../stores/valkey-groups.ts';
import { samplePasswords, startValkey, type ValkeyServer } from '../stores/valkey-server.ts';
import { bundleVersion, createCaller, killedCall, untilTold } from './support.ts';

let server: ValkeyServer;
let world: World;
beforeAll(async () => {
  server = await startValkey();
}, 300_000);
afterAll(async () => {
  await server.close();
});
beforeEach(async () => {
  await server.operator.flushall();
  world = await startWorld({ taskDurationMs: 4_000 });
});
afterEach(async () => {
  await world.close();
});

function storeOf(name: string, roles: readonly ValkeyRole[]): string {
  mkdirSync(world.stateDir, { recursive: true });
  const credentials = Object.fromEntries(roles.map((role) => [role, samplePasswords[role]]));
  writeFileSync(join(world.stateDir, `${name}.json`), JSON.stringify(credentials), { mode: 0o600 });
  return `${server.url}?credentials=${name}.json`;
}

const limits = { callMs: 20_000 };
const agents = ['agent', 'exec', 'log-writer'] as const;
const open = (store: string): Promise<LocalApp> => world.open({ store, limits }, undefined, bundleVersion, { stays: true });
const stops = () => world.demo.cluster.tasks.list().filter(({ type, id }) => type === 'qmstop' && id === '100');
/** Ends of calls that ran. */
const ended = async (app: LocalApp) =>
  (await app.audit.tail(500)).filter(
    ({ name, attributes }) =>
      attributes['gen_ai.tool.name'] === 'stop_vm' &&
      (name === 'attempt.resolved' || (name === 'tool.finished' && attributes['status'] !== 'pending')),
  );

describe('over Valkey', { timeout: 120_000 }, () => {
  it('a killed call of which several processes ask has one end, with its task’s', async () => {
    const store = storeOf('agents', agents);
    const [one, other] = [await open(store), await open(store)];
    const people = await open(storeOf('people', ['agent', 'admin', 'exec', 'log-writer']));
    const program = createCaller(world, { store, limits });
    const id = await killedCall({ world, app: people, caller: program }, ['stop_vm', { vmid: 100 }], () => stops().length > 0);
    const by = cliAgent(userInfo().username, 'advanced');
    const told = await Promise.all([one, other].map((app) => untilTold(app, id, (outcome) => typeof outcome === 'object', by)));
    for (const { result } of told) expect(result.outcome).toMatchObject({ status: 'ok' });
    expect(await ended(one)).toEqual([
      expect.objectContaining({ name: 'attempt.resolved', attributes: expect.objectContaining({ end: 'done', request_id: id }) }),
    ]);
    expect(stops()).toHaveLength(1);
    expect(await one.attempts.list()).toEqual([]);
  });

  it('an outcome during an outage is kept on the machine and written once', async () => {
    const app = await open(storeOf('all', ['agent', 'admin', 'exec', 'log-writer']));
    const id = await stoppedDuringOutage(app);
    await server.start();
    await expectWritten(app, id);
  });

  it('what is kept waits while somebody else holds the end of the call, as a try whose answer was lost does', async () => {
    const app = await open(storeOf('all', ['agent', 'admin', 'exec', 'log-writer']));
    const id = await stoppedDuringOutage(app);
    const [name = ''] = kept();
    const draft = JSON.parse(readFileSync(join(world.stateDir, 'spool', name), 'utf8')) as AuditDraft;
    await server.start();
    const held = keysOf('molis').ending(callOf(draft) ?? '');
    await server.operator.set(held, '');
    await untilTold(app, id, (found) => found === 'unknown', agent);
    expect(kept()).toEqual([name]);
    await server.operator.del(held);
    await expectWritten(app, id);
  });

  it('an end that a fail-over lost is written again, by the process that knows it', async () => {
    const replica = await startValkey({ replicaOf: server });
    onTestFinished(() => replica.close());
    await untilCopied(replica);
    // One that does not look by itself each minute: a look between the end and the fail-over would have read the end.
    const app = await world.open({ store: storeOf('all', ['agent', 'admin', 'exec', 'log-writer']), limits }, undefined, bundleVersion);
    const asked = approvedCall(world, app, { tool: 'stop_vm', input: { vmid: 100 } });
    while (stops().length === 0) await sleep(5);
    await server.operator.wait(1, 60_000);
    await replica.operator.replicaof('NO', 'ONE');
    const { request_id: id = '', ...outcome } = await asked;
    expect(outcome).toMatchObject({ status: 'ok' });
    expect(await ended(app)).toHaveLength(1);
    // The one that took over had not heard of it; here at the address of the old one.
    await server.operator.replicaof('127.0.0.1', String(replica.port));
    await untilCopied(server);
    await server.operator.replicaof('NO', 'ONE');
    const told = await untilTold(app, id, (found) => typeof found === 'object', agent);
    expect(told.result.outcome).toMatchObject({ status: 'ok', code: 'ok' });
    expect(await ended(app)).toEqual([expect.objectContaining({ name: 'tool.finished' })]);
    expect(await app.attempts.list()).toEqual([]);
  });
});

const kept = () => readdirSync(join(world.stateDir, 'spool')).filter((name) => name !== 'reserve');

/** @returns the request whose call ended while the server was away */
async function stoppedDuringOutage(app: LocalApp): Promise<string> {
  const asked = approvedCall(world, app, { tool: 'stop_vm', input: { vmid: 100 } });
  while (stops().length === 0) await sleep(5);
  await server.kill();
  const outcome = await asked;
  expect(outcome).toMatchObject({ status: 'ok', message: expect.stringContaining('its record is not written yet') });
  expect(kept()).toHaveLength(1);
  return outcome.request_id ?? '';
}

async function expectWritten(app: LocalApp, id: string): Promise<void> {
  const told = await untilTold(app, id, (found) => typeof found === 'object', agent);
  expect(told.result.outcome).toMatchObject({ status: 'ok', code: 'ok' });
  expect(kept()).toEqual([]);
  expect(await ended(app)).toHaveLength(1);
  expect(await app.audit.verify()).toMatchObject({ ok: true });
}
