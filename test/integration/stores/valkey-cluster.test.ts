/** A cluster of three primaries and three replicas: all keys share a slot, and its owner is found, after fail-overs and moves, too. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { verifyTrail } from '#audit/verify-trail';
import type { RequestRecord } from '#kernel/approval/request';
import type { Fault } from '#kernel/errors';
import type { ValkeyStore } from '#stores/valkey/open-valkey-store';
import { startLiar } from './lying-node.ts';
import { onceBack } from './once-back.ts';
import { levelSetting } from './request-fixtures.ts';
import { approved, createApprover, decisionBy, draftBy, opened } from './store-fixtures.ts';
import { openTestValkey } from './valkey-fixtures.ts';
import { type Cluster, startCluster } from './valkey-groups.ts';
import type { ValkeyServer } from './valkey-server.ts';

const alice = createApprover();
/** A replica has half of it to confirm: on a slow machine, too. */
const timeoutMs = 20_000;
let cluster: Cluster;
beforeAll(async () => {
  cluster = await startCluster();
}, 300_000);
afterAll(() => cluster.close());

const nodeAt = (index: number): ValkeyServer => {
  const node = cluster.nodes[index];
  if (!node) throw new Error('no such node');
  return node;
};
const openCluster = (options = {}) => openTestValkey(nodeAt(0), { url: `${cluster.url}?replicas=1`, timeoutMs, ...options });

