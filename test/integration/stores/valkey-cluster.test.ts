/** A cluster of three primaries and three replicas: all keys share a slot, and its owner is found, after fail-overs and moves, too. */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { verifyTrail } from '#audit/verify-trail';
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

  it('has its slot moved to another node, and goes on', async () => {
    const [store, other] = [await openCluster(), await openCluster()];
    const [pending, granted] = [await opened(store, draftBy('mcp:a')), await approved(store, alice, Date.now(), draftBy('mcp:b'))];
    const from = await cluster.owner(nodeAt(0));
    const to = [nodeAt(0), nodeAt(1), nodeAt(2)].find((node) => node !== from) ?? from;
    await moveSlot(from, to);
    await vi.waitFor(async () => expect(await cluster.owner(from)).toBe(to), { timeout: 120_000 });
    expect(await onceBack(() => other.requests.consume(granted.id, granted.digest, 'x'))).toMatchObject({ ok: true });
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

async function moveSlot(from: ValkeyServer, to: ValkeyServer): Promise<void> {
  const slot = String(await from.operator.call('CLUSTER', 'KEYSLOT', '{molis}'));
  const [source, target] = await Promise.all([from, to].map(async (node) => String(await node.operator.call('CLUSTER', 'MYID'))));
  await to.operator.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', source ?? '');
  await from.operator.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', target ?? '');
  for (;;) {
    const keys = (await from.operator.call('CLUSTER', 'GETKEYSINSLOT', slot, '100')) as readonly string[];
    if (keys.length === 0) break;
    await from.operator.call('MIGRATE', to.host, String(to.port), '', '0', '10000', 'AUTH2', 'operator', 'operator-pass', 'KEYS', ...keys);
  }
  for (const node of [to, from]) await node.operator.call('CLUSTER', 'SETSLOT', slot, 'NODE', target ?? '');
}
