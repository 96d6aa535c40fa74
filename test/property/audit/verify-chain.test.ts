import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { seal } from '#audit/seal';
import { verifyChain } from '#audit/verify-chain';
import { type AuditRecord, auditEventNames } from '#kernel/audit-event';
import type { JsonObject } from '#kernel/json';

const drafts = fc.array(
  fc.record({
    name: fc.constantFrom(...auditEventNames),
    // Object.fromEntries: fast-check's dictionaries have no prototype, which a record that was read back has.
    attributes: fc
      .dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue())
      .map((value) => JSON.parse(JSON.stringify(value)) as JsonObject),
  }),
  { minLength: 2, maxLength: 12 },
);

const chains = fc.tuple(drafts, fc.nat()).map(([list, start]) => {
  const records: AuditRecord[] = [];
  for (const draft of list) records.push(seal(draft, records.at(-1), start + records.length));
  return records;
});

const lastOf = (records: readonly AuditRecord[]) => ({ anchors: [records.at(-1)!] });

/** Any position of a chain, chosen from a number. */
const at = (records: readonly AuditRecord[], seed: number) => seed % records.length;

const fields = ['version', 'sequence', 'time', 'name', 'attributes', 'previous', 'hash'] as const;

describe('the audit chain', () => {
  it('verifies as it was written, also after a trip through JSON', async () => {
    await fc.assert(
      fc.asyncProperty(chains, async (records) => {
        const back = JSON.parse(JSON.stringify(records)) as AuditRecord[];
        expect(await verifyChain(back, lastOf(records))).toMatchObject({ ok: true, records: records.length });
      }),
    );
  });

  it('shows any change of any field of any record', async () => {
    await fc.assert(
      fc.asyncProperty(chains, fc.nat(), fc.constantFrom(...fields), fc.jsonValue(), async (records, seed, field, value) => {
        const index = at(records, seed);
        const record = records[index]!;
        fc.pre(JSON.stringify(value) !== JSON.stringify(record[field]));
        const forged = records.with(index, { ...record, [field]: value });
        expect((await verifyChain(forged, lastOf(records))).ok).toBe(false);
      }),
    );
  });

  it('shows the removal of any record, the last one included', async () => {
    await fc.assert(
      fc.asyncProperty(chains, fc.nat(), async (records, seed) => {
        expect((await verifyChain(records.toSpliced(at(records, seed), 1), lastOf(records))).ok).toBe(false);
      }),
    );
  });

  it('shows any two records swapped and any record repeated', async () => {
    await fc.assert(
      fc.asyncProperty(chains, fc.nat(), fc.nat(), async (records, a, b) => {
        const [i, j] = [at(records, a), at(records, b)];
        const repeated = records.toSpliced(i, 0, records[j]!);
        expect((await verifyChain(repeated, lastOf(records))).ok).toBe(false);
        fc.pre(i !== j);
        const swapped = records.with(i, records[j]!).with(j, records[i]!);
        expect((await verifyChain(swapped, lastOf(records))).ok).toBe(false);
      }),
    );
  });
});
