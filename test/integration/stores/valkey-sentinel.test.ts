/** Three servers watched by three Sentinels: who takes changes is found anew after every fail-over. */
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { verifyTrail } from '#audit/verify-trail';
import type { ValkeyStoreOptions } from '#stores/valkey/open-valkey-store';
import { onceBack } from './once-back.ts';
import { approved, createApprover, decisionBy, draftBy, levelSetting, opened } from './store-fixtures.ts';
import { openTestValkey } from './valkey-fixtures.ts';
import { startSentinel, startWatched, type WatchedServers } from './valkey-groups.ts';
import { sampleCredentials, startValkey } from './valkey-server.ts';

const alice = createApprover();
let group: WatchedServers;
const withGroup = (): void => {
  beforeEach(async () => {
    group = await startWatched();
  }, 300_000);
  afterEach(() => group.close());
};

/** A replica has half of the time to confirm: on a slow machine, too, where it has just been told whom to follow. */
const openWatched = async (options: Partial<ValkeyStoreOptions> = {}) =>
  openTestValkey(await group.primary(), { url: `${group.url}&replicas=1`, timeoutMs: 20_000, ...options });

describe('a primary that is killed', { timeout: 300_000 }, () => {
  withGroup();
  it('has a successor, which every process finds and listens to', async () => {
    const [store, other] = [await openWatched(), await openWatched()];
    const [used, good, pending] = [
      await approved(store, alice, Date.now(), draftBy('mcp:a')),
      await approved(store, alice, Date.now(), draftBy('mcp:b')),
      await opened(store, draftBy('mcp:c')),
    ];
    expect(await store.requests.consume(used.id, used.digest, 'x')).toMatchObject({ ok: true });
    const level = levelSetting('strict', Date.now());
    await store.security.setLevel(level);
    const before = await group.primary();
    const heard = new Promise<void>((resolve) => void other.requests.onChange(resolve));
    await before.kill();
    // Not as if none had been set: whoever asks is told that it cannot be known now.
    await expect(other.security.level()).rejects.toMatchObject({ code: 'store_unavailable', retryable: true });
    await group.promoted(before);
    // What was missed meanwhile is unknown, so it rings.
    await heard;
    expect(await onceBack(() => other.requests.get(used.id))).toMatchObject({ status: 'consumed' });
    expect(await onceBack(() => other.security.level())).toMatchObject({ signed: { payload: level.payload } });
    expect(await onceBack(() => store.requests.consume(good.id, good.digest, 'x'))).toMatchObject({ ok: true });
    const denied = new Promise<void>((resolve) => void other.requests.onChange(resolve));
    expect(await onceBack(() => store.requests.deny(pending.id, decisionBy()))).toMatchObject({ ok: true });
    await denied;
    expect(await onceBack(() => other.requests.get(pending.id))).toMatchObject({ status: 'denied' });
    expect(await verifyTrail(other.audit)).toMatchObject({ ok: true });
    expect(store.location).toMatch(/^valkey\+sentinel:\/\/127\.0\.0\.1:\d+,.*master=banksman&replicas=1$/);
  });
});

describe('a primary that hangs', { timeout: 300_000 }, () => {
  withGroup();
  it('is a replica when it wakes up, and is not written to', async () => {
    const store = await openWatched();
    const granted = await onceBack(() => approved(store, alice, Date.now()));
    const before = await group.primary();
    before.pause();
    await group.promoted(before);
    expect(await onceBack(() => store.requests.consume(granted.id, granted.digest, 'x'))).toMatchObject({ ok: true });
    before.resume();
    // Whoever still has it at the other end of a connection is told so.
    const late = await onceBack(() => openWatched());
    expect(await onceBack(() => late.requests.consume(granted.id, granted.digest, 'y'))).toMatchObject({ ok: false, why: 'not_approved' });
    expect(await onceBack(() => verifyTrail(late.audit))).toMatchObject({ ok: true });
  });

  it('that was demoted behind our back is left at the next look', async () => {
    const store = await openWatched({ timeoutMs: 6000 });
    const [first, second] = group.servers;
    const { id } = await onceBack(() => opened(store));
    for (const sentinel of group.sentinels) sentinel.pause();
    await second?.operator.replicaof('NO', 'ONE');
    await first?.operator.replicaof('127.0.0.1', second?.port ?? 0);
    // No connection of ours was closed. A change is refused by the server, and a look would be old.
    await store.keepHouse();
    await expect(store.requests.get(id)).rejects.toMatchObject({ code: 'store_unavailable', retryable: true });
  });
});

describe('Sentinels', { timeout: 300_000 }, () => {
  withGroup();
  it('must answer with more than half of their number', async () => {
    group.sentinels[1]?.pause();
    expect(await (await openWatched()).requests.countPending()).toBe(0);
    group.sentinels[2]?.pause();
    const url = `${group.url}&replicas=1`;
    const server = group.servers[0];
    if (!server) throw new Error('no server');
    await expect(openTestValkey(server, { url, timeoutMs: 5000 })).rejects.toMatchObject({
      code: 'store_unavailable',
      message: expect.stringContaining('1 know the primary, and 2 are needed'),
    });
  });

  it('are asked as the user that the credentials name, and a wrong name is said', async () => {
    const url = `${group.url}&replicas=1`;
    const servers = sampleCredentials('agent', 'exec', 'log-writer');
    const server = await group.primary();
    await expect(openTestValkey(server, { url, credentials: servers })).rejects.toMatchObject({
      code: 'store_unavailable',
      message: expect.stringContaining('NOAUTH'),
      next: expect.stringContaining('`sentinel`'),
    });
    await expect(openTestValkey(server, { url: url.replace('master=banksman', 'master=other') })).rejects.toMatchObject({
      message: expect.stringContaining('No such master'),
    });
  });
});

it('with TLS both Sentinels and servers are verified', { timeout: 300_000 }, async () => {
  const server = await startValkey({ tls: true, config: ['tls-replication yes'] });
  onTestFinished(() => server.close());
  const sentinel = await startSentinel(server, { tls: true });
  onTestFinished(() => sentinel.close());
  const url = `valkeys+sentinel://127.0.0.1:${sentinel.port}/0?master=banksman`;
  const store = await onceBack(() => openTestValkey(server, { url, caFile: server.caFile }));
  expect(await store.requests.countPending()).toBe(0);
  const other = await startValkey({ tls: true });
  onTestFinished(() => other.close());
  await expect(openTestValkey(server, { url, caFile: other.caFile })).rejects.toMatchObject({ code: 'store_unavailable' });
  await expect(openTestValkey(server, { url: url.replace('valkeys', 'valkey') })).rejects.toMatchObject({ code: 'store_unavailable' });
});
