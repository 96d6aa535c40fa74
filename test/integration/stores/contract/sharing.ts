import { describe, expect, it } from 'vitest';
import { verifyTrail } from '#audit/verify-trail';
import type { Store } from '#kernel/ports/store';
import { approved, createApprover, decisionBy, draftBy, opened } from '../store-fixtures.ts';
import type { MakeHarness, StoreHarness } from './harness.ts';

const alice = createApprover();

const connections = (harness: StoreHarness, count = 4): Promise<Store[]> =>
  Promise.all(Array.from({ length: count }, () => harness.open({ maxPendingPerAgent: 1000 })));

/** Resolves at the store's next ring. */
function nextChange(store: Store): Promise<void> {
  return new Promise((resolve) => {
    const stop = store.requests.onChange(() => {
      stop();
      resolve();
    });
  });
}

export function sharingContract(makeHarness: MakeHarness): void {
  describe('several connections', () => {
    it('opened at once on an engine that is new all work', async () => {
      const harness = await makeHarness();
      const stores = await connections(harness, 8);
      await Promise.all(stores.map((store, index) => store.audit.append({ name: 'tool.started', attributes: { index } })));
      expect(await verifyTrail(stores[0]!.audit)).toMatchObject({ ok: true, records: 8 });
    });

    it('that claim one grant 200 times have one winner', async () => {
      const harness = await makeHarness();
      const stores = await connections(harness);
      const { id, digest } = await approved(stores[0]!, alice, harness.now());
      const claims = await Promise.all(
        Array.from({ length: 200 }, (_, index) => stores[index % 4]!.requests.consume(id, digest, `claim ${index}`)),
      );
      const winners = claims.filter((claim) => claim.ok);
      expect(winners).toHaveLength(1);
      expect(await stores[3]!.requests.get(id)).toEqual(winners[0]?.record);
    });

    it('that open the same request at once open one', async () => {
      const harness = await makeHarness();
      const stores = await connections(harness);
      const records = await Promise.all(stores.map((store) => opened(store)));
      expect(new Set(records.map((record) => record.id)).size).toBe(1);
    });

    it('that answer the same request at once have one answer', async () => {
      const harness = await makeHarness();
      const stores = await connections(harness);
      const { id } = await opened(stores[0]!);
      const answers = await Promise.all(
        stores.map((store, index) =>
          index % 2 ? store.requests.deny(id, decisionBy(`user:${index}`)) : store.requests.cancel(id, 'mcp:laptop'),
        ),
      );
      expect(answers.filter((answer) => answer.ok)).toHaveLength(1);
    });

    it('write one chain', async () => {
      const harness = await makeHarness();
      const stores = await connections(harness);
      await Promise.all(
        Array.from({ length: 80 }, (_, index) => stores[index % 4]!.audit.append({ name: 'tool.finished', attributes: { index } })),
      );
      expect(await verifyTrail(stores[1]!.audit)).toMatchObject({ ok: true, records: 80 });
    });
  });

  describe('change notification', () => {
    it('rings for own changes and for those of another connection', async () => {
      const harness = await makeHarness();
      const [here, there] = [await harness.open(), await harness.open()];
      const rings = [nextChange(here), nextChange(there)];
      const record = await opened(here);
      await Promise.all(rings);
      expect(await there.requests.get(record.id)).toEqual(record);
      const again = nextChange(here);
      await there.requests.deny(record.id, decisionBy());
      await again;
      expect(await here.requests.get(record.id)).toMatchObject({ status: 'denied' });
    });

    it('rings for every one of many changes made elsewhere, so that the last is not missed', async () => {
      const harness = await makeHarness();
      const [here, there] = [await harness.open(), await harness.open({ maxPendingPerAgent: 100 })];
      const seen = new Promise<number>((resolve) => {
        here.requests.onChange(() => void here.requests.countPending().then((count) => count >= 25 && resolve(count)));
      });
      for (let index = 0; index < 25; index += 1) await opened(there, draftBy('mcp:a', 100 + index));
      expect(await seen).toBe(25);
    });

    it('ends for the one who leaves, not for the others, even for the same function twice', async () => {
      const store = await (await makeHarness()).open();
      let rings = 0;
      const listener = (): void => {
        rings += 1;
      };
      const [first, second] = [store.requests.onChange(listener), store.requests.onChange(listener)];
      await store.audit.append({ name: 'tool.started', attributes: {} });
      expect(rings).toBe(2);
      first();
      first();
      await store.audit.append({ name: 'tool.started', attributes: {} });
      expect(rings).toBe(3);
      second();
      await store.audit.append({ name: 'tool.started', attributes: {} });
      expect(rings).toBe(3);
    });
  });

  describe('closing', () => {
    it('may be done twice, and calls after it are refused', async () => {
      const harness = await makeHarness();
      const store = await harness.open();
      await store.close();
      await store.close();
      await expect(store.requests.countPending()).rejects.toMatchObject({ code: 'store_closed' });
      await expect(store.requests.open(draftBy('mcp:a'))).rejects.toMatchObject({ code: 'store_closed' });
      await expect(store.audit.append({ name: 'tool.started', attributes: {} })).rejects.toMatchObject({ code: 'audit_unavailable' });
    });

    it('loses nothing', async () => {
      const harness = await makeHarness();
      const store = await harness.open();
      const record = await opened(store);
      await store.close();
      const again = await harness.open();
      expect(await again.requests.get(record.id)).toEqual(record);
      expect(await verifyTrail(again.audit)).toMatchObject({ ok: true, records: 1 });
    });
  });
}
