import { describe, expect, it } from 'vitest';
import { compareTrail } from '#audit/compare-trail';
import { genesisHash, hashOf, seal } from '#audit/seal';
import { verifyTrail } from '#audit/verify-trail';
import type { AuditDraft, AuditRecord } from '#kernel/audit-event';
import type { AuditLog, ChainAnchor, ChainedAuditLog } from '#kernel/ports/audit-log';

const start = Date.parse('2027-01-15T08:00:00.000Z');

function trailOf(drafts: readonly AuditDraft[]): readonly AuditRecord[] {
  const records: AuditRecord[] = [];
  for (const draft of drafts) records.push(seal(draft, records.at(-1), start + records.length));
  return records;
}

const numbered = (count: number, what = 'x') =>
  Array.from({ length: count }, (_, n): AuditDraft => ({ name: 'tool.started', attributes: { n, what } }));
const pointOf = ({ sequence, hash }: AuditRecord) => ({ sequence, hash });

function logOf(records: readonly AuditRecord[]): Pick<AuditLog, 'read' | 'head'> {
  return {
    read: async (after, limit) => records.filter(({ sequence }) => sequence > after).slice(0, limit),
    head: async () => records.at(-1),
  };
}

function chainOf(chain: string, count: number): readonly AuditRecord[] {
  const records: AuditRecord[] = [];
  for (let sequence = 1; sequence <= count; sequence += 1) {
    const last = records.at(-1);
    const before = last ? { previousTime: last.time } : {};
    const time = new Date(start + sequence).toISOString();
    const open = {
      version: 1,
      chain,
      sequence,
      time,
      name: 'tool.started',
      attributes: {},
      previous: last?.hash ?? genesisHash,
      ...before,
    } as const;
    records.push({ ...open, hash: hashOf(open) });
  }
  return records;
}

const anchorOf = ({ chain = '', sequence, hash, time }: AuditRecord): ChainAnchor => ({ chain, sequence, hash, time });

function sharedLog(records: readonly AuditRecord[], keptSince = start): Pick<ChainedAuditLog, 'read' | 'head' | 'readChains'> {
  async function* all(): AsyncGenerator<AuditRecord> {
    yield* records;
  }
  return { ...logOf(records), readChains: async () => ({ records: all(), keptSince, anchors: [] }) };
}

describe('a trail that is one chain', () => {
  const records = trailOf(numbered(6));
  const seen = { points: [pointOf(records[3]!)], chains: [] };

  it('goes on from what was seen', async () => {
    expect(await compareTrail(logOf(records), seen)).toMatchObject({ ok: true, records: 6 });
    expect(await compareTrail(logOf(records.slice(0, 4)), seen)).toMatchObject({ ok: true });
  });

  it.each([
    ['was rewritten', trailOf(numbered(6, 'y')), /rewritten/],
    ['is an older copy', records.slice(0, 3), /cut off/],
    ['is empty', [], /cut off|empty/],
  ])('that %s does not, though it is whole in itself', async (_, other, words) => {
    expect(await compareTrail(logOf(other), seen)).toMatchObject({ ok: false, message: expect.stringMatching(words) });
  });

  it('whose beginning was dropped says that nothing can be told of what stood there', async () => {
    const base = pointOf(records[4]!);
    const checkpoint = seal({ name: 'audit.checkpoint', attributes: { base } }, records[5], start + 9);
    const pruned = logOf([records[5]!, checkpoint]);
    expect(await compareTrail(pruned, { points: [], chains: [] })).toMatchObject({ ok: true });
    expect(await compareTrail(pruned, seen)).toMatchObject({ ok: false, message: expect.stringContaining('record 4 is no longer kept') });
    expect(await compareTrail(pruned, { points: [base], chains: [] })).toMatchObject({ ok: true });
  });

  it('is not one of several chains', async () => {
    const chains = [anchorOf(chainOf('a', 1)[0]!)];
    expect(await compareTrail(logOf(records), { points: [], chains })).toMatchObject({
      ok: false,
      message: expect.stringContaining('not the same'),
    });
    expect(await compareTrail(sharedLog(chainOf('a', 1)), seen)).toMatchObject({
      ok: false,
      message: expect.stringContaining('not the same'),
    });
  });
});

describe('a trail of several chains', () => {
  const [a, b] = [chainOf('a', 3), chainOf('b', 2)];
  const seen = { points: [], chains: [anchorOf(a[1]!), anchorOf(b[1]!)] };

  it('goes on from where each was seen, or ended there', async () => {
    expect(await compareTrail(sharedLog([...a, ...b]), seen)).toMatchObject({ ok: true, records: 5 });
  });

  it.each([
    ['without one of them', [...a], /`b` ends at record 0/],
    ['without the end of one', [...a, b[0]!], /`b` ends at record 1/],
    ['with another of the same name', [...chainOf('a', 1), ...b], /`a` ends at record 1/],
  ])('%s is not the one that was seen, though it is whole in itself', async (_, records, words) => {
    expect(await compareTrail(sharedLog(records), { points: [], chains: [] })).toMatchObject({ ok: true });
    expect(await compareTrail(sharedLog(records), seen)).toMatchObject({ ok: false, message: expect.stringMatching(words) });
  });

  it('is looked at again where a record came late: what was a gap is none then', async () => {
    const looks = [
      [a[0]!, a[2]!, ...b],
      [...a, ...b],
    ];
    const late = { ...sharedLog([]), readChains: async () => sharedLog(looks.shift() ?? []).readChains() };
    expect(await verifyTrail(late)).toMatchObject({ ok: true, records: 5 });
    expect(await verifyTrail(sharedLog([a[0]!, a[2]!, ...b]))).toMatchObject({ ok: false, broken: 3 });
  });

  it('says which of what was seen is too old to be there, and fails where all is', async () => {
    const later = sharedLog(a.slice(2), start + 2.5);
    const recent = { points: [], chains: [anchorOf(a[2]!), anchorOf(b[1]!)] };
    expect(await compareTrail(later, recent)).toMatchObject({ ok: true, message: expect.stringContaining('1 of the 2 chains') });
    expect(await compareTrail(later, seen)).toMatchObject({
      ok: false,
      message: expect.stringContaining('older than what the store keeps'),
    });
  });
});
