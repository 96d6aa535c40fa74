import { describe, expect, it } from 'vitest';
import { hashOf, seal } from '#audit/seal';
import { verifyChain } from '#audit/verify-chain';
import { verifyTrail } from '#audit/verify-trail';
import type { AuditRecord } from '#kernel/audit-event';
import type { AuditLog } from '#kernel/ports/audit-log';

function chain(length: number): AuditRecord[] {
  const records: AuditRecord[] = [];
  for (let index = 0; index < length; index += 1) {
    records.push(seal({ name: 'tool.started', attributes: { index } }, records.at(-1), index * 1000));
  }
  return records;
}

const rehash = (record: AuditRecord, changes: Partial<AuditRecord>): AuditRecord => {
  const changed = { ...record, ...changes };
  return { ...changed, hash: hashOf(changed) };
};

describe('verifyChain', () => {
  it('accepts an untouched trail', async () => {
    expect(await verifyChain(chain(5))).toMatchObject({ ok: true, records: 5 });
  });

  it('does not call an empty trail sound', async () => {
    expect(await verifyChain([])).toMatchObject({ ok: false, records: 0, message: expect.stringContaining('empty') });
  });

  const manipulations: readonly [name: string, change: (records: AuditRecord[]) => AuditRecord[], broken: number][] = [
    ['an edited attribute', (r) => r.with(2, { ...r[2]!, attributes: { index: 99 } }), 3],
    ['an edited time', (r) => r.with(2, { ...r[2]!, time: '2020-01-01T00:00:00.000Z' }), 3],
    ['an added unknown key', (r) => r.with(2, { ...r[2]!, extra: 1 } as AuditRecord), 3],
    ['an edit with a fresh hash', (r) => r.with(2, rehash(r[2]!, { attributes: { index: 99 } })), 4],
    ['a removed record', (r) => r.toSpliced(2, 1), 4],
    ['a removed first record', (r) => r.toSpliced(0, 1), 2],
    ['a removed record, the rest renumbered', (r) => r.toSpliced(2, 1).map((record, index) => rehash(record, { sequence: index + 1 })), 3],
    ['a repeated record', (r) => r.toSpliced(2, 0, r[1]!), 2],
    ['two records swapped', (r) => r.with(1, r[2]!).with(2, r[1]!), 3],
    ['an inserted record', (r) => r.toSpliced(2, 0, seal({ name: 'tool.denied', attributes: {} }, r[1], 0)), 3],
    ['a hash that is no hash', (r) => r.with(2, { ...r[2]!, hash: '' }), 3],
    ['attributes without a canonical form', (r) => r.with(2, { ...r[2]!, attributes: { a: '\ud800' } }), 3],
    ['a sequence that is no number', (r) => r.with(2, { ...r[2]!, sequence: Number.NaN }), 3],
  ];
  it.each(manipulations)('finds %s', async (_, change, broken) => {
    expect(await verifyChain(change(chain(5)))).toMatchObject({ ok: false, broken });
  });

  it('finds an end that was cut off when it knows where the trail had got to', async () => {
    const records = chain(5);
    expect(await verifyChain(records.slice(0, 3))).toMatchObject({ ok: true });
    expect(await verifyChain(records.slice(0, 3), { anchors: [records[4]!] })).toMatchObject({
      ok: false,
      broken: 4,
      message: expect.stringContaining('record 5'),
    });
    expect(await verifyChain([], { anchors: [records[4]!] })).toMatchObject({ ok: false, broken: 1 });
  });

  it('finds a trail that was rewritten as a whole when it knows one of its points', async () => {
    const records = chain(5);
    const other = chain(4).concat();
    const rewritten = [...other.slice(0, 2), seal({ name: 'tool.denied', attributes: {} }, other[1], 0)];
    expect(await verifyChain(rewritten)).toMatchObject({ ok: true });
    expect(await verifyChain(rewritten, { anchors: [records[2]!] })).toMatchObject({
      ok: false,
      broken: 3,
      message: expect.stringContaining('rewritten'),
    });
  });

  it('verifies a part of a trail from a known point', async () => {
    const records = chain(5);
    expect(await verifyChain(records.slice(2), { start: records[1] })).toMatchObject({ ok: true, records: 3 });
    expect(await verifyChain(records.slice(2), { start: records[0] })).toMatchObject({ ok: false, broken: 3 });
    expect(await verifyChain([], { start: records[1] })).toMatchObject({ ok: true, records: 0 });
  });

  it('reads on behind a flaw, and names it once', async () => {
    const records = chain(10);
    let taken = 0;
    function* source() {
      for (const record of records.toSpliced(3, 1)) {
        taken += 1;
        yield record;
      }
    }
    const verdict = await verifyChain(source());
    expect(taken).toBe(9);
    expect(verdict.flaws).toHaveLength(1);
    expect(verdict).toMatchObject({
      broken: 5,
      records: 8,
      message: expect.stringMatching(/^record 5 stands where record 4 .*; 8 of 9 records fit$/),
    });
  });

  it.each<[string, (record: AuditRecord) => AuditRecord]>([
    ['its content', (record) => ({ ...record, attributes: { ...record.attributes, more: 1 } })],
    ['its hash', (record) => ({ ...record, hash: record.hash.replace(/^./, (digit) => (digit === '0' ? '1' : '0')) })],
    [
      'the hash that it continues',
      (record) => ({ ...record, previous: record.previous.replace(/^./, (digit) => (digit === '0' ? '1' : '0')) }),
    ],
    ['all of it', (record) => ({ ...record, time: '', name: 'unreadable' as AuditRecord['name'], attributes: {}, previous: '', hash: '' })],
  ])('names the one record that is damaged in %s, and no other', async (_, damage) => {
    const records = chain(9);
    for (const at of [0, 3, 8]) {
      const broken = records.map((record, index) => (index === at ? damage(record) : record));
      const { flaws, ...verdict } = await verifyChain(broken, { anchors: records.slice(-1) });
      expect(verdict).toMatchObject({ ok: false, broken: at + 1, records: 8 });
      expect(flaws?.map((flaw) => flaw.broken)).toEqual([at + 1]);
    }
  });

  it('names several, and counts the rest', async () => {
    const records = chain(40).map((record, index) => (index % 2 === 1 ? { ...record, attributes: { altered: true } } : record));
    const verdict = await verifyChain(records);
    expect(verdict.message).toBe(
      'record 2 was altered: its content does not match its hash; unfit, too: 4, 6, 8, 10, 12 and 14 more; 20 of 40 records fit',
    );
    expect(verdict.flaws).toHaveLength(20);
  });
});

