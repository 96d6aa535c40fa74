import { describe, expect, it } from 'vitest';
import type { Fault } from '#kernel/errors';
import type { JsonObject } from '#kernel/json';
import { countMessage, defaultLimit, listResult, pageOf } from '#tools/support/paging';

const numbers = { name: 'numbers', key: (row: JsonObject) => [Number(row['n'])] };
const rows = Array.from({ length: 250 }, (_, n) => ({ n, name: n % 2 === 0 ? 'even' : 'Odd', nested: { tags: [`t${n}`] } }));

describe('a page', () => {
  it('follows from the one before until all rows were there once', () => {
    const seen: unknown[] = [];
    let cursor: string | undefined;
    do {
      const page = pageOf(rows, { limit: 70, cursor }, numbers);
      seen.push(...page.rows);
      expect(page.total).toBe(250);
      cursor = page.cursor;
    } while (cursor !== undefined);
    expect(seen).toEqual(rows);
  });

  it('has 100 rows when nobody says how many', () => {
    expect(defaultLimit).toBe(100);
    expect(pageOf(rows, {}, numbers).rows).toHaveLength(100);
    expect(pageOf(rows.slice(0, 100), {}, numbers)).not.toHaveProperty('cursor');
    expect(pageOf([], {}, numbers)).toEqual({ rows: [], total: 0 });
  });

  it('is filtered by any value, deep ones too, without regard to case', () => {
    expect(pageOf(rows, { filter: 'ODD' }, numbers).total).toBe(125);
    expect(pageOf(rows, { filter: 't249' }, numbers).rows).toEqual([rows[249]]);
    expect(pageOf(rows, { filter: 'nested' }, numbers).total).toBe(0);
    expect(pageOf(rows, { filter: '' }, numbers).total).toBe(250);
    expect(pageOf([{ a: null, b: true }], { filter: 'true' }, numbers).total).toBe(1);
  });

  it('is not filtered by what holds nearly any short number: times, sizes, the counters of a UPID', () => {
    const [upid, time] = ['UPID:pve:00000104:0310412A:6B085E05:qmstart:105:ops@pve!b:', 1_795_710_469];
    const tasks = [{ upid, id: '105', node: 'pve', starttime: time }];
    const found = (filter: string) => pageOf(tasks, { filter }, numbers).total;
    expect(['104', '6B08', '7104'].map(found)).toEqual([0, 0, 0]);
    expect(['105', 'PVE', upid, ':qmstart:105:', String(time)].map(found)).toEqual([1, 1, 1, 1, 1]);
  });

  it('is sorted by key, numbers as numbers, and rows of one key stay together', () => {
    const key = (row: JsonObject) => [String(row['kind']), Number(row['n'])];
    const mixed = [
      { kind: 'b', n: 1 },
      { kind: 'a', n: 10, first: true },
      { kind: 'a', n: 10 },
      { kind: 'a', n: 9 },
    ];
    const first = pageOf(mixed, { limit: 2 }, { name: 'mixed', key });
    expect(first.rows.map(({ n }) => n)).toEqual([9, 10, 10]);
    expect(pageOf(mixed, { limit: 2, cursor: first.cursor }, { name: 'mixed', key })).toEqual({ rows: [{ kind: 'b', n: 1 }], total: 4 });
  });

  it('past the end is empty', () => {
    const { cursor } = pageOf(rows, { limit: 249 }, numbers);
    expect(pageOf(rows.slice(0, 3), { cursor }, numbers)).toEqual({ rows: [], total: 3 });
  });
});

describe('a cursor', () => {
  const of = (filter?: string) => pageOf(rows, { limit: 1, ...(filter === undefined ? {} : { filter }) }, numbers).cursor;

  it('belongs to its filter', () => {
    expect(pageOf(rows, { limit: 1, filter: 'even', cursor: of('even') }, numbers).rows).toEqual([rows[2]]);
    expect(() => pageOf(rows, { filter: 'odd', cursor: of('even') }, numbers)).toThrow('not one that this list gave');
    expect(() => pageOf(rows, { cursor: of('even') }, numbers)).toThrow('`cursor`');
  });

  it('belongs to its list', () => {
    expect(() => pageOf(rows, { cursor: of() }, { ...numbers, name: 'others' })).toThrow('not one that this list gave');
  });

  const mark = () => JSON.parse(Buffer.from(of() ?? '', 'base64url').toString())[0] as string;
  const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  it.each([
    ['empty', () => ''],
    ['an offset of a former version', () => '100.e3b0c442'],
    ['a number', () => '100'],
    ['text', () => 'x'.repeat(200)],
    ['base64 of no JSON', () => Buffer.from('nonsense').toString('base64url')],
    ['of another mark', () => encoded(['00000000', 5])],
    ['without a key', () => encoded([mark()])],
    ['with a key of objects', () => encoded([mark(), { n: 5 }])],
    ['with something behind it', () => `${of()}!`],
    ['null', () => encoded(null)],
  ])('is not %s', (_what, cursor) => {
    expect(() => pageOf(rows, { cursor: cursor() }, numbers)).toThrow(
      expect.objectContaining<Partial<Fault>>({
        code: 'invalid_input',
        audience: 'user',
        next: expect.stringContaining('leave `cursor` out'),
      }),
    );
  });
});

it('a list says how many there are, and how to get the rest', () => {
  expect(countMessage(pageOf(rows.slice(0, 1), {}, numbers), 'VM')).toBe('1 VM');
  expect(countMessage(pageOf(rows.slice(0, 0), {}, numbers), 'VM')).toBe('0 VMs');
  expect(countMessage(pageOf(rows, {}, numbers), 'VM')).toBe('100 of 250 VMs (pass `cursor` for more)');
  expect(listResult('vms', pageOf(rows.slice(0, 1), {}, numbers), { node: 'pve' })).toEqual({ vms: [rows[0]], total: 1, node: 'pve' });
  expect(listResult('vms', pageOf(rows, {}, numbers))).toMatchObject({ total: 250, cursor: expect.stringMatching(/^[\w-]+$/) });
});
