import { describe, expect, it } from 'vitest';
import { seal } from '#audit/seal';
import { verifyChain } from '#audit/verify-chain';
import type { AuditRecord } from '#kernel/audit-event';
import type { JsonObject } from '#kernel/json';

/** Five records, one that says that the first `gone` were dropped, and one more; without those that were. */
function pruned(gone: number, base: (last: AuditRecord) => JsonObject = ({ sequence, hash }) => ({ sequence, hash })): AuditRecord[] {
  const records: AuditRecord[] = [];
  const add = (name: AuditRecord['name'], attributes: JsonObject): void => {
    records.push(seal({ name, attributes }, records.at(-1), records.length * 1000));
  };
  for (let index = 0; index < 5; index += 1) add('tool.started', { index });
  add('audit.checkpoint', { base: base(records[gone - 1]!) });
  add('tool.finished', {});
  return records.slice(gone);
}

describe('a trail that begins later', () => {
  it.each([1, 3, 5])('is sound where it says that its first %i records were dropped', async (gone) => {
    expect(await verifyChain(pruned(gone))).toMatchObject({ ok: true, records: 7 - gone });
  });

  it('is broken where more is missing than it says', async () => {
    expect(await verifyChain(pruned(3).slice(1))).toMatchObject({ ok: false, broken: 5, message: expect.stringContaining('was removed') });
  });

  it.each<[string, (last: AuditRecord) => JsonObject]>([
    ['another record', ({ hash }) => ({ sequence: 2, hash })],
    ['another content', ({ sequence }) => ({ sequence, hash: 'f'.repeat(64) })],
    ['nothing', () => ({})],
  ])('is broken where it names %s', async (_, base) => {
    expect(await verifyChain(pruned(3, base))).toMatchObject({ ok: false, broken: 4 });
  });

  it('is broken where another record than the checkpoint says so', async () => {
    const whole = pruned(5).map((record) => ({ ...record }));
    const first = seal({ name: 'tool.started', attributes: whole[0]!.attributes }, { sequence: 5, hash: whole[0]!.previous }, 0);
    expect(await verifyChain([first])).toMatchObject({ ok: false, broken: 6 });
  });

  it('is broken where what it continues is not what was anchored', async () => {
    const records = pruned(3);
    const { previous } = records[0]!;
    expect(await verifyChain(records, { anchors: [{ sequence: 3, hash: previous }] })).toMatchObject({ ok: true });
    expect(await verifyChain(records, { anchors: [{ sequence: 3, hash: 'f'.repeat(64) }] })).toMatchObject({ ok: false, broken: 4 });
  });

  it.each([0, -1, 1.5, Number.NaN, 2 ** 60])('is broken where it begins with record %d', async (sequence) => {
    const [first, ...rest] = pruned(3);
    expect(await verifyChain([{ ...first!, sequence }, ...rest])).toMatchObject({ ok: false });
  });
});