describe('verifyTrail', () => {
  const logOf = (records: readonly AuditRecord[], head = records.at(-1)): Pick<AuditLog, 'read' | 'head'> => ({
    read: async (after, limit) => records.filter((record) => record.sequence > after).slice(0, limit),
    head: async () => head && { sequence: head.sequence, hash: head.hash },
  });

  it('reads over page borders to the end', async () => {
    expect(await verifyTrail(logOf(chain(2500)))).toMatchObject({ ok: true, records: 2500 });
    expect(await verifyTrail(logOf(chain(2000)))).toMatchObject({ ok: true, records: 2000 });
  });

  it('compares with the head and with checkpoints from outside', async () => {
    const records = chain(20);
    expect(await verifyTrail(logOf(records.slice(0, 15), records[19]))).toMatchObject({ ok: false, broken: 16 });
    expect(await verifyTrail(logOf(chain(3)), [{ sequence: 2, hash: 'f'.repeat(64) }])).toMatchObject({ ok: false, broken: 2 });
  });

  it('takes a lost anchor for what it is', async () => {
    const records = chain(3);
    const log = { ...logOf(records), head: async () => undefined };
    expect(await verifyTrail(log)).toMatchObject({ ok: false, message: expect.stringContaining('anchor') });
  });

  it('ends on a log that keeps answering with the same records', async () => {
    const [record] = chain(1);
    const log = { read: async () => Array.from({ length: 1000 }, () => ({ ...record!, sequence: 0 })), head: async () => record };
    expect(await verifyTrail(log)).toMatchObject({ ok: false });
  });
});

it('a whole record of another trail leaves its successor unfit, too', async () => {
  const records = chain(5);
  const foreign = records.map((record, at) => (at === 2 ? rehash(record, { previous: 'f'.repeat(64) }) : record));
  expect((await verifyChain(foreign)).flaws?.map(({ broken }) => broken)).toEqual([3, 4]);
});