describe('a cluster', { timeout: 300_000 }, () => {
  it('is used by naming any of its nodes', async () => {
    const owner = await cluster.owner(nodeAt(0));
    for (const node of cluster.nodes) {
      const store = await openTestValkey(node, { url: `valkey+cluster://127.0.0.1:${node.port}/0?replicas=1`, timeoutMs });
      const { id, digest } = await approved(store, alice, Date.now(), draftBy(`mcp:${node.port}`));
      expect(await store.requests.consume(id, digest, 'x')).toMatchObject({ ok: true });
      expect(await owner.operator.exists(`{molis}:decided:${id}`)).toBe(1);
      await store.close();
    }
  });

  it('has its slot moved key by key while calls go on: none runs twice, none is lost', async () => {
    const [store, other] = [await openCluster(), await openCluster()];
    const grants: RequestRecord[] = [];
    for (let at = 0; at < 12; at += 1) grants.push(await approved(store, alice, Date.now(), draftBy(`mcp:g${at}`)));
    const pending = await opened(store, draftBy('mcp:a'));
    const tries: Try[] = [];
    const claim = async (by: ValkeyStore, { id, digest }: RequestRecord): Promise<void> => {
      const { ok, code } = await by.requests.consume(id, digest, 'x').then(
        (result) => ({ ok: result.ok, code: undefined }),
        (thrown: Fault) => ({ ok: false, code: thrown.code }),
      );
      tries.push({ id, ok, ...(code === undefined ? {} : { code }) });
    };
    const claims: Promise<void>[] = [];
    const from = await cluster.owner(nodeAt(0));
    const to = [nodeAt(0), nodeAt(1), nodeAt(2)].find((node) => node !== from) ?? from;
    let turn = 0;
    await moveSlot(from, to, async () => {
      const grant = grants[turn % grants.length];
      turn += 1;
      if (grant) claims.push(claim(store, grant), claim(other, grant));
    });
    await vi.waitFor(async () => expect(await cluster.owner(from)).toBe(to), { timeout: 120_000 });
    await Promise.all(claims);
    const codes = tries.map(({ code }) => code).filter((code) => code !== undefined);
    expect(codes.filter((code) => !/^(store_moved|store_unavailable|store_unconfirmed|audit_unavailable)$/.test(code))).toEqual([]);
    for (const { id, digest } of grants) {
      const late = await onceBack(() => other.requests.consume(id, digest, 'late'));
      tries.push({ id, ok: late.ok });
      const mine = tries.filter((tried) => tried.id === id);
      // Used once; or used in a call that did not run, since record or confirmation was lacking, and that was said.
      const named = mine.some(({ code }) => code === 'audit_unavailable' || code === 'store_unconfirmed');
      expect(mine.filter(({ ok }) => ok).length, JSON.stringify(mine)).toBe(named && !late.ok && !mine.some(({ ok }) => ok) ? 0 : 1);
    }
    const heard = new Promise<void>((resolve) => void other.requests.onChange(resolve));
    expect(await onceBack(() => store.requests.deny(pending.id, decisionBy()))).toMatchObject({ ok: true });
    await heard;
    expect(await onceBack(() => verifyTrail(other.audit))).toMatchObject({ ok: true });
  });

  it('is read and written while its slot is on two nodes; a claim, which no node can hold then, waits for the slot', async () => {
    const store = await openCluster({ timeoutMs: 60_000 });
    const [moved, stayed] = [await opened(store, draftBy('mcp:moved')), await opened(store, draftBy('mcp:stayed'))];
    const grant = await approved(store, alice, Date.now(), draftBy('mcp:grant'));
    const from = await cluster.owner(nodeAt(0));
    const to = [nodeAt(0), nodeAt(1), nodeAt(2)].find((node) => node !== from) ?? from;
    const move = await openMove(from, to);
    for (const key of [`blocked:${moved.id}`, 'config:store_identity']) await move.key(`{molis}:${key}`);
    // A key that the owner still has, one that has gone ahead, and what is on neither.
    expect((await store.requests.get(stayed.id))?.status).toBe('pending');
    expect((await store.requests.get(moved.id))?.status).toBe('pending');
    expect((await store.requests.get(grant.id))?.status).toBe('approved');
    const page = await store.requests.list({ statuses: ['pending'], limit: 100 });
    expect(page.records.map(({ id }) => id)).toEqual(expect.arrayContaining([moved.id, stayed.id]));
    await store.codes?.put(stayed.id, { salt: 'salt', hash: 'hash' }, 60_000);
    await expect(from.operator.exists(`{molis}:config:one_time_code:${stayed.id}`)).rejects.toThrow('ASK ');
    const claim = store.requests.consume(grant.id, grant.digest, 'x');
    const denied = store.requests.deny(stayed.id, decisionBy());
    const [used, answered] = await Promise.all([claim, denied, move.rest()]);
    expect(used).toMatchObject({ ok: true });
    expect(answered).toMatchObject({ ok: true });
    expect(await store.codes?.take(stayed.id)).toMatchObject({ code: { hash: 'hash' } });
  });

  it('waits for its slot with a change of the settings, too, and makes it once', async () => {
    const store = await openCluster({ timeoutMs: 60_000 });
    const [from, to] = await ends();
    // What is watched is there, so that only the transaction is refused.
    for (const key of ['auto_approve_index', 'agents_paused']) await from.operator.set(`{molis}:config:${key}`, '[]');
    await store.audit.append({ name: 'tool.finished', attributes: {} });
    const move = await openMove(from, to);
    await move.key('{molis}:log:events');
    const before = await refusals(from);
    const changed = store.security.setLevel(levelSetting('strict', Date.now()));
    // More often than somebody is tried again who was slower than others.
    await vi.waitFor(async () => expect((await refusals(from)) - before).toBeGreaterThan(60), { timeout: 60_000 });
    await move.rest();
    await changed;
    expect(await onceBack(() => store.security.level())).toMatchObject({ signed: { payload: { level: 'strict' } } });
    await to.operator.del('{molis}:config:agents_paused');
  });

  it('goes on where the node to which a slot moves has closed what was idle', async () => {
    const store = await openCluster({ timeoutMs: 60_000 });
    const moved = await opened(store, draftBy('mcp:idle'));
    await store.codes?.put(moved.id, { salt: 'salt', hash: 'first' }, 60_000);
    const [from, to] = await ends();
    const move = await openMove(from, to);
    for (const key of [`blocked:${moved.id}`, `config:one_time_code:${moved.id}`]) await move.key(`{molis}:${key}`);
    expect((await store.requests.get(moved.id))?.status).toBe('pending');
    await store.codes?.put(moved.id, { salt: 'salt', hash: 'second' }, 60_000);
    // 0: it is not yet known here.
    for (const pauseMs of [0, 200, 0, 200]) {
      for (const user of ['mcp-agent', 'mcp-exec']) await to.operator.call('CLIENT', 'KILL', 'USER', user);
      await sleep(pauseMs);
      expect((await store.requests.get(moved.id))?.status).toBe('pending');
    }
    await to.operator.call('CLIENT', 'KILL', 'USER', 'mcp-admin');
    await sleep(200);
    await store.codes?.put(moved.id, { salt: 'salt', hash: 'third' }, 60_000);
    await move.rest();
    expect(await onceBack(async () => store.codes?.take(moved.id))).toMatchObject({ code: { hash: 'third' } });
  });

  it.each(['ASK', 'MOVED'] as const)('asks no more than some of those that a node names without end (%s)', async (kind) => {
    const liar = await startLiar((await cluster.owner(nodeAt(0))).port);
    const store = await openTestValkey(nodeAt(0), { url: `valkey+cluster://127.0.0.1:${liar.port}/0?prefix={molis}`, timeoutMs });
    const { id } = await opened(store, draftBy(`mcp:${kind}`));
    liar.lie(kind);
    await expect(store.requests.get(id)).rejects.toMatchObject({
      code: 'store_unavailable',
      message: expect.stringContaining('16 servers'),
    });
    expect(liar.reached()).toBeLessThanOrEqual(40);
    liar.lie(undefined);
    expect(await onceBack(() => store.requests.get(id))).toMatchObject({ status: 'pending' });
  });

  it('loses the slot’s owner, and its replica takes over', async () => {
    const [store, other] = [await openCluster(), await openCluster()];
    const [used, good] = [
      await approved(store, alice, Date.now(), draftBy('mcp:a')),
      await approved(store, alice, Date.now(), draftBy('mcp:b')),
    ];
    expect(await store.requests.consume(used.id, used.digest, 'x')).toMatchObject({ ok: true });
    const before = await cluster.owner(nodeAt(3));
    await before.kill();
    await cluster.promoted(before);
    // The new owner has no replica until the old one is back: nothing runs that could be undone.
    await expect(onceOf('nothing was changed', () => store.requests.consume(good.id, good.digest, 'x'))).resolves.toBeUndefined();
    await before.start();
    expect(await onceBack(() => other.requests.consume(used.id, used.digest, 'y'))).toMatchObject({ ok: false });
    expect(await onceBack(() => store.requests.consume(good.id, good.digest, 'x'))).toMatchObject({ ok: true });
    expect(await onceBack(() => verifyTrail(other.audit))).toMatchObject({ ok: true });
  });
});

