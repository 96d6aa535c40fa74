import { describe, expect, it } from 'vitest';
import { waitState } from '#kernel/approval/request';
import { approved, createApprover, draftOf, opened, stopAction } from '../store-fixtures.ts';
import type { MakeHarness } from './harness.ts';

export function waitContract(makeHarness: MakeHarness): void {
  describe('the mark of a waiting call', () => {
    it('is seen by every process until the wait ends, and afterwards says since when nobody waits', async () => {
      const harness = await makeHarness();
      const [mine, other] = [await harness.open(), await harness.open()];
      const { id } = await opened(mine);
      expect(await other.requests.waitOf(id)).toBeUndefined();
      await mine.requests.noteWait(id, 'a', 120_000);
      const wait = await other.requests.waitOf(id);
      expect(wait).toMatchObject({ by: 'a' });
      expect(Math.abs((wait?.until ?? 0) - harness.now() - 120_000)).toBeLessThan(1_500);
      expect(waitState(wait, harness.now())).toMatchObject({ waits: true });
      await harness.advance(11_000);
      await mine.requests.noteWait(id, 'a', 0);
      const ended = await other.requests.waitOf(id);
      expect(waitState(ended, harness.now() + 1)).toMatchObject({ waits: false });
      expect(Math.abs((ended?.until ?? 0) - harness.now())).toBeLessThan(1_500);
    });

    it('that is not renewed stops counting: its process was killed', async () => {
      const harness = await makeHarness();
      const store = await harness.open();
      const { id } = await opened(store);
      await store.requests.noteWait(id, 'a', 120_000);
      await harness.advance(20_000);
      await store.requests.noteWait(id, 'a', 100_000);
      await harness.advance(20_000);
      expect(waitState(await store.requests.waitOf(id), harness.now())).toMatchObject({ waits: true });
      await harness.advance(20_000);
      expect(waitState(await store.requests.waitOf(id), harness.now())).toMatchObject({ waits: false });
    });

    it('of the newest wait is left alone by an older one that ends', async () => {
      const harness = await makeHarness();
      const store = await harness.open();
      const { id } = await opened(store);
      await store.requests.noteWait(id, 'a', 60_000);
      await store.requests.noteWait(id, 'b', 120_000);
      await store.requests.noteWait(id, 'a', 0);
      expect(await store.requests.waitOf(id)).toMatchObject({ by: 'b' });
      expect(waitState(await store.requests.waitOf(id), harness.now())).toMatchObject({ waits: true });
    });

    it('for no request is nothing', async () => {
      const harness = await makeHarness();
      const store = await harness.open();
      for (const id of ['req-ffffffff', 'x', "' OR 1=1 --"]) {
        await store.requests.noteWait(id, 'a', 0);
        expect(await store.requests.waitOf(id)).toBeUndefined();
      }
    });
  });

  describe('the records of a request', () => {
    it('are found by its id, in their order, and nobody else’s', async () => {
      const harness = await makeHarness();
      const store = await harness.open();
      const since = harness.now();
      const { id, digest } = await approved(store, createApprover(), harness.now());
      const other = await opened(store, draftOf({ action: stopAction(101), title: 'Stop VM 101 (web101) on pve' }));
      await store.requests.consume(id, digest, 'me');
      await store.audit.append({ name: 'tool.started', attributes: { request_id: id } });
      await store.audit.append({ name: 'tool.finished', attributes: { request_id: other.id, message: `like ${id}` } });
      await store.audit.append({ name: 'tool.finished', attributes: { request_id: id, status: 'ok' } });
      const names = (await store.audit.ofRequest(id, since)).map(({ name }) => name);
      expect(names).toEqual(['approval.requested', 'approval.approved', 'approval.consumed', 'tool.started', 'tool.finished']);
      expect(await store.audit.ofRequest('req-ffffffff', since)).toEqual([]);
    });
  });
}
