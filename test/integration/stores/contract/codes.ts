import { describe, expect, it } from 'vitest';
import type { CodeStore, Store } from '#kernel/ports/store';
import type { MakeHarness } from './harness.ts';

const id = 'req-0123abcd';
const code = { salt: 'c2FsdA', hash: 'aGFzaA' };
const lifeMs = 600_000;

function codesOf({ codes }: Store): CodeStore {
  if (codes === undefined) throw new Error('this store keeps no codes');
  return codes;
}

export function codeContract(makeHarness: MakeHarness): void {
  describe('a one-time code', () => {
    it('that one process keeps another takes, once', async () => {
      const harness = await makeHarness();
      const [mine, other] = [codesOf(await harness.open()), codesOf(await harness.open())];
      expect(await other.take(id)).toBeUndefined();
      await mine.put(id, code, lifeMs);
      const taken = await other.take(id);
      expect(taken?.code).toEqual({ ...code, wrong: 0 });
      expect(Math.abs((taken?.leftMs ?? 0) - lifeMs)).toBeLessThan(2);
      expect([await mine.take(id), await other.take(id)]).toEqual([undefined, undefined]);
    });

    it('of many who take it at the same time is given to one', async () => {
      const harness = await makeHarness();
      const stores = await Promise.all([harness.open(), harness.open(), harness.open()]);
      await codesOf(stores[0]).put(id, code, lifeMs);
      const taken = await Promise.all(Array.from({ length: 60 }, (_, index) => codesOf(stores[index % 3]!).take(id)));
      expect(taken.filter((found) => found !== undefined)).toHaveLength(1);
    });

    it('goes back with what it had left, and not in the place of a newer one', async () => {
      const harness = await makeHarness();
      const codes = codesOf(await harness.open());
      await codes.put(id, code, lifeMs);
      await harness.advance(100_000);
      const taken = await codes.take(id);
      await codes.putBack(id, { ...code, wrong: 1 }, taken?.leftMs ?? 0);
      await harness.advance(100_000);
      const again = await codes.take(id);
      expect(again?.code.wrong).toBe(1);
      expect(Math.abs((again?.leftMs ?? 0) - 400_000)).toBeLessThan(2);
      await codes.put(id, { ...code, salt: 'bmV3' }, lifeMs);
      await codes.putBack(id, { ...code, wrong: 2 }, 400_000);
      expect((await codes.take(id))?.code).toEqual({ ...code, salt: 'bmV3', wrong: 0 });
    });

    it('is replaced by the next of its request; another request’s stays', async () => {
      const harness = await makeHarness();
      const codes = codesOf(await harness.open());
      for (const salt of ['b25l', 'dHdv']) await codes.put(id, { ...code, salt }, lifeMs);
      await codes.put('req-00000001', code, lifeMs);
      expect((await codes.take(id))?.code.salt).toBe('dHdv');
      expect(await codes.take('req-00000001')).toBeDefined();
    });

    it('is over by the store’s clock, and said to be', async () => {
      const harness = await makeHarness();
      const codes = codesOf(await harness.open());
      await codes.put(id, code, lifeMs);
      await harness.advance(lifeMs);
      expect((await codes.take(id))?.leftMs).toBeLessThan(1);
    });

    it.each(['', 'req-', 'req-../../x', 'req-0123ABCD', 'req-0123abcd\0'])('is never there for %j', async (bad) => {
      const harness = await makeHarness();
      expect(await codesOf(await harness.open()).take(bad)).toBeUndefined();
    });
  });
}
