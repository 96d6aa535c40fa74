/** Pages of a list whose rows come in another order each time, while some appear and vanish: as the API's do. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { JsonObject } from '#kernel/json';
import { pageOf } from '#tools/support/paging';

const listing = { name: 'tasks', key: (row: JsonObject) => [-Number(row['at']), String(row['id'])] };
const row = (id: number): JsonObject => ({ id: `t${id}`, at: id % 7 });
const ids = fc.uniqueArray(fc.nat({ max: 120 }), { maxLength: 60 });

/** Before each page: what vanishes, what appears, and the order of the rows. */
const change = fc.record({ gone: ids, come: ids, order: fc.infiniteStream(fc.nat()) });
type Change = { readonly gone: number[]; readonly come: number[]; readonly order: Iterator<number> };

/** A list that changes before each page but the first, until it has changed thirty times. */
function changingList(start: readonly number[], changes: readonly Change[]) {
  const now = new Set(start);
  const ever = new Set(start);
  const always = new Set(start);
  const next = ({ gone, come }: Change) => {
    for (const id of gone) now.delete(id);
    for (const id of gone) always.delete(id);
    for (const id of come) now.add(id);
    for (const id of now) ever.add(id);
  };
  const rowsFor = (page: number): readonly JsonObject[] => {
    const step = changes[page % changes.length] as Change;
    if (page > 0 && page < 30) next(step);
    const places = [...now].map((id) => ({ id, place: Number(step.order.next().value) }));
    return places.sort((a, b) => a.place - b.place).map(({ id }) => row(id));
  };
  return { ever, always, rowsFor };
}

it('no row that is there throughout is lost, none comes twice, and none that never was comes at all', () => {
  fc.assert(
    fc.property(ids, fc.nat({ max: 20 }), fc.array(change, { minLength: 1, maxLength: 30 }), (start, limit, changes) => {
      const list = changingList(start, changes);
      const seen: string[] = [];
      let cursor: string | undefined;
      let page = 0;
      do {
        const got = pageOf(list.rowsFor(page), { limit: limit + 1, cursor }, listing);
        seen.push(...got.rows.map((one) => String(one['id'])));
        cursor = got.cursor;
        page += 1;
      } while (cursor !== undefined);
      expect(new Set(seen).size).toBe(seen.length);
      for (const id of list.always) expect(seen).toContain(`t${id}`);
      for (const id of seen) expect(list.ever).toContain(Number(id.slice(1)));
    }),
  );
});