/** Who has the slot, and another one. */
async function ends(): Promise<readonly [from: ValkeyServer, to: ValkeyServer]> {
  const from = await cluster.owner(nodeAt(0));
  return [from, [nodeAt(0), nodeAt(1), nodeAt(2)].find((node) => node !== from) ?? from];
}

/** How many transactions a node has refused. */
async function refusals({ operator }: ValkeyServer): Promise<number> {
  return Number(/errorstat_EXECABORT:count=(\d+)/.exec(await operator.info('errorstats'))?.[1] ?? 0);
}

/** Tries until it fails for that reason. */
async function onceOf(reason: string, work: () => Promise<unknown>): Promise<void> {
  await vi.waitFor(async () => expect(work()).rejects.toThrow(reason), { timeout: 120_000, interval: 50 });
}

interface Try {
  readonly id: string;
  readonly ok: boolean;
  readonly code?: string;
}

/** @param between runs after each key that was moved */
async function moveSlot(from: ValkeyServer, to: ValkeyServer, between: () => Promise<void>): Promise<void> {
  const move = await openMove(from, to);
  await between();
  await move.rest(between);
}

interface SlotMove {
  key(name: string): Promise<void>;
  /** What is left, and then the slot itself. */
  rest(between?: () => Promise<void>): Promise<void>;
}

async function openMove(from: ValkeyServer, to: ValkeyServer): Promise<SlotMove> {
  const slot = String(await from.operator.call('CLUSTER', 'KEYSLOT', '{molis}'));
  const [source, target] = await Promise.all([from, to].map(async (node) => String(await node.operator.call('CLUSTER', 'MYID'))));
  await to.operator.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', source ?? '');
  await from.operator.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', target ?? '');
  const key = async (name: string): Promise<void> => {
    await from.operator.call('MIGRATE', to.host, String(to.port), name, '0', '10000', 'AUTH2', 'operator', 'operator-pass');
  };
  let isOver = false;
  const rest = async (between = async (): Promise<void> => undefined): Promise<void> => {
    for (;;) {
      const [name] = (await from.operator.call('CLUSTER', 'GETKEYSINSLOT', slot, '1')) as readonly string[];
      if (name === undefined) break;
      await key(name);
      await between();
    }
    for (const node of [to, from]) await node.operator.call('CLUSTER', 'SETSLOT', slot, 'NODE', target ?? '');
    isOver = true;
  };
  // The next test has the same cluster.
  onTestFinished(() => (isOver ? undefined : rest()));
  return { key, rest };
}
