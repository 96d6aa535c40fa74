import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isJsonObject, type JsonValue } from '#kernel/json';
import { fitBudget } from '#redaction/fit-budget';
import { markOutside } from '#redaction/mark-outside';

const text = fc.oneof(
  fc.string({ maxLength: 30 }),
  fc
    .tuple(fc.string({ minLength: 1, maxLength: 6, unit: 'grapheme' }), fc.integer({ min: 1, max: 800 }))
    .map(([piece, count]) => piece.repeat(count)),
);
const { value } = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    text,
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 40 }),
    fc.dictionary(fc.constantFrom('stdout', 'content', 'rows', 'total', 'cursor', 'a', 'b'), tie('value')),
  ),
}));
const budget = fc.oneof(fc.integer({ min: 4, max: 400 }), fc.integer({ min: 400, max: 20_000 }));

describe('a result cut to a budget', () => {
  it('is never above it, is the same when cut again, and comes through JSON', () => {
    fc.assert(
      fc.property(value, budget, (whole, characters) => {
        const { value: fitted } = fitBudget(whole, characters);
        const json = JSON.stringify(fitted);
        // A number alone cannot be made shorter.
        expect(json.length).toBeLessThanOrEqual(typeof whole === 'number' ? json.length : Math.max(characters, 5));
        expect(fitBudget(fitted, Math.max(characters, json.length)).value).toEqual(fitted);
        expect(JSON.parse(json)).toEqual(fitted);
      }),
      { numRuns: 1_000 },
    );
  });

  it('keeps its shape: every value left is of the kind it was, no key is new but the count of what is left out', () => {
    fc.assert(
      fc.property(value, budget, (whole, characters) => {
        expect(isPartOf(fitBudget(whole, characters).value, whole)).toBe(true);
      }),
      { numRuns: 1_000 },
    );
  });

  it('says what it left out exactly when it left something out', () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ id: fc.integer(), name: fc.string({ maxLength: 40 }) }), { maxLength: 60 }),
        budget,
        (rows, characters) => {
          const { value: fitted, lists } = fitBudget({ rows }, characters);
          // With no room for the frame nothing is left.
          fc.pre(isJsonObject(fitted) && Array.isArray(fitted.rows));
          if (!isJsonObject(fitted) || !Array.isArray(fitted.rows)) throw new Error('no rows');
          expect(fitted.rows.length + Number(fitted['rows_left_out'] ?? 0)).toBe(rows.length);
          expect(lists.length).toBe(fitted.rows.length === rows.length ? 0 : 1);
        },
      ),
    );
  });
});

describe('outside text, marked', () => {
  it('is the same text once the marks are taken off, and holds them nowhere else', () => {
    fc.assert(
      fc.property(value, (whole) => {
        const { value: marked, marks, count, mostAdded } = markOutside(whole, ['stdout', 'content'], nonces());
        const json = JSON.stringify(marked);
        expect(json.length).toBeLessThanOrEqual(JSON.stringify(whole).length + mostAdded);
        expect(json.split(JSON.stringify(marks.open).slice(1, -1)).length - 1).toBe(count);
        const off = json
          .replaceAll(`"${marks.open}\\n`, '"')
          .replaceAll(`\\n${marks.close}"`, '"')
          .replaceAll(`"${marks.open}`, '"')
          .replaceAll(`${marks.close}"`, '"');
        expect(JSON.parse(off)).toEqual(JSON.parse(JSON.stringify(whole)));
      }),
    );
  });
});

function* nonces() {
  for (let next = 0x1234_5678; ; next += 1) yield next.toString(16);
}

/** Whether every value in `part` is of the kind it was, and no key is new but a count of what is left out. */
function isPartOf(part: JsonValue | undefined, whole: JsonValue | undefined): boolean {
  if (typeof whole === 'string') return typeof part === 'string';
  if (Array.isArray(whole))
    return Array.isArray(part) && part.every((item, index) => isPartOf(item as JsonValue, whole[index] as JsonValue));
  if (!isJsonObject(whole)) return part === whole;
  return (
    isJsonObject(part) &&
    Object.entries(part).every(([key, item]) => (Object.hasOwn(whole, key) ? isPartOf(item, whole[key]) : key.endsWith('_left_out')))
  );
}
