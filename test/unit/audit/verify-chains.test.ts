import { describe, expect, it } from 'vitest';
import { genesisHash, hashOf } from '#audit/seal';
import { verifyChains } from '#audit/verify-chain';
import type { AuditRecord } from '#kernel/audit-event';
import type { ChainAnchor, ChainReading } from '#kernel/ports/audit-log';

const start = Date.parse('2027-01-15T08:00:00.000Z');

/** A chain of `count` records, an hour apart. */
function chainOf(chain: string, count: number): readonly AuditRecord[] {
  const records: AuditRecord[] = [];
  for (let sequence = 1; sequence <= count; sequence += 1) {
    const last = records.at(-1);
    const open = {
      version: 1,
      chain,
      sequence,
      time: new Date(start + sequence * 3_600_000).toISOString(),
      name: 'tool.started',
      attributes: { sequence },
      previous: last?.hash ?? genesisHash,
      ...(last ? { previousTime: last.time } : {}),
    } as const;
    records.push({ ...open, hash: hashOf(open) });
  }
  return records;
}

function verify(records: readonly AuditRecord[], reading: Partial<ChainReading> = {}) {
  async function* all(): AsyncGenerator<AuditRecord> {
    yield* records;
  }
  return verifyChains({ records: all(), keptSince: start, anchors: [], ...reading });
}

const anchorAt = (record: AuditRecord): ChainAnchor => ({
  chain: record.chain ?? '',
  sequence: record.sequence,
  hash: record.hash,
  time: record.time,
});
const without = (record: AuditRecord, key: 'chain' | 'previousTime'): AuditRecord =>
  Object.fromEntries(Object.entries(record).filter(([name]) => name !== key)) as unknown as AuditRecord;

describe('several chains', () => {
  const [a, b] = [chainOf('a', 4), chainOf('b', 3)];
  const mixed = [a[0]!, b[0]!, a[1]!, a[2]!, b[1]!, b[2]!, a[3]!];
  const changed = (target: AuditRecord | undefined, change: Partial<AuditRecord>) =>
    mixed.map((record) => (record === target ? { ...record, ...change } : record));

  it('verify in one pass, however they are mixed', async () => {
    expect(await verify(mixed)).toEqual({ ok: true, records: 7, message: '7 records in 2 chains, unbroken' });
    expect(await verify([...b, ...a], { anchors: [anchorAt(a[3]!), anchorAt(b[1]!)] })).toMatchObject({ ok: true });
    expect(await verify(a)).toMatchObject({ ok: true, message: '4 records in 1 chain, unbroken' });
  });

  it('that are empty are not fine', async () => {
    expect(await verify([])).toMatchObject({ ok: false, records: 0 });
  });

  it.each<[string, readonly AuditRecord[], number]>([
    ['a record is missing in the middle', mixed.filter((record) => record !== a[1]), 3],
    ['the first is missing', mixed.filter((record) => record !== b[0]), 2],
    ['two are swapped', [a[0]!, a[2]!, a[1]!, a[3]!], 3],
    ['one stands twice', [a[0]!, a[1]!, a[1]!], 2],
    ['the first stands twice', [a[0]!, a[0]!], 1],
    ['one was edited', changed(b[1], { attributes: { sequence: 9 } }), 2],
    ['one was moved to another chain', changed(b[2], { chain: 'a' }), 3],
    ['one says another time before it', changed(b[1], { previousTime: '2000-01-01T00:00:00.000Z' }), 2],
    ['one belongs to no chain', mixed.map((record) => (record === a[2] ? without(record, 'chain') : record)), 3],
  ])('show when %s', async (_, records, broken) => {
    expect(await verify(records)).toMatchObject({ ok: false, broken });
  });

  it('name every record that does not fit, in whatever chain, and read on behind it', async () => {
    const long = chainOf('c', 40);
    const bad = new Set([a[1], b[0], long[3], long[4], long[30]]);
    const all = [...mixed, ...long].map((record) => (bad.has(record) ? { ...record, attributes: { sequence: -1 } } : record));
    const verdict = await verify(all);
    expect(verdict.flaws?.map(({ broken, message }) => `${message.slice(0, 9)} ${broken}`)).toEqual([
      'chain `b` 1',
      'chain `a` 2',
      ...['chain `c` 4', 'chain `c` 5', 'chain `c` 31'],
    ]);
    expect(verdict).toMatchObject({
      ok: false,
      broken: 1,
      records: 42,
      message: expect.stringMatching(/unfit, too: 2, 4, 5, 31; 42 of 47/),
    });
  });

  it('name no more than twenty, and count the rest', async () => {
    const verdict = await verify(chainOf('c', 60).map((record) => (record.sequence % 2 ? record : { ...record, attributes: {} })));
    expect(verdict.flaws).toHaveLength(20);
    expect(verdict.message).toMatch(/and 24 more; 30 of 60 records fit/);
  });

  it('name what was cut off of one besides what was altered in another', async () => {
    const verdict = await verify(
      [...a.slice(0, 3), ...b].map((record) => (record === b[1] ? { ...record, attributes: {} } : record)),
      { anchors: [anchorAt(a[3]!)] },
    );
    expect(verdict.flaws?.map(({ broken }) => broken)).toEqual([2, 4]);
  });

  it('may begin late where what came before was old enough, and only there', async () => {
    const late = a.slice(2);
    const before = Date.parse(a[1]!.time);
    expect(await verify(late, { keptSince: before + 1 })).toMatchObject({ ok: true, records: 2 });
    expect(await verify(late, { keptSince: before })).toMatchObject({
      ok: false,
      broken: 3,
      message: expect.stringContaining('too young'),
    });
    const silent = without(a[2]!, 'previousTime');
    const hash = hashOf({ ...silent, hash: undefined } as unknown as AuditRecord);
    expect(await verify([{ ...silent, hash }], { keptSince: Number.MAX_SAFE_INTEGER })).toMatchObject({ ok: false, broken: 3 });
  });

  it('show a cut-off or replaced end to who remembers it', async () => {
    const anchors = [anchorAt(a[3]!)];
    expect(await verify(a.slice(0, 3), { anchors })).toMatchObject({ ok: false, broken: 4, message: expect.stringContaining('cut off') });
    expect(await verify(b, { anchors })).toMatchObject({ ok: false, broken: 1 });
    expect(await verify(b, { anchors, keptSince: Date.parse(a[3]!.time) + 1 })).toMatchObject({ ok: true });
    expect(await verify(a, { anchors: [{ ...anchorAt(a[3]!), hash: 'f'.repeat(64) }] })).toMatchObject({ ok: false, broken: 4 });
  });
});
