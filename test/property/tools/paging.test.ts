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

it('no row that is there throughout is lost, none comes twice, and none that never was comes at all', () => {
  fc.assert(
    fc.property(ids, fc.nat({ max: 20 }), fc.array(change, { minLength: 1, maxLength: 30 }), (start, limit, changes) => {
      let now = new Set(start);
      const ever = new Set(now);
      const always = new Set(now);
      const seen: string[] = [];
      let cursor: string | undefined;
      for (let page = 0; ; page += 1) {
        const step = changes[page % changes.length];
        if (page > 0 && page < 30) {
          now = new Set([...now].filter((id) => !step?.gone.includes(id)).concat(step?.come ?? []));
          for (const id of now) ever.add(id);
          for (const id of always) if (!now.has(id)) always.delete(id);
        }
        const shuffled = [...now].map((id) => ({ id, at: step?.order.next().value ?? 0 })).sort((a, b) => a.at - b.at);
        const got = pageOf(
          shuffled.map(({ id }) => row(id)),
          { limit: limit + 1, cursor },
          listing,
        );
        seen.push(...got.rows.map((one) => String(one['id'])));
        cursor = got.cursor;
        if (cursor === undefined) break;
      }
      expect(new Set(seen).size).toBe(seen.length);
      for (const id of always) expect(seen).toContain(`t${id}`);
      for (const id of seen) expect(ever).toContain(Number(id.slice(1)));
    }),
  );
});
