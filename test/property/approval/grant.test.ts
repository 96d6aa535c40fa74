import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { reviewCard } from '#approval/card';
import { digestOf } from '#approval/digest';
import { verifyGrant } from '#approval/grant';
import type { Grant, GrantPayload, RequestRecord } from '#kernel/approval/request';
import type { JsonObject } from '#kernel/json';
import { createApprover, draftOf, grantFor, stopAction } from '../../integration/stores/store-fixtures.ts';

const alice = createApprover();
const now = 1_800_000_000_000;
const json = fc.jsonValue().map((value) => JSON.parse(JSON.stringify({ value })) as JsonObject);

describe('a digest', () => {
  it('is the same for the same action and another for any other', () => {
    fc.assert(
      fc.property(json, json, (a, b) => {
        const [first, second] = [a, b].map((values) => digestOf({ ...stopAction(), arguments: values }));
        expect(first === second).toBe(JSON.stringify(sorted(a)) === JSON.stringify(sorted(b)));
        expect(digestOf({ ...stopAction(), arguments: structuredClone(a) })).toBe(first);
      }),
    );
  });
});

/** An independent canonical form: keys sorted, then plain JSON; an object is not the list of its entries. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return ['list', value.map(sorted)];
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, inner]) => [key, sorted(inner)]);
  return ['object', entries];
}

describe('a grant', () => {
  it('verifies only as it was signed, whatever byte or field is changed', async () => {
    const request = { id: 'req-0123abcd', digest: digestOf(stopAction()), expiresAt: now + 3_600_000 };
    const grant = await grantFor(request, alice, now, 'here');
    const pins = [alice.pinned];
    const expected = { decision: 'approve', requestId: request.id, digest: request.digest, store: 'here', now, pins } as const;
    expect(verifyGrant(grant, expected)).toMatchObject({ ok: true });
    fc.assert(
      fc.property(
        fc.constantFrom<keyof GrantPayload>(...(Object.keys(grant.payload) as (keyof GrantPayload)[])),
        fc.oneof(fc.string(), fc.nat()),
        (field, value) => {
          fc.pre(value !== grant.payload[field]);
          const forged = { ...grant, payload: { ...grant.payload, [field]: value } as GrantPayload };
          expect(verifyGrant(forged, expected).ok).toBe(false);
        },
      ),
    );
    const bytes = Buffer.from(grant.proof.signature, 'base64url');
    fc.assert(
      fc.property(fc.nat({ max: bytes.length - 1 }), fc.integer({ min: 1, max: 255 }), (index, flip) => {
        const other = Buffer.from(bytes);
        other[index] = (other[index] ?? 0) ^ flip;
        const forged: Grant = { ...grant, proof: { ...grant.proof, signature: other.toString('base64url') } };
        expect(verifyGrant(forged, expected)).toEqual({ ok: false, why: 'bad_signature' });
      }),
    );
  });
});

describe('a review card', () => {
  it('never shows a control, bidi or invisible character, never adds a line and never grows without bound', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 2000 }),
      fc.constantFrom('\n\n', '\u202e', '\u2028', '\u001b[31m', '\u200b', '\ud800'),
    );
    fc.assert(
      fc.property(text, text, text, text, (title, risk, claim, label) => {
        const draft = draftOf({ title, risk: [risk], claim, reason: claim, agent: { id: 'mcp:laptop', host: 'mcp', label, model: label } });
        const record: RequestRecord = { ...draft, id: 'req-0123abcd', status: 'pending', createdAt: now, expiresAt: now + 1000 };
        const card = reviewCard(record, { now, via: 'cli' });
        expect(card.title + card.detail.replaceAll('\n', '')).not.toMatch(
          // biome-ignore lint/suspicious/noControlCharactersInRegex: this is what must not be there
          /[\u0000-\u001f\u007f-\u009f\u2028\u2029\p{Bidi_Control}\p{Default_Ignorable_Code_Point}]/u,
        );
        expect(card.detail.split('\n')).toHaveLength(card.tampered ? 14 : 12);
        expect((card.title + card.detail).isWellFormed()).toBe(true);
        expect(card.detail.length).toBeLessThan(6000);
      }),
    );
  });
});
