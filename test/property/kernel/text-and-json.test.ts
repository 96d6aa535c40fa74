import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalAddress } from '#kernel/address';
import { canonicalJson, hasCanonicalForm, type JsonValue } from '#kernel/json';
import { formatDuration, sanitizeText, showPlainly, stripUnseen } from '#kernel/text/text';

/** Any UTF-16, with the characters that matter here much more often than by chance. */
const hostile = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        '\u001b',
        '[',
        ']',
        '31m',
        '\u0007',
        '\\',
        '\u009b',
        '\u009d',
        '\u0000',
        '\n',
        '\t',
        '\r',
        '\u200b',
        '\u202e',
        '\u2028',
        '\ufeff',
      ),
      fc.constantFrom('\ud83d', '\ude00', '\udb40', '\udc41', '\u00ad', '\ufff9', 'a', 'é', '😀'),
      fc.string({ unit: 'binary', maxLength: 3 }),
      fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)),
    ),
    { maxLength: 30 },
  )
  .map((parts) => parts.join(''));

// biome-ignore lint/suspicious/noControlCharactersInRegex: what must not be there
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: what must not be there
const unseen = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\u2028\u2029\ufff9-\ufffb]/u;

describe('text from outside', () => {
  it('has nothing unseen in it after stripping, and stripping again changes nothing', () => {
    fc.assert(
      fc.property(hostile, (text) => {
        const clean = stripUnseen(text);
        expect(clean).not.toMatch(unseen);
        expect(clean.isWellFormed()).toBe(true);
        expect(stripUnseen(clean)).toBe(clean);
      }),
      { numRuns: 2_000 },
    );
  });

  it('shown plainly is one visible line', () => {
    fc.assert(
      fc.property(hostile, fc.integer({ min: 1, max: 50 }), (text, maxLength) => {
        const shown = showPlainly(text, maxLength);
        expect(shown).not.toMatch(unseen);
        expect(shown).not.toMatch(/[\n\t]/);
        expect(shown.isWellFormed()).toBe(true);
        expect(shown.length).toBeLessThanOrEqual(maxLength + 60);
      }),
    );
  });

  it('sanitized is well-formed, trimmed of control characters, and at most 10,000 long', () => {
    fc.assert(
      fc.property(hostile, fc.integer({ min: 1, max: 5_000 }), (text, times) => {
        const clean = sanitizeText(text.repeat(Math.min(times, 12_000 / Math.max(text.length, 1))));
        expect(clean).not.toMatch(controls);
        expect(clean.isWellFormed()).toBe(true);
        expect(clean.length).toBeLessThanOrEqual(10_000);
      }),
    );
  });
});

describe('canonical JSON', () => {
  it('is there for a value exactly when it can be made', () => {
    const wild = fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withTypedArray: true,
      values: [fc.string({ unit: 'binary' }), fc.double()],
    });
    const text = fc.oneof(hostile, fc.string());
    const likely = fc.dictionary(text, fc.oneof(text, fc.double(), fc.constantFrom(undefined, null, true), fc.array(fc.oneof(text, wild))));
    fc.assert(
      fc.property(fc.oneof(wild, likely), (value) => {
        let made = true;
        try {
          canonicalJson(value as JsonValue);
        } catch {
          made = false;
        }
        expect(hasCanonicalForm(value)).toBe(made);
      }),
      { numRuns: 2_000 },
    );
  });

  const json = fc
    .jsonValue({ maxDepth: 4, noUnicodeString: false })
    .filter((value) => JSON.stringify(value).isWellFormed()) as fc.Arbitrary<JsonValue>;

  it('means the same value, whatever the order of keys was', () => {
    fc.assert(
      fc.property(json, (value) => {
        const text = canonicalJson(value);
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
        expect(canonicalJson(JSON.parse(text) as JsonValue)).toBe(text);
        expect(canonicalJson(reversed(value))).toBe(text);
      }),
    );
  });

  it('of different values differs', () => {
    fc.assert(
      fc.property(json, json, (a, b) => {
        expect(canonicalJson(a) === canonicalJson(b)).toBe(JSON.stringify(sorted(a)) === JSON.stringify(sorted(b)));
      }),
    );
  });
});

function reversed(value: JsonValue): JsonValue {
  return mapKeys(value, (keys) => keys.toReversed());
}
function sorted(value: JsonValue): JsonValue {
  return mapKeys(value, (keys) => keys.toSorted());
}
function mapKeys(value: JsonValue, order: (keys: string[]) => string[]): JsonValue {
  if (Array.isArray(value)) return value.map((item: JsonValue) => mapKeys(item, order));
  if (typeof value !== 'object' || value === null) return value;
  const object = value as Record<string, JsonValue>;
  return Object.fromEntries(order(Object.keys(object)).map((key) => [key, mapKeys(object[key] ?? null, order)]));
}

it('a duration has one of three forms, and a longer one never reads shorter', () => {
  const millisecondsOf = (text: string) => {
    const [, minutes = 0, seconds = 0] = /^(\d+)m ([0-5]?\d)s$/.exec(text) ?? [];
    if (minutes !== 0) return Number(minutes) * 60_000 + Number(seconds) * 1_000;
    return text.endsWith('ms') ? Number.parseInt(text, 10) : Number.parseFloat(text) * 1_000;
  };
  fc.assert(
    fc.property(fc.nat(10_000_000), fc.nat(10_000_000), (a, b) => {
      const [short, long] = [Math.min(a, b), Math.max(a, b)];
      expect(formatDuration(short)).toMatch(/^(?:\d{1,3}ms|[1-5]?\d\.\ds|\d+m [1-5]?\ds)$/);
      expect(millisecondsOf(formatDuration(long))).toBeGreaterThanOrEqual(millisecondsOf(formatDuration(short)));
      expect(Math.abs(millisecondsOf(formatDuration(a)) - a)).toBeLessThanOrEqual(500);
    }),
  );
});

it('a canonical address is its own canonical form', () => {
  const spelled = fc.oneof(fc.ipV4(), fc.ipV4Extended(), fc.ipV6(), fc.string());
  fc.assert(
    fc.property(spelled, (text) => {
      const address = canonicalAddress(text);
      expect(address === undefined || canonicalAddress(address) === address, text).toBe(true);
    }),
  );
  fc.assert(
    fc.property(fc.oneof(fc.ipV4(), fc.ipV4Extended(), fc.ipV6()), (text) => {
      expect(canonicalAddress(text), text).toBeDefined();
    }),
  );
});
