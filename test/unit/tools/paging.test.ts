import { describe, expect, it } from 'vitest';
import type { Fault } from '#kernel/errors';
import { countMessage, defaultLimit, listResult, pageOf } from '#tools/support/paging';

const rows = Array.from({ length: 250 }, (_, n) => ({ n, name: n % 2 === 0 ? 'even' : 'Odd', nested: { tags: [`t${n}`] } }));

describe('a page', () => {
  it('follows from the one before until all rows were there once', () => {
    const seen: unknown[] = [];
    let cursor: string | undefined;
    do {
      const page = pageOf(rows, { limit: 70, cursor });
      seen.push(...page.rows);
      expect(page.total).toBe(250);
      cursor = page.cursor;
    } while (cursor !== undefined);
    expect(seen).toEqual(rows);
  });

  it('has 100 rows when nobody says how many', () => {
    expect(defaultLimit).toBe(100);
    expect(pageOf(rows, {}).rows).toHaveLength(100);
    expect(pageOf(rows.slice(0, 100), {})).not.toHaveProperty('cursor');
    expect(pageOf([], {})).toEqual({ rows: [], total: 0 });
  });

  it('is filtered by any value, deep ones too, without regard to case', () => {
    expect(pageOf(rows, { filter: 'ODD' }).total).toBe(125);
    expect(pageOf(rows, { filter: 't249' }).rows).toEqual([rows[249]]);
    expect(pageOf(rows, { filter: 'nested' }).total).toBe(0);
    expect(pageOf(rows, { filter: '' }).total).toBe(250);
    expect(pageOf([{ a: null, b: true }], { filter: 'true' }).total).toBe(1);
  });

  it('past the end is empty', () => {
    const { cursor } = pageOf(rows, { limit: 249 });
    expect(pageOf(rows.slice(0, 3), { cursor })).toEqual({ rows: [], total: 3 });
  });
});

describe('a cursor', () => {
  const of = (filter?: string) => pageOf(rows, { limit: 1, ...(filter === undefined ? {} : { filter }) }).cursor;

  it('belongs to its filter', () => {
    expect(pageOf(rows, { limit: 1, filter: 'even', cursor: of('even') }).rows).toEqual([rows[2]]);
    expect(() => pageOf(rows, { filter: 'odd', cursor: of('even') })).toThrow('not one that this list gave');
    expect(() => pageOf(rows, { cursor: of('even') })).toThrow('`cursor`');
  });

  it.each(['', '1', '1.', '-1.00000000', '1.zzzzzzzz', `9999999999.${'0'.repeat(8)}`, '1.00000000', 'x'.repeat(200), '1e9.e3b0c442'])(
    'is not %j',
    (cursor) => {
      expect(() => pageOf(rows, { cursor })).toThrow(expect.objectContaining<Partial<Fault>>({ code: 'invalid_input', audience: 'user' }));
    },
  );
});

it('a list says how many there are, and how to get the rest', () => {
  expect(countMessage(pageOf(rows.slice(0, 1), {}), 'VM')).toBe('1 VM');
  expect(countMessage(pageOf(rows.slice(0, 0), {}), 'VM')).toBe('0 VMs');
  expect(countMessage(pageOf(rows, {}), 'VM')).toBe('100 of 250 VMs (pass `cursor` for more)');
  expect(listResult('vms', pageOf(rows.slice(0, 1), {}), { node: 'pve' })).toEqual({ vms: [rows[0]], total: 1, node: 'pve' });
  expect(listResult('vms', pageOf(rows, {}))).toMatchObject({ total: 250, cursor: expect.stringMatching(/^100\.[0-9a-f]{8}$/) });
});
