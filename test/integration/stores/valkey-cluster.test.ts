/** A cluster of three primaries and three replicas: all keys share a slot, and its owner is found, after fail-overs and moves, too. */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { verifyTrail } from '#audit/verify-trail';
import type { RequestRecord } from '#kernel/approval/request';
import type { Fault } from '#kernel/errors';
import type { ValkeyStore } from '#stores/valkey/open-valkey-store';
import { onceBack } from './once-back.ts';
import { approved, createApprover, decisionBy, draftBy, opened } from './store-fixtures.ts';
import { openTestValkey } from './valkey-fixtures.ts';
import { type Cluster, startCluster } from './valkey-groups.ts';
import type { ValkeyServer } from './valkey-server.ts';

const alice = createApprover();
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
const openCluster = () => openTestValkey(nodeAt(0), { url: `${cluster.url}?replicas=1` });

describe('a cluster', { timeout: 300_000 }, () => {
  it('is used by naming any of its nodes', async () => {
    const owner = await cluster.owner(nodeAt(0));
    for (const node of cluster.nodes) {
      const store = await openTestValkey(node, { url: `valkey+cluster://127.0.0.1:${node.port}/0?replicas=1` });
      const { id, digest } = await approved(store, alice, Date.now(), draftBy(`mcp:${node.port}`));
      expect(await store.requests.consume(id, digest, 'x')).toMatchObject({ ok: true });
      expect(await owner.operator.exists(`{molis}:decided:${id}`)).toBe(1);
      await store.close();
    }
  });

  it('has its slot moved key by key while calls go on: what is refused was not done, nothing runs twice', async () => {
    const [store, other] = [await openCluster(), await openCluster()];
    const grants: RequestRecord[] = [];
    for (let at = 0; at < 12; at += 1) grants.push(await approved(store, alice, Date.now(), draftBy(`mcp:g${at}`)));
    const pending = await opened(store, draftBy('mcp:a'));
    const tries: Try[] = [];
    const claim = async (by: ValkeyStore, { id, digest }: RequestRecord): Promise<void> => {
      const { ok, code } = await by.requests.consume(id, digest, 'x').then(
        (result) => ({ ok: result.ok, code: undefined }),
        (thrown: Fault) => ({
          ok: false,
          code: `${thrown.code} ${thrown.message} ${String((thrown.cause as Error | undefined)?.message)}`,
        }),
      );
      tries.push({ id, ok, ...(code === undefined ? {} : { code }) });
    };
    const from = await cluster.owner(nodeAt(0));
    const to = [nodeAt(0), nodeAt(1), nodeAt(2)].find((node) => node !== from) ?? from;
    let turn = 0;
    await moveSlot(from, to, async () => {
      const grant = grants[turn % grants.length];
      turn += 1;
      if (grant) await Promise.all([claim(store, grant), claim(other, grant)]);
    });
    expect(tries.some(({ code }) => code?.includes('ASK ') || code?.includes('TRYAGAIN'))).toBe(true);
    const codes = tries.map(({ code }) => code).filter((code) => code !== undefined);
    expect(codes.filter((code) => !/^(store_moved|store_unavailable|store_unconfirmed|audit_unavailable) /.test(code))).toEqual([]);
    await vi.waitFor(async () => expect(await cluster.owner(from)).toBe(to), { timeout: 120_000 });
    for (const { id, digest } of grants) {
      const late = await onceBack(() => other.requests.consume(id, digest, 'late'));
      tries.push({ id, ok: late.ok });
      const mine = tries.filter((tried) => tried.id === id);
      // Used once; or used in a call that did not run, since record or confirmation was lacking, and that was said.
      const named = mine.some(({ code }) => /^(audit_unavailable|store_unconfirmed) /.test(code ?? ''));
      expect(mine.filter(({ ok }) => ok).length, JSON.stringify(mine)).toBe(named && !late.ok && !mine.some(({ ok }) => ok) ? 0 : 1);
    }
    const heard = new Promise<void>((resolve) => void other.requests.onChange(resolve));
    expect(await onceBack(() => store.requests.deny(pending.id, decisionBy()))).toMatchObject({ ok: true });
    await heard;
    expect(await onceBack(() => verifyTrail(other.audit))).toMatchObject({ ok: true });
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

/** Tries until it fails for that reason. */
async function onceOf(reason: string, work: () => Promise<unknown>): Promise<void> {
  await vi.waitFor(async () => expect(work()).rejects.toThrow(reason), { timeout: 120_000, interval: 50 });
}

interface Try {
  readonly id: string;
  readonly ok: boolean;
  /** With what the server said. */
  readonly code?: string;
}

/** @param between runs after each key that was moved */
async function moveSlot(from: ValkeyServer, to: ValkeyServer, between: () => Promise<void>): Promise<void> {
  const slot = String(await from.operator.call('CLUSTER', 'KEYSLOT', '{molis}'));
  const [source, target] = await Promise.all([from, to].map(async (node) => String(await node.operator.call('CLUSTER', 'MYID'))));
  await to.operator.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', source ?? '');
  await from.operator.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', target ?? '');
  await between();
  for (;;) {
    const [key] = (await from.operator.call('CLUSTER', 'GETKEYSINSLOT', slot, '1')) as readonly string[];
    if (key === undefined) break;
    await from.operator.call('MIGRATE', to.host, String(to.port), key, '0', '10000', 'AUTH2', 'operator', 'operator-pass');
    await between();
  }
  for (const node of [to, from]) await node.operator.call('CLUSTER', 'SETSLOT', slot, 'NODE', target ?? '');
}
