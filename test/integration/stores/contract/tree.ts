import { describe, expect, it } from 'vitest';
import { trailLog } from '#app/store/trail-log';
import { compareTrail } from '#audit/compare-trail';
import { consistencyPath, leafHash, rootOf, verifyConsistency, verifyInclusion } from '#audit/merkle';
import { verifyTrail } from '#audit/verify-trail';
import { readerOf } from '#audit/verify-tree';
import type { AuditRecord } from '#kernel/audit-event';
import type { Checkpoint, TrailTree } from '#kernel/ports/audit-log';
import type { Store } from '#kernel/ports/store';
import { approved, createApprover, draftBy, temporaryFolder } from '../store-fixtures.ts';
import type { MakeHarness } from './harness.ts';

const alice = createApprover();

async function write({ audit }: Store, count: number): Promise<void> {
  await audit.appendAll(Array.from({ length: count }, (_, index) => ({ name: 'tool.finished' as const, attributes: { index } })));
}

function treeOf({ audit }: Store): TrailTree {
  if (audit.tree === undefined) throw new Error('no tree');
  return audit.tree;
}

async function checkpointOf(tree: TrailTree): Promise<Checkpoint> {
  const { origin, size } = await tree.state();
  return { origin, size, root: (await rootOf(readerOf(tree), size)).toString('base64') };
}

async function goesOn(tree: TrailTree, old: Checkpoint): Promise<boolean> {
  const now = await checkpointOf(tree);
  const path = await consistencyPath(readerOf(tree), old.size, now.size);
  const [fromRoot, root] = [Buffer.from(old.root, 'base64'), Buffer.from(now.root, 'base64')];
  return verifyConsistency({ from: old.size, size: now.size, path, fromRoot, root });
}

const since = (checkpoint: Checkpoint) => ({ points: [], chains: [], checkpoints: [checkpoint] });

export function treeContract(makeHarness: MakeHarness): void {
  describe('the tree of the trail', () => {
    it('holds what several processes write, a person’s answers too, and goes on from each earlier size', async () => {
      const harness = await makeHarness();
      const [store, other] = [await harness.open(), await harness.open()];
      const old: Checkpoint[] = [];
      for (const count of [1, 2, 252, 1, 300]) {
        await Promise.all([write(store, count), write(other, 1)]);
        old.push(await checkpointOf(treeOf(other)));
      }
      const { id, digest } = await approved(store, alice, harness.now(), draftBy('mcp:a'));
      await other.requests.consume(id, digest, 'pid 1');
      const tree = treeOf(store);
      const { size } = await tree.state();
      expect(size).toBe((await store.audit.read(0, 2000)).length);
      expect(old.map((one) => one.size)).toEqual([2, 5, 258, 260, 561]);
      expect(await Promise.all(old.map((point) => goesOn(tree, point)))).toEqual(old.map(() => true));
      for (const point of old) expect(await compareTrail(store.audit, since(point))).toMatchObject({ ok: true });
      expect(await verifyTrail(other.audit)).toMatchObject({ ok: true, records: size });
    });

    it('proves each record by its number and by its hash', async () => {
      const harness = await makeHarness();
      const [store, other] = [await harness.open(), await harness.open()];
      await Promise.all([write(store, 30), write(other, 3)]);
      await harness.advance(400_000);
      await write(store, 5);
      const log = trailLog(store.audit, { stateDir: temporaryFolder() });
      const records = await store.audit.read(0, 100);
      for (const record of records) {
        const proof = await log.prove(record.hash);
        const shown = JSON.parse(proof.record ?? '{}') as AuditRecord;
        expect(shown).toEqual(record);
        const root = await rootOf(readerOf(treeOf(store)), proof.size);
        const path = proof.path.map((hash) => Buffer.from(hash, 'hex'));
        expect(verifyInclusion({ leaf: leafHash(proof.record ?? ''), index: proof.index, size: proof.size, path, root })).toBe(true);
        expect((await log.prove(proof.index + 1)).leaf).toBe(proof.leaf);
      }
      await expect(log.prove('f'.repeat(64))).rejects.toMatchObject({ code: 'not_found' });
      await expect(log.prove(10_000)).rejects.toMatchObject({ code: 'not_found' });
    });

    it('signs with a key that the trail names once, and proves that it goes on after all records have left', async () => {
      const harness = await makeHarness();
      const store = await harness.open();
      await write(store, 700);
      const log = trailLog(store.audit, { stateDir: temporaryFolder() });
      const { checkpoint, key } = await log.checkpoint();
      expect(checkpoint.size).toBe(701);
      expect((await log.checkpoint()).checkpoint).toEqual(checkpoint);
      expect((await store.audit.read(700, 10)).map(({ name, attributes }) => [name, attributes])).toEqual([
        ['audit.key', { key, earlier: [] }],
      ]);
      const old = await log.prove(3);
      await harness.advance(100 * 86_400_000);
      await harness.sweep();
      await write(store, 5);
      expect(await store.audit.read(0, 100)).toHaveLength(5 + harness.ofSweep);
      expect(await compareTrail(store.audit, since(checkpoint))).toMatchObject({ ok: true });
      expect(await goesOn(treeOf(store), checkpoint)).toBe(true);
      const proof = await log.prove(3);
      expect([proof.leaf, proof.record, proof.index]).toEqual([old.leaf, undefined, old.index]);
      const root = await rootOf(readerOf(treeOf(store)), proof.size);
      const path = proof.path.map((hash) => Buffer.from(hash, 'hex'));
      expect(verifyInclusion({ leaf: Buffer.from(proof.leaf, 'hex'), index: 2, size: proof.size, path, root })).toBe(true);
      expect(await log.proveSince(checkpoint)).toMatchObject({ from: 701, size: 706 + harness.ofSweep });
      await expect(log.proveSince({ ...checkpoint, size: 700 })).rejects.toMatchObject({ code: 'not_continued' });
      expect(await verifyTrail(store.audit)).toMatchObject({ ok: true });
    });

    it('is of a store that is empty, too: then nothing is signed twice', async () => {
      const store = await (await makeHarness()).open();
      expect(await treeOf(store).state()).toMatchObject({ size: 0, first: 1, end: 0 });
      const { checkpoint } = await trailLog(store.audit, { stateDir: temporaryFolder() }).checkpoint();
      expect(checkpoint.size).toBe(1);
      expect(await goesOn(treeOf(store), checkpoint)).toBe(true);
    });
  });
}
